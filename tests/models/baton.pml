/* The baton: one thread at a time works on a structure, for everybody who has work there, and nobody waits.
 *
 * Who has work puts it where it is looked for, and asks: it takes the baton if it is free, and leaves `asked` behind if it is
 * held. The holder looks, does what it found, and puts the baton down unless somebody asked meanwhile; then it looks again.
 *
 * Promise, checked when nothing can move any more: no work is left. And two threads never hold the baton at once.
 *
 * Twins that must fail:
 *   DROP_ASKED       the holder puts the baton down although somebody asked
 *   LOOK_THEN_TAKE   the baton is looked at and then taken
 *   ASK_FIRST        work is put after the asking
 *   FORGET_LATE      the holder takes `asked` back after it looked, not before
 */
#ifndef ASKERS
#define ASKERS 3
#endif
#define ROUNDS 2

byte work = 0;
bool held = false;
bool asked = false;
byte holders = 0;

proctype asker()
{
    byte found, round;
    bool mine;
    for (round : 1 .. ROUNDS) {
#ifndef ASK_FIRST
        work++;
#endif
#ifdef LOOK_THEN_TAKE
        mine = !held;
        if
        :: mine -> held = true
        :: else -> asked = true
        fi;
#else
        atomic {
            mine = !held;
            if
            :: mine -> held = true
            :: else -> asked = true
            fi
        };
#endif
#ifdef ASK_FIRST
        work++;
#endif
        if
        :: mine ->
look:
            holders++;
            assert(holders == 1);
            atomic { found = work; work = 0 };
#ifdef FORGET_LATE
            asked = false;
#endif
            holders--;
            atomic {
                if
#ifdef DROP_ASKED
                :: true -> held = false; asked = false
#else
                :: asked -> asked = false; goto look
                :: !asked -> held = false
#endif
                fi
            }
        :: else
        fi
    }
}

init
{
    byte i;
    atomic {
        for (i : 1 .. ASKERS) { run asker() }
        i = 0
    }
    timeout;
    assert(work == 0 && !held)
}
