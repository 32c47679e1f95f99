/* The scheduler's role: taken by one CAS, handed back by a store, and then a second look.
 *
 * A submitter that sees the role held, and a worker on its way to park that sees it held, both leave the job
 * to the holder. The holder may have drained already. So it looks once more after it handed the role back,
 * and before it runs anything; when the second look finds the role taken again, the new holder answers for
 * the job in the same way.
 *
 * There is no home thread and no count of lookers here, so nothing else can repair a missed job. Each worker
 * takes turns until its second look is clean, and may then enter an endless job.
 *
 * Promise, checked when nothing can move any more: no job is unseen, unless every worker is inside an endless
 * job. And two threads never hold the role at once.
 *
 * Twins that must fail:
 *   NO_SECOND_LOOK   the holder runs jobs straight after it handed the role back
 *   LOOK_INSIDE      the second look is made before the role is handed back
 *   PLAIN_TAKE       the role is taken by a load and a store
 */
#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef SUBMITTERS
#define SUBMITTERS 3
#endif

byte ingress = 0;
bool role = false;
byte holders = 0;
byte parked = 0;
byte endless = 0;

#define BIT(i) (1 << (i))

proctype submitter()
{
    ingress++;
    if
    :: role                                 /* the holder answers for the job */
    :: !role ->
       atomic {
           if
           :: parked == 0                   /* everybody is awake, or inside a job: see parking.pml */
           :: else -> parked = parked & (parked - 1)
           fi
       }
    fi
}

proctype worker(byte me)
{
    byte drained = 0;
#ifdef PLAIN_TAKE
    bool seen;
#endif
look:
    if
    :: ingress == 0 -> goto idle
    :: ingress > 0
    fi;
#ifdef PLAIN_TAKE
    seen = role;
    if
    :: seen -> goto idle
    :: else -> role = true
    fi;
#else
    if
    :: atomic { !role -> role = true }
    :: atomic { role -> goto idle }
    fi;
#endif
    holders++;
    assert(holders == 1);
    atomic { drained = drained + ingress; ingress = 0 };
#ifdef LOOK_INSIDE
    if
    :: ingress > 0 -> atomic { drained = drained + ingress; ingress = 0 }
    :: else
    fi;
#endif
    holders--;
    role = false;
#if !defined(NO_SECOND_LOOK) && !defined(LOOK_INSIDE)
    if
    :: ingress > 0 -> goto look
    :: else
    fi;
#endif

idle:
    if
    :: drained > 0 ->
       drained = 0;
       if
       :: true ->
          endless++;
end_endless:
          false
       :: true -> goto look
       fi
    :: else
    fi;

    parked = parked | BIT(me);
    if
    :: ingress > 0 && !role ->
       parked = parked & ~BIT(me);
       goto look
    :: else
    fi;
end_parked:
    (parked & BIT(me)) == 0;
    goto look
}

init
{
    byte i;
    atomic {
        for (i : 1 .. SUBMITTERS) { run submitter() }
        for (i : 0 .. WORKERS - 1) { run worker(i) }
        i = 0
    }
    timeout;
    assert(ingress == 0 || endless == WORKERS)
}
