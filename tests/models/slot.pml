/* The life of a slot of the pool (src/core/words/item_word.hpp, src/pool/cancel.cpp, take.cpp): an item is run, cancelled or discarded,
 * one of the three and once, and its slot is used again only when whoever ended it and whoever held its handle are through with it.
 *
 * There is one slot, so that each life follows the last as closely as it can. `word` is phase, settled, dropped and life, and changes by one CAS or one
 * addition. The lane holds a cell a life with the life's seat; a cancelled item's cell stays in it, so a worker may come to the slot by an old cell.
 * Everything is sequentially consistent; what the code orders more weakly is argued there and checked under the controlled scheduler.
 *
 * Parties: an enqueuer that fills the slot, cancels by its handle or not, and drops the handle, LIVES times; a worker that takes; a canceller by name,
 * who compares the name first; the pool's end, which discards.
 *
 * Promise: see the assertions; and in the end each life has ended once and the slot is free once.
 *
 * Twins that must fail:
 *   NO_LIFE       the canceller's CAS does not compare the life
 *   NO_SEAT       a worker takes what it finds in the slot, whichever cell it came by
 *   SEAT_FIRST    a worker compares the seat before it loads the word
 *   PLAIN_START   a worker writes `running` without a CAS
 *   LOOK_AND_FREE who settles or drops looks first whether the other has, and says so afterwards
 */
#ifndef LIVES
#define LIVES 3
#endif

#define FREE 0
#define DRAFTED 1
#define QUEUED 2
#define RUNNING 3
#define ENDED 4

byte phase = FREE;              /* with settled, dropped and life one word */
bool settled;
bool dropped;
byte life;
byte seat;                      /* of the slot's item; written while drafted */
byte name;                      /* the same */
byte lane[LIVES + 1];           /* by seat: 1 while there is a cell */
byte ran[LIVES + 1];
byte withdrawn[LIVES + 1];
byte frees;
bool enqueued;

inline free_slot()
{
    atomic {
        assert(phase == ENDED);
        phase = FREE;
        frees++;
        assert(frees == life)           /* once a life */
    }
}

/* Pool::settle, by whoever ended the item. */
inline settle()
{
#ifdef LOOK_AND_FREE
    other = dropped;
    atomic { settled = true; phase = ENDED };
#else
    atomic { other = dropped; settled = true; phase = ENDED };
#endif
    if
    :: other -> free_slot()
    :: else
    fi;
    other = false
}

/* The handle's. */
inline drop()
{
#ifdef LOOK_AND_FREE
    other = settled;
    dropped = true;
#else
    atomic { other = settled; dropped = true };
#endif
    if
    :: other -> free_slot()
    :: else
    fi;
    other = false
}

/* By CAS from what was seen: `mine` says whether the item is the caller's to end. */
inline leave_queue(seen, next)
{
    atomic {
        if
#ifdef NO_LIFE
        :: phase == QUEUED -> phase = next; mine = true
#else
        :: phase == QUEUED && life == seen -> phase = next; mine = true
#endif
        :: else -> mine = false
        fi
    }
}

proctype enqueuer()
{
    byte n;
    bool mine;
    bool other;
    for (n : 1 .. LIVES) {
        atomic { phase == FREE -> phase = DRAFTED; settled = false; dropped = false; life++ };
        seat = n;
        name = n;
        phase = QUEUED;
        lane[n] = 1;
        if
        :: true ->
           leave_queue(n, RUNNING);             /* by its handle; the life cannot change under it */
           if
           :: mine -> withdrawn[n]++; settle()
           :: else
           fi
        :: true
        fi;
        drop()
    }
    enqueued = true
}

proctype worker()
{
    byte n;
    byte seen;
    bool mine;
    bool other;
    bool there;
end_looks:
    do
    :: atomic { lane[1] == 1 -> n = 1 }; goto look
    :: atomic { lane[2] == 1 -> n = 2 }; goto look
    :: atomic { lane[3] == 1 -> n = 3 }; goto look
    od;
look:
#ifdef SEAT_FIRST
    there = (seat == n);
    atomic { seen = life; there = there && phase == QUEUED };
#else
    atomic { seen = life; there = (phase == QUEUED) };
#ifndef NO_SEAT
    there = there && seat == n;
#endif
#endif
    if
    :: there ->
#ifdef PLAIN_START
       atomic { phase = RUNNING; mine = true };
#else
       leave_queue(seen, RUNNING);
#endif
       if
       :: mine ->
          atomic {
              assert(seat == n);                /* in the order of the lane */
              ran[life]++;
              lane[n] = 0
          };
          settle()
       :: else
       fi
    :: else ->
       /* The cell's item is gone, unless it is of the life to come. */
       if
       :: life > n || (life == n && phase != QUEUED && phase != DRAFTED) -> lane[n] = 0
       :: else
       fi
    fi;
    there = false;
    mine = false;
    goto end_looks
}

/* By name, and the pool's end, which asks for no name. */
proctype canceller(byte wanted)
{
    byte seen;
    bool mine;
    bool other;
    bool there;
    byte looks = 2;
    do
    :: looks == 0 -> break
    :: else ->
       looks--;
       atomic { seen = life; there = (phase == QUEUED) };
       if
       :: there && (wanted == 0 || name == wanted) ->
          leave_queue(seen, RUNNING);
          if
          :: mine ->
             atomic {
                 assert(wanted == 0 || name == wanted);
                 withdrawn[life]++
             };
             settle()
          :: else
          fi
       :: else
       fi;
       there = false
    od
}

init
{
    byte n;
    atomic {
        run enqueuer();
        run worker();
        run canceller(2);
        run canceller(0)
    }
    timeout;
    assert(enqueued && phase == FREE && frees == LIVES);
    for (n : 1 .. LIVES) {
        assert(ran[n] + withdrawn[n] == 1)
    }
}
