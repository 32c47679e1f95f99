/* The parking handshake of src/sync/lookout.hpp: no wake-up is lost.
 *
 * Submitters publish a job and then ask whether anybody looks. Workers announce themselves as parked, stop
 * being lookers, and then look. The home thread ticks while it is armed, and disarms only when nobody looks
 * and nothing waits.
 *
 * Everything here is sequentially consistent, as are the operations in the code that this stands for.
 *
 * A worker enters a job as a looker. Nobody watches over it as long as nobody relies on it: home is armed by a submitter that
 * leaves because somebody looks, and by a worker that leaves something behind when it enters: of its claim, or on the run queue.
 *
 * `ingress` counts jobs that were pushed and not yet drained, `ready` those on the run queue, `rest[w]` those
 * that worker w has claimed and not begun. A job may turn out to be endless whatever was expected of it. An
 * endless job that was expected to be short is run by a worker that still counts as a looker.
 *
 * A worker that is not awake is asleep, called (a waker owes it the system call) or rung. The bits of `away_` are left out: who goes
 * through them finds whoever is not awake.
 *
 * Promise, checked when nothing can move any more: no job waits, unless every worker is inside an endless
 * job. Checked once with JOBS=2 as well, and with home and -DSTANDS (18 million states). With -DALONE home does nothing, so that what it would make good shows: then a job may also wait while somebody
 * relies on a looker inside an endless job. With -DSTANDS one submitter may stand still for ever when it has called a worker, before the system
 * call: then its own job may wait, and no other. With -DBATCH a submitter pushes its jobs before it asks once.
 *
 * Twins that must fail:
 *   LOOK_FIRST    (alone) a worker looks before it takes itself out of `lookers`
 *   READ_FIRST    (alone) a submitter reads `lookers` before it publishes its job
 *   NO_LAST_LOOK  (alone) the last looker enters a long job without a look
 *   NO_HELP       (alone, stands) who finds a worker called relies on the waker for the system call
 *   COUNT_AHEAD   (alone, stands) a waker counts the worker that it wakes, before it wakes it
 *   TRUST_SHORT   a submitter leaves because somebody looks, and does not arm home
 *   TRUST_REST    a worker enters a job with a claimed rest behind it although home is not armed
 *   TRUST_QUEUE   (batch) a worker enters a job and leaves others on the run queue although home is not armed
 *   ASK_FIRST     home asks whether there is anything to watch over before it is off, and not afterwards
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef SUBMITTERS
#define SUBMITTERS 2
#endif
#ifndef JOBS
#define JOBS 1
#endif

byte lookers = WORKERS;
byte asleep = 0;
byte called = 0;
byte rung = 0;
byte stood = 0;
byte ingress = 0;
byte ready = 0;
bool role = false;
bool armed = false;
bool home_permit = false;
byte endless = 0;
byte trusted = 0;               /* of those, who are lookers still */
byte rest[WORKERS];

#define RESTS (rest[0] + rest[1])       /* WORKERS is 2 */
#define WORK (ready > 0 || (ingress > 0 && !role))
#define TO_WATCH (ingress > 0 || ready > 0 || RESTS > 0)
#define BIT(i) (1 << (i))
#define HELPED 128              /* it was not this one's call, so home is armed as well */

#define AWAY (asleep | called | rung)
/* The lowest of those that are away. */
#define LOWEST (AWAY & (~AWAY + 1))

/* Sleeper::make_the_call: the system call and the mark, unless somebody else has made them, and the worker may be awake by now. */
inline ring(whom)
{
    atomic {
        if
        :: called & whom -> called = called & ~whom; rung = rung | whom
        :: else
        fi
    }
}

/* A submitter between its call and its system call; or a worker, who does not stand. */
inline ring_or_stand(whom)
{
#ifdef STANDS
    if
    :: true
    :: atomic { submits && stood == 0 -> stood = 1 };
end_stood:
       false
    fi;
#endif
    ring(whom)
}

inline arm()
{
    atomic {
        if
        :: armed
        :: else -> armed = true; home_permit = true
        fi
    }
}

/* Lookout::wake_one, then arm home when nobody could be woken. */
inline wake_one_or_arm()
{
    if
    :: atomic { lookers > 0 };
#ifndef TRUST_SHORT
       arm()
#endif
    :: atomic {
           lookers == 0 ->
           whom = LOWEST;
           if
           :: asleep & whom -> asleep = asleep & ~whom; called = called | whom
           :: whom && !(asleep & whom) -> whom = whom | HELPED
           :: else
           fi
#ifdef COUNT_AHEAD
           ;
           if
           :: whom && whom < HELPED -> lookers++
           :: else
           fi
#endif
       };
       if
       :: whom == 0 -> arm()
       :: whom > HELPED ->
#ifndef NO_HELP
          ring_or_stand(whom);
#endif
          arm()
       :: else -> ring_or_stand(whom)
       fi
    fi;
    whom = 0
}

proctype submitter()
{
    byte left = JOBS;
    bool submits = true;
    byte whom;
#ifdef READ_FIRST
    byte seen;
#endif
    do
    :: left == 0 -> break
    :: else ->
       left--;
#ifdef READ_FIRST
       seen = lookers;
       ingress++;
       if
       :: seen > 0 -> arm()
       :: else -> wake_one_or_arm()
       fi;
       seen = 0
#else
       ingress++;
#ifdef BATCH
       do
       :: left > 0 -> left--; ingress++
       :: left == 0 -> break
       od;
#endif
       wake_one_or_arm()
#endif
    od
}

proctype worker(byte me)
{
    bool submits = false;
    bool counted;
    byte whom;

look:
    if
    :: atomic { ready > 0 -> ready-- };
#ifndef TRUST_QUEUE
       if
       :: ready > 0 -> arm()
       :: else
       fi;
#endif
       goto run_job
    :: atomic { ready > 1 -> ready = ready - 2; rest[me] = 1 };
#ifndef TRUST_REST
       arm();
#endif
       goto run_job
    :: atomic { ready == 0 }
    fi;
    if
    :: ingress > 0 -> goto take_role
    :: else
    fi;
park:
    /* begin_park */
#ifdef LOOK_FIRST
    if
    :: WORK -> goto look
    :: else
    fi;
    asleep = asleep | BIT(me);
    lookers--;
#else
    asleep = asleep | BIT(me);
    lookers--;
    if
    :: WORK -> goto come_back           /* cancel_park */
    :: else
    fi;
#endif
end_parked:
    rung & BIT(me);                     /* park: the system call wakes it */
come_back:
#ifdef COUNT_AHEAD
    lookers = lookers + ((asleep & BIT(me)) -> 1 : 0);
#else
    lookers++;
#endif
    atomic { asleep = asleep & ~BIT(me); called = called & ~BIT(me); rung = rung & ~BIT(me) };
    goto look;

take_role:
    if
    :: atomic { !role -> role = true }
    :: atomic { role -> goto park }
    fi;
    /* One turn: drain what is there, decide, publish; two steps, so that a job may come in between. */
    atomic { ready = ready + ingress; ingress = 0 };
    role = false;
    goto look;              /* the second look, before anything runs */

run_job:
    counted = true;
    if
    :: true ->              /* expected to be long, or nobody watches over a looker inside a job */
long:
       counted = false;
       lookers--;
#ifndef NO_LAST_LOOK
       if
       :: lookers == 0 ->
          if
          :: WORK -> wake_one_or_arm()
          :: else
          fi
       :: else
       fi
#endif
    :: true ->              /* expected to be short */
    fi;
    if
    :: true ->
       atomic { endless++; trusted = trusted + (counted -> 1 : 0) };
end_endless:
       false
    :: true
    fi;
    if
    :: counted
    :: else -> lookers++
    fi;
    counted = false;
    if
    :: atomic { rest[me] > 0 -> rest[me]-- };
#ifndef TRUST_REST
       if
       :: armed
       :: else -> arm()
       fi;
#endif
       goto run_job
    :: atomic { rest[me] == 0 }
    fi;
    goto look
}

proctype home()
{
    byte whom;
end_asleep:
    atomic { home_permit -> home_permit = false };
end_tick:
#ifdef ALONE
    false;
#endif
    if
    :: ingress > 0 && !role ->
       if
       :: atomic { !role -> role = true }
       :: atomic { role -> goto end_tick }
       fi;
       atomic { ready = ready + ingress; ingress = 0 };
       role = false;
       goto end_tick
    :: rest[0] > 0 && asleep > 0 -> atomic { ready = ready + rest[0]; rest[0] = 0 }; goto end_tick
    :: rest[1] > 0 && asleep > 0 -> atomic { ready = ready + rest[1]; rest[1] = 0 }; goto end_tick
    :: ready > 0 && asleep > 0 ->
       /* Lookout::wake_another: a looker may be inside a job. */
       atomic {
           whom = asleep & (~asleep + 1);
           asleep = asleep & ~whom;
           called = called | whom
#ifdef COUNT_AHEAD
           ; lookers = lookers + (whom -> 1 : 0)
#endif
       };
       ring(whom);
       whom = 0;
       goto end_tick
#if defined(ASK_FIRST)
    :: !TO_WATCH -> armed = false; goto end_asleep
#else
    :: !TO_WATCH ->                 /* for many ticks, in the code */
       armed = false;
       if
       :: TO_WATCH ->
          atomic {
              if
              :: armed -> goto end_asleep     /* somebody armed home meanwhile: the permit is there */
              :: else -> armed = true; goto end_tick
              fi
          }
       :: !TO_WATCH -> goto end_asleep
       fi
#endif
    fi
}

init
{
    byte i;
    atomic {
        for (i : 1 .. SUBMITTERS) { run submitter() }
        for (i : 0 .. WORKERS - 1) { run worker(i) }
        run home();
        i = 0;
        if                      /* an alarm left over from earlier work, or not */
        :: armed = true; home_permit = true
        :: true
        fi
    }
    timeout;
#ifdef ALONE
    assert(ingress + ready + RESTS <= stood || endless == WORKERS || trusted > 0 || RESTS > 0)
#else
    assert(ingress + ready + RESTS <= stood || endless == WORKERS)
#endif
}
