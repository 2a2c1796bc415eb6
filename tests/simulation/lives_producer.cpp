// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "simulation/lives_producer.hpp"

#include "simulation/kernel.hpp"
#include "simulation/lives_judge.hpp"
#include "simulation/scheduler.hpp"

#include <batchcast/core/deadline.hpp>
#include <batchcast/core/hex.hpp>
#include "door/door_server.hpp"
#include "life/life_book.hpp"
#include "producer/reception.hpp"
#include "producer/sample_rate.hpp"
#include "producer/served_rings.hpp"
#include "ring/writer/writer.hpp"

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

namespace batchcast::simulation::lives_world {
namespace {

namespace product = batchcast::detail;

std::string identity_text() { return std::string(32, '5'); }

ProducerOptions producer_options() {
  ProducerOptions options;
  options.stream = "s";
  options.memory = world->sizes.capacity;
  options.heads = static_cast<std::uint32_t>(world->sizes.heads);
  options.head_memory = world->sizes.head_capacity;
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

void note_evicted(std::uint64_t, const std::string& reason) {
  if (reason.find("its desk said") != std::string::npos) fail("an honest trainer: " + reason);
  forget_time_out();
}

product::Life life_of(const BoardHead& head, const Life& life) {
  product::Life mine;
  mine.identity = product::to_hex(head.identity);
  mine.incarnation = product::to_hex(head.incarnation);
  mine.pid = life.number + 1;
  return mine;
}

}  // namespace

/// What a producer has in its memory, made in the order of the real one.
struct Served {
  explicit Served(const Life& life)
      : options(producer_options()),
        rings(options, log, note_evicted, {.look_at = {}, .make = {}}),
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

namespace {

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
    check_heads();
    const bool is_early = has_heads() && chance().below(2) != 0;
    if (is_early || now_ns() - ticked_ns_ >= tick_ns) {
      ticked_ns_ = now_ns();
      served_.reception.tick();
      tell_news();
    }
    return all_left && !has_any();
  }

  [[nodiscard]] bool has_heads() const { return !served_.rings.heads().list().empty(); }
  void check_heads() const {
    if (served_.rings.heads().list().size() >= world->sizes.heads) fail("too many heads are open");
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
    if (one.asks_place && one.key) move_within(one);
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

  void move_within(Connection& one) {
    const std::uint64_t place = *std::exchange(one.asks_place, std::nullopt);
    const auto reply = served_.reception.rejoin(*one.key, {Join::at, {place, 0}});
    const auto* rejoined = std::get_if<Rejoined>(&reply);
    one.moved = rejoined != nullptr && rejoined->position == place;
    ring_bell(one);
    tell_news();
  }

  void welcome(Trainer& self, Connection& one, const Admission& admission) {
    step();
    one.key = admission.key;
    one.position = admission.welcome.position;
    one.consumer_id = admission.welcome.consumer_id;
    one.index = admission.welcome.consumer_index;
    std::memcpy(&one.ring, kernel::memory_of(admission.descriptors[0]), sizeof one.ring);
    one.desk = kernel::memory_of(admission.descriptors[1]);
    if (admission.welcome.has_member_lock && !one.bye && !is_dead(self.process)) {
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

void write_sample(Ring& ring, std::uint64_t position) {
  if (position < board_of(ring).progress().claimed.peek()) check_gate(ring, position + 1);
  const std::uint64_t at = position % ring.capacity;
  auto& sample = ring.samples[at];
  sample[0] = content_of(position);
  step();
  ring.ids[at] = ring.ids[at + ring.capacity] = position;
  step();
  sample[1] = content_of(position);
}

void fill(Life& life, product::HostRing& host, const LoanContents& loan) {
  Ring& ring = life.rings[host.number()];
  Receipt receipt;
  for (std::uint64_t i = 0; i < loan.size; ++i) {
    const std::uint64_t id = loan.position + i;
    write_sample(ring, id);
    receipt.add(std::span(&id, 1));
  }
  tell("publishes %llu to %llu in ring %u", static_cast<unsigned long long>(loan.position),
       static_cast<unsigned long long>(loan.position + loan.size - 1), ring.number);
  host.publish(loan, receipt);
  note_event();
}

/// All is made, and all heads have ended: waits until it is read, as a producer does at its end.
void drain(product::ServedRings& rings) {
  constexpr int look_ms = 40;
  const std::atomic<bool> stopped{false};
  if (rings.host().writer().all_made()) rings.finish();
  while (!world->all_left && !rings.drain(product::Deadline(look_ms), stopped)) {
  }
}

[[nodiscard]] bool is_empty(const product::ServedRings& rings) {
  return rings.heads().list().empty() && rings.host().writer().status().consumers.empty();
}

}  // namespace

void serve(Life& life) {
  if (!takes_name(life)) return;
  auto* const served = new Served(life);
  life.served = served;
  tell("opens its door");
  life.is_open = true;
  ring_all();
  Door door(life, *served);
  for (bool is_stopped = false;;) {
    const std::uint32_t seen = life.door_word.load_quietly();
    const bool all_left = door.look();
    if (all_left && !std::exchange(is_stopped, true)) {
      world->all_left = true;
      served->rings.stop("all have left");
    }
    // A place that was kept for a dead one is given up at a tick.
    if (life.all_made && all_left && is_empty(served->rings)) break;
    // With heads it looks at them, while all others go on.
    if (door.has_heads() && chance().below(4) != 0) {
      for (int i = 0; i < 8; ++i) step();
    } else {
      static_cast<void>(futex_wait(life.door_word, seen, 100));
    }
  }
  life.is_over = true;
  served->book.end();
  delete served;
  ring_all();
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
  product::ServedRings& rings = life.served->rings;
  for (;;) {
    LoanContents loan;
    const int timeout_ms = chance().one_in(4) ? 30 : -1;
    const Claim claim = rings.heads().lend(1 + chance().below(world->sizes.loan), timeout_ms, loan);
    if (claim == Claim::ended) break;
    if (claim == Claim::timed_out) continue;
    check_wake_up(life);
    fill(life, loan.head ? *loan.head : rings.host(), loan);
    rings.heads().note_back(loan);
  }
  drain(rings);
  life.all_made = true;
  ring_door(life);
}

}  // namespace batchcast::simulation::lives_world

namespace batchcast::simulation {

/// Also the incarnations are the same each time.
RingMemory make_ring_memory(std::uint64_t capacity) {
  using namespace lives_world;
  Life& life = *std::find_if(lives().begin(), lives().end(),
                             [](const Life& one) { return one.process == current_process(); });
  if (life.ring_count == rings_max) fail("more heads than the world has room for");
  Ring& ring = life.rings[life.ring_count];
  ring.life = life.number;
  ring.number = life.ring_count++;
  ring.capacity = std::min(capacity, capacity_max);
  FieldEntry field{};
  field.capacity = ring.capacity;
  field.stride_bytes = field.sample_bytes = 8;
  field.segment_bytes = 8 * ring.capacity;
  const std::string identity = identity_text();
  BoardSpec spec;
  spec.identity = identity;
  spec.fields = {&field, 1};
  spec.capacity = ring.capacity;
  spec.samples_per_epoch = world->sizes.epoch;
  spec.epochs = world->sizes.epochs;
  spec.consumers_max = 2 * trainers_max;
  spec.pure = true;
  const std::uint64_t bytes = board_bytes_for(spec);
  const std::span<std::byte> memory = board_bytes_of(ring);
  if (bytes > memory.size()) std::abort();
  std::memset(memory.data(), 0, bytes);
  format_board(memory.first(bytes), spec);
  Board board(memory.data());
  board.head().incarnation.fill(
      static_cast<std::uint8_t>(life.number * rings_max + ring.number + 1));
  return {memory.data(), ring.number};
}

}  // namespace batchcast::simulation
