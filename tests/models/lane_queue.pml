/* A lane of the pool (src/sync/lane_queue.hpp): FIFO, deaths anywhere, and compaction of a full ring by whoever meets it.
 *
 * Two rings of CAP cells. It begins full: an item that lives or not, and a dead one behind it. PUSHERS append one item each, a taker
 * takes, and a killer may cancel the first, or one that is being pushed. At most CAP items live, so each push finds room once the dead are
 * gone. A cell is one number: position, slot, kind; a CAS on it is one step, and so is each load. Everything is sequentially consistent,
 * as in the code; but the counts of a new ring are set in one step each, where the code has a loop of a load and a CAS (the controlled
 * scheduler looks at that one: docs/TRUST.md). With one pusher, pusher and taker compact together; checked once with two, incompletely:
 * 9,000,000 states without error.
 *
 * Promises: what is taken is the oldest of all that live and are in the lane (strict FIFO); a taker that finds nothing has not overlooked
 * an item that was there when it began and still is; in the end nothing lives.
 *
 * Twins that must fail:
 *   ASK_AGAIN     who copies asks again whether a kept item lives, so that helpers disagree about the places
 *   KEEP_SEAT     the cell moves and the item's seat does not
 *   LATE_SEAT     the item's seat is set after its cell
 *   BLIND_FILL    (two pushers) a pusher stores into the cell that it saw empty, and does not compare
 */
#ifndef PUSHERS
#define PUSHERS 1
#endif
#define CAP 2
#define SLOTS 4

#define EMPTY 0
#define ITEM 1
#define DROPPED 2
#define KEPT 3
#define CELL(p, s, k) ((p) * 16 + (s) * 4 + (k))
#define POS(c) ((c) >> 4)
#define SLOT(c) (((c) >> 2) & 3)
#define KIND(c) ((c) & 3)
#define FROZEN(c) (KIND(c) >= DROPPED)
#define AT(r, p) cell[(r) * CAP + (p) % CAP]
/* Variables that are of no use any more tell no states apart. */
#define FORGET() e = 0; h = 0; p = 0; low = 0; base = 0; nxt = 0; c = 0; o = 0
#define LIVES(s, p) (alive[s] && seat[s] == (p))

short cell[4];
byte head[2];
byte tail[2];
byte epoch = 0;

bool alive[SLOTS];
byte seat[SLOTS];
byte order[SLOTS];      /* 0: not in the lane yet */
bool pushed[SLOTS];     /* its push has returned */
byte next_order = 3;
byte live = 0;
byte pushers = PUSHERS;

inline cas(r, old, new)
{
    atomic {
        if
        :: AT(r, POS(old)) == old -> AT(r, POS(old)) = new
        :: else
        fi
    }
}

inline step(count, seen)
{
    atomic {
        if
        :: count == seen -> count = seen + 1
        :: else
        fi
    }
}

/* Uses e, c, o, p, low, base, nxt. */
inline compact()
{
    low = 255;
    p = 0;
    do
    :: p == CAP -> break
    :: else ->
       c = cell[(e % 2) * CAP + p];
       if
       :: FROZEN(c) ->
          if
          :: POS(c) < low -> low = POS(c)
          :: else
          fi;
          p++
       :: else ->
          if
          :: KIND(c) == ITEM && LIVES(SLOT(c), POS(c)) -> o = CELL(POS(c), SLOT(c), KEPT)
          :: !(KIND(c) == ITEM && LIVES(SLOT(c), POS(c))) -> o = CELL(POS(c), SLOT(c), DROPPED)
          fi;
          cas(e % 2, c, o)
       fi
    od;
    base = (low / CAP + 2) * CAP;
    nxt = base;
    p = low;
    do
    :: p == low + CAP -> break
    :: else ->
       c = AT(e % 2, p);
       if
       :: POS(c) != p -> goto over
       :: else
       fi;
#ifdef ASK_AGAIN
       if
       :: KIND(c) == KEPT && LIVES(SLOT(c), POS(c)) ->
#else
       if
       :: KIND(c) == KEPT ->
#endif
#ifndef KEEP_SEAT
          atomic {
              if
              :: seat[SLOT(c)] == p -> seat[SLOT(c)] = nxt
              :: else
              fi
          };
#endif
          o = AT((e + 1) % 2, nxt);
          if
          :: POS(o) < base -> cas((e + 1) % 2, o, CELL(nxt, SLOT(c), ITEM))
          :: else
          fi;
          nxt++
       :: else
       fi;
       p++
    od;
    p = nxt;
    do
    :: p == base + CAP -> break
    :: else ->
       o = AT((e + 1) % 2, p);
       if
       :: POS(o) < base -> cas((e + 1) % 2, o, CELL(p, 0, EMPTY))
       :: else
       fi;
       p++
    od;
    atomic {
        if
        :: head[(e + 1) % 2] < base -> head[(e + 1) % 2] = base
        :: else
        fi
    };
    atomic {
        if
        :: tail[(e + 1) % 2] < base -> tail[(e + 1) % 2] = nxt
        :: else
        fi
    };
    step(epoch, e)
}

/* The dead item in c leaves its cell, unless the cell is frozen; then the head goes on. */
inline remove()
{
    o = CELL(POS(c) + CAP, 0, EMPTY);
    cas(e % 2, c, o);
    if
    :: POS(AT(e % 2, POS(c))) == POS(c) + CAP -> step(head[e % 2], POS(c))
    :: else
    fi
}

proctype pusher(byte s)
{
    byte e, t, p, low, base, nxt, h;
    short c, o;
    bool mine;

    atomic { live < CAP -> live++; alive[s] = true };
again:
    e = epoch;
    t = tail[e % 2];
    c = AT(e % 2, t);
    if
    :: FROZEN(c) -> compact()
    :: !FROZEN(c) && POS(c) == t && KIND(c) == EMPTY ->
#ifndef LATE_SEAT
       seat[s] = t;
#endif
       atomic {
#ifdef BLIND_FILL
           AT(e % 2, t) = CELL(t, s, ITEM); mine = true; order[s] = next_order; next_order++
#else
           if
           :: AT(e % 2, t) == c -> AT(e % 2, t) = CELL(t, s, ITEM); mine = true; order[s] = next_order; next_order++
           :: else
           fi
#endif
       };
       if
       :: mine ->
#ifdef LATE_SEAT
          seat[s] = t;
#endif
          step(tail[e % 2], t);
          goto done
       :: else
       fi
    :: !FROZEN(c) && POS(c) == t && KIND(c) == ITEM -> step(tail[e % 2], t)
    :: !FROZEN(c) && POS(c) == t + CAP -> step(tail[e % 2], t)
    :: !FROZEN(c) && POS(c) > t && POS(c) != t + CAP -> skip
    :: !FROZEN(c) && POS(c) < t ->
       h = head[e % 2];
       c = AT(e % 2, h);
       if
       :: POS(c) != h ->
          if
          :: POS(c) == h + CAP -> step(head[e % 2], h)
          :: else
          fi
       :: POS(c) == h && KIND(c) == EMPTY -> skip
       :: POS(c) == h && FROZEN(c) -> compact()
       :: POS(c) == h && KIND(c) == ITEM ->
          if
          :: LIVES(SLOT(c), h) -> compact()
          :: !LIVES(SLOT(c), h) -> remove()
          fi
       fi
    fi;
over:
    atomic { FORGET(); t = 0 };
    goto again;
done:
    atomic { FORGET(); t = 0; mine = false };
    atomic { pushed[s] = true; pushers-- }
}

proctype taker()
{
    byte e, h, p, low, base, nxt, i;
    short c, o;
    bool there[SLOTS];

begin:
    skip;
    d_step {
        for (i : 0 .. SLOTS - 1) { there[i] = pushed[i] && alive[i] }
        i = 0
    };
again:
    e = epoch;
    h = head[e % 2];
    c = AT(e % 2, h);
    if
    :: POS(c) != h ->
       if
       :: POS(c) == h + CAP -> step(head[e % 2], h)
       :: else
       fi
    :: POS(c) == h && FROZEN(c) -> compact()
    :: POS(c) == h && KIND(c) == EMPTY ->
       d_step {
           for (i : 0 .. SLOTS - 1) { assert(!(there[i] && alive[i])); there[i] = false }
           i = 0
       };
       goto nothing
    :: POS(c) == h && KIND(c) == ITEM ->
       atomic {
           if
           :: LIVES(SLOT(c), h) ->
              alive[SLOT(c)] = false;
              live--;
              for (i : 0 .. SLOTS - 1) { assert(!(alive[i] && order[i] != 0 && order[i] < order[SLOT(c)])) }
              i = 0
           :: else
           fi
       };
       remove()
    fi;
over:
    atomic { FORGET() };
    goto again;
nothing:
    atomic { FORGET() };
end_asleep:
    atomic { alive[0] && order[0] != 0 || alive[1] && order[1] != 0 || alive[2] && order[2] != 0 || alive[3] && order[3] != 0 };
    goto begin
}

proctype killer()
{
    if
    :: true
    :: atomic { alive[0] -> alive[0] = false; live-- }
    :: atomic { alive[2] -> alive[2] = false; live-- }
    fi
}

init
{
    atomic {
        cell[0] = CELL(2, 0, ITEM);
        cell[1] = CELL(3, 1, ITEM);
        cell[2] = CELL(0, 0, DROPPED);
        cell[3] = CELL(1, 0, DROPPED);
        head[0] = 2;
        tail[0] = 4;
        seat[0] = 2;
        seat[1] = 3;
        order[0] = 1;
        order[1] = 2;
        pushed[0] = true;
        pushed[1] = true;
        if
        :: alive[0] = true; live++
        :: true
        fi;
        run pusher(2);
#if PUSHERS > 1
        run pusher(3);
#endif
        run taker();
        run killer()
    }
    timeout;
    assert(pushers == 0 && live == 0)
}
