// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "simulation/world.hpp"

#include "simulation/arena.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/ring/reader.hpp>
#include "ring/writer/writer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// A writer with its threads in one process, and each reader in another. The world knows what each
// reader still needs and what the ring has, and compares each step with that.
namespace batchcast::simulation {
namespace {

constexpr std::uint32_t readers_max = 4;
constexpr std::uint64_t capacity_max = 16;
constexpr std::uint64_t far_away = std::uint64_t{1} << 63;
constexpr std::uint32_t switches_max = 300;
constexpr std::uint64_t rows_max = 16;  ///< of an axis

std::uint64_t content_of(std::uint64_t position) noexcept {
  return position * 0x9e3779b97f4a7c15u ^ 0x5bd1e995u;
}

/// How many rows a sample has, where the stream has an axis.
std::uint64_t rows_of(std::uint64_t position) noexcept { return content_of(position) >> 40 & 3; }

/// What a reader asks of the producer's door, and the answer.
struct Call {
  enum Kind : std::uint32_t { hello, bye, pause, resume } kind = hello;
  SharedWord<std::uint32_t> asked{0};
  SharedWord<std::uint32_t> answered{0};
  // of hello and resume
  Pace pace = Pace::lockstep;
  Join join = Join::rewind;
  std::uint64_t cursor = 0;
  bool let_go = false;
  // the answer
  bool refused = false;
  Admitted admitted{};
  std::uint64_t position = 0;
};

struct Held {
  std::uint64_t start;  ///< of what it protects
  std::uint64_t lease;
  std::uint64_t position;
  std::uint64_t size;
};

/// One reader as the world knows it. Its own process writes it.
struct Reader {
  std::size_t process = 0;
  std::uint32_t number = 0;
  Call call;
  SharedWord<std::uint32_t> rest{0};  ///< it sleeps on it between two loops
  bool gates = false;                 ///< it is in lockstep, and was let in
  bool leaves = false;                ///< it leaves an epoch: it needs only what it holds
  std::uint64_t position = 0;         ///< the next sample that it needs
  bool revoked = false;
  bool ended = false;
  bool removed = false;
  std::uint64_t consumer_id = 0;
  std::uint32_t index = 0;
  std::array<Held, 8> held{};
  std::size_t holds = 0;
  const RingReader* reader = nullptr;
  // What it does.
  Pace pace = Pace::lockstep;
  std::uint32_t batch = 1;
  std::uint32_t hold = 0;
  std::uint32_t batches = 0;
  std::uint32_t leave_one_in = 0;
  bool let_go = false;
  Tail tail = Tail::keep;
};

struct Sizes {
  std::uint64_t capacity = 4;
  std::uint64_t epoch = 0;
  std::uint64_t epochs = 0;
  std::uint64_t start = 0;
  std::uint64_t samples = 0;  ///< the makers stop there
  std::uint64_t rows = 0;     ///< that the ring holds of its axis; 0: it has none
  std::uint32_t makers = 1;
  std::uint32_t loan = 1;
  std::uint32_t readers = 1;
};

struct World {
  Sizes sizes;
  std::array<Reader, readers_max> readers;
  std::size_t producer = 0;
  RingWriter* writer = nullptr;
  SharedWord<std::uint32_t> door_word{0};
  std::uint32_t makers_left = 0;
  bool all_made = false;  ///< and no maker touches the writer any more
  bool stopped = false;   ///< the stream, in its middle
  bool all_left = false;
  bool evicts = false;
  bool forgone = false;  ///< the trainers that the stream waits for
  bool goes_back = false;
  std::uint64_t made = 0;
  std::uint64_t lost = 0;  ///< samples that a loan lost: a maker has to claim them again
  std::uint64_t claimed_to = 0;
  // The ring's bytes: two words for each sample, and its id as the real ring has it, twice.
  std::array<std::array<std::uint64_t, 2>, capacity_max> samples{};
  std::array<std::uint64_t, 2 * capacity_max> ids{};
  std::array<RowEntry, capacity_max + 1> row_table;
  std::array<std::uint64_t, rows_max> rows{};

  [[nodiscard]] std::uint64_t table_capacity() const noexcept { return sizes.capacity + 1; }
  [[nodiscard]] const RowEntry& rows_at(std::uint64_t position) const noexcept {
    return row_table[position % table_capacity()];
  }
};

alignas(64) std::byte board_memory[64 * 1024];
alignas(64) std::array<std::byte, sizeof(Desk) * readers_max> desk_memory;
World* world = nullptr;

BoardView board() noexcept { return BoardView(board_memory); }
Desk& desk_of(const Reader& reader) noexcept {
  return reinterpret_cast<Desk*>(desk_memory.data())[reader.number];
}

// ---- the judge

/// The lowest position that this reader still needs.
std::uint64_t needed_by(const Reader& reader) noexcept {
  std::uint64_t lowest = far_away;
  for (std::size_t i = 0; i < reader.holds; ++i) lowest = std::min(lowest, reader.held[i].start);
  std::uint64_t stands = reader.position;
  // What makes no whole batch is passed within `next`.
  const bool passes = reader.tail == Tail::drop && reader.reader != nullptr;
  if (passes) stands = std::max(stands, reader.reader->position());
  return reader.leaves ? lowest : std::min(lowest, stands);
}

void check_gate(std::uint64_t end, const char* what) {
  for (std::uint32_t i = 0; i < world->sizes.readers; ++i) {
    const Reader& one = world->readers[i];
    if (!one.gates || one.revoked || one.ended || is_dead(one.process)) continue;
    const std::uint64_t needed = needed_by(one);
    if (end <= saturating_add(needed, world->sizes.capacity)) continue;
    fail(text("the gate: {} up to {}, but reader {} needs position {} of a ring of {}", what, end,
              i, needed, world->sizes.capacity));
  }
}

/// The row at that coordinate is written: it must not be one that a reader needs.
void check_row(std::uint64_t row) {
  const std::uint64_t published = board().progress().published.peek();
  for (std::uint32_t i = 0; i < world->sizes.readers; ++i) {
    const Reader& one = world->readers[i];
    if (!one.gates || one.revoked || one.ended || is_dead(one.process)) continue;
    const std::uint64_t needed = needed_by(one);
    if (needed >= published || needed < board().progress().valid_from.peek()) continue;
    if (row < world->rows_at(needed).first.peek() + world->sizes.rows) continue;
    fail(text("the gate of rows: row {} is written, but reader {} needs position {}", row, i,
              needed));
  }
}

bool has_rows(std::uint64_t position) noexcept {
  const std::uint64_t first = world->rows_at(position).first.peek();
  bool all = world->rows_at(position).rows.peek() == rows_of(position);
  for (std::uint64_t i = 0; i < rows_of(position) && all; ++i) {
    all = world->rows[(first + i) % world->sizes.rows] == content_of(position) + i;
  }
  return all;
}

void check_published(std::uint64_t published) {
  const BoardProgress& progress = board().progress();
  if (published > progress.claimed.peek()) fail("published is above claimed");
  const std::uint64_t from =
      std::max(progress.valid_from.peek(), saturating_sub(published, world->sizes.capacity));
  for (std::uint64_t at = from; at < published; ++at) {
    const auto& sample = world->samples[at % world->sizes.capacity];
    if (at >= progress.kept_from.peek() &&
        (sample[0] != content_of(at) || sample[1] != content_of(at))) {
      fail(text("position {} is published and not complete", at));
    }
  }
}

void check_announced(std::uint64_t count) {
  if (count == 0 || world->sizes.epoch != 0) return;
  const EpochEntry& entry = board().epoch(count - 1);
  if (entry.epoch_plus_one.peek() != count || entry.end.peek() <= entry.start.peek()) {
    fail(text("epoch {} is announced and not on the board", count - 1));
  }
}

/// Of a step by this reader.
void check_released(const Reader& one, std::uint64_t released) {
  if (current_process() != one.process || !one.gates) return;
  if (released > std::max(needed_by(one), one.leaves ? far_away : one.position)) return;
  const std::uint64_t needed = needed_by(one);
  std::uint64_t stands = needed;
  if (one.holds == 0 && one.reader != nullptr) stands = std::max(stands, one.reader->position());
  if (released > stands) {
    fail(text("reader {} releases up to {} and needs position {}", one.number, released, needed));
  }
}

void tell_of(const void* word, const void* its, const char* name, std::uint64_t value) {
  if (word == its) tell("%s = %llu", name, static_cast<unsigned long long>(value));
}

void tell_change(const void* word, std::uint64_t value) {
  const BoardProgress& progress = board().progress();
  tell_of(word, &progress.claimed, "claimed", value);
  tell_of(word, &progress.published, "published", value);
  tell_of(word, &progress.epochs_announced, "epochs_announced", value);
  tell_of(word, &progress.sleeping_on, "sleeping_on", value);
  tell_of(word, &progress.wake_at, "wake_at", value);
  tell_of(word, &progress.state, "state", value);
  for (std::uint32_t i = 0; i < world->sizes.readers; ++i) {
    const Desk& desk = desk_of(world->readers[i]);
    tell_of(word, &desk.released, "released", value);
    tell_of(word, &desk.skipping, "skipping", value);
    tell_of(word, &desk.sleeping, "sleeping", value);
  }
}

void judge(const void* word, std::size_t, std::uint64_t value) {
  const BoardProgress& progress = board().progress();
  if (tells()) tell_change(word, value);
  if (word == &progress.claimed) return check_gate(value, "claimed");
  if (word == &progress.published) return check_published(value);
  if (word == &progress.epochs_announced) return check_announced(value);
  for (std::uint32_t i = 0; i < world->sizes.readers; ++i) {
    Reader& one = world->readers[i];
    if (word == &desk_of(one).released) return check_released(one, value);
    if (one.consumer_id != 0 && word == &board().consumer(one.index).consumer_id &&
        value != one.consumer_id) {
      one.revoked = true;
    }
  }
}

void check_wake_up() {
  if (was_not_woken() && !is_dead(world->producer)) {
    fail(text("a lost wake-up: {} slept until its time was up, and what it waited for was there",
              current_name()));
  }
}

// ---- the producer

void write_rows(std::uint64_t position) {
  // Where the stream went back, others may have the table's entry by now.
  if (position >= board().progress().claimed.peek()) return;
  const std::uint64_t first = world->rows_at(position).first.peek();
  for (std::uint64_t i = 0; i < rows_of(position); ++i) {
    check_row(first + i);
    world->rows[(first + i) % world->sizes.rows] = content_of(position) + i;
    step();
  }
}

void write_sample(std::uint64_t position) {
  // Where the stream went back, no consumer reads what is written for a loan that was out then.
  if (position < board().progress().claimed.peek()) check_gate(position + 1, "written");
  auto& sample = world->samples[position % world->sizes.capacity];
  sample[0] = content_of(position);
  step();
  const std::uint64_t at = position % world->sizes.capacity;
  world->ids[at] = world->ids[at + world->sizes.capacity] = position;
  step();
  if (world->sizes.rows != 0) write_rows(position);
  sample[1] = content_of(position);
}

void fill(const Ticket& ticket) {
  Receipt receipt;
  for (std::uint64_t i = 0; i < ticket.size; ++i) {
    const std::uint64_t id = ticket.position + i;
    write_sample(id);
    receipt.add(std::span(&id, 1));
  }
  tell("publishes %llu to %llu", static_cast<unsigned long long>(ticket.position),
       static_cast<unsigned long long>(ticket.position + ticket.size - 1));
  world->writer->publish(ticket, receipt);
  world->made += ticket.size;
}

void ring_door() {
  world->door_word.add_quietly();
  wake(&world->door_word);
}

/// For a stream whose epochs end when the maker says so.
void end_epoch(bool stream) {
  try {
    if (stream) {
      world->writer->finish();
    } else {
      world->writer->end_epoch();
    }
    tell(stream ? "finishes" : "ends the epoch");
  } catch (const InvalidArgument&) {  // another maker has a loan, or no sample came
    if (stream) world->writer->stop("no more");
  }
}

/// False where the ticket has no samples any more.
bool take_rows(Ticket& ticket) {
  std::array<std::uint64_t, 4> lengths{};
  for (std::uint64_t i = 0; i < ticket.size; ++i) lengths[i] = rows_of(ticket.position + i);
  const std::uint64_t granted = ticket.size;
  const std::uint64_t taken =
      world->writer->take_rows(ticket, 0, 0, std::span(lengths).first(ticket.size));
  check_wake_up();
  // The newest loan gives positions back that no other maker waits for.
  const bool is_newest = ticket.position + granted == world->claimed_to;
  if (ticket.size != 0 && is_newest) world->claimed_to = ticket.position + ticket.size;
  if (ticket.size != 0 && !is_newest) world->lost += granted - ticket.size;
  if (ticket.size != 0 && taken != ticket.size) fail("a ticket lacks rows");
  return ticket.size != 0;
}

void make() {
  RingWriter& writer = *world->writer;
  while (!world->stopped && (world->made < world->sizes.samples || world->lost != 0)) {
    Ticket ticket;
    const int timeout_ms = chance().one_in(4) ? 30 : -1;
    const Claim claim = writer.claim(1 + chance().below(world->sizes.loan), timeout_ms, ticket);
    if (claim == Claim::timed_out) {
      if (world->all_left) break;
      continue;
    }
    check_wake_up();
    if (claim == Claim::ended) break;
    if (ticket.position < world->claimed_to) {
      world->lost -= std::min(world->lost, ticket.size);
    } else {
      world->claimed_to = ticket.position + ticket.size;
    }
    tell("claims %llu to %llu", static_cast<unsigned long long>(ticket.position),
         static_cast<unsigned long long>(ticket.position + ticket.size - 1));
    // With two makers it may leave a hole, and the stream fails.
    if (chance().one_in(world->sizes.makers == 1 ? 24 : 90)) {
      tell("gives the loan back");
      writer.give_back(ticket);
      world->made += ticket.size;
      continue;
    }
    if (world->sizes.rows != 0 && !take_rows(ticket)) {
      writer.give_back(ticket);
      continue;
    }
    fill(ticket);
    if (world->sizes.epoch == 0 && chance().below(8) >= 5) end_epoch(false);
    if (chance().one_in(120)) {
      tell("stops the stream");
      world->stopped = true;
      writer.stop("a test said so");
    }
  }
  if (--world->makers_left != 0) return ring_door();
  if (!world->stopped && world->sizes.epoch == 0) {
    end_epoch(true);
  } else if (!world->stopped && !writer.all_made()) {
    world->stopped = true;
    writer.stop("enough");
  }
  while (!writer.wait_drained(40) && !world->stopped && !world->all_left) {
  }
  static_cast<void>(writer.close());
  world->all_made = true;
  ring_door();
}

AdmitRequest request_of(const Reader& reader) {
  AdmitRequest request;
  request.name = "reader";
  request.pace = reader.call.pace;
  request.join = reader.call.join;
  request.cursor = reader.call.cursor;
  request.batch_size = reader.batch;
  request.between_epochs = reader.call.let_go ? BetweenEpochs::let_go : BetweenEpochs::hold;
  return request;
}

void answer_hello(Reader& reader) {
  const std::shared_ptr<Desk> desk(&desk_of(reader), [](Desk*) {});
  auto reply = world->writer->admit(request_of(reader), desk);
  reader.call.refused = !std::holds_alternative<Admitted>(reply);
  if (reader.call.refused) return;
  const Admitted& admitted = std::get<Admitted>(reply);
  reader.call.admitted.index = reader.index = admitted.index;
  reader.call.admitted.position = admitted.position;
  reader.call.admitted.skipping = admitted.skipping;
  reader.consumer_id = admitted.consumer_id;
  reader.revoked = board().consumer(admitted.index).consumer_id.peek() != admitted.consumer_id;
  reader.position = admitted.position;
  reader.leaves = admitted.skipping != 0;
  reader.gates = reader.pace == Pace::lockstep && !reader.call.let_go;
}

void answer_resume(Reader& reader) {
  auto reply =
      world->writer->resume(reader.index, reader.consumer_id, reader.call.join, reader.call.cursor);
  reader.call.refused = !std::holds_alternative<std::uint64_t>(reply);
  if (reader.call.refused) return;
  reader.call.position = reader.position = std::get<std::uint64_t>(reply);
  reader.leaves = desk_of(reader).skipping.peek() != 0;
  reader.gates = reader.pace == Pace::lockstep;
}

void remove(Reader& reader) {
  reader.removed = true;
  reader.gates = false;
  if (reader.consumer_id != 0) world->writer->remove(reader.index, reader.consumer_id);
}

void answer(Reader& reader) {
  switch (reader.call.kind) {
    case Call::hello:
      answer_hello(reader);
      break;
    case Call::bye:
      remove(reader);
      break;
    case Call::pause:
      world->writer->pause(reader.index, reader.consumer_id);
      break;
    case Call::resume:
      answer_resume(reader);
      break;
  }
  reader.call.answered.add_quietly();
  wake(&reader.call.answered);
}

bool needs_removal(const Reader& reader) { return is_seen_dead(reader.process) && !reader.removed; }

void evict_by_chance() {
  Reader& one = world->readers[chance().below(world->sizes.readers)];
  if (one.consumer_id == 0 || one.removed) return;
  tell("evicts reader %u", one.number);
  world->writer->evict(one.index, one.consumer_id);
}

void serve_door() {
  for (;;) {
    const std::uint32_t seen = world->door_word.load_quietly();
    bool all_left = true;
    for (std::uint32_t i = 0; i < world->sizes.readers; ++i) {
      Reader& one = world->readers[i];
      if (needs_removal(one)) {
        tell("removes reader %u, which is dead", i);
        remove(one);
      }
      const bool asks =
          !is_dead(one.process) && one.call.asked.load_quietly() != one.call.answered.peek();
      if (asks) answer(one);
      all_left = all_left && (one.ended || one.removed) && !asks;
    }
    if (all_left && !world->all_left) {
      world->all_left = true;
      if (!world->all_made && chance().below(2) == 0) {
        world->stopped = true;
        world->writer->stop("all have left");
      }
    }
    if (all_left && world->all_made) break;
    if (world->evicts && !is_calm() && chance().one_in(24)) evict_by_chance();
    if (is_calm() && !std::exchange(world->forgone, true)) world->writer->forgo_wait();
    if (all_left && !world->stopped && is_calm()) {
      world->stopped = true;
      world->writer->stop("nobody is left");
    }
    static_cast<void>(futex_wait(world->door_word, seen, 100));
  }
  const WriterStatus status = world->writer->status();
  if (!status.consumers.empty()) fail("a consumer that left is still counted");
  for (std::uint32_t i = 0; i < board().head().consumers_max; ++i) {
    if (board().consumer(i).consumer_id.peek() != 0) fail("an entry of the board is never free");
  }
}

void serve() {
  serve_door();
  // The other threads have ended, or are about to: none touches the writer any more.
  delete std::exchange(world->writer, nullptr);
}

// ---- a reader

/// False if the producer died meanwhile.
bool ask(Reader& self, Call::Kind kind) {
  self.call.kind = kind;
  const std::uint32_t ticket = self.call.asked.add_quietly() + 1;
  ring_door();
  for (;;) {
    const std::uint32_t answered = self.call.answered.load_quietly();
    if (answered == ticket) return true;
    if (is_seen_dead(world->producer)) return false;
    static_cast<void>(futex_wait(self.call.answered, answered, 50));
  }
}

void read_samples(Reader& self, const RingReader& reader, std::uint64_t position,
                  std::uint64_t size) {
  for (std::uint64_t at = position; at < position + size; ++at) {
    const auto& sample = world->samples[at % world->sizes.capacity];
    const std::uint64_t first = sample[0];
    step();
    const bool whole = first == content_of(at) && sample[1] == content_of(at) &&
                       (world->sizes.rows == 0 || has_rows(at));
    if (whole) continue;
    if (reader.revoked()) return;
    fail(text("torn: reader {} finds another sample at position {}", self.number, at));
  }
}

void give_back(Reader& self, RingReader& reader, std::size_t which) {
  const Held held = self.held[which];
  read_samples(self, reader, held.position, held.size);
  for (std::size_t i = which + 1; i < self.holds; ++i) self.held[i - 1] = self.held[i];
  --self.holds;
  tell("gives back %llu to %llu", static_cast<unsigned long long>(held.position),
       static_cast<unsigned long long>(held.position + held.size - 1));
  static_cast<void>(reader.give_back(held.lease));
}

void give_some_back(Reader& self, RingReader& reader, std::uint32_t most) {
  while (self.holds > most) {
    give_back(self, reader, chance().below(static_cast<std::uint32_t>(self.holds)));
  }
}

/// What it holds becomes private where it is in the way, as a consumer's batches do.
class Host : public ReaderHost {
 public:
  explicit Host(Reader& self) noexcept : self_(self) {}
  bool producer_is_dead() noexcept override { return is_seen_dead(world->producer); }
  std::string why_revoked() override { return "a test said so"; }
  bool give_oldest_back() noexcept override {
    if (self_.holds == 0) return false;
    give_back(self_, *reader, 0);
    return true;
  }

  RingReader* reader = nullptr;

 private:
  Reader& self_;
};

/// At `free` pace: copies the run, and says whether the copy is whole.
bool copy(Reader& self, RingReader& reader, const Run& run) {
  std::array<std::uint64_t, capacity_max> ids{};
  std::array<bool, capacity_max> whole{};
  for (std::uint64_t i = 0; i < run.size; ++i) {
    const std::uint64_t at = run.position + i;
    const auto& sample = world->samples[at % world->sizes.capacity];
    const std::uint64_t first = sample[0];
    step();
    whole[i] = first == content_of(at) && sample[1] == content_of(at);
    ids[i] = world->ids[at % world->sizes.capacity];
  }
  if (!reader.copied(run, {ids.data(), run.size})) return false;
  for (std::uint64_t i = 0; i < run.size; ++i) {
    if (!whole[i] && !reader.revoked()) {
      fail(text("torn: reader {} took a copy of position {} that is not whole", self.number,
                run.position + i));
    }
  }
  return true;
}

void check_run(const Reader& self, const Run& run, std::optional<std::uint64_t> expected) {
  if (expected && self.pace == Pace::lockstep && run.batch_start != *expected) {
    fail(text("reader {} gets position {} and not {}", self.number, run.batch_start, *expected));
  }
  if (run.batch_start < self.position) {
    fail(text("reader {} gets position {} again", self.number, run.batch_start));
  }
  const std::uint64_t epoch = world->sizes.epoch;
  if (epoch != 0 && run.position / epoch != (run.position + run.size - 1) / epoch) {
    fail(text("a batch of reader {} from position {} on crosses an epoch", self.number,
              run.position));
  }
}

void take(Reader& self, RingReader& reader, const Run& run) {
  if (self.pace == Pace::free) {
    if (copy(self, reader, run)) self.position = run.next().position;
    return;
  }
  self.held[self.holds++] = {run.batch_start, run.lease, run.position, run.size};
  self.position = run.next().position;
  self.leaves = false;
  read_samples(self, reader, run.position, run.size);
  give_some_back(self, reader, self.hold);
}

void leave_epoch(Reader& self, RingReader& reader) {
  tell("leaves its epoch");
  self.leaves = true;
  reader.leave_epoch();
  if (desk_of(self).skipping.peek() == 0 && reader.between_epochs()) {
    self.position = std::max(self.position, reader.position());
  }
}

/// With `let_go`: between two loops. False if it cannot go on.
bool begin_loop(Reader& self, RingReader& reader) {
  give_some_back(self, reader, 0);
  self.call.join = chance().below(3) == 0 ? Join::next_epoch : Join::rewind;
  if (!ask(self, Call::resume) || self.call.refused) return false;
  reader.move_to(self.call.position);
  tell("begins a loop at %llu", static_cast<unsigned long long>(self.call.position));
  return true;
}

bool pause(Reader& self, RingReader& reader) {
  give_some_back(self, reader, 0);
  self.gates = false;
  tell("pauses");
  if (!ask(self, Call::pause)) return false;
  if (chance().one_in(3)) static_cast<void>(futex_wait(self.rest, 0, 400));
  return begin_loop(self, reader);
}

void read_all(Reader& self, RingReader& reader) {
  std::optional<std::uint64_t> expected;
  for (std::uint32_t taken = 0; taken < self.batches;) {
    Run run;
    const int timeout_ms = chance().one_in(4) ? 60 : -1;
    const Next next = reader.next(self.batch, timeout_ms, run);
    if (next == Next::timed_out) continue;
    check_wake_up();
    if (next == Next::end_of_epoch) {
      tell("is at the end of an epoch");
      self.position = std::max(self.position, reader.position());
      if (self.tail == Tail::drop) expected.reset();
      if (self.let_go) {
        if (!pause(self, reader)) return;
        expected.reset();
      }
      ++taken;
      continue;
    }
    tell("gets %llu to %llu", static_cast<unsigned long long>(run.position),
         static_cast<unsigned long long>(run.position + run.size - 1));
    check_run(self, run, expected);
    take(self, reader, run);
    ++taken;
    expected = self.position;
    if (self.leave_one_in != 0 && chance().one_in(self.leave_one_in)) {
      leave_epoch(self, reader);
      expected.reset();
      if (self.let_go && !pause(self, reader)) return;
    }
  }
}

/// What ends a reader has to be so.
void check_end(const Reader& self, const std::exception& error) {
  const bool is_dead_producer = is_seen_dead(world->producer);
  const StreamState state = static_cast<StreamState>(board().progress().state.peek());
  bool right = false;
  if (dynamic_cast<const Revoked*>(&error) != nullptr) {
    right = self.revoked;
  } else if (dynamic_cast<const StreamFinished*>(&error) != nullptr) {
    right = state == StreamState::draining || state == StreamState::finished;
    if (right && self.pace == Pace::lockstep && !self.leaves && self.tail == Tail::keep &&
        self.position != board().progress().published.peek() && !self.revoked) {
      fail(
          text("reader {} is finished at {}, before the stream's end", self.number, self.position));
    }
  } else if (dynamic_cast<const Stopped*>(&error) != nullptr) {
    right = state == StreamState::stopped;
  } else if (dynamic_cast<const ProducerGone*>(&error) != nullptr) {
    right = is_dead_producer;
  } else if (dynamic_cast<const StreamFailed*>(&error) != nullptr) {
    right = state == StreamState::failed;
  } else if (dynamic_cast<const RingTooSmall*>(&error) != nullptr) {
    right = self.holds != 0 || self.batch > world->sizes.capacity || world->sizes.rows != 0;
  }
  if (!right) fail(text("reader {} ends with: {}", self.number, error.what()));
}

void read_ring(Reader& self) {
  Host host(self);
  RingReader::Options options;
  options.pace = self.pace;
  options.tail = self.tail;
  options.stream = "s";
  if (world->sizes.rows != 0) {
    options.axes = {
        {RowTable(world->row_table.data(), world->table_capacity(), world->sizes.rows), "rows", 8}};
  }
  Desk& desk = desk_of(self);
  FieldWindow window{reinterpret_cast<std::byte*>(world->ids.data()), world->sizes.capacity, 8, 8};
  RingReader reader(board(), desk, window, host, std::move(options));
  self.reader = host.reader = &reader;
  try {
    if (!self.let_go || begin_loop(self, reader)) read_all(self, reader);
  } catch (const std::exception& error) {
    tell("ends: %s", error.what());
    check_wake_up();
    check_end(self, error);
  }
  if (reader.status().epochs_mismatched != 0) fail("a receipt does not match");
  self.gates = false;
  if (!self.revoked) {
    give_some_back(self, reader, 0);
  }
  self.reader = nullptr;
}

void run_reader(Reader& self) {
  self.call.pace = self.pace;
  self.call.let_go = self.let_go;
  if (ask(self, Call::hello) && !self.call.refused) {
    tell("is admitted at %llu", static_cast<unsigned long long>(self.call.admitted.position));
    read_ring(self);
    static_cast<void>(ask(self, Call::bye));
  }
  tell("has left");
  self.ended = true;
  if (!is_dead(world->producer)) ring_door();
  if (allocations_of(self.process) != 0) fail("a reader that ended left memory behind");
}

// ---- what is drawn

std::uint64_t limit_or(std::uint64_t capacity) {
  switch (chance().below(6)) {
    case 0:
      return capacity;
    case 1:
      return capacity - 1;
    case 2:
      return capacity + 1;
    case 3:
      return 1;
    case 4:
      return 2 * capacity;
    default:
      return 1 + chance().below(static_cast<std::uint32_t>(capacity));
  }
}

Sizes draw_sizes() {
  Sizes sizes;
  constexpr std::array<std::uint64_t, 6> capacities = {4, 4, 5, 8, 7, 16};
  sizes.capacity = capacities[chance().below(6)];
  sizes.epoch = chance().below(3) == 2 ? 0 : limit_or(sizes.capacity);
  sizes.epochs = chance().below(4);
  constexpr std::array<std::uint64_t, 4> starts = {0, 0, std::uint64_t{1} << 32,
                                                   std::uint64_t{1} << 62};
  sizes.start = starts[chance().below(4)];
  if (sizes.epoch != 0) sizes.start = sizes.start / sizes.epoch * sizes.epoch;
  if (sizes.start != 0) {
    sizes.start -= std::min(sizes.start, sizes.epoch != 0 ? sizes.epoch : 3);
    sizes.epochs = 0;
  }
  if (sizes.epoch == 0) sizes.epochs = 0;
  sizes.samples = 2 * sizes.capacity + chance().below(12);
  sizes.makers = 1 + chance().below(2);
  sizes.loan = 1 + chance().below(3);
  sizes.readers = 1 + chance().below(readers_max);
  if (chance().below(4) == 3) sizes.rows = 4 + chance().below(rows_max - 3);
  return sizes;
}

void draw_reader(Reader& reader) {
  const std::uint64_t capacity = world->sizes.capacity;
  reader.pace = chance().one_in(5) ? Pace::free : Pace::lockstep;
  reader.batch = 1 + chance().below(3);
  if (chance().one_in(8)) reader.batch = static_cast<std::uint32_t>(capacity - chance().below(2));
  reader.hold = chance().below(3);
  reader.batches = 4 + chance().below(10);
  reader.leave_one_in = chance().one_in(3) ? 3 : 0;
  reader.let_go = chance().one_in(6);
  reader.tail = chance().one_in(6) ? Tail::drop : Tail::keep;
  constexpr std::array<Join, 4> joins = {Join::rewind, Join::rewind, Join::next_epoch, Join::now};
  reader.call.join = joins[chance().below(4)];
  if (chance().one_in(6)) {
    reader.call.join = Join::at;
    reader.call.cursor = world->sizes.start + chance().below(static_cast<std::uint32_t>(capacity));
  }
  tell("reader %u: %s, batches of %u, holds %u, %u of them, leaves one in %u%s%s, joins %u",
       reader.number, reader.pace == Pace::free ? "free" : "lockstep", reader.batch, reader.hold,
       reader.batches, reader.leave_one_in, reader.let_go ? ", let_go" : "",
       reader.tail == Tail::drop ? ", drops the tail" : "",
       static_cast<unsigned>(reader.call.join));
}

RingWriter::Options writer_options() {
  RingWriter::Options options;
  const Sizes& sizes = world->sizes;
  options.samples_per_epoch = sizes.epoch;
  options.epochs = sizes.epochs;
  options.start = sizes.start;
  options.wait_for = chance().one_in(4) ? 1 + chance().below(sizes.readers) : 0;
  options.free_running = chance().one_in(8);
  options.ahead = chance().below(4) == 3 ? 1 + chance().below(2) : 0;
  world->goes_back = options.goes_back =
      chance().one_in(3) && sizes.epoch != 0 && (sizes.rows == 0 || sizes.makers == 1);
  options.spin_ns = chance().below(3) == 2 ? 500 : 0;
  if (chance().one_in(8)) {
    options.stall_timeout_ms = 100;
    options.on_stall = OnStall::evict;
  }
  tell("wait_for %u, free_running %d, ahead %llu, goes_back %d, evicts %d", options.wait_for,
       options.free_running, static_cast<unsigned long long>(options.ahead), options.goes_back,
       options.on_stall == OnStall::evict);
  if (sizes.rows != 0) options.row_tables = {world->row_table.data()};
  options.on_evicted = [](std::uint64_t, const std::string& reason) {
    if (reason.find("its desk said") != std::string::npos) fail("an honest reader: " + reason);
    forget_time_out();
  };
  return options;
}

void make_board() {
  FieldEntry field{};
  field.capacity = world->sizes.capacity;
  field.stride_bytes = field.sample_bytes = 8;
  field.segment_bytes = 8 * world->sizes.capacity;
  BoardSpec spec;
  spec.fields = {&field, 1};
  spec.capacity = world->sizes.capacity;
  spec.samples_per_epoch = world->sizes.epoch;
  spec.epochs = world->sizes.epochs;
  spec.consumers_max = readers_max;
  spec.first_position = world->sizes.start;
  std::vector<AxisSpec> axes;
  if (world->sizes.rows != 0) {
    axes = {{"rows", world->sizes.rows, world->table_capacity(), 16 * world->table_capacity()}};
  }
  spec.axes = axes;
  const std::uint64_t bytes = board_bytes_for(spec);
  if (bytes > sizeof board_memory) std::abort();
  std::memset(board_memory, 0, bytes);
  std::memset(desk_memory.data(), 0, sizeof(Desk) * world->sizes.readers);
  format_board({board_memory, bytes}, spec);
}

void add_processes() {
  constexpr std::array<const char*, readers_max> names = {"reader 0", "reader 1", "reader 2",
                                                          "reader 3"};
  world->producer = add_process("the producer", true);
  make_board();
  RingWriter::Options options = writer_options();
  arenas::chosen = world->producer;
  world->writer = new RingWriter(Board(board_memory), options);
  arenas::chosen = arenas::none;
  world->makers_left = world->sizes.makers;
  add_fibre(world->producer, "door", serve);
  add_fibre(world->producer, "maker 0", make);
  if (world->sizes.makers == 2) add_fibre(world->producer, "maker 1", make);
  for (std::uint32_t i = 0; i < world->sizes.readers; ++i) {
    Reader& one = world->readers[i];
    one.number = i;
    draw_reader(one);
    one.process = add_process(names[i], true);
    add_fibre(one.process, names[i], [&one] { run_reader(one); });
  }
}

}  // namespace

Outcome run_ring_world() {
  World here;
  world = &here;
  const auto manner = static_cast<Manner>(chance().below(manners));
  begin_world(manner, switches_max);
  set_judge(nullptr);
  here.sizes = draw_sizes();
  here.evicts = chance().one_in(4);
  tell(
      "a ring of %llu, %llu rows, epochs of %llu, %llu of them, from %llu on; %u readers, %u "
      "makers",
      static_cast<unsigned long long>(here.sizes.capacity),
      static_cast<unsigned long long>(here.sizes.rows),
      static_cast<unsigned long long>(here.sizes.epoch),
      static_cast<unsigned long long>(here.sizes.epochs),
      static_cast<unsigned long long>(here.sizes.start), here.sizes.readers, here.sizes.makers);
  add_processes();
  allow_deaths(chance().below(3));
  on_seen_dead([](std::size_t process) {
    if (process != world->producer && !is_dead(world->producer)) {
      world->door_word.poke(world->door_word.peek() + 1);
      wake(&world->door_word);
    }
  });
  set_judge(judge);
  const Outcome outcome = run_world();
  set_judge(nullptr);
  world = nullptr;
  return outcome;
}

}  // namespace batchcast::simulation
