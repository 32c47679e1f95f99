/* Shutdown against late submissions (src/executor/lifecycle.cpp, admission.hpp): each submission is refused, or its job ends before the threads leave.
 *
 * Submitters take a number from the word that also has the closed bit, then push; any of them may be suspended in between for as long as it likes.
 * Turns drain what was pushed and end it (`cancel`: at once; `drain`: after it ran, no difference here). The closer sets the bit. When the jobs that ended are as
 * many as numbers were taken and the door is closed, it is over: threads leave, memory goes.
 *
 * Promise: when it is over, no accepted job has not ended, none is pushed afterwards; and it gets over once the closer has closed the door and all submitters have returned.
 *
 * Twins that must fail:
 *   TWO_WORDS     the bit is in a word of its own, which a submitter reads before it takes a number
 *   COUNT_FIRST   a turn reads the numbers taken before it reads the bit
 *   IF_EMPTY      it is over when the door is closed and nothing waits, whatever the numbers say
 *   NO_LAST_LOOK  whoever closes does not see to it that somebody looks
 */
#ifndef SUBMITTERS
#define SUBMITTERS 2
#endif
#ifndef JOBS
#define JOBS 2
#endif

bool closed;                    /* with `taken` one word */
byte taken;
byte pushed;                    /* and not drained */
byte ended;
bool look = false;              /* somebody will take a turn */
bool over;
byte returned;

proctype submitter()
{
    byte left = JOBS;
    bool mine;
    do
    :: left == 0 -> break
    :: else ->
       left--;
#ifdef TWO_WORDS
       mine = !closed;
       if
       :: mine -> taken++
       :: else
       fi;
#else
       atomic { mine = !closed; taken = taken + (mine -> 1 : 0) };
#endif
       if
       :: mine ->
          assert(!over);
          pushed++;
          look = true
       :: else
       fi
    od;
    returned++
}

proctype closer()
{
    closed = true;
#ifndef NO_LAST_LOOK
    look = true
#endif
}

proctype turns()
{
    bool shut;
    byte numbers;
end_asleep:
    do
    :: atomic { look -> look = false };
       atomic { ended = ended + pushed; pushed = 0 };
#ifdef COUNT_FIRST
       numbers = taken;
       shut = closed;
#else
       shut = closed;
       numbers = taken;
#endif
       if
#ifdef IF_EMPTY
       :: shut && pushed == 0 -> over = true; break
#else
       :: shut && ended == numbers -> over = true; break
#endif
       :: else
       fi
    od;
    /* The memory goes. */
    assert(ended == taken && pushed == 0)
}

init
{
    byte i;
    atomic {
        for (i : 1 .. SUBMITTERS) { run submitter() }
        run closer();
        run turns();
        i = 0
    }
    timeout;
    assert(returned == SUBMITTERS && over && ended == taken && pushed == 0)
}
