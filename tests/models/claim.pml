/* The claim of a worker (src/sync/claim.hpp): the owner takes the next job, the role takes back the rest,
 * each job exactly once.
 *
 * A worker claims a batch from the run queue, writes its jobs into its own array and publishes the word
 * {generation, next, end}. Before each further job it adds one to `next` by fetch_add and owns the job under
 * the old `next`, unless that was `end`. The role copies the rest and then moves `end` down to `next` by CAS;
 * when the CAS fails it starts again, with a new copy.
 *
 * The owner may claim its next batch, and overwrite the array, between the role's reads. It may also give its
 * own rest back, by the same CAS; nobody writes the array but itself, so that is one step here.
 *
 * Promise: each job is run by the owner or given back by the role, once; checked on the way and when nothing
 * can move any more.
 *
 * Twins that must fail:
 *   PLAIN_STORE    the role reads the word and stores the new one
 *   COPY_AFTER     the role copies the rest after its CAS
 *   NO_GENERATION  the word does not tell one batch from the next
 */
#ifndef BATCH
#define BATCH 2
#endif
#ifndef BATCHES
#define BATCHES 3
#endif
#define TOTAL (BATCH * BATCHES)
#ifdef NO_GENERATION
#define GENERATION(g) 0
#else
#define GENERATION(g) (g)
#endif

byte generation = 0;            /* the claim word: three fields, always read and written in one step */
byte next = 0;
byte end = 0;
byte slot[BATCH];               /* job numbers */
byte done[TOTAL];

active proctype owner()
{
    byte batch = 0;
    byte i = 0;
    byte mine;

    do
    :: batch == BATCHES -> break
    :: batch < BATCHES ->
       /* The slots are written one by one, and then the word; the first job is the owner's at once. */
       do
       :: i < BATCH -> atomic { slot[i] = batch * BATCH + i; i++ }
       :: i == BATCH -> i = 0; break
       od;
       atomic { batch++; generation = GENERATION(batch); next = 1; end = BATCH };
       mine = (batch - 1) * BATCH;
       done[mine]++;
       assert(done[mine] == 1);
       do
       :: atomic { next < end -> mine = slot[next]; next++; done[mine]++; assert(done[mine] == 1) }
       :: atomic { next >= end -> next++; break }
       :: atomic {
              next < end ->
              do
              :: end > next -> end--; mine = slot[end]; done[mine]++; assert(done[mine] == 1)
              :: else -> break
              od
          }
       od
    od
}

active proctype role()
{
    byte seen_generation;
    byte seen_next;
    byte seen_end;
    byte copy[BATCH];
    byte i;
    byte tries = 0;
#ifdef PLAIN_STORE
    bool stored = true;
#endif

again:
    if
    :: tries == TOTAL -> goto finish
    :: tries < TOTAL -> tries++
    :: true -> goto finish          /* the role need not want anything back */
    fi;
    atomic { seen_generation = generation; seen_next = next; seen_end = end };
    if
    :: seen_next >= seen_end -> goto again
    :: else
    fi;
#ifndef COPY_AFTER
    i = seen_next;
    do
    :: i < seen_end -> atomic { copy[i] = slot[i]; i++ }
    :: i >= seen_end -> break
    od;
#endif
    if
#ifdef PLAIN_STORE
    :: stored -> atomic { generation = seen_generation; next = seen_next; end = seen_next }
#else
    :: atomic { generation == seen_generation && next == seen_next && end == seen_end -> end = seen_next }
    :: atomic { !(generation == seen_generation && next == seen_next && end == seen_end) -> goto again }
#endif
    fi;
#ifdef COPY_AFTER
    i = seen_next;
    do
    :: i < seen_end -> atomic { copy[i] = slot[i]; i++ }
    :: i >= seen_end -> break
    od;
#endif
    i = seen_next;
    do
    :: i < seen_end -> atomic { done[copy[i]]++; assert(done[copy[i]] == 1); i++ }
    :: i >= seen_end -> break
    od;
    goto again;

finish:
    skip
}

init
{
    byte i;
    timeout;
    for (i : 0 .. TOTAL - 1) { assert(done[i] == 1) }
}
