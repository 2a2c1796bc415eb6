// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

/* Sleeping and waking. Nobody here has a time-out (except where the kernel says that the other side is
 * dead), so a wake-up that is lost stays lost: when nothing moves any more, `Quiet` looks whether everyone
 * who sleeps does so rightly. A producer that may stop after any sample makes each publication the last
 * one in some run, so that no later wake-up hides that one was missing.
 *
 * The samples themselves are in reuse.pml. See README.md for the switches.
 */

#ifndef WRITERS
#define WRITERS 1 /* threads of the producer that claim and publish */
#endif
#ifndef CAPACITY
#define CAPACITY 2
#endif
#ifndef SAMPLES
#define SAMPLES 3
#endif
#define CONSUMERS 2

#define PUBLISHED 0
#define SLEEPING_ON 1 /* 0, or 1 + the consumer whose desk the producer sleeps on */
#define P_WANTED 2
#define PRIVATE 3
#define MUTEX 4
#define CONSUMER_ID(c) (5 + (c)) /* 1: the consumer has its place; 0: revoked */
#define WAKE_WORD(c) (7 + (c))
#define RELEASED(c) (9 + (c))
#define WORD(c) (11 + (c))
#define C_SLEEPING(c) (13 + (c))
#define C_WANTED(c) (15 + (c))
#define LOCATIONS 17

#define WRITER(w) (2 + (w)) /* thread numbers; the consumers are 0 and 1 */
#define KEEPER (2 + WRITERS)
#define THREADS (3 + WRITERS)
#define DEPTH 4
#include "store_buffer.pml"

#define NOBODY 9

/* What the kernel knows. */
bool killed[CONSUMERS];
bool producer_killed;
bool dozing[CONSUMERS]; /* asleep on its wake word */
byte claimer_dozes;     /* 0: awake; 1 + c: on c's desk and the private word; NOBODY: on the latter */
bool done[CONSUMERS];
bool writers_done;

/* The producer's own book, under its admission lock. */
bool gates[CONSUMERS];
byte next;
byte published;
byte ready; /* a bit per position */
bool claimer_turn;
#ifdef EVICTS
bool may_evict = true;
#endif
#ifdef JOINS_LATE
bool joins = true;
bool welcome;
byte joined_at;
#endif
bool stopped; /* makes no further sample, without telling anybody */

/* A pidfd becomes readable after everything that the process did. */
#define consumer_is_dead(c) (killed[c] && empty(c))
#if WRITERS == 1
#define producer_is_dead (producer_killed && empty(WRITER(0)) && empty(KEEPER))
#else
#define producer_is_dead (producer_killed && empty(WRITER(0)) && empty(WRITER(1)) && empty(KEEPER))
#endif

inline lock(thread) { d_step { empty(thread) && memory[MUTEX] == 0 -> memory[MUTEX] = 1 } }
/* Waits for the buffer, as x86's locked instruction does. Where that could hide a missing fence, the lock is
 * left with a store_release instead. */
inline unlock(thread) { d_step { empty(thread) -> memory[MUTEX] = 0 } }

inline wake_consumer(c) { dozing[c] = false }
inline wake_claimer_on_desk(c) {
  d_step {
    if
    :: claimer_dozes == 1 + c -> claimer_dozes = 0
    :: else
    fi
  }
}
inline wake_claimer() { claimer_dozes = 0 }

/* One look at all desks. Reading them at one instant loses nothing: `released` only grows, so that a
 * gate made of older values is what an earlier look would have said. */
inline look_at_gate(thread) {
  d_step {
    slowest = NOBODY;
    gate = 0;
    if
    :: gates[0] -> slowest = 0; gate = memory[RELEASED(0)] + CAPACITY
    :: else
    fi;
    if
    :: gates[1] && (slowest == NOBODY || memory[RELEASED(1)] + CAPACITY < gate) ->
       slowest = 1;
       gate = memory[RELEASED(1)] + CAPACITY
    :: else
    fi
  }
}

#ifdef NO_FENCE_PRODUCER_FLAG
#define empty_unless_broken(thread) true
#else
#define empty_unless_broken(thread) empty(thread) /* the full fence, with the load that follows it */
#endif

/* Reads whether consumer c sleeps until `published` or less, and wakes it if so. */
inline ring_if_waiting(c) {
  if
  :: gates[c] ->
     atomic { empty_unless_broken(WRITER(w)) -> load(WRITER(w), C_SLEEPING(c), seen) };
     if
     :: seen ->
        load(WRITER(w), C_WANTED(c), seen);
        if
        :: seen <= published -> atomic { increment(WRITER(w), WAKE_WORD(c)); rings[c] = true }
        :: else
        fi
     :: else
     fi;
     seen = 0
  :: else
  fi
}

proctype Writer(byte w) {
  byte position, gate, slowest, announced, word, private, seen;
  bool rings[CONSUMERS];
  {
    skip;
claim:
    /* Taking a lock and what is done first under it are one step: nobody can tell them apart. */
    atomic {
      /* One thread at a time waits for space. */
      !claimer_turn && empty(WRITER(w)) && memory[MUTEX] == 0 -> memory[MUTEX] = 1;
again:
      if
      :: next == SAMPLES || stopped -> claimer_turn = false; unlock(WRITER(w)); goto finished
      :: else
      fi;
      look_at_gate(WRITER(w));
      if
      :: next < gate ->
         position = next;
         next++;
         gate = 0;
         slowest = 0;
         claimer_turn = false;
         unlock(WRITER(w));
         goto fill
      :: else -> claimer_turn = true
      fi
    };
    load(WRITER(w), PRIVATE, private);
    if
    :: slowest != NOBODY ->
       atomic {
         room(WRITER(w), 2);
         load(WRITER(w), WORD(slowest), word);
         store(WRITER(w), P_WANTED, next + 1 - CAPACITY);
         store(WRITER(w), SLEEPING_ON, 1 + slowest)
       };
       /* The second look: whatever was let go of before the sleep was announced. */
       atomic {
#ifdef NO_FENCE_PRODUCER_SLEEP
         room(WRITER(w), 2);
#else
         full_fence(WRITER(w));
#endif
#ifndef NO_SECOND_LOOK_PRODUCER
         announced = slowest;
         look_at_gate(WRITER(w));
#ifdef SLEEP_ON_OLD_SLOWEST
         slowest = announced;
#endif
         if
         /* Another may be the slowest by now: the one announced let go between the look at its desk and
          * the reading of its word, and would never ring for what the other one holds. Start over. */
         :: next < gate || slowest != announced ->
            announced = 0;
            word = 0;
            private = 0;
            store(WRITER(w), SLEEPING_ON, 0);
            goto again
         :: else -> announced = 0
         fi;
#endif
         /* Here the lock's release may take its time: no fence of its own may stand in for the one above. */
         store_release(WRITER(w), MUTEX, 0)
       }
    :: else -> unlock(WRITER(w))
    fi;
    atomic { /* futex_waitv */
      if
      :: memory[PRIVATE] == private && slowest == NOBODY -> claimer_dozes = NOBODY
      :: memory[PRIVATE] == private && slowest != NOBODY && memory[WORD(slowest)] == word ->
         claimer_dozes = 1 + slowest
      :: else
      fi;
      gate = 0;
      slowest = 0;
      word = 0;
      private = 0
    };
    atomic {
      claimer_dozes == 0 -> lock(WRITER(w));
      store(WRITER(w), SLEEPING_ON, 0);
      goto again
    };

fill:
    atomic { /* any time may have passed, and another thread have published a later sample */
      lock(WRITER(w));
      ready = ready | (1 << position);
      if
      :: published != position -> position = 0; unlock(WRITER(w)); goto claim
      :: else
      fi;
      position = 0;
      do
      :: (ready >> published) & 1 -> published++
      :: else -> break
      od;
      store_release(WRITER(w), PUBLISHED, published)
    };
    ring_if_waiting(0);
    ring_if_waiting(1);
    unlock(WRITER(w));
    /* The calls come after the lock. */
    if
    :: rings[0] -> atomic { rings[0] = false; wake_consumer(0) }
    :: else
    fi;
    if
    :: rings[1] -> atomic { rings[1] = false; wake_consumer(1) }
    :: else
    fi;
#if defined(KILLS_PRODUCER) || defined(EVICTS)
    goto claim;
#else
    if
    :: stopped = true; goto claim
    :: goto claim
    fi;
#endif
finished:
    writers_done = true
  } unless {
    atomic {
      producer_killed;
      position = 0;
      gate = 0;
      slowest = 0;
      announced = 0;
      word = 0;
      private = 0;
      seen = 0;
      rings[0] = false;
      rings[1] = false;
      claimer_dozes = 0;
      claimer_turn = false;
      stopped = false;
      next = 0;
      published = 0;
      ready = 0
    }
  }
}

/* Takes consumer c's desk out of the gate, because it died, left or is evicted. Under the lock. */
inline drop(c) {
  atomic { lock(KEEPER); gates[c] = false; store(KEEPER, CONSUMER_ID(c), 0) };
  if
  :: killed[c] ->
     d_step { /* nobody reads its words again; equal states for Spin */
       memory[RELEASED(c)] = 0;
       memory[WORD(c)] = 0;
       memory[C_SLEEPING(c)] = 0;
       memory[C_WANTED(c)] = 0;
       memory[WAKE_WORD(c)] = 0
     }
  :: else ->
#ifdef NO_WAKE_ON_EVICTION
     skip
#else
     atomic { increment(KEEPER, WAKE_WORD(c)) };
     wake_consumer(c)
#endif
  fi;
#ifndef NO_BUMP_ON_DEATH
  increment(KEEPER, PRIVATE);
  atomic { wake_claimer(); unlock(KEEPER) }
#else
  unlock(KEEPER)
#endif
}

/* The producer's thread that watches pidfds and takes commands. */
proctype Keeper() {
  {
    do
    :: false
#ifdef KILLS_CONSUMER
    :: gates[KILLS_CONSUMER] && consumer_is_dead(KILLS_CONSUMER) ->
       drop(KILLS_CONSUMER)
#endif
#ifdef EVICTS
    /* A live one, without any reason. */
    :: may_evict -> may_evict = false; drop(EVICTS)
#endif
#ifdef JOINS_LATE
    :: joins ->
       atomic { lock(KEEPER); joins = false };
       /* The desk is the producer's until the welcome is sent. */
       d_step {
         memory[RELEASED(1)] = published;
         joined_at = published;
         gates[1] = true
       };
#ifndef NO_BUMP_ON_ADMISSION
       increment(KEEPER, PRIVATE);
       wake_claimer();
#endif
       atomic { unlock(KEEPER); welcome = true }
#endif
    od
  } unless { producer_killed }
}

#ifdef NO_FENCE_CONSUMER_FLAG
#define announced_unless_broken(thread) room(thread, 1)
#else
#define announced_unless_broken(thread) empty(thread)
#endif

#ifdef EVICTS
inline leave_if_revoked(me) {
  atomic {
    load(me, CONSUMER_ID(me), seen);
    if
    :: seen == 0 -> goto over
    :: else -> seen = 0
    fi
  }
}
#else
inline leave_if_revoked(me) { skip }
#endif

/* Takes `batch` samples at a time, fewer at the end, and lets go of them at once. */
proctype Consumer(byte me, batch) {
  byte position, need, seen, slept_at;
  bool producer_gone;
  {
#ifdef JOINS_LATE
    if
    :: me == 1 -> welcome -> position = joined_at
    :: else
    fi;
#endif
    skip;
look:
    atomic {
      if
      :: position == SAMPLES -> goto over
      :: else
      fi;
      need = (position + batch < SAMPLES -> position + batch : SAMPLES);
      load(me, PUBLISHED, seen);
      if
      :: seen < need && producer_gone && seen == position -> goto over
      :: seen < need && producer_gone && seen > position -> need = seen; goto have
      :: seen >= need -> goto have
      :: else
      fi
    };
    atomic {
      room(me, 2);
      load(me, WAKE_WORD(me), slept_at);
      store(me, C_WANTED(me), need);
      store(me, C_SLEEPING(me), 1)
    };
    atomic {
      announced_unless_broken(me);
#ifdef NO_SECOND_LOOK_CONSUMER
      seen = 0
#else
      load(me, PUBLISHED, seen);
      if
      :: seen >= need -> slept_at = 0; store(me, C_SLEEPING(me), 0); goto have
      :: else -> seen = 0
      fi
#endif
    };
    leave_if_revoked(me);
    atomic { /* futex_wait */
      if
      :: memory[WAKE_WORD(me)] == slept_at -> dozing[me] = true
      :: else
      fi;
      slept_at = 0
    };
    atomic {
      if
      :: !dozing[me]
      :: dozing[me] && producer_is_dead -> dozing[me] = false; producer_gone = true /* time-out */
      fi;
      room(me, 1);
      store(me, C_SLEEPING(me), 0)
    };
    leave_if_revoked(me);
    goto look;

have:
    atomic {
      room(me, 1);
      position = need;
      need = 0;
      seen = 0;
      store_release(me, RELEASED(me), position)
    };
#ifdef NO_FENCE_RELEASE
    /* An increment that orders nothing: load and store. */
    atomic { room(me, 1); load(me, WORD(me), seen); store(me, WORD(me), seen + 1) };
#else
    increment(me, WORD(me));
#endif
    load(me, SLEEPING_ON, seen);
    if
    :: seen == 1 + me ->
       load(me, P_WANTED, seen);
       if
       :: seen <= position -> wake_claimer_on_desk(me)
       :: else
       fi
    :: else
    fi;
    goto look;
over:
    atomic { position = 0; need = 0; seen = 0; done[me] = true }
  } unless {
    /* Equal states for Spin, wherever it was killed. */
    atomic {
      killed[me];
      position = 0;
      need = 0;
      seen = 0;
      slept_at = 0;
      producer_gone = false;
      dozing[me] = false
    }
  }
}

/* What is bound to happen, at any time. (That it never does is what the run without it checks.) */
proctype Fate() {
#ifdef KILLS_CONSUMER
  killed[KILLS_CONSUMER] = true;
#endif
#ifdef KILLS_PRODUCER
  producer_killed = true;
#endif
  skip
}

#define sleeps_rightly(c) \
  (dozing[c] && !producer_killed && memory[CONSUMER_ID(c)] != 0 && memory[PUBLISHED] < memory[C_WANTED(c)])
#define consumer_is_well(c) (killed[c] || done[c] || sleeps_rightly(c))

/* Runs when nothing else can. */
proctype Quiet() {
  timeout;
  d_step {
    assert(producer_killed || memory[PUBLISHED] == published);
    /* Nobody sleeps whose condition holds, and nobody waits for the lock. */
    assert(consumer_is_well(0) && consumer_is_well(1));
    /* A dead producer's consumers have had all that it published. */
    assert(!producer_killed || killed[0] || done[0]);
    assert(!producer_killed || killed[1] || done[1]);
    /* The producer sleeps for space only if there is none. */
    if
    :: !producer_killed && !writers_done ->
       assert(claimer_dozes != 0);
       assert(!gates[0] || memory[RELEASED(0)] + CAPACITY <= next || !gates[1] ||
              memory[RELEASED(1)] + CAPACITY <= next);
       assert(gates[0] || !gates[1] || memory[RELEASED(1)] + CAPACITY <= next);
       assert(gates[1] || !gates[0] || memory[RELEASED(0)] + CAPACITY <= next);
       /* A live consumer that does not gate any more never blocks; one that gates always goes on. */
       assert((!gates[0] && !gates[1]) || stopped)
    :: else
    fi
  }
}

init {
  atomic {
    memory[CONSUMER_ID(0)] = 1;
    memory[CONSUMER_ID(1)] = 1;
    gates[0] = true;
#ifndef JOINS_LATE
    gates[1] = true;
#endif
    run Memory();
    run Writer(0);
#if WRITERS > 1
    run Writer(1);
#endif
    run Keeper();
    run Consumer(0, 1);
    run Consumer(1, CAPACITY);
    run Fate();
    run Quiet()
  }
}
