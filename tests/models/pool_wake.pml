/* Waking in the pool (src/pool/take.cpp, worker.cpp over src/sync/lookout.hpp): no item waits while a worker that may run it
 * sleeps, with workers of two kinds.
 *
 * Kind A runs lanes 0 and 1, kind B lane 1 only. Each kind has a lookout of its own: `lookers` and `parked`. A worker takes lane 0
 * before lane 1. A job may turn out to be endless. `queued` counts the items of a lane; taking one is a single step here, as it is
 * one CAS in the code. Everything is sequentially consistent, as are the operations that this stands for.
 *
 * Promise, checked when nothing can move any more: where an item is queued, all workers that may run it are inside endless jobs.
 *
 * Twins that must fail:
 *   LOOK_FIRST    a worker looks before it takes itself out of `lookers`
 *   READ_FIRST    an enqueuer asks who looks before it makes its item reachable
 *   NO_LAST_LOOK  the last looker of its kind enters a job without a look at its lanes
 *   NO_RELOOK     a waker whose count found no sleeper does not look at the other lanes of that kind
 *   OWN_LANE      a worker that stops looking looks only at the lane that it took from
 */
#ifndef WORKERS_A
#define WORKERS_A 1
#endif

#define BIT(i) (1 << (i))
#define A 0
#define B 1

byte lookers[2];
byte parked[2];
byte queued[2];
byte endless[2];

#define WORK(k) (queued[1] > 0 || (k == A && queued[0] > 0))
/* Whoever may run lane l: A always, B only lane 1. */
#define LOOKED_AT(l) (lookers[A] > 0 || (l == 1 && lookers[B] > 0))

/* Lookout::wake_another for kind k: counts a looker, then clears the lowest bit of `parked`, or takes the count back. */
inline wake_another(k, found)
{
    lookers[k]++;
    atomic {
        if
        :: parked[k] == 0 -> found = false
        :: else -> parked[k] = parked[k] & (parked[k] - 1); found = true
        fi
    };
    if
    :: found
    :: else -> lookers[k]--
    fi
}

/* Pool::call_for_all; the more special kind first. */
inline call_for_all(todo, l, found)
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
          :: l == 1 && parked[B] > 0 -> wake_another(B, found)      /* B runs no other lane */
          :: else
          fi;
          if
          :: !found && parked[A] > 0 ->
             wake_another(A, found);
#ifndef NO_RELOOK
             if
             :: !found && queued[1 - l] > 0 -> todo = todo | BIT(1 - l)
             :: else
             fi
#endif
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
#ifdef READ_FIRST
    bool looked;
    looked = LOOKED_AT(lane);
    queued[lane]++;
    if
    :: looked
    :: else -> todo = BIT(lane); call_for_all(todo, l, found)
    fi
#else
    queued[lane]++;
    if
    :: LOOKED_AT(lane)
    :: else -> todo = BIT(lane); call_for_all(todo, l, found)
    fi
#endif
}

proctype worker(byte kind; byte me)
{
    byte todo;
    byte l;
    byte from;
    bool found;
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
          :: queued[from] > 0 -> todo = BIT(from); call_for_all(todo, l, found)
          :: else
          fi
#else
          if
          :: kind == A && queued[0] > 0 -> todo = 1; call_for_all(todo, l, found)
          :: else
          fi;
          if
          :: queued[1] > 0 -> todo = 2; call_for_all(todo, l, found)
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
    parked[kind] = parked[kind] | BIT(me);
    lookers[kind]--;
#else
    parked[kind] = parked[kind] | BIT(me);
    lookers[kind]--;
    if
    :: WORK(kind) ->
       atomic {
           if
           :: (parked[kind] & BIT(me)) -> parked[kind] = parked[kind] & ~BIT(me); found = true
           :: else -> found = false
           fi
       };
       if
       :: found -> lookers[kind]++
       :: else
       fi;
       found = false;
       goto take
    :: else
    fi;
#endif
end_parked:
    (parked[kind] & BIT(me)) == 0;
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
    assert(queued[0] == 0 || endless[A] == WORKERS_A);
    assert(queued[1] == 0 || (endless[A] == WORKERS_A && endless[B] == 1))
}
