// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

/* Taking rows, and sleeping for them. One or two workers claim positions, take rows in the order of
 * positions, and publish. One may sleep for rows while the other sleeps for a position. Consumers cut batches
 * by a budget; the second one, or the only one, keeps each batch until the next one needs its room.
 * Sleeps have no time-out, so a
 * wake-up that is lost stays lost: when nothing moves any more, `Quiet` looks who sleeps, and why.
 *
 * LENGTHS has the rows of samples, three bits each, the first one lowest. See README.md for the switches.
 */

#ifndef WORKERS
#define WORKERS 1
#endif
#ifndef CAPACITY
#define CAPACITY 2
#endif
#ifndef SAMPLES
#define SAMPLES 3
#endif
#ifndef ARENA
#define ARENA 3
#endif
#ifndef LENGTHS
#define LENGTHS 146 /* 2, 2, 2 */
#endif
#ifndef BUDGET_0
#define BUDGET_0 3
#endif
#ifndef BUDGET_1
#define BUDGET_1 2
#endif

#define PUBLISHED 0
#define SLEEPING_ON 1 /* 0, or 1 + the consumer whose desk the claimer sleeps on */
#define P_WANTED 2
#define ROWS_ON 3 /* the same, of the worker that sleeps for rows */
#define ROWS_WANTED 4
#define WAITS_FOR 5 /* the announcement: 0, or 1 + the position that does not fit */
#define PRIVATE 6
#define MUTEX 7
#define WAKE_WORD(c) (8 + (c))
#define RELEASED(c) (10 + (c))
#define WORD(c) (12 + (c))
#define C_SLEEPING(c) (14 + (c))
#define C_WANTED(c) (16 + (c))
#define C_WANTED_ROW(c) (18 + (c))
#define LOCATIONS 20

#define WORKER(w) (2 + (w)) /* thread numbers; the consumers are 0 and 1 */
#define THREADS (2 + WORKERS)
#define DEPTH 4
#include "store_buffer.pml"
/* No thread loads a place that it stores to, so loads need not look into its buffer. */

#define NOBODY 9

#define length_of(p) ((LENGTHS >> (3 * (p))) & 7)
/* The row of the first sample, ... of the fifth: what a table says. */
#define row_of(p) \
  ((p > 0 -> length_of(0) : 0) + (p > 1 -> length_of(1) : 0) + (p > 2 -> length_of(2) : 0) + \
   (p > 3 -> length_of(3) : 0))

bool dozing[2];    /* a consumer, asleep on its wake word */
byte dozes_on[2];  /* a worker: 0: awake; 1 + c: on c's desk and the private word; NOBODY: on the latter */
bool done[2];
byte workers_done;

/* The producer's own book, under its admission lock. */
byte next;
byte with_rows; /* positions below it have rows */
byte published;
byte ready; /* a bit per position */
bool claimer_turn;
bool stopped; /* makes no further sample, without telling anybody */

inline lock(thread) { d_step { empty(thread) && memory[MUTEX] == 0 -> memory[MUTEX] = 1 } }
inline unlock(thread) { d_step { empty(thread) -> memory[MUTEX] = 0 } }

inline wake_consumer(c) { dozing[c] = false }
inline wake_desk(c) {
  d_step {
    if
    :: dozes_on[0] == 1 + c -> dozes_on[0] = 0
    :: else
    fi;
    if
    :: dozes_on[1] == 1 + c -> dozes_on[1] = 0
    :: else
    fi
  }
}
/* The private word: whoever sleeps in the producer. */
inline bump(thread) { atomic { increment(thread, PRIVATE); dozes_on[0] = 0; dozes_on[1] = 0 } }

inline look_at_slowest() {
  d_step {
    slowest = (memory[RELEASED(0)] <= memory[RELEASED(1)] -> 0 : 1);
    kept = memory[RELEASED(slowest)]
  }
}
#define rows_fit(position, kept) \
  (row_of(position) + length_of(position) <= row_of((kept < published -> kept : published)) + ARENA)

/* Reads whether consumer c sleeps for what is published now, and wakes it if so. */
inline ring_if_waiting(c) {
  atomic { empty(WORKER(w)) -> seen = memory[C_SLEEPING(c)] };
  if
  :: seen ->
     seen = memory[C_WANTED(c)];
     wanted = memory[C_WANTED_ROW(c)];
#ifdef NO_ROW_WAKE
     wanted = 255;
#endif
     if
     :: seen <= published || wanted <= row_of(published) -> increment(WORKER(w), WAKE_WORD(c)); wake_consumer(c)
     :: else
     fi;
     wanted = 0
  :: else
  fi;
  seen = 0
}

inline ring_if_asleep(c) {
#ifdef NO_FENCE_ANNOUNCEMENT
  seen = memory[C_SLEEPING(c)];
#else
  atomic { empty(WORKER(w)) -> seen = memory[C_SLEEPING(c)] };
#endif
  if
  :: seen -> increment(WORKER(w), WAKE_WORD(c)); wake_consumer(c)
  :: else
  fi;
  seen = 0
}

#ifdef ONE_PAIR /* row sleeper and claimer write over each other */
#define ON(rows) SLEEPING_ON
#define WANTED(rows) P_WANTED
#else
#define ON(rows) (rows -> ROWS_ON : SLEEPING_ON)
#define WANTED(rows) (rows -> ROWS_WANTED : P_WANTED)
#endif

/* Sleeps until consumer `slowest` has released up to `wanted`. The mutex is held before and after. */
inline doze(rows) {
  private = memory[PRIVATE];
  word = memory[WORD(slowest)];
  atomic {
    room(WORKER(w), 2);
    store(WORKER(w), WANTED(rows), wanted);
    store(WORKER(w), ON(rows), 1 + slowest)
  };
  atomic {
    full_fence(WORKER(w));
    announced = slowest;
    look_at_slowest();
    if
    :: rows -> open = rows_fit(position, kept)
    :: else -> open = next < kept + CAPACITY || stopped
    fi;
    open = open || slowest != announced;
    slowest = announced;
    announced = 0
  };
  if
  :: open -> open = false
  :: else ->
     unlock(WORKER(w));
     atomic {
       if
       :: memory[PRIVATE] == private && memory[WORD(slowest)] == word -> dozes_on[w] = 1 + slowest
       :: else
       fi
     };
     atomic { dozes_on[w] == 0 -> lock(WORKER(w)) }
  fi;
  atomic {
    room(WORKER(w), 1);
    store(WORKER(w), ON(rows), 0);
    private = 0;
    word = 0;
    wanted = 0;
    slowest = 0;
    kept = 0
  }
}

proctype Worker(byte w) {
  byte position, slowest, kept, announced, word, private, seen, wanted;
  bool open;
claim:
  atomic { !claimer_turn && empty(WORKER(w)) && memory[MUTEX] == 0 -> memory[MUTEX] = 1; claimer_turn = true };
claim_again:
  atomic {
    if
    :: next == SAMPLES || stopped -> claimer_turn = false; unlock(WORKER(w)); goto finished
    :: else
    fi;
    look_at_slowest();
    if
    :: next < kept + CAPACITY ->
       position = next;
       next++;
       claimer_turn = false;
       kept = 0;
       slowest = 0;
       goto take
    :: else -> wanted = next + 1 - CAPACITY
    fi
  };
  doze(0);
  goto claim_again;

take: /* the mutex is held */
  atomic {
    if
    :: with_rows != position -> /* not its turn */
       private = memory[PRIVATE];
       unlock(WORKER(w));
       goto wait_for_turn
    :: else
    fi;
    look_at_slowest();
    if
    :: rows_fit(position, kept) -> kept = 0; slowest = 0; goto taken
    :: published < kept -> /* its own samples are in the way: a publication bumps the word */
       private = memory[PRIVATE];
       kept = 0;
       slowest = 0;
       unlock(WORKER(w));
       goto wait_for_turn
    :: else
    fi;
    /* The first position from which on there is room. */
    wanted = kept + 1;
    do
    :: row_of(position) + length_of(position) > row_of(wanted) + ARENA -> wanted++
    :: else -> break
    od
  };
#ifndef NO_ANNOUNCEMENT
  atomic { room(WORKER(w), 1); store(WORKER(w), WAITS_FOR, 1 + position) };
  ring_if_asleep(0);
  ring_if_asleep(1);
#endif
  doze(1);
  atomic { room(WORKER(w), 1); store(WORKER(w), WAITS_FOR, 0) };
  goto take;

wait_for_turn:
  atomic {
    if
    :: memory[PRIVATE] == private -> dozes_on[w] = NOBODY
    :: else
    fi;
    private = 0
  };
  atomic { dozes_on[w] == 0 -> lock(WORKER(w)) };
  goto take;

taken:
  with_rows++;
  bump(WORKER(w)); /* it is the next one's turn */
  unlock(WORKER(w));
  /* Here it copies. */
  atomic {
    lock(WORKER(w));
    ready = ready | (1 << position);
    position = 0;
    open = false;
    do
    :: (ready >> published) & 1 -> published++; open = true
    :: else -> break
    od;
    if
    :: !open -> unlock(WORKER(w)); goto claim
    :: else -> open = false
    fi;
    store_release(WORKER(w), PUBLISHED, published)
  };
  ring_if_waiting(0);
  ring_if_waiting(1);
  bump(WORKER(w));
  unlock(WORKER(w));
  if
  :: with_rows == next -> stopped = true; goto claim /* nobody waits for rows */
  :: goto claim
  fi;
finished:
  /* A claimer may sleep for what will not come. */
  atomic { increment(WORKER(w), PRIVATE); dozes_on[0] = 0; dozes_on[1] = 0; workers_done++ }
}

#define exceeds(more) (row_of(need) + (more) > row_of(position) + budget)

/* How far the batch that begins at `position` goes, of what is below `seen`; `complete` if it is one. */
inline cut() {
  need = position;
  complete = false;
  do
  :: need < seen && !exceeds(length_of(need)) ->
     need++;
     if
     :: row_of(need) == row_of(position) + budget -> break
     :: else
     fi
  :: else -> break
  od;
  if
  :: need == SAMPLES || need < seen || (need > position && row_of(need) == row_of(position) + budget) ->
     complete = true
#ifndef NO_CUT_BEFORE_ANNOUNCED
  :: waits == 1 + need && seen == need && need > position && exceeds(length_of(need)) -> complete = true
#endif
  :: else
  fi
}

inline give_back_to(upto) {
  store_release(me, RELEASED(me), upto);
  increment(me, WORD(me));
  waits = memory[SLEEPING_ON];
  if
  :: waits == 1 + me -> waits = memory[P_WANTED]; open = open || waits <= upto
  :: else
  fi;
  waits = memory[ROWS_ON];
  if
  :: waits == 1 + me -> waits = memory[ROWS_WANTED]; open = open || waits <= upto
  :: else
  fi;
  if
  :: open -> wake_desk(me)
  :: else
  fi;
  open = false;
  waits = 0
}

proctype Consumer(byte me, budget) {
  byte position, held, need, seen, waits, slept_at, wanted_row;
  bool complete, open;
look:
  atomic {
    if
    :: position == SAMPLES -> goto over
    :: else
    fi;
    slept_at = memory[WAKE_WORD(me)];
    waits = memory[WAITS_FOR]
  };
  atomic {
    seen = memory[PUBLISHED];
    cut();
    if
    :: complete -> goto have
    :: else
    fi;
    /* Its oldest lease is in the way of a sample that it needs. */
    if
#ifndef NO_PRIVATE
    :: held < position && ((waits == 1 + seen && row_of(seen) + length_of(seen) > row_of(held) + ARENA) ||
                           seen + 1 > held + CAPACITY) -> held = position; goto give_back
#endif
    :: else
    fi;
    /* Of several that are missing, the first exceeds the budget or they all fit. */
    need = (waits > seen + 1 -> waits - 1 : SAMPLES);
    wanted_row = row_of(position) + budget
  };
  atomic {
    room(me, 3);
    store(me, C_WANTED_ROW(me), wanted_row);
    store(me, C_WANTED(me), need);
    store(me, C_SLEEPING(me), 1)
  };
  atomic {
    empty(me);
#ifndef NO_SECOND_LOOK
    complete = memory[WAITS_FOR] != waits;
    seen = memory[PUBLISHED];
    complete = complete || seen >= need || row_of(seen) >= wanted_row
#endif
  };
  atomic {
    if
    :: !complete && memory[WAKE_WORD(me)] == slept_at -> dozing[me] = true
    :: else
    fi;
    complete = false;
    slept_at = 0;
    wanted_row = 0;
    need = 0;
    seen = 0;
    waits = 0
  };
  atomic { !dozing[me]; room(me, 1); store(me, C_SLEEPING(me), 0); goto look };

have:
  atomic {
    held = (me == 0 -> need : position); /* the second one keeps this batch */
    position = need;
    need = 0
  };
give_back:
  atomic { seen = 0; slept_at = 0; complete = false; waits = 0; need = 0; room(me, 1) };
  give_back_to(held);
  goto look;
over:
  held = SAMPLES;
  give_back_to(held);
  atomic { position = 0; held = 0; done[me] = true }
}

/* Runs when nothing else can. */
proctype Quiet() {
  timeout;
  d_step {
    /* All is made and read, unless the producer stopped by itself. Then it left nobody without rows, and
     * consumers sleep for what is not there. */
    assert(stopped || (published == SAMPLES && done[0] && done[1]));
    assert(workers_done == WORKERS);
    assert(done[0] || (dozing[0] && memory[PUBLISHED] < memory[C_WANTED(0)] &&
                       row_of(memory[PUBLISHED]) < memory[C_WANTED_ROW(0)]));
    assert(done[1] || (dozing[1] && memory[PUBLISHED] < memory[C_WANTED(1)] &&
                       row_of(memory[PUBLISHED]) < memory[C_WANTED_ROW(1)]));
    assert(memory[PUBLISHED] == published && with_rows == next)
  }
}

init {
  atomic {
    run Memory();
    run Worker(0);
#if WORKERS > 1
    run Worker(1);
#endif
#ifdef ONE_CONSUMER
    memory[RELEASED(0)] = SAMPLES;
    done[0] = true;
#else
    run Consumer(0, BUDGET_0);
#endif
    run Consumer(1, BUDGET_1);
    run Quiet()
  }
}
