/* A lane of the pool (src/sync/lane_queue.hpp): FIFO, deaths anywhere, and compaction of a full ring by whoever meets it.
 *
 * Two rings of CAP cells. It begins full: two items, each alive or dead; two pushers want to append one each, a taker takes, and a
 * killer cancels what it likes. At most CAP items live, so each push finds room once the dead are gone. A cell is one number: position
 * << 4 | slot << 2 | kind; a CAS on it is one step, and so is each load. Everything is sequentially consistent, as in the code.
 *
 * Promises: what is taken is the oldest of all that live and are in the lane (strict FIFO); a taker that finds nothing has not overlooked
 * an item that was there when it began and still is; in the end nothing lives.
 *
 * Twins that must fail:
 *   ASK_AGAIN     who copies asks again whether a kept item lives, so that helpers disagree about the places
 *   EARLY_SWITCH  the new ring is made current before it is whole
 *   KEEP_SEAT     the cell moves and the item's seat does not
 *   BLIND_FILL    a pusher stores into the cell that it saw empty, and does not compare
 */
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
byte pushers = 2;

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
#ifdef EARLY_SWITCH
    step(epoch, e);
#endif
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
       seat[s] = t;
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
       :: mine -> step(tail[e % 2], t); goto done
       :: else
       fi
    :: !FROZEN(c) && POS(c) == t && KIND(c) == ITEM -> step(tail[e % 2], t)
    :: !FROZEN(c) && POS(c) > t -> skip
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
    goto again;
done:
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
    goto again;
nothing:
end_asleep:
    atomic { alive[0] && order[0] != 0 || alive[1] && order[1] != 0 || alive[2] && order[2] != 0 || alive[3] && order[3] != 0 };
    goto begin
}

proctype killer()
{
    byte kills = 2;
    do
    :: kills == 0 -> break
    :: kills > 0 -> break
    :: atomic { kills > 0 && alive[0] -> alive[0] = false; live--; kills-- }
    :: atomic { kills > 0 && alive[1] -> alive[1] = false; live--; kills-- }
    :: atomic { kills > 0 && alive[2] -> alive[2] = false; live--; kills-- }
    od
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
        if
        :: alive[1] = true; live++
        :: true
        fi;
        run pusher(2);
        run pusher(3);
        run taker();
        run killer()
    }
    timeout;
    assert(pushers == 0 && live == 0)
}
