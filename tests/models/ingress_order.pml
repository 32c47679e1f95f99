/* The order of the ingress (E14), as src/core/ingress_order.hpp decides it.
 *
 * A submission takes a number and then puts its job into its thread's own FIFO lane. Between the two it may
 * be suspended, even for ever. The consumer stages a few jobs of each lane and emits the smallest staged
 * number, when it may.
 *
 * The smallest staged number y may go out when nothing that happened before it can still be missing:
 *   by count   every number below y is out: nothing is owed and y is next, or y is the only one that is owed
 *   by a look  y was staged before the last look began, and each lane whose staging is empty has been visited
 *              since then
 * What is missing below y after that is concurrent with y: it is owed, and comes out late.
 *
 * Promises: a job whose submission had returned before the submission of y took its number is emitted before
 * y (this is stronger than happens-before); no submission, suspended wherever it may be, keeps another job
 * from being emitted.
 *
 * Twins that must fail:
 *   NO_LOOK           a gap in the numbers is jumped without a look
 *   COUNT_WHILE_OWED  y goes out because it is next, although smaller numbers are owed
 *   NO_REVISIT        a lane whose staging ran empty since the last look is not visited again
 *   WAIT_FOR_GAP      the consumer waits until the gap is closed: the order holds, but a suspended submitter
 *                     holds up all others
 */
#ifndef LANES
#define LANES 3
#endif
#ifndef JOBS
#define JOBS 2          /* of each lane; the last lane has one */
#endif
#ifndef STAGE
#define STAGE 1
#endif
#define TOTAL ((LANES - 1) * JOBS + 1)  /* at most 8: sets of numbers are bytes */

/* A lane hands out increasing numbers in order, so the set of its numbers says all. */
byte lane[LANES];               /* pushed, not yet taken by the consumer */
byte staged[LANES];             /* taken, not yet emitted */
byte room[LANES];               /* how many more may be staged */

byte next_number = 0;
byte before[TOTAL];             /* what had been pushed when number n was taken, and is not yet emitted */

byte fresh = 0;                 /* bit l: lane l was staged since the last look began */
byte exhausted = 0;             /* bit l: the staging of lane l ran empty since lane l was last visited */
byte next = 0;
byte owed = 0;

#define BIT(i) (1 << (i))
#define LOWEST(set) ((set) & (255 - ((set) - 1)))
#define DROP_LOWEST(set) ((set) & ((set) - 1))

proctype submitter(byte me)
{
    byte left = (me == LANES - 1 -> 1 : JOBS);
    byte number;
    byte i;
    do
    :: left == 0 -> break
    :: left > 0 ->
       d_step {
           number = next_number;
           next_number++;
           left--;
           for (i : 0 .. LANES - 1) { before[number] = before[number] | lane[i] | staged[i] }
           i = 0
       }
       if
       :: d_step { lane[me] = lane[me] | BIT(number); number = 0 }
       :: true ->
end_suspended:
          false
       fi
    od
}

/* One visit: what the lane holds at this instant, as far as there is room. */
inline visit(l)
{
    d_step {
        do
        :: lane[l] != 0 && room[l] > 0 ->
           staged[l] = staged[l] | LOWEST(lane[l]);
           lane[l] = DROP_LOWEST(lane[l]);
           room[l]--;
           fresh = fresh | BIT(l)
        :: else -> break
        od;
        exhausted = exhausted & ~BIT(l)
    }
}

active proctype consumer()
{
    byte y;                     /* the smallest staged number, as a set of one */
    byte number;
    byte from;
    byte i;
    bool by_count;

    for (i : 0 .. LANES - 1) { room[i] = STAGE }

choose:
    atomic {                    /* local to the consumer: only its visits meet the submitters */
        y = 0;
        for (i : 0 .. LANES - 1) {
            if
            :: staged[i] != 0 && (y == 0 || LOWEST(staged[i]) < y) -> y = LOWEST(staged[i]); from = i
            :: else
            fi
        }
        i = 0;
        number = 0;
        do
        :: y > 0 && BIT(number) != y -> number++
        :: else -> break
        od;
#ifdef COUNT_WHILE_OWED
        by_count = (number == next) || (owed == 1 && number < next);
#else
        by_count = (owed == 0 && number == next) || (owed == 1 && number < next);
#endif
        if
        :: y == 0 -> goto wait_for_work
        :: y != 0 && by_count -> goto emit
#if defined(NO_LOOK)
        :: else -> goto emit
#elif defined(WAIT_FOR_GAP)
        :: else -> goto wait_for_work
#elif defined(NO_REVISIT)
        :: y != 0 && !by_count && (fresh & BIT(from)) -> goto look
        :: y != 0 && !by_count && !(fresh & BIT(from)) -> goto emit
#else
        :: y != 0 && !by_count && exhausted != 0 -> goto revisit
        :: y != 0 && !by_count && exhausted == 0 && (fresh & BIT(from)) -> goto look
        :: y != 0 && !by_count && exhausted == 0 && !(fresh & BIT(from)) -> goto emit
#endif
        fi
    };

revisit:
    atomic { y = 0; number = 0; from = 0 };
    do
    :: exhausted == 0 -> break
    :: exhausted & 1 -> visit(0)
    :: (exhausted & 3) == 2 -> visit(1)
    :: (exhausted & 7) == 4 -> visit(2)
    od;
    goto choose;

look:
    atomic { fresh = 0; exhausted = 0; y = 0; number = 0; from = 0 };
    do
    :: atomic { i < LANES && staged[i] == 0 -> visit(i); i++ }
    :: atomic { i < LANES && staged[i] != 0 -> i++ }
    :: atomic { i == LANES -> i = 0; break }
    od;
    goto choose;

emit:
    atomic {
        assert(before[number] == 0);
        for (i : 0 .. TOTAL - 1) { before[i] = before[i] & ~y }
        i = 0;
        y = 0;
        staged[from] = DROP_LOWEST(staged[from]);
        room[from]++;
        if
        :: number >= next -> owed = owed + (number - next); next = number + 1
        :: else -> owed--
        fi;
        if
        :: staged[from] == 0 -> exhausted = exhausted | BIT(from); fresh = fresh & ~BIT(from)
        :: else
        fi;
        from = 0;
        number = 0;
        by_count = false;
        goto choose
    };

wait_for_work:
end_idle:
    (lane[0] != 0 && staged[0] == 0) || (lane[1] != 0 && staged[1] == 0) || (lane[2] != 0 && staged[2] == 0);
    goto look
}

init
{
    byte i;
    atomic {
        for (i : 0 .. LANES - 1) { run submitter(i) }
        i = 0
    }
    timeout;
    assert(lane[0] == 0 && lane[1] == 0 && lane[2] == 0);
    assert(staged[0] == 0 && staged[1] == 0 && staged[2] == 0)
}
