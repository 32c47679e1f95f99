/* Waking in the pool (src/pool/take.cpp, worker.cpp over src/sync/lookout.hpp): no item waits while a worker that may run it
 * sleeps, with workers of two kinds.
 *
 * Kind A runs lanes 0 and 1, kind B lane 1 only. Each kind has a lookout of its own: `lookers`, and who is asleep, called (a waker owes it
 * the system call) or rung. A worker takes lane 0
 * before lane 1. A job may turn out to be endless. `queued` counts the items of a lane; taking one is a single step here, as it is
 * one CAS in the code. Everything is sequentially consistent, as are the operations that this stands for.
 *
 * Promise, checked when nothing can move any more: where an item is queued, all workers that may run it are inside endless jobs. With
 * -DSTANDS one enqueuer may stand still for ever when it has called a worker, before the system call: its own item may wait, and no other.
 *
 * Twins that must fail:
 *   LOOK_FIRST    a worker looks before it takes itself out of `lookers`
 *   READ_FIRST    an enqueuer asks who looks before it makes its item reachable
 *   NO_LAST_LOOK  the last looker of its kind enters a job without a look at its lanes
 *   NO_HELP       (stands) who finds a worker called relies on the waker for the system call
 *   COUNT_AHEAD   (stands) a waker counts the worker that it wakes, before it wakes it
 *   OWN_LANE      a worker that stops looking looks only at the lane that it took from
 */
#ifndef WORKERS_A
#define WORKERS_A 1
#endif

#define BIT(i) (1 << (i))
#define A 0
#define B 1

byte lookers[2];
byte asleep[2];
byte called[2];
byte rung[2];
byte stood[2];                  /* by lane */
byte queued[2];
byte endless[2];

#define WORK(k) (queued[1] > 0 || (k == A && queued[0] > 0))
/* Whoever may run lane l: A always, B only lane 1. */
#define LOOKED_AT(l) (lookers[A] > 0 || (l == 1 && lookers[B] > 0))

#define AWAY(k) (asleep[k] | called[k] | rung[k])
/* The lowest of those that are away. */
#define LOWEST(k) (AWAY(k) & (~AWAY(k) + 1))

/* Lookout::wake_one for kind k: `found` says whether somebody looks, was woken, or is being woken. Workers do not stand: `lane` is 2 there. */
inline wake_one(k, lane, whom, found)
{
    atomic {
        found = true;
        if
        :: lookers[k] > 0
        :: else ->
           whom = LOWEST(k);
           if
           :: asleep[k] & whom -> asleep[k] = asleep[k] & ~whom; called[k] = called[k] | whom
#ifdef COUNT_AHEAD
              ; lookers[k]++
#endif
#ifdef NO_HELP
           :: called[k] & whom -> whom = 0
#endif
           :: whom == 0 -> found = false
           :: else
           fi
        fi
    };
    if
    :: whom != 0 ->
#ifdef STANDS
       if
       :: true
       :: atomic { lane < 2 && stood[0] + stood[1] == 0 -> stood[lane] = 1 };
end_stood:
          false
       fi;
#endif
       atomic {
           if
           :: called[k] & whom -> called[k] = called[k] & ~whom; rung[k] = rung[k] | whom
           :: else
           fi;
           whom = 0
       }
    :: else
    fi
}

/* Pool::call_for_all; the more special kind first. */
inline call_for_all(todo, l, lane, whom, found)
{
    do
    :: todo == 0 -> break
    :: else ->
       if
       :: todo & 1 -> l = 0
       :: else -> l = 1
       fi;
       todo = todo & ~BIT(l);
       if
       :: LOOKED_AT(l) -> skip
       :: else ->
          found = false;
          if
          :: l == 1 -> wake_one(B, lane, whom, found)      /* B runs no other lane */
          :: else
          fi;
          if
          :: !found -> wake_one(A, lane, whom, found)
          :: else
          fi;
          found = false
       fi
    od;
    l = 0
}

proctype enqueuer(byte lane)
{
    byte todo;
    byte l;
    bool found;
    byte whom;
#ifdef READ_FIRST
    bool looked;
    looked = LOOKED_AT(lane);
    queued[lane]++;
    if
    :: looked
    :: else -> todo = BIT(lane); call_for_all(todo, l, lane, whom, found)
    fi
#else
    queued[lane]++;
    if
    :: LOOKED_AT(lane)
    :: else -> todo = BIT(lane); call_for_all(todo, l, lane, whom, found)
    fi
#endif
}

proctype worker(byte kind; byte me)
{
    byte todo;
    byte l;
    byte from;
    bool found;
    byte whom;
    bool looking = true;

take:
    if
    :: atomic { kind == A && queued[0] > 0 -> queued[0]--; from = 0 }
    :: atomic { !(kind == A && queued[0] > 0) && queued[1] > 0 -> queued[1]--; from = 1 }
    :: atomic { !WORK(kind) -> goto nothing }
    fi;
    if
    :: looking ->
       looking = false;
       atomic { lookers[kind]--; found = (lookers[kind] == 0) };
#ifndef NO_LAST_LOOK
       if
       :: found ->
          /* One lane after the other, as the code does. */
#ifdef OWN_LANE
          if
          :: queued[from] > 0 -> todo = BIT(from); call_for_all(todo, l, 2, whom, found)
          :: else
          fi
#else
          if
          :: kind == A && queued[0] > 0 -> todo = 1; call_for_all(todo, l, 2, whom, found)
          :: else
          fi;
          if
          :: queued[1] > 0 -> todo = 2; call_for_all(todo, l, 2, whom, found)
          :: else
          fi
#endif
       :: else
       fi;
#endif
       found = false
    :: else
    fi;
    from = 0;
    if
    :: true ->
       endless[kind]++;
end_endless:
       false
    :: true
    fi;
    goto take;

nothing:
    if
    :: !looking -> lookers[kind]++; looking = true; goto take
    :: else
    fi;
#ifdef LOOK_FIRST
    if
    :: WORK(kind) -> goto take
    :: else
    fi;
    asleep[kind] = asleep[kind] | BIT(me);
    lookers[kind]--;
#else
    asleep[kind] = asleep[kind] | BIT(me);
    lookers[kind]--;
    if
    :: WORK(kind) -> goto come_back         /* cancel_park */
    :: else
    fi;
#endif
end_parked:
    rung[kind] & BIT(me);                   /* park: the system call wakes it */
come_back:
#ifdef COUNT_AHEAD
    lookers[kind] = lookers[kind] + ((asleep[kind] & BIT(me)) -> 1 : 0);
#else
    lookers[kind]++;
#endif
    atomic {
        asleep[kind] = asleep[kind] & ~BIT(me);
        called[kind] = called[kind] & ~BIT(me);
        rung[kind] = rung[kind] & ~BIT(me)
    };
    goto take
}

init
{
    byte i;
    atomic {
        lookers[A] = WORKERS_A;
        lookers[B] = 1;
        for (i : 0 .. WORKERS_A - 1) { run worker(A, i) }
        run worker(B, 0);
        run enqueuer(0);
        run enqueuer(1);
        i = 0
    }
    timeout;
    assert(queued[0] <= stood[0] || endless[A] == WORKERS_A);
    assert(queued[1] <= stood[1] || (endless[A] == WORKERS_A && endless[B] == 1))
}
