// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

/* Writing again where somebody may still read: tickets, `claimed`, `published`, `released`, eviction and
 * readers of `free` pace. Nobody sleeps here: who has nothing to do waits until there is something (see
 * wake.pml for how it learns of that).
 *
 * A sample is one cell that holds its position + 1; a loan's first store is DIRT, so that a sample half
 * written, or of a loan that was dropped, is never taken for a whole one. Two threads of the producer take
 * loans, publish them in any order, or drop them. Consumer 0 is of `lockstep` pace, holds up to two leases
 * and returns them in either order; consumer 1 is chosen by a switch. See README.md.
 */

#ifndef CAPACITY
#define CAPACITY 2
#endif
#ifndef SAMPLES
#define SAMPLES 4
#endif
#define EPOCH 2
#define DIRT 99

#define CLAIMED 0
#define PUBLISHED 1
#define MUTEX 2
#define RELEASED(c) (3 + (c))
#define CONSUMER_ID(c) (5 + (c))
#define SLOT(p) (7 + (p) % CAPACITY)
#define LOCATIONS (7 + CAPACITY)

#define WRITER(w) (w) /* thread numbers; consumers store nothing that needs a buffer but `released` */
#define READER(c) (2 + (c))
#define KEEPER 4
#define THREADS 5
#define DEPTH 4
/* Whenever something reaches the memory: claimed never falls, and what is published was claimed. */
#ifndef CLAIM_AFTER_BYTES
#define INVARIANT(place, value)                                    \
  assert(place != CLAIMED || value >= memory[CLAIMED]);            \
  assert(place != PUBLISHED || value <= memory[CLAIMED])
#endif
#include "store_buffer.pml"

bool killed[2];
bool done[2];
bool gates[2];
bool attached[2]; /* consumer 1 may come later */
byte joined_at[2];
byte next;
byte claimed;
byte published;
byte ready; /* a bit per position */
bool failed;

#define unlocked(thread) (empty(thread) && memory[MUTEX] == 0)
inline unlock(thread) { store_release(thread, MUTEX, 0) }

/* The gate. Looking at all desks at one instant loses nothing: `released` only grows, so older values give
 * a lower gate. */
#define lets_pass(c, p) (!gates[c] || (p) < memory[RELEASED(c)] + CAPACITY)
#ifdef NO_PUBLISHED_LIMIT
#define is_published_enough(p) true
#else
/* Consumers may stand beyond what is published: two samples must not share a place even then. */
#define is_published_enough(p) ((p) < published + CAPACITY)
#endif
#define is_free(p) (lets_pass(0, p) && lets_pass(1, p) && is_published_enough(p))

inline advance(w) {
  if
  :: (ready >> published) & 1 && !failed ->
     do
     :: (ready >> published) & 1 -> published++
     :: else -> break
     od;
     store_release(WRITER(w), PUBLISHED, published)
  :: else
  fi
}

proctype Writer(byte w) {
  byte position;
  do
  /* Every critical section is one step: the lock before it and the (delayed) unlocking after it. */
  :: atomic {
       unlocked(WRITER(w)) && !failed && next < SAMPLES && is_free(next) ->
       memory[MUTEX] = 1;
       position = next;
       next++;
       claimed = (next > claimed -> next : claimed);
#ifndef CLAIM_AFTER_BYTES
       store(WRITER(w), CLAIMED, claimed);
#ifndef NO_FENCE_AFTER_CLAIM
       release_fence(WRITER(w));
#endif
#endif
       unlock(WRITER(w))
     };
#ifdef PUBLISH_BEFORE_BYTES
     atomic {
       unlocked(WRITER(w)) -> memory[MUTEX] = 1;
       ready = ready | (1 << position);
       advance(w);
       unlock(WRITER(w))
     };
#endif
     atomic { room(WRITER(w), 1) -> store(WRITER(w), SLOT(position), DIRT) };
     if
     :: atomic { room(WRITER(w), 1) -> store(WRITER(w), SLOT(position), position + 1) };
#ifdef CLAIM_AFTER_BYTES
        atomic { room(WRITER(w), 1) -> store(WRITER(w), CLAIMED, claimed) };
#endif
#ifndef PUBLISH_BEFORE_BYTES
        atomic {
          unlocked(WRITER(w)) -> memory[MUTEX] = 1;
          ready = ready | (1 << position);
       advance(w);
          unlock(WRITER(w))
        }
#endif
        position = 0
#ifdef DROPS
     :: atomic { /* dropped unpublished */
          unlocked(WRITER(w)) -> memory[MUTEX] = 1;
          if
          :: position + 1 == next ->
             next = position;
#ifdef CLAIMED_FALLS
             claimed = next;
             store(WRITER(w), CLAIMED, claimed);
#endif
#ifdef HOLE_PUBLISHED
          :: position + 1 < next -> ready = ready | (1 << position); advance(w)
#else
          :: position + 1 < next -> failed = true
#endif
          fi;
          position = 0;
          unlock(WRITER(w))
        }
#endif
     fi
  :: failed || published == SAMPLES -> break
  od
}

/* Reads position p, then looks whether it still had a right to. */
inline read_and_check(me, p) {
#ifdef CHECK_BEFORE_BYTES
  load(READER(me), CONSUMER_ID(me), consumer_id);
  load(READER(me), SLOT(p), seen);
#else
  load(READER(me), SLOT(p), seen);
  load(READER(me), CONSUMER_ID(me), consumer_id);
#endif
  atomic {
    if
    :: consumer_id == 0 -> goto over /* Revoked: at most this sample was torn, and its reader knows */
    :: else -> assert(seen == (p) + 1)
    fi;
    seen = 0;
    consumer_id = 0
  }
}

/* `lockstep`: at most two leases of one sample each, [released, position); the newer one may be returned
 * first, and is let go of with the older one. */
proctype Lockstep(byte me) {
  byte position, released, seen, consumer_id;
  bool newer_returned;
  {
    attached[me];
    atomic { position = joined_at[me]; released = position };
    do
    :: memory[PUBLISHED] > position && position - released < 2 && position < released + CAPACITY ->
       position++
#ifdef RELEASE_EARLY
    :: position > released && !newer_returned ->
       atomic { room(READER(me), 1); store_release(READER(me), RELEASED(me), released + 1) };
       read_and_check(me, released);
       released++
#else
    :: position > released ->
       read_and_check(me, released);
       atomic {
         room(READER(me), 1);
         released = (newer_returned -> released + 2 : released + 1);
         newer_returned = false;
         store_release(READER(me), RELEASED(me), released)
       }
    :: position == released + 2 && !newer_returned ->
       read_and_check(me, released + 1);
       newer_returned = true
#endif
#ifdef LEAVES_EARLY
    /* Leaves the loop in the middle of the first epoch, and lets go of the rest of it. */
    :: atomic {
         me == 0 && released == position && position < EPOCH && room(READER(me), 1) ->
         position = EPOCH;
         released = EPOCH;
         store_release(READER(me), RELEASED(me), released)
       }
#endif
    :: released == SAMPLES -> break
    od;
over:
    atomic { position = 0; released = 0; seen = 0; consumer_id = 0; done[me] = true }
  } unless {
    atomic {
      killed[me];
      position = 0;
      released = 0;
      seen = 0;
      consumer_id = 0;
      newer_returned = false
    }
  }
}

/* `free`: does not gate; copies, then looks whether the place could have been written meanwhile. */
proctype Free(byte me) {
  byte position, seen, limit;
  do
  :: memory[PUBLISHED] > position ->
#ifdef CHECK_BEFORE_BYTES
     load(READER(me), CLAIMED, limit);
     load(READER(me), SLOT(position), seen);
#else
     load(READER(me), SLOT(position), seen);
     load(READER(me), CLAIMED, limit);
#endif
     atomic {
       if
       :: limit <= position + CAPACITY -> assert(seen == position + 1); position++
       :: else -> position = limit - CAPACITY
       fi;
       seen = 0;
       limit = 0
     }
  :: position == SAMPLES -> break
  od;
  done[me] = true
}

/* The producer's thread that admits and evicts. */
proctype Keeper() {
  skip;
#ifdef KILLS
  /* Whatever the dead one had held is free at once. */
  atomic { killed[0] && empty(READER(0)) && unlocked(KEEPER) -> gates[0] = false };
#endif
#ifdef EVICTS
  atomic {
    unlocked(KEEPER) ->
#ifndef EVICT_WITHOUT_REVOKE
    memory[MUTEX] = 1;
    store(KEEPER, CONSUMER_ID(0), 0);
    release_fence(KEEPER);
    unlock(KEEPER);
#endif
    gates[0] = false
  };
#endif
#ifdef JOINS_LATE
  /* As far back as the ring reaches. The desk is the producer's until the welcome is sent. */
  atomic {
    unlocked(KEEPER) ->
#ifdef ADMIT_BY_PUBLISHED
    joined_at[1] = (published > CAPACITY -> published - CAPACITY : 0);
#else
    joined_at[1] = (claimed > CAPACITY -> claimed - CAPACITY : 0);
#endif
    memory[RELEASED(1)] = joined_at[1];
    gates[1] = true;
    attached[1] = true
  };
#endif
  skip
}

proctype Fate() {
  skip;
#ifdef KILLS
  killed[0] = true
#endif
}

/* Runs when nothing else can: everything was delivered. */
proctype Quiet() {
  timeout;
  assert(failed || (published == SAMPLES && (done[0] || killed[0]) && (done[1] || !attached[1])))
}

init {
  atomic {
    memory[CONSUMER_ID(0)] = 1;
    memory[CONSUMER_ID(1)] = 1;
    gates[0] = true;
    attached[0] = true;
    run Memory();
    run Writer(0);
    run Writer(1);
    run Keeper();
    run Lockstep(0);
#ifdef JOINS_LATE
    run Lockstep(1);
#endif
#ifdef FREE
    attached[1] = true;
    run Free(1);
#endif
    run Fate();
    run Quiet()
  }
}
