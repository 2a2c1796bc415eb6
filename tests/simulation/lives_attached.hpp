// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/pending.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/ring/futex.hpp>
#include <batchcast/ring/rank_host.hpp>
#include <batchcast/ring/rank_reader.hpp>
#include <batchcast/ring/reader.hpp>
#include <batchcast/ring/reader_handover.hpp>
#include "simulation/lives_judge.hpp"
#include "simulation/lives_state.hpp"
#include "simulation/scheduler.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace batchcast::simulation::lives_world {

/// A place in one life's ring.
class Attached final : public ReaderHost, public RankHost {
 public:
  Attached(Trainer& self, Connection& link)
      : self_(self), link_(link), life_(world->lives[link.life]), ring_(ring_of(link)) {
    check_place(self, link);
    RingReader::Options options;
    options.stream = "s";
    options.rides = true;
    if (is_rank(self)) {
      options.share = self.group.rank;
      options.shares = self.group.world;
    }
    const FieldWindow window{reinterpret_cast<std::byte*>(ring_.ids.data()), ring_.capacity, 8, 8};
    reader_.emplace(board(), desk_of(link), window, *this, std::move(options));
    if (is_rank(self)) rank_.emplace(*reader_, board(), desk_of(link), *this, self.group);
  }

  [[nodiscard]] BoardView board() const noexcept { return board_of(ring_); }
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
           !batchcast::detail::has_ended(ordered::load_state(board().progress()));
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

  /// What it holds is its own from now on.
  void make_all_own() {
    for (; self_.holds != 0; --self_.holds) {
      const Held& held = self_.held[self_.holds - 1];
      read(held.start, held.size);
    }
  }

  // ---- moving to another ring

  /// Changes when it is asked to.
  [[nodiscard]] std::uint32_t moves() const noexcept {
    return ordered::get(board().consumer(link_.index).moves);
  }
  [[nodiscard]] bool may_move() const noexcept {
    return !pending_.has_end() && ReaderHandover::may_leave(*reader_, self_.batch);
  }
  [[nodiscard]] bool is_behind(std::uint64_t position) const noexcept {
    return position > ordered::load_published(board().progress());
  }
  /// Its producer moves it there within the ring. False where it does not.
  [[nodiscard]] bool move_to(std::uint64_t position) {
    if (reader_->revoked()) return false;
    step();
    link_.asks_place = position;
    ring_door(life_);
    while (!link_.moved) {
      if (is_hung_up()) return false;
      const std::uint32_t seen = link_.bell.load_quietly();
      if (!link_.moved) static_cast<void>(futex_wait(link_.bell, seen, look_ms));
    }
    if (!*std::exchange(link_.moved, std::nullopt)) return false;
    reader_->move_to(position);
    return true;
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
      const auto& sample = ring_.samples[at % ring_.capacity];
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
  Ring& ring_;
  batchcast::detail::Pending pending_;
  std::optional<RingReader> reader_;
  std::optional<RankReader> rank_;
};

}  // namespace batchcast::simulation::lives_world
