// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "simulation/lives_producer.hpp"

#include "simulation/kernel.hpp"
#include "simulation/lives_judge.hpp"
#include "simulation/scheduler.hpp"

#include <batchcast/core/hex.hpp>
#include "door/door_server.hpp"
#include "life/life_book.hpp"
#include "producer/reception.hpp"
#include "producer/sample_rate.hpp"
#include "producer/served_rings.hpp"
#include "ring/writer/writer.hpp"

#include <sys/types.h>

#include <algorithm>
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
  const std::span<std::byte> memory = board_bytes_of(life.number);
  if (bytes > memory.size()) std::abort();
  std::memset(memory.data(), 0, bytes);
  format_board(memory.first(bytes), spec);
  Board board(memory.data());
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

}  // namespace

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

}  // namespace batchcast::simulation::lives_world
