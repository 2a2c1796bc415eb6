// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

/* Memory as processors show it to each other. Spin by itself knows one memory in which every store is
 * seen by all at once; under that rule a missing fence cannot be noticed. Here each running thread has a
 * store buffer: its stores go there and reach the memory later, in steps of `Memory` that may come at any
 * time; its own loads look there first. A full fence and an atomic read-modify-write wait until the buffer
 * is empty.
 *
 * The default (TSO, x86) empties a buffer in the order in which it was filled. With PSO, stores to
 * different places leave in any order, as on ARM or POWER; only what is asked for is kept: a release store
 * leaves after everything before it, and nothing after a release fence leaves before what stands ahead of
 * it. Loads are never done ahead of their turn in either: where an acquire fence matters, the model says
 * so by doing the loads in the wrong order (CHECK_BEFORE_BYTES).
 *
 * The including file defines LOCATIONS (of memory), THREADS (with a buffer each) and DEPTH (of a buffer:
 * a thread whose buffer is full waits, as processors do).
 *
 * One step of a thread may be one access to the memory and, after it, any number of stores into the
 * buffer: nobody can tell when a store entered the buffer, only when it left.
 */

typedef StoreBuffer {
  byte size;
  byte place[DEPTH];
  byte value[DEPTH]
};

byte memory[LOCATIONS];
StoreBuffer buffer[THREADS];

#ifndef INVARIANT
/* What must hold of each value that is about to reach the memory. */
#define INVARIANT(place, value) assert(true)
#endif
#define RELEASE 64    /* flag on a place: leaves after all that stand before it */
#define FENCE_MARK 128 /* instead of a place: nothing behind it leaves before what is ahead */

hidden byte i_; /* scratch of the d_steps below; dead between them */
hidden byte j_;
hidden byte may_;

inline push(thread, where, what) {
  d_step {
    assert(buffer[thread].size < DEPTH);
    buffer[thread].place[buffer[thread].size] = where;
    buffer[thread].value[buffer[thread].size] = what;
    buffer[thread].size++
  }
}

#define room(thread, stores) (buffer[thread].size + (stores) <= DEPTH)
#define empty(thread) (buffer[thread].size == 0)

inline store(thread, where, what) { push(thread, where, what) }

#ifdef PSO
inline store_release(thread, where, what) { push(thread, (where) | RELEASE, what) }
inline release_fence(thread) {
  if
  :: empty(thread)
  :: else -> push(thread, FENCE_MARK, 0)
  fi
}
#else
inline store_release(thread, where, what) { push(thread, where, what) }
inline release_fence(thread) { skip }
#endif

inline load(thread, where, into) {
  d_step {
    into = memory[where];
    i_ = 0;
    do
    :: i_ < buffer[thread].size ->
       if
       :: (buffer[thread].place[i_] & ~RELEASE) == (where) -> into = buffer[thread].value[i_]
       :: else
       fi;
       i_++
    :: else -> break
    od
  }
}

inline full_fence(thread) { empty(thread) }

inline increment(thread, where) {
  d_step { empty(thread) -> memory[where] = memory[where] + 1 }
}

/* Takes entry k to the memory and closes the gap; cells behind the last entry are zeroed, so that equal
 * buffers are equal states. */
inline leave(thread, k) {
  INVARIANT((buffer[thread].place[k] & ~RELEASE), buffer[thread].value[k]);
  memory[buffer[thread].place[k] & ~RELEASE] = buffer[thread].value[k];
  close_gap(thread, k)
}

inline close_gap(thread, k) {
  j_ = k;
  do
  :: j_ + 1 < buffer[thread].size ->
     buffer[thread].place[j_] = buffer[thread].place[j_ + 1];
     buffer[thread].value[j_] = buffer[thread].value[j_ + 1];
     j_++
  :: else -> break
  od;
  buffer[thread].size--;
  buffer[thread].place[buffer[thread].size] = 0;
  buffer[thread].value[buffer[thread].size] = 0
}

#ifdef PSO
/* May entry k leave now? */
inline may_leave(thread, k) {
  may_ = (buffer[thread].place[k] & RELEASE) == 0 || k == 0;
  i_ = 0;
  do
  :: i_ < k ->
     if
     :: buffer[thread].place[i_] == FENCE_MARK ||
        (buffer[thread].place[i_] & ~RELEASE) == (buffer[thread].place[k] & ~RELEASE) -> may_ = 0
     :: else
     fi;
     i_++
  :: else -> break
  od
}

inline leave_if_allowed(thread, k) {
  may_leave(thread, k);
  if
  :: may_ ->
     leave(thread, k);
     if
     :: buffer[thread].size > 0 && buffer[thread].place[0] == FENCE_MARK -> close_gap(thread, 0)
     :: else
     fi
  :: else
  fi
}

#define LEAVES(thread, k)                                                                 \
  :: d_step { buffer[thread].size > k && buffer[thread].place[k] != FENCE_MARK ->         \
              leave_if_allowed(thread, k) }
#define ANY_LEAVES(thread) LEAVES(thread, 0) LEAVES(thread, 1) LEAVES(thread, 2) LEAVES(thread, 3)
#if DEPTH != 4
#error "ANY_LEAVES is written for a depth of 4"
#endif
#else
#define ANY_LEAVES(thread) :: d_step { buffer[thread].size > 0 -> leave(thread, 0) }
#endif

/* All buffers at work. The order within a buffer is the model's; when it happens is Spin's choice. */
proctype Memory() {
end:
  do
  ANY_LEAVES(0)
  ANY_LEAVES(1)
  ANY_LEAVES(2)
#if THREADS > 3
  ANY_LEAVES(3)
#endif
#if THREADS > 4
  ANY_LEAVES(4)
#endif
#if THREADS > 5
#error "add ANY_LEAVES lines"
#endif
  od
}
