// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "simulation/world.hpp"

#include "simulation/arena.hpp"
#include "simulation/kernel.hpp"

#include <batchcast/consumer/pending.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/hex.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/ring/rank_host.hpp>
#include <batchcast/ring/rank_reader.hpp>
#include <batchcast/ring/reader.hpp>
#include <batchcast/ring/reader_handover.hpp>
#include "door/door_server.hpp"
#include "life/life_book.hpp"
#include "producer/reception.hpp"
#include "producer/sample_rate.hpp"
#include "producer/served_rings.hpp"
#include "ring/writer/writer.hpp"

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// A pure stream with several lives: a producer may die at any step, and the next one goes on with
// its trainers, of which some are ranks of groups. Doors are queues of messages here; what
// producers do at theirs, the life file's logic, the ring and the readers are the real ones. The
// order of a trainer's steps is that of `consumer/rider.ipp`, which has threads and sockets.
namespace batchcast::simulation {
namespace {

namespace product = batchcast::detail;

constexpr std::uint32_t trainers_max = 5;
constexpr std::uint32_t lives_max = 3;
constexpr std::uint32_t connections_max = 24;  ///< of a trainer
constexpr std::uint32_t ends_max = 16;         ///< that it says on one of them
constexpr std::uint64_t capacity_max = 16;
constexpr std::uint64_t epochs_max = 4;
constexpr std::uint64_t far_away = std::uint64_t{1} << 63;
constexpr std::uint32_t switches_max = 500;
constexpr int look_ms = 50;
constexpr const char* group_name = "g";

std::uint64_t content_of(std::uint64_t position) noexcept {
  return position * 0x9e3779b97f4a7c15u ^ 0x5bd1e995u;
}

/// Of a trainer with one life's door.
struct Connection {
  std::uint32_t life = 0;
  // What the trainer says, in this order.
  Hello hello;
  bool hello_heard = false;
  std::array<EpochEnd, ends_max> ends = {};
  std::uint32_t said = 0;
  std::uint32_t heard = 0;
  bool bye = false;
  // The door's side.
  std::optional<ConsumerKey> key;
  bool is_lost = false;                ///< the door has forgotten it
  std::optional<std::uint64_t> ended;  ///< it left after these epochs, as its producer knew
  // What the producer says.
  enum Answer : std::uint8_t { none, welcome, refused } answer = none;
  std::uint64_t position = 0;
  std::uint64_t consumer_id = 0;
  std::uint32_t index = 0;
  std::byte* desk = nullptr;
  int lock_fd = -1;
  RefusalKind refusal = RefusalKind::busy;
  bool farewell = false;
  bool group_broke = false;
  std::array<char, 200> text = {};
  SharedWord<std::uint32_t> bell{0};

  void keep_text(const std::string& said_text) noexcept {
    std::snprintf(text.data(), text.size(), "%s", said_text.c_str());
  }
};

struct Held {
  std::uint64_t start;
  std::uint64_t lease;
  std::uint64_t size;
};

struct Trainer {
  std::size_t process = 0;
  std::uint32_t number = 0;
  std::array<Connection, connections_max> connections;
  std::uint32_t connection_count = 0;
  const Connection* now = nullptr;  ///< where it reads
  const RingReader* reader = nullptr;
  std::uint64_t position = 0;  ///< the next sample that it needs
  std::uint64_t epoch = 0;     ///< the one that it is in
  std::array<Held, 8> held{};
  std::size_t holds = 0;
  bool came = false;        ///< it was admitted
  bool came_twice = false;  ///< its first producer died before it was admitted
  bool goes = false;        ///< as it drew
  bool ended = false;
  bool read_all = false;
  bool read_alone =
      false;  ///< to the end of a ring whose producer had died: no producer heard of it
  // What it does.
  Group group;
  std::uint32_t batch = 1;
  std::uint32_t hold = 0;
  std::uint32_t leave_one_in = 0;
  std::uint64_t goes_after = far_away;  ///< epochs
  int comes_after_ms = 0;
};

struct Life {
  std::uint32_t number = 0;
  std::size_t process = 0;
  bool is_open = false;  ///< its door
  bool is_over = false;
  bool all_made = false;  ///< and its maker does not touch the writer any more
  RingWriter* writer = nullptr;
  SharedWord<std::uint32_t> door_word{0};
  std::array<std::array<std::uint64_t, 2>, capacity_max> samples{};
  std::array<std::uint64_t, 2 * capacity_max> ids{};
};

struct Sizes {
  std::uint64_t capacity = 4;
  std::uint64_t epoch = 4;
  std::uint64_t epochs = 1;
  std::uint32_t lives = 1;
  std::uint32_t trainers = 1;
  std::uint32_t world = 0;  ///< the first trainers are ranks of a group
  std::uint64_t ahead = 0;
  std::uint32_t loan = 1;
  bool knows_ids = true;
  bool leaves = false;  ///< ranks leave epochs early
};

struct World {
  Sizes sizes;
  std::array<Trainer, trainers_max> trainers;
  std::array<Life, lives_max> lives;
  SharedWord<std::uint32_t> lives_word{0};
  std::array<std::uint64_t, epochs_max> left_at{};  ///< of each epoch: where a rank left it
  bool all_left = false;
  std::uint32_t events_until_deaths = 0;
  std::uint32_t deaths = 0;
};

alignas(64) std::array<std::array<std::byte, std::size_t{64} * 1024>, lives_max> boards;
World* world = nullptr;

std::span<Trainer> trainers() noexcept { return {world->trainers.data(), world->sizes.trainers}; }
std::span<Life> lives() noexcept { return {world->lives.data(), world->sizes.lives}; }
BoardView board_of(std::uint32_t life) noexcept { return BoardView(boards[life].data()); }
Desk& desk_of(const Connection& one) noexcept { return *reinterpret_cast<Desk*>(one.desk); }

/// Deaths come once some of the story has been.
void note_event() {
  if (world->events_until_deaths != 0 && --world->events_until_deaths == 0) {
    allow_deaths(world->deaths);
  }
}

// ---- the judge

bool is_rank(const Trainer& one) noexcept { return one.group.world != 0; }

/// The first sample of the next batch that is its own.
std::uint64_t own_position(const Trainer& self) noexcept {
  if (!is_rank(self)) return self.position;
  const std::uint64_t end = (self.position / world->sizes.epoch + 1) * world->sizes.epoch;
  const std::uint64_t all =
      std::min<std::uint64_t>(std::uint64_t{self.batch} * self.group.world, end - self.position);
  const std::uint64_t share = all / self.group.world;
  return share == 0 ? end : self.position + share * self.group.rank;  // what no rank gets is passed
}

/// The lowest position that this trainer needs of that ring; `far_away` for none.
std::uint64_t needed_by(const Trainer& self, const Connection& one) noexcept {
  if (one.answer != Connection::welcome || one.bye || one.is_lost) return far_away;
  if (board_of(one.life).consumer(one.index).consumer_id.peek() != one.consumer_id) return far_away;
  if (self.now != &one) return std::max(one.position, self.position);  // it may leave its epoch
  std::uint64_t lowest = far_away;
  for (std::size_t i = 0; i < self.holds; ++i) lowest = std::min(lowest, self.held[i].start);
  if (desk_of(one).skipping.peek() != 0) return lowest;
  // An epoch that another rank left is passed within `next`.
  const bool passes = world->sizes.leaves && is_rank(self);
  const std::uint64_t own = own_position(self);
  return std::min(lowest, passes ? std::max(own, self.reader->position()) : own);
}

void check_gate(const Life& life, std::uint64_t end) {
  for (const Trainer& self : trainers()) {
    if (is_dead(self.process) || self.ended) continue;
    for (std::uint32_t i = 0; i < self.connection_count; ++i) {
      const Connection& one = self.connections[i];
      if (one.life != life.number) continue;
      const std::uint64_t needed = needed_by(self, one);
      if (end <= saturating_add(needed, world->sizes.capacity)) continue;
      fail(
          text("the gate: life {} writes up to {}, but trainer {} needs position {} of a ring of "
               "{}",
               life.number, end, self.number, needed, world->sizes.capacity));
    }
  }
}

bool has_missed_welcome(const Trainer& self) noexcept;

/// A rank is gone. The epochs that it had ended, if its producer knew them as it left.
struct Gone {
  bool is_gone = false;
  std::optional<std::uint64_t> ended;
};
Gone gone_of(const Trainer& one) noexcept {
  if (is_dead(one.process) || one.read_alone || has_missed_welcome(one)) return {true, {}};
  if (!one.goes && (!one.ended || one.read_all)) return {};
  if (one.connection_count == 0) return {true, {}};
  return {true, one.connections[one.connection_count - 1].ended};
}

/// The others get all epochs that those had which left in order.
void check_broken(const Trainer& self) {
  std::uint64_t ended = far_away;
  for (const Trainer& one : trainers().first(world->sizes.world)) {
    const Gone gone = gone_of(one);
    if (!gone.is_gone) continue;
    if (!gone.ended) return;
    ended = std::min(ended, *gone.ended);
  }
  if (self.epoch >= ended) return;
  fail(text("rank {} gets GroupBroken in epoch {}, and all others had ended epoch {}", self.number,
            self.epoch, ended - 1));
}

/// Its producer died before it had its welcome: it cannot come back to a place.
bool has_missed_welcome(const Trainer& self) noexcept {
  if (self.came_twice) return true;
  if (self.came || self.connection_count == 0) return false;
  return is_dead(world->lives[self.connections[self.connection_count - 1].life].process);
}

/// Whether its group may be broken: a rank died, went, or missed its welcome.
bool may_be_broken() noexcept {
  const auto ranks = trainers().first(world->sizes.world);
  return std::any_of(ranks.begin(), ranks.end(), [](const Trainer& one) {
    return is_dead(one.process) || one.goes || (one.ended && !one.read_all) || one.read_alone ||
           has_missed_welcome(one);
  });
}

/// It gets a batch of an epoch: all ranks have ended the one before. Where a producer died that had
/// made all, no other comes to tell them, and each reads to the end.
void check_met(const Trainer& self) {
  if (!is_rank(self)) return;
  const std::uint32_t life = self.now->life;
  const auto state = static_cast<StreamState>(board_of(life).progress().state.peek());
  if (is_dead(world->lives[life].process) && product::has_ended(state)) return;
  for (const Trainer& one : trainers().first(world->sizes.world)) {
    if (!one.came || one.epoch >= self.epoch) continue;
    fail(text("rank {} is in epoch {}, and rank {} has not ended epoch {}", self.number, self.epoch,
              one.number, one.epoch));
  }
}

void check_run(const Trainer& self, const Run& run) {
  if (run.batch_start != self.position) {
    fail(text("trainer {} gets position {} and not {}", self.number, run.batch_start,
              self.position));
  }
  if (run.epoch != self.epoch) {
    fail(text("trainer {} gets a batch of epoch {}, and is in epoch {}", self.number, run.epoch,
              self.epoch));
  }
  check_met(self);
}

/// It came to the end of an epoch: all whole batches were there, up to where a rank left it.
void check_epoch_end(const Trainer& self, std::uint64_t epoch) {
  if (is_rank(self) && self.position >= world->left_at[epoch]) return;
  const std::uint64_t end = (epoch + 1) * world->sizes.epoch;
  const std::uint64_t ranks = is_rank(self) ? self.group.world : 1;
  if (self.position + ranks > end) return;
  fail(text("trainer {} is at the end of epoch {}, and got nothing from position {} on",
            self.number, epoch, self.position));
}

void check_wake_up(const Life& life) {
  if (was_not_woken() && !is_dead(life.process)) {
    fail(text("a lost wake-up: {} slept until its time was up, and what it waited for was there",
              current_name()));
  }
}

// ---- a producer

void ring_door(Life& life) {
  life.door_word.add_quietly();
  wake(&life.door_word);
}

void ring_bell(Connection& one) {
  one.bell.add_quietly();
  wake(&one.bell);
}

void ring_all() {
  world->lives_word.add_quietly();
  wake(&world->lives_word);
}

std::string identity_text() { return std::string(32, '5'); }

ProducerOptions producer_options() {
  ProducerOptions options;
  options.stream = "s";
  options.samples_per_epoch = world->sizes.epoch;
  options.epochs = world->sizes.epochs;
  options.max_consumers = 2 * trainers_max;
  options.ahead = world->sizes.ahead;
  options.pure = true;
  if (world->sizes.knows_ids) {
    options.known_ids = [](std::uint64_t epoch, std::uint64_t index, std::span<std::uint64_t> ids) {
      for (std::uint64_t& id : ids) id = epoch * world->sizes.epoch + index++;
      return true;
    };
  }
  return options;
}

RingWriter::Options writer_options(const ProducerOptions& options) {
  RingWriter::Options writer;
  writer.samples_per_epoch = options.samples_per_epoch;
  writer.epochs = options.epochs;
  writer.ahead = options.ahead;
  writer.goes_back = true;
  writer.spin_ns = 0;
  writer.on_evicted = [](std::uint64_t, const std::string& reason) {
    if (reason.find("its desk said") != std::string::npos) fail("an honest trainer: " + reason);
    forget_time_out();
  };
  return writer;
}

/// Also the incarnation is the same each time.
Board make_board(const Life& life) {
  FieldEntry field{};
  field.capacity = world->sizes.capacity;
  field.stride_bytes = field.sample_bytes = 8;
  field.segment_bytes = 8 * world->sizes.capacity;
  const std::string identity = identity_text();
  BoardSpec spec;
  spec.identity = identity;
  spec.fields = {&field, 1};
  spec.capacity = world->sizes.capacity;
  spec.samples_per_epoch = world->sizes.epoch;
  spec.epochs = world->sizes.epochs;
  spec.consumers_max = 2 * trainers_max;
  spec.pure = true;
  const std::uint64_t bytes = board_bytes_for(spec);
  if (bytes > boards[life.number].size()) std::abort();
  std::memset(boards[life.number].data(), 0, bytes);
  format_board({boards[life.number].data(), bytes}, spec);
  Board board(boards[life.number].data());
  board.head().incarnation.fill(static_cast<std::uint8_t>(life.number + 1));
  return board;
}

product::Life life_of(const BoardHead& head, const Life& life) {
  product::Life mine;
  mine.identity = product::to_hex(head.identity);
  mine.incarnation = product::to_hex(head.incarnation);
  mine.pid = life.number + 1;
  return mine;
}

/// What a producer has in its memory, made in the order of the real one.
struct Served {
  explicit Served(const Life& life)
      : options(producer_options()),
        rings(make_board(life), writer_options(options)),
        book("", life_of(rings.host().board().head(), life), log),
        reception({options, rings, rate, log, &book}) {}

  static void log(LogLevel, std::string_view line) {
    if (tells()) tell("log: %.*s", static_cast<int>(line.size()), line.data());
  }

  ProducerOptions options;
  product::ServedRings rings;
  product::SampleRate rate;
  product::LifeBook book;
  product::Reception reception;
};

class Door {
 public:
  Door(Life& life, Served& served) : life_(life), served_(served) {}

  /// Returns whether all trainers have left.
  bool look() {
    bool all_left = true;
    for (Trainer& self : trainers()) {
      for (std::uint32_t i = 0; i < self.connection_count; ++i) {
        Connection& one = self.connections[i];
        if (one.life == life_.number && !one.is_lost) look_at(self, one);
      }
      all_left = all_left && (self.ended || is_dead(self.process));
    }
    if (now_ns() - ticked_ns_ >= tick_ns) {
      ticked_ns_ = now_ns();
      served_.reception.tick();
      tell_news();
    }
    return all_left && !has_any();
  }

  [[nodiscard]] bool has_any() const {
    for (const Trainer& self : trainers()) {
      for (std::uint32_t i = 0; i < self.connection_count; ++i) {
        const Connection& one = self.connections[i];
        if (one.life == life_.number && !one.is_lost) return true;
      }
    }
    return false;
  }

 private:
  static constexpr std::uint64_t tick_ns = 100'000'000;

  /// Its death may be seen before its last words are heard.
  void look_at(Trainer& self, Connection& one) {
    const bool is_gone = is_seen_dead(self.process);
    if (!one.hello_heard && !is_gone) hear_hello(self, one);
    while (!one.is_lost && one.key && one.heard != one.said) {
      tell("hears that trainer %u ended epoch %llu", self.number,
           static_cast<unsigned long long>(one.ends[one.heard].epoch));
      served_.reception.epoch_ended(*one.key, one.ends[one.heard++]);
      tell_news();
      step();
    }
    if (one.is_lost) return;
    if (one.bye) return lose(self, one, one.hello_heard ? Leaving::bye : Leaving::closed);
    if (is_gone) lose(self, one, Leaving::died);
  }

  void hear_hello(Trainer& self, Connection& one) {
    one.hello_heard = true;
    PeerIdentity peer;
    peer.pid = static_cast<pid_t>(100 + self.number);
    auto reply = served_.reception.admit(one.hello, peer);
    if (auto* admission = std::get_if<Admission>(&reply)) {
      welcome(self, one, *admission);
    } else if (auto* refusal = std::get_if<Refusal>(&reply)) {
      refuse(self, one, *refusal);
    } else {
      one.key = std::get<Waiting>(reply).key;
      tell("lets trainer %u wait", self.number);
    }
    tell_news();
  }

  void welcome(Trainer& self, Connection& one, const Admission& admission) {
    step();
    one.key = admission.key;
    one.position = admission.welcome.position;
    one.consumer_id = admission.welcome.consumer_id;
    one.index = admission.welcome.consumer_index;
    one.desk = kernel::memory_of(admission.descriptors[1]);
    if (admission.welcome.has_member_lock && !is_dead(self.process)) {
      one.lock_fd = kernel::sent_to(self.process, admission.descriptors.back());
    }
    one.answer = Connection::welcome;
    tell("welcomes trainer %u at %llu", self.number, static_cast<unsigned long long>(one.position));
    note_event();
    ring_bell(one);
  }

  void refuse(const Trainer& self, Connection& one, const Refusal& refusal) {
    one.is_lost = true;
    one.key.reset();
    one.refusal = refusal.kind;
    one.keep_text(refusal.text);
    one.answer = Connection::refused;
    tell("refuses trainer %u: %s", self.number, one.text.data());
    ring_bell(one);
  }

  void lose(const Trainer& self, Connection& one, Leaving how) {
    one.is_lost = true;
    const auto key = std::exchange(one.key, std::nullopt);
    if (!key) return;
    tell("loses trainer %u, which %s", self.number,
         how == Leaving::died      ? "is dead"
         : how == Leaving::evicted ? "is evicted"
                                   : "left");
    served_.reception.left(*key, how);
    if (one.heard != 0) one.ended = one.ends[one.heard - 1].epoch + 1;
    tell_news();
  }

  void tell_news() {
    if (std::exchange(tells_news_, true)) return;
    for (auto all = served_.reception.take_news(); !all.empty();
         all = served_.reception.take_news()) {
      for (const RankNews& news : all) tell_one(news);
    }
    tells_news_ = false;
  }

  void tell_one(const RankNews& news) {
    const auto [self, one] = find(news.key);
    const auto* admission = std::get_if<Admission>(&news.said);
    if (one == nullptr) {
      if (admission != nullptr) served_.reception.left(admission->key, Leaving::closed);
      return;
    }
    if (const auto* farewell = std::get_if<Farewell>(&news.said)) {
      one->group_broke = farewell->group_broke;
      one->keep_text(farewell->reason);
      one->farewell = true;
      ring_bell(*one);
      lose(*self, *one, Leaving::evicted);
    } else if (const auto* refusal = std::get_if<Refusal>(&news.said)) {
      refuse(*self, *one, *refusal);
    } else if (admission != nullptr) {
      welcome(*self, *one, *admission);
    }
  }

  std::pair<Trainer*, Connection*> find(ConsumerKey key) {
    for (Trainer& self : trainers()) {
      for (std::uint32_t i = 0; i < self.connection_count; ++i) {
        Connection& one = self.connections[i];
        if (one.life == life_.number && !one.is_lost && one.key == key) return {&self, &one};
      }
    }
    return {nullptr, nullptr};
  }

  Life& life_;
  Served& served_;
  std::uint64_t ticked_ns_ = 0;
  bool tells_news_ = false;
};

/// The stream's name is free once the producers before are dead.
bool takes_name(const Life& life) {
  const auto earlier = lives().first(life.number);
  while (!std::all_of(earlier.begin(), earlier.end(),
                      [](const Life& one) { return is_dead(one.process); })) {
    if (world->all_left) return false;
    const std::uint32_t seen = world->lives_word.load_quietly();
    static_cast<void>(futex_wait(world->lives_word, seen, look_ms));
  }
  return true;
}

void serve(Life& life) {
  if (!takes_name(life)) return;
  auto* const served = new Served(life);
  life.writer = &served->rings.host().writer();
  tell("opens its door");
  life.is_open = true;
  ring_all();
  Door door(life, *served);
  for (bool is_stopped = false;;) {
    const std::uint32_t seen = life.door_word.load_quietly();
    const bool all_left = door.look();
    if (all_left && !std::exchange(is_stopped, true)) {
      world->all_left = true;
      life.writer->stop("all have left");
    }
    // A place that was kept for a dead one is given up at a tick.
    if (life.all_made && all_left && life.writer->status().consumers.empty()) break;
    static_cast<void>(futex_wait(life.door_word, seen, 100));
  }
  life.is_over = true;
  served->book.end();
  delete served;
  ring_all();
}

void write_sample(Life& life, std::uint64_t position) {
  if (position < board_of(life.number).progress().claimed.peek()) check_gate(life, position + 1);
  auto& sample = life.samples[position % world->sizes.capacity];
  sample[0] = content_of(position);
  step();
  const std::uint64_t at = position % world->sizes.capacity;
  life.ids[at] = life.ids[at + world->sizes.capacity] = position;
  step();
  sample[1] = content_of(position);
}

void fill(Life& life, const Ticket& ticket) {
  Receipt receipt;
  for (std::uint64_t i = 0; i < ticket.size; ++i) {
    const std::uint64_t id = ticket.position + i;
    write_sample(life, id);
    receipt.add(std::span(&id, 1));
  }
  tell("publishes %llu to %llu", static_cast<unsigned long long>(ticket.position),
       static_cast<unsigned long long>(ticket.position + ticket.size - 1));
  life.writer->publish(ticket, receipt);
  note_event();
}

void make(Life& life) {
  while (!life.is_open) {
    if (world->all_left) {
      life.all_made = true;
      return;
    }
    const std::uint32_t seen = world->lives_word.load_quietly();
    static_cast<void>(futex_wait(world->lives_word, seen, look_ms));
  }
  for (;;) {
    Ticket ticket;
    const int timeout_ms = chance().one_in(4) ? 30 : -1;
    const Claim claim =
        life.writer->claim(1 + chance().below(world->sizes.loan), timeout_ms, ticket);
    if (claim == Claim::ended) break;
    if (claim == Claim::timed_out) continue;
    check_wake_up(life);
    fill(life, ticket);
  }
  for (;;) {
    if (life.writer->wait_drained(40) && life.writer->close()) break;
    if (world->all_left) break;
  }
  life.all_made = true;
  ring_door(life);
}

// ---- a trainer

/// A place in one life's ring.
class Attached final : public ReaderHost, public RankHost {
 public:
  Attached(Trainer& self, Connection& link)
      : self_(self), link_(link), life_(world->lives[link.life]) {
    RingReader::Options options;
    options.stream = "s";
    options.rides = true;
    if (is_rank(self)) {
      options.share = self.group.rank;
      options.shares = self.group.world;
    }
    const FieldWindow window{reinterpret_cast<std::byte*>(life_.ids.data()), world->sizes.capacity,
                             8, 8};
    reader_.emplace(board(), desk_of(link), window, *this, std::move(options));
    if (is_rank(self)) rank_.emplace(*reader_, board(), desk_of(link), *this, self.group);
  }

  [[nodiscard]] BoardView board() const noexcept { return board_of(link_.life); }
  [[nodiscard]] Connection& link() noexcept { return link_; }
  [[nodiscard]] const Life& life() const noexcept { return life_; }
  [[nodiscard]] RingReader& reader() noexcept { return *reader_; }
  [[nodiscard]] std::optional<RankReader>& rank() noexcept { return rank_; }

  [[nodiscard]] Next next(int timeout_ms, Run& run) {
    return rank_ ? rank_->next(self_.batch, timeout_ms, run)
                 : reader_->next(self_.batch, timeout_ms, run);
  }

  [[nodiscard]] bool has_lost_producer() const noexcept {
    return is_seen_dead(life_.process) &&
           !product::has_ended(ordered::load_state(board().progress()));
  }

  [[nodiscard]] Resumes resumes() const noexcept {
    const BoardHead& head = board().head();
    const BoardProgress& progress = board().progress();
    Resumes resumes;
    resumes.identity = head.identity;
    resumes.incarnation = head.incarnation;
    resumes.consumer_id = link_.consumer_id;
    resumes.kept_from = ordered::load_kept_from(progress);
    resumes.valid_from = ordered::get_acquire(progress.valid_from);
    resumes.claimed = ordered::load_claimed(progress);
    resumes.published = ordered::load_published(progress);
    return resumes;
  }

  /// Where it comes to at most in this ring.
  [[nodiscard]] std::uint64_t end_of_drain() const noexcept {
    RowPlace place = ReaderHandover::end_of_whole(*reader_, self_.batch);
    if (rank_) place = std::min(place, rank_->end_of_drain());
    return place.position;
  }

  void take_over(Attached& last) {
    ReaderHandover::take_over(*reader_, *last.reader_);
    if (!rank_) return;
    rank_->take_over(*last.rank_);
    tell_ends_again(last);
  }
  void tell_ends_again(const Attached& last) noexcept {
    pending_.tell_again(last.pending_);
    tell_untold();
  }

  [[nodiscard]] ReaderStatus status() const noexcept {
    return rank_ ? rank_->status() : reader_->status();
  }

  // ---- what its reader asks

  bool producer_is_dead() noexcept override { return is_seen_dead(life_.process); }
  std::string why_revoked() override { return rank_ ? rank_->why_revoked() : "?"; }
  bool give_oldest_back() noexcept override {
    if (self_.holds == 0) return false;
    give_back(0);
    return true;
  }
  void tell_epoch_end(const RankEpoch& epoch) noexcept override {
    check_epoch_end(self_, epoch.epoch);
    self_.epoch = epoch.epoch + 1;
    pending_.tell({.epoch = epoch.epoch,
                   .place = epoch.place,
                   .early = epoch.early,
                   .known = epoch.known,
                   .count = epoch.receipt.count,
                   .hash = epoch.receipt.hash,
                   .rows = epoch.rows});
    tell_untold();
  }
  bool is_hung_up() noexcept override {
    return link_.is_lost || life_.is_over || is_seen_dead(life_.process);
  }
  void give_up_place() noexcept override { leave(); }
  std::string why_evicted() override {
    // The farewell follows the eviction.
    while (!link_.farewell && !is_hung_up()) {
      const std::uint32_t seen = link_.bell.load_quietly();
      static_cast<void>(futex_wait(link_.bell, seen, look_ms));
    }
    return link_.text.data();
  }
  bool group_broke() noexcept override { return link_.group_broke; }

  // ---- what it holds

  void keep(const Run& run) {
    self_.held[self_.holds++] = {run.position, run.lease, run.size};
    self_.position = run.next().position;
    read(run.position, run.size);
  }
  void give_back(std::size_t which) {
    const Held held = self_.held[which];
    read(held.start, held.size);
    for (std::size_t i = which + 1; i < self_.holds; ++i) self_.held[i - 1] = self_.held[i];
    --self_.holds;
    static_cast<void>(reader_->give_back(held.lease));
  }

  void leave() noexcept {
    if (link_.bye) return;
    step();
    link_.bye = true;
    if (!is_dead(life_.process)) ring_door(life_);
  }

 private:
  void tell_untold() noexcept {
    while (const EpochEnd* const end = pending_.untold()) {
      step();
      if (link_.said < ends_max) link_.ends[link_.said++] = *end;
      pending_.drop_untold();
    }
    if (!is_dead(life_.process)) ring_door(life_);
  }

  void read(std::uint64_t position, std::uint64_t size) {
    for (std::uint64_t at = position; at < position + size; ++at) {
      const auto& sample = life_.samples[at % world->sizes.capacity];
      const std::uint64_t first = sample[0];
      step();
      if (first == content_of(at) && sample[1] == content_of(at)) continue;
      if (reader_->revoked()) return;
      fail(text("torn: trainer {} finds another sample at position {}", self_.number, at));
    }
  }

  Trainer& self_;
  Connection& link_;
  Life& life_;
  product::Pending pending_;
  std::optional<RingReader> reader_;
  std::optional<RankReader> rank_;
};

/// One that was refused, and asks no more.
struct KeptOut {
  RefusalKind kind;
  std::string why;
};

class Ride {
 public:
  explicit Ride(Trainer& self) : self_(self) {}

  void run() {
    try {
      join();
      if (now_ != nullptr) read_all();
    } catch (const KeptOut& why) {
      tell("ends: %s", why.why.c_str());
      check_kept_out(why);
    } catch (const std::exception& error) {
      tell("ends: %s", error.what());
      check_end(error);
    }
    end();
  }

 private:
  // ---- joining

  Connection* say_hello(const std::optional<Resumes>& resumes) {
    const auto open = std::find_if(lives().begin(), lives().end(), [](const Life& one) {
      return one.is_open && !one.is_over && !is_dead(one.process);
    });
    if (open == lives().end()) return nullptr;
    if (self_.connection_count == connections_max) {
      throw KeptOut{RefusalKind::busy, "it was kept out too often"};
    }
    Connection& one = self_.connections[self_.connection_count];
    one.life = open->number;
    Hello& hello = one.hello;
    hello.name = "t";
    hello.batch_size = self_.batch;
    hello.pid = static_cast<std::int32_t>(100 + self_.number);
    hello.rides = true;
    if (is_rank(self_)) {
      hello.group = self_.group.name;
      hello.rank = self_.group.rank;
      hello.world = self_.group.world;
    }
    if (resumes) {
      hello.resumes = resumes;
      hello.join = Join::at;
      hello.cursor = now_->end_of_drain();
    }
    step();
    ++self_.connection_count;
    tell("says hello to life %u%s", open->number, resumes ? ", and resumes" : "");
    if (resumes) tell("at %llu", static_cast<unsigned long long>(hello.cursor));
    ring_door(*open);
    return &one;
  }

  /// Whether the answer is there. A producer that died may have left one.
  [[nodiscard]] bool has_answer(const Connection& one) const {
    return one.answer != Connection::none || is_gone(one);
  }
  [[nodiscard]] static bool is_gone(const Connection& one) {
    const Life& life = world->lives[one.life];
    return life.is_over || is_seen_dead(life.process);
  }

  /// Nothing where it has to ask again.
  std::unique_ptr<Attached> attach(Connection& one) {
    if (one.answer == Connection::refused) {
      const bool asks_again = one.refusal == RefusalKind::busy ||
                              (one.hello.resumes && one.refusal == RefusalKind::full);
      if (!asks_again) throw KeptOut{one.refusal, one.text.data()};
      return nullptr;
    }
    // The welcome may have come too late for it.
    const bool is_missed = is_gone(one) && chance().below(2) == 0;
    FileDescriptor lock(one.lock_fd);
    one.lock_fd = -1;
    if (one.answer == Connection::none || is_missed) {
      if (!one.hello.resumes) self_.came_twice = true;
      return nullptr;
    }
    auto attached = std::make_unique<Attached>(self_, one);
    lock_ = std::move(lock);
    return attached;
  }

  void rest(const SharedWord<std::uint32_t>& word, std::uint32_t seen) {
    static_cast<void>(futex_wait(word, seen, look_ms));
    forget_time_out();
  }

  void join() {
    if (self_.comes_after_ms != 0) {
      static_cast<void>(futex_wait(self_.connections[0].bell, 0, self_.comes_after_ms));
    }
    while (now_ == nullptr) {
      const std::uint32_t seen_lives = world->lives_word.load_quietly();
      Connection* const one = say_hello(std::nullopt);
      if (one == nullptr) {
        if (no_more_come()) return;
        rest(world->lives_word, seen_lives);
        continue;
      }
      while (!has_answer(*one)) {
        const std::uint32_t seen = one->bell.load_quietly();
        if (has_answer(*one)) break;
        if (is_calm() && is_rank(self_) && may_be_broken()) return give_up(*one);
        rest(one->bell, seen);
      }
      now_ = attach(*one);
      if (now_ == nullptr) rest(one->bell, one->bell.load_quietly());
    }
    stand_at(*now_);
    self_.position = now_->link().position;
    self_.epoch = self_.position / world->sizes.epoch;
    self_.came = true;
  }

  void stand_at(Attached& attached) {
    self_.now = &attached.link();
    self_.reader = &attached.reader();
  }

  void give_up(Connection& one) {
    tell("waits no more for its group");
    one.bye = true;
    ring_door(world->lives[one.life]);
  }

  /// The stream is over.
  [[nodiscard]] static bool no_more_come() {
    return std::any_of(lives().begin(), lives().end(), [](const Life& one) { return one.is_over; });
  }

  // ---- reading

  void read_all() {
    for (;;) {
      look_at_producers();
      Run run;
      Next next = Next::timed_out;
      if (std::exchange(owes_epoch_end_, false)) {
        next = Next::end_of_epoch;
      } else {
        try {
          next = now_->next(chance().one_in(4) ? 60 : -1, run);
        } catch (const ProducerGone&) {
          wait_for_next();
          continue;
        }
      }
      if (next == Next::timed_out) continue;
      check_wake_up(now_->life());
      if (next == Next::end_of_epoch) {
        end_epoch();
        self_.goes = self_.epoch >= self_.goes_after && self_.epoch < world->sizes.epochs;
        if (self_.goes) return;
        continue;
      }
      tell("gets %llu to %llu", static_cast<unsigned long long>(run.position),
           static_cast<unsigned long long>(run.position + run.size - 1));
      check_run(self_, run);
      now_->keep(run);
      note_event();
      give_some_back(self_.hold);
      if (self_.leave_one_in != 0 && chance().one_in(self_.leave_one_in)) leave_epoch();
    }
  }

  void give_some_back(std::uint32_t most) {
    while (self_.holds > most) {
      now_->give_back(chance().below(static_cast<std::uint32_t>(self_.holds)));
    }
  }

  void end_epoch() {
    if (!is_rank(self_)) {
      check_epoch_end(self_, self_.epoch);
      ++self_.epoch;
    }
    tell("is at the end of epoch %llu", static_cast<unsigned long long>(self_.epoch - 1));
    self_.position = self_.epoch * world->sizes.epoch;
    tell_ends();
  }

  void leave_epoch() {
    tell("leaves its epoch");
    const std::uint64_t epoch = self_.epoch;
    std::uint64_t& left_at = world->left_at[epoch];
    left_at = std::min(left_at, self_.position);
    self_.position = (epoch + 1) * world->sizes.epoch;
    now_->rank()->leave_epoch();
    tell_ends();
  }

  // ---- a producer's death, as Rider has it

  void look_at_producers() {
    if (!drains_) {
      if (chance().below(2) == 0 || !now_->has_lost_producer()) return;
      begin_drain();
      search();
    } else if (chance().below(2) != 0) {
      look_at_next();
    }
  }

  void begin_drain() {
    tell("sees that its producer is dead");
    drains_ = true;
    resumes_.reset();
  }

  void search() {
    Resumes resumes = now_->resumes();
    if (resumes_) resumes = *resumes_;
    search_ = say_hello(resumes);
  }

  /// What goes wrong is for the call that waits.
  void look_at_next() {
    if (next_ && next_->has_lost_producer()) {
      resumes_ = next_->resumes();
      next_.reset();
      search_ = nullptr;
    }
    if (next_) return;
    if (search_ == nullptr) return search();
    if (!has_answer(*search_) || search_->answer == Connection::refused) return;
    take_found();
  }

  void take_found() {
    Connection& one = *std::exchange(search_, nullptr);
    next_ = attach(one);
  }

  void tell_ends() {
    if (!drains_ || !is_rank(self_)) return;
    look_at_next();
    if (next_) next_->tell_ends_again(*now_);
  }

  /// There is no whole batch any more.
  void wait_for_next() {
    forget_time_out();  // a death wakes no sleeper
    if (!drains_) begin_drain();
    if (ReaderHandover::owes_epoch_end(now_->reader(), self_.batch)) {
      Run run;
      owes_epoch_end_ = now_->next(0, run) == Next::end_of_epoch;
    }
    tell("waits for the next producer, at %llu",
         static_cast<unsigned long long>(now_->reader().position()));
    give_some_back(0);
    for (;;) {
      const std::uint32_t seen = world->lives_word.load_quietly();
      look_at_next();
      if (next_) break;
      if (search_ != nullptr && search_->answer == Connection::refused) {
        take_found();
        rest(world->lives_word, seen);
        continue;
      }
      if (search_ == nullptr) {
        if (no_more_come()) throw KeptOut{RefusalKind::finished, "the stream ended without it"};
        rest(world->lives_word, seen);
        continue;
      }
      const std::uint32_t seen_bell = search_->bell.load_quietly();
      if (!has_answer(*search_)) rest(search_->bell, seen_bell);
    }
    change_over();
  }

  void change_over() {
    tell("goes on with life %u", next_->link().life);
    count(*now_);
    next_->take_over(*now_);
    stand_at(*next_);
    now_ = std::move(next_);
    drains_ = false;
    resumes_.reset();
  }

  static void count(const Attached& attached) {
    if (attached.status().epochs_mismatched != 0) fail("a receipt does not match");
  }

  // ---- its end

  /// What ends a trainer has to be so.
  void check_end(const std::exception& error) {
    if (now_ != nullptr) check_wake_up(now_->life());
    bool right = false;
    if (dynamic_cast<const StreamFinished*>(&error) != nullptr) {
      self_.read_all = self_.epoch == world->sizes.epochs;
      right = self_.read_all;
      self_.read_alone = is_dead(now_->life().process);
      check_receipts();
    } else if (dynamic_cast<const GroupBroken*>(&error) != nullptr) {
      right = is_rank(self_) && may_be_broken();
      if (right) check_broken(self_);
    } else if (dynamic_cast<const RingTooSmall*>(&error) != nullptr) {
      right = self_.holds != 0;
    }
    if (!right) {
      fail(text("trainer {} ends in epoch {} at {} with: {}", self_.number, self_.epoch,
                self_.position, error.what()));
    }
  }

  void check_receipts() {
    const bool are_known = world->deaths == 0 && !world->sizes.leaves && !may_be_broken();
    if (are_known && now_->status().epochs_unknown != 0) fail("a receipt is not known");
  }

  void check_kept_out(const KeptOut& why) {
    self_.read_all = self_.came && why.kind == RefusalKind::finished &&
                     self_.epoch == world->sizes.epochs;  // for a trainer it is StreamFinished
    bool right = self_.read_all || (is_rank(self_) && may_be_broken());
    if (!self_.came && !right) {
      right = why.kind == RefusalKind::finished || why.kind == RefusalKind::stopped ||
              why.kind == RefusalKind::busy;
    }
    if (!right) fail(text("trainer {} is kept out: {}", self_.number, why.why));
  }

  void end() {
    if (now_ != nullptr) {
      count(*now_);
      self_.holds = 0;  // it looks at none of them any more
      now_->leave();
      self_.now = nullptr;
    }
    if (next_ != nullptr) next_->leave();
    if (search_ != nullptr) give_up(*search_);
    search_ = nullptr;
    lock_.reset();
    now_.reset();
    next_.reset();
  }

  Trainer& self_;
  std::unique_ptr<Attached> now_;
  std::unique_ptr<Attached> next_;
  Connection* search_ = nullptr;
  std::optional<Resumes> resumes_;
  FileDescriptor lock_;
  bool drains_ = false;
  bool owes_epoch_end_ = false;
};

void run_trainer(Trainer& self) {
  Ride(self).run();
  tell("has left");
  self.ended = true;
  for (Life& life : lives()) {
    if (life.is_open && !is_dead(life.process)) ring_door(life);
  }
}

// ---- what is drawn

Sizes draw_sizes() {
  Sizes sizes;
  constexpr std::array<std::uint64_t, 6> capacities = {4, 4, 5, 8, 7, 16};
  sizes.capacity = capacities[chance().below(6)];
  sizes.epoch = 3 + chance().below(6);  // no less than ranks
  sizes.epochs = 1 + chance().below(static_cast<std::uint32_t>(epochs_max));
  sizes.lives = 1 + chance().below(lives_max);
  sizes.trainers = 1 + chance().below(trainers_max);
  sizes.world = chance().below(3) == 0 ? 0 : 1 + chance().below(3);
  sizes.world = std::min(sizes.world, sizes.trainers);
  sizes.ahead = chance().below(3);
  sizes.loan = 1 + chance().below(3);
  sizes.knows_ids = chance().below(4) != 3;
  sizes.leaves = chance().below(4) == 3;
  return sizes;
}

void draw_trainer(Trainer& self) {
  const Sizes& sizes = world->sizes;
  const bool is_one = self.number < sizes.world;
  const std::uint64_t ranks = is_one ? sizes.world : 1;
  const std::uint64_t most = std::min(sizes.capacity, sizes.epoch) / ranks;
  // The ranks of a group have batches of one size.
  const Trainer& first = world->trainers[0];
  self.batch =
      is_one && self.number != 0
          ? first.batch
          : 1 + chance().below(static_cast<std::uint32_t>(std::min<std::uint64_t>(most, 3)));
  if (is_one) self.group = Group(group_name, self.number, sizes.world);
  self.hold = chance().below(3);
  self.leave_one_in = is_one && sizes.leaves ? 4 : 0;
  if (is_one && chance().one_in(6)) self.goes_after = 1 + chance().below(3);
  self.comes_after_ms = chance().one_in(4) ? 150 : 0;
  tell("trainer %u: batches of %u, holds %u%s", self.number, self.batch, self.hold,
       is_one ? ", a rank" : "");
}

void add_processes() {
  constexpr std::array<const char*, trainers_max> trainer_names = {
      "trainer 0", "trainer 1", "trainer 2", "trainer 3", "trainer 4"};
  constexpr std::array<const char*, lives_max> life_names = {"life 0", "life 1", "life 2"};
  constexpr std::array<const char*, lives_max> maker_names = {"maker 0", "maker 1", "maker 2"};
  for (Life& life : lives()) {
    life.number = static_cast<std::uint32_t>(&life - world->lives.data());
    life.process = add_process(life_names[life.number], life.number + 1 != world->sizes.lives);
    add_fibre(life.process, life_names[life.number], [&life] { serve(life); });
    add_fibre(life.process, maker_names[life.number], [&life] { make(life); });
  }
  for (Trainer& self : trainers()) {
    self.number = static_cast<std::uint32_t>(&self - world->trainers.data());
    draw_trainer(self);
    self.process = add_process(trainer_names[self.number], true);
    add_fibre(self.process, trainer_names[self.number], [&self] { run_trainer(self); });
  }
}

}  // namespace

Outcome run_lives_world() {
  const auto here = std::make_unique<World>();
  world = here.get();
  kernel::begin();
  begin_world(static_cast<Manner>(chance().below(manners)), switches_max);
  set_judge(nullptr);
  world->sizes = draw_sizes();
  const Sizes& sizes = world->sizes;
  tell("a ring of %llu, %llu epochs of %llu; %u lives, %u trainers, %u of them ranks; ahead %llu",
       static_cast<unsigned long long>(sizes.capacity),
       static_cast<unsigned long long>(sizes.epochs), static_cast<unsigned long long>(sizes.epoch),
       sizes.lives, sizes.trainers, sizes.world, static_cast<unsigned long long>(sizes.ahead));
  add_processes();
  world->left_at.fill(far_away);
  world->deaths = chance().below(4);
  world->events_until_deaths = 1 + chance().below(24);
  on_seen_dead([](std::size_t) {
    const auto poke = [](SharedWord<std::uint32_t>& word) {
      word.poke(word.peek() + 1);
      wake(&word);
    };
    for (Life& life : lives()) {
      if (!is_dead(life.process)) poke(life.door_word);
    }
    poke(world->lives_word);
  });
  const Outcome outcome = run_world();
  world = nullptr;
  return outcome;
}

}  // namespace batchcast::simulation
