// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "simulation/lives_trainer.hpp"

#include "simulation/lives_attached.hpp"
#include "simulation/lives_judge.hpp"
#include "simulation/scheduler.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/ring/reader.hpp>
#include <batchcast/ring/reader_handover.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace batchcast::simulation::lives_world {
namespace {

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

  /// `cursor`: where it goes on.
  Connection* say_hello(const std::optional<Resumes>& resumes,
                        const std::optional<std::uint64_t>& cursor) {
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
    hello.resumes = resumes;
    if (cursor) {
      hello.join = Join::at;
      hello.cursor = *cursor;
    }
    step();
    ++self_.connection_count;
    tell("says hello to life %u%s", open->number, resumes ? ", and resumes" : "");
    if (cursor) tell("at %llu", static_cast<unsigned long long>(hello.cursor));
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
    wait_for_stream();
    while (now_ == nullptr) {
      const std::uint32_t seen_lives = world->lives_word.load_quietly();
      Connection* const one = say_hello(std::nullopt, self_.cursor);
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

  /// It comes once so much is published, or the others come no further.
  void wait_for_stream() {
    constexpr int looks_max = 40;
    const auto is_there = [&](const Life& one) {
      if (!one.is_open || is_dead(one.process)) return false;
      return board_of(one.rings[0]).progress().published.peek() >= self_.comes_at;
    };
    for (int i = 0; i < looks_max && !is_calm(); ++i) {
      if (std::any_of(lives().begin(), lives().end(), is_there) || no_more_come()) return;
      for (int steps = 0; steps < 20; ++steps) step();
    }
  }

  void stand_at(Attached& attached) {
    self_.now = &attached.link();
    self_.reader = &attached.reader();
  }

  static void give_up(Connection& one) {
    tell("waits no more");
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
      if (chance().below(2) == 0) return;
      if (!now_->has_lost_producer()) return look_at_other_ring();
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
    drop_search();  // for another ring of the producer that died
    if (!next_) return;
    resumes_ = next_->resumes();
    lock_ = std::move(next_lock_);
    next_.reset();
  }

  // ---- another ring of its producer, as Rider has it

  void look_at_other_ring() {
    if (search_ == nullptr && !next_) {
      const std::uint32_t moves = now_->moves();
      if (std::exchange(moves_seen_, moves) == moves || now_->reader().revoked()) return;
      tell("is asked to move");
      search_ = say_hello(now_->resumes(), now_->reader().position());
      return;
    }
    if (search_ != nullptr && search_->answer != Connection::none) take_other_ring();
    if (!next_ || owes_epoch_end_ || !now_->may_move()) return;
    const std::uint64_t place = now_->reader().position();
    const bool may_go = !next_->is_behind(place) || next_->move_to(place);
    may_go ? change_over() : drop_next();
  }

  /// Where it is refused it stays, and is asked again.
  void take_other_ring() {
    Connection& one = *std::exchange(search_, nullptr);
    if (one.answer == Connection::refused) return;
    next_lock_ = FileDescriptor(std::exchange(one.lock_fd, -1));
    next_ = std::make_unique<Attached>(self_, one);
  }

  void drop_search() {
    if (search_ == nullptr) return;
    Connection& one = *std::exchange(search_, nullptr);
    give_up(one);
    FileDescriptor(std::exchange(one.lock_fd, -1)).reset();
  }

  void drop_next() {
    tell("stays where it is");
    drop_search();
    if (next_) next_->leave();
    next_.reset();
    next_lock_.reset();
  }

  void search() {
    Resumes resumes = now_->resumes();
    if (resumes_) resumes = *resumes_;
    search_ = say_hello(resumes, now_->end_of_drain());
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
    tell("goes on with ring %u of life %u", next_->link().ring, next_->link().life);
    count(*now_);
    next_->take_over(*now_);
    if (!drains_) {
      now_->make_all_own();
      now_->leave();
    }
    stand_at(*next_);
    now_ = std::move(next_);
    moves_seen_ = 0;
    if (!drains_) lock_ = std::move(next_lock_);
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
    const bool are_known = world->sizes.heads == 1 && !self_.cursor && world->deaths == 0 &&
                           !world->sizes.leaves && !may_be_broken();
    if (are_known && now_->status().epochs_unknown != 0) fail("a receipt is not known");
  }

  void check_kept_out(const KeptOut& why) {
    self_.read_all = self_.came && why.kind == RefusalKind::finished &&
                     self_.epoch == world->sizes.epochs;  // for a trainer it is StreamFinished
    bool right = self_.read_all || (is_rank(self_) && may_be_broken());
    if (!self_.came && !right) {
      right = why.kind == RefusalKind::finished || why.kind == RefusalKind::stopped ||
              why.kind == RefusalKind::busy ||
              (self_.cursor && why.kind == RefusalKind::cursor_gone && has_no_head(why.why));
    }
    if (!right) fail(text("trainer {} is kept out: {}", self_.number, why.why));
  }

  /// None can open for a newcomer.
  [[nodiscard]] static bool has_no_head(const std::string& why) {
    return world->sizes.heads == 1 || why.find("no more samples of it") != std::string::npos ||
           why.find("All of the stream is made") != std::string::npos;
  }

  void end() {
    if (now_ != nullptr) {
      count(*now_);
      self_.holds = 0;  // it looks at none of them any more
      now_->leave();
      self_.now = nullptr;
    }
    if (next_ != nullptr) next_->leave();
    drop_search();
    lock_.reset();
    next_lock_.reset();
    now_.reset();
    next_.reset();
  }

  Trainer& self_;
  std::unique_ptr<Attached> now_;
  std::unique_ptr<Attached> next_;
  Connection* search_ = nullptr;
  std::optional<Resumes> resumes_;
  FileDescriptor lock_;
  FileDescriptor next_lock_;  ///< of a place in another ring of its producer
  std::uint32_t moves_seen_ = 0;
  bool drains_ = false;
  bool owes_epoch_end_ = false;
};

}  // namespace

void run_trainer(Trainer& self) {
  Ride(self).run();
  tell("has left");
  self.ended = true;
  for (Life& life : lives()) {
    if (life.is_open && !is_dead(life.process)) ring_door(life);
  }
}

}  // namespace batchcast::simulation::lives_world
