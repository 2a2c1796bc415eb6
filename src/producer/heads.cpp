// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/heads.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/deadline.hpp>
#include <batchcast/core/states.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/ring/capacity.hpp>
#include <batchcast/ring/cursor.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// Consumer ids of a head, below the number of the opening.
constexpr unsigned consumer_id_bits = 24;
// With several rings a worker that finds no room sleeps for one of them, and looks at the others
// that often.
constexpr int look_ms = 2;
// The door's thread looks ten times in a second.
constexpr std::uint64_t shortest_window_ns = 1'000'000'000;

void rest(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

ProducerOptions options_of_head(const ProducerOptions& stream, std::uint64_t memory) {
  ProducerOptions options = stream;
  options.memory = memory;
  options.wait_for = 0;
  options.free_running = false;
  options.places.clear();
  return options;
}

}  // namespace

/// The ring, and the options that it is made of.
struct Heads::Head {
  Head(ProducerOptions made_of, const std::string& id, std::uint64_t first_consumer_id,
       const LogCallback& log, const OnEvicted& on_evicted)
      : options(std::move(made_of)),
        ring({.options = options,
              .head = id,
              .first_consumer_id = first_consumer_id,
              .log = log,
              .on_evicted = on_evicted}) {}

  const ProducerOptions options;
  HostRing ring;
};

Heads::Heads(const ProducerOptions& options, HostRing& leading, std::uint64_t first_consumer_id,
             LogCallback log, OnEvicted on_evicted)
    : options_(options),
      leading_(leading),
      first_consumer_id_(first_consumer_id),
      log_(std::move(log)),
      on_evicted_(std::move(on_evicted)),
      stall_timeout_ms_(options.stall_timeout_ms),
      on_stall_(options.on_stall),
      ahead_(options.ahead),
      shares_(options.catch_up) {}

std::vector<std::shared_ptr<HostRing>> Heads::list() const {
  if (open_.load(std::memory_order_acquire) == 0) return {};
  return *snapshot();
}

Heads::Snapshot Heads::snapshot() const {
  const std::lock_guard lock(mutex_);
  return list_;
}

/// Call it with the lock.
void Heads::set_list(List list) {
  list_ = std::make_shared<const List>(std::move(list));
  open_.store(list_->size(), std::memory_order_release);
}

bool Heads::has_free() const {
  const std::lock_guard lock(mutex_);
  return !loans_are_over_ && list_->size() + 1 < options_.heads;
}

bool Heads::is_head(const ServedRing& ring) const {
  const List heads = list();
  return std::any_of(heads.begin(), heads.end(),
                     [&](const auto& head) { return head.get() == &ring; });
}

bool Heads::had(const Incarnation& incarnation) const {
  const std::lock_guard lock(mutex_);
  return incarnations_.contains(incarnation);
}

/// Trainers may have larger batches later, or say nothing of them: it is not less than some
/// samples.
std::uint64_t Heads::memory_for_batches_of(std::uint64_t batch_size) const {
  constexpr std::uint64_t batches = 2;
  constexpr std::uint64_t samples_least = 64;
  const std::uint64_t samples =
      std::max(batches * batch_size, std::min(samples_least, leading_.capacity()));
  const std::uint64_t least = memory_for(leading_.fields(), samples, leading_.plan().granularity);
  return std::max(options_.head_memory != 0 ? options_.head_memory : options_.memory / 4, least);
}

void Heads::begin_making(std::uint64_t batch_size) {
  std::uint64_t opening = 0;
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    opening = ++opened_;
    name = free_name();
  }
  const std::uint64_t first_id = first_consumer_id_ + (opening << consumer_id_bits);
  maker_.make([this, name, first_id, memory = memory_for_batches_of(batch_size)] {
    const auto made = std::make_shared<Head>(options_of_head(options_, memory), name, first_id,
                                             log_, on_evicted_);
    return std::shared_ptr<HostRing>(made, &made->ring);
  });
}

std::variant<std::shared_ptr<HostRing>, Heads::NotOpen> Heads::open(const Wanted& wanted) {
  const NotOpen is_over{false, "no more samples of it are made"};
  {
    const std::lock_guard lock(mutex_);
    if (loans_are_over_) return is_over;
  }
  std::shared_ptr<HostRing> head;
  if (std::optional<HeadMaker::Made> made = maker_.take()) {
    if (!made->ring) return NotOpen{false, std::move(made->why_not)};
    head = std::move(made->ring);
  }
  if (head && head->capacity() < 2 * wanted.batch_size) {
    maker_.free(std::exchange(head, nullptr));
  }
  if (!head) {
    if (!maker_.is_making()) begin_making(wanted.batch_size);
    return NotOpen{true, "its memory is being made"};
  }
  head->writer().await_members();
  head->writer().go_on_at(wanted.position, wanted.before);
  head->writer().members_are_seated();
  {
    const std::lock_guard lock(sharing_);
    shares_.forget(head.get());  // another one had the address
  }
  {
    const std::lock_guard lock(mutex_);
    if (loans_are_over_) return is_over;
    head->writer().set_stall_policy(stall_timeout_ms_, on_stall_);
    head->writer().set_demand(ahead_, false);
    incarnations_.insert(head->writer().incarnation());
    List list = *list_;
    list.push_back(head);
    set_list(std::move(list));
  }
  leading_.writer().interrupt_claims();
  return head;
}

std::variant<std::shared_ptr<HostRing>, Heads::NotOpen> Heads::open_now(const Wanted& wanted) {
  // Memory that was made for another trainer may be too small.
  for (int left = 2;; --left) {
    auto opened = open(wanted);
    const auto* const not_open = std::get_if<NotOpen>(&opened);
    if (not_open == nullptr || !not_open->comes || left == 0) return opened;
    maker_.wait();
  }
}

std::string Heads::free_name() const {
  for (std::uint64_t number = 1;; ++number) {
    std::string name = text("head-{}", number);
    const bool is_taken = std::any_of(list_->begin(), list_->end(),
                                      [&](const auto& one) { return one->id() == name; });
    if (!is_taken) return name;
  }
}

void Heads::close(const HostRing& head) {
  std::shared_ptr<HostRing> closed;
  {
    const std::lock_guard lock(mutex_);
    List list = *list_;
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.get() == &head; });
    if (found == list.end()) return;
    closed = std::move(*found);
    list.erase(found);
    set_list(std::move(list));
    const WriterStatus status = closed->writer().status();
    of_closed_.samples += status.samples_published;
    of_closed_.delivered += status.delivered;
  }
  closed->writer().stop("no trainer is at that place any more");
  {
    const std::lock_guard lock(sharing_);
    shares_.forget(closed.get());
  }
  maker_.free(std::move(closed));
}

void Heads::look(std::uint64_t now_ns) {
  maker_.look(now_ns);
  const List heads = list();
  if (heads.empty()) return;
  // Their claimers look everywhere, and wait nowhere for long.
  leading_.writer().look_for_stall();
  for (const auto& head : heads) head->writer().look_for_stall();
  const std::lock_guard lock(sharing_);
  shares_.look(now_ns);
}

// ---- for those who make samples

Claim Heads::lend(std::uint64_t samples_max, int timeout_ms, LoanContents& loan) {
  if (!are_allowed()) return leading_.lend(samples_max, timeout_ms, loan);
  const Deadline deadline(timeout_ms);
  for (;;) {
    const std::uint64_t interruptions = leading_.writer().interruptions();
    const Snapshot heads = snapshot();
    const int left_ms = deadline.left_ms();
    const Claim claim = heads->empty() ? leading_.lend(samples_max, left_ms, loan, interruptions)
                                       : lend_of(*heads, samples_max, left_ms, loan);
    if (claim == Claim::granted) return claim;
    if (claim == Claim::ended) {
      if (end_if_over(*heads)) return claim;
      if (deadline.over()) return Claim::timed_out;
      if (awaits_members_.load()) rest(look_ms);
    }
    if (claim == Claim::timed_out && deadline.over()) return claim;
  }
}

Claim Heads::lend_of(const List& heads, std::uint64_t samples_max, int timeout_ms,
                     LoanContents& loan) {
  // The leading ring is first.
  const auto ring_at = [&](std::size_t at) -> HostRing& {
    return at == 0 ? leading_ : *heads[at - 1];
  };
  std::array<WorkShares::Ring, heads_max> room_for_places;
  std::array<std::size_t, heads_max> room_for_order;
  const std::span places(room_for_places.data(), heads.size() + 1);
  const std::span order(room_for_order.data(), places.size());
  for (std::size_t at = 0; at < places.size(); ++at) {
    HostRing& ring = ring_at(at);
    places[at] = {&ring, at != 0, ordered::load_published(ring.board().progress())};
  }
  {
    const std::lock_guard lock(sharing_);
    shares_.order(places, order);
  }
  // A loan is a part of its ring.
  const auto samples_of = [&](const HostRing& ring) {
    return std::max<std::uint64_t>(
        1, std::min(samples_max, samples_max * ring.capacity() / leading_.capacity()));
  };
  std::array<std::size_t, heads_max> refused;
  std::size_t refusals = 0;
  const auto granted = [&](std::size_t at) {
    if (at != 0) loan.head = heads[at - 1];
    loan.lent_ns = now_ns();
    const std::lock_guard lock(sharing_);
    shares_.note(places, std::span(refused.data(), refusals), at, loan.size);
    return Claim::granted;
  };
  std::optional<std::size_t> waits_at;
  bool all_ended = true;
  for (const std::size_t at : order) {
    const std::optional<Claim> claim = ring_at(at).try_lend(samples_of(ring_at(at)), loan);
    if (claim == Claim::granted) return granted(at);
    all_ended = all_ended && claim == Claim::ended;
    if (claim != Claim::timed_out) continue;
    refused[refusals++] = at;
    if (!waits_at) waits_at = at;
  }
  if (all_ended) return Claim::ended;
  HostRing* const ring = waits_at ? &ring_at(*waits_at) : nullptr;
  const std::uint64_t samples = ring != nullptr ? samples_of(*ring) : 0;
  const bool is_granted = wait_for_room(ring, samples, timeout_ms, loan) == Claim::granted;
  return is_granted ? granted(*waits_at) : Claim::timed_out;
}

/// One waits for room; the others would wait for it, and see no other ring. `ring`: null where none
/// wants room.
Claim Heads::wait_for_room(HostRing* ring, std::uint64_t samples, int timeout_ms,
                           LoanContents& loan) {
  const int wait_ms = timeout_ms < 0 ? look_ms : std::min(timeout_ms, look_ms);
  std::unique_lock waits(waiting_, std::defer_lock);
  if (ring != nullptr && waits.try_lock()) return ring->lend(samples, wait_ms, loan);
  rest(wait_ms);
  return Claim::timed_out;
}

/// No ring of these has samples to make. False where another head was opened meanwhile, or is to
/// open. A stream that was stopped opens none.
bool Heads::end_if_over(const List& heads) {
  const StreamState state = leading_.writer().state();
  const bool was_stopped = state == StreamState::stopped || state == StreamState::failed;
  const std::lock_guard lock(mutex_);
  const bool is_known = std::all_of(list_->begin(), list_->end(), [&](const auto& one) {
    return std::find(heads.begin(), heads.end(), one) != heads.end();
  });
  const bool are_over = is_known && (was_stopped || !awaits_members_.load());
  loans_are_over_ = loans_are_over_ || are_over;
  return loans_are_over_;
}

void Heads::note_back(const LoanContents& loan) noexcept {
  if (loan.lent_ns == 0) return;
  const ServedRing* const ring = loan.head ? loan.head.get() : &leading_;
  const std::lock_guard lock(sharing_);
  shares_.worked(ring, now_ns() - loan.lent_ns);
}

// ---- the stream's end

void Heads::finish() noexcept {
  {
    const std::lock_guard lock(mutex_);
    loans_are_over_ = true;
  }
  for (const auto& head : list()) {
    if (!head->writer().all_made()) head->writer().stop("its producer makes no more samples");
  }
}

void Heads::stop(const std::string& text) noexcept {
  for (const auto& head : list()) head->writer().stop(text);
}

void Heads::fail(const std::string& text) noexcept {
  for (const auto& head : list()) head->writer().fail(text);
}

void Heads::drop_all() noexcept {
  const std::lock_guard lock(mutex_);
  open_.store(0);
  list_ = none_;
  loans_are_over_ = true;
}

// ---- what is set and told

void Heads::set_stall_policy(std::uint64_t timeout_ms, OnStall on_stall) {
  const std::lock_guard lock(mutex_);
  stall_timeout_ms_ = timeout_ms;
  on_stall_ = on_stall;
  for (const auto& head : *list_) head->writer().set_stall_policy(timeout_ms, on_stall);
}

std::optional<std::uint64_t> Heads::own_place_window_ns() const {
  const std::lock_guard lock(mutex_);
  if (on_stall_ != OnStall::own_place) return std::nullopt;
  return std::max(stall_timeout_ms_ * 1'000'000 / 2, shortest_window_ns);
}

void Heads::set_demand(std::uint64_t ahead) {
  const std::lock_guard lock(mutex_);
  ahead_ = ahead;
  for (const auto& head : *list_) head->writer().set_demand(ahead, false);
}

double Heads::share(const ServedRing& ring) const {
  if (open_.load() == 0) return 0;
  const std::lock_guard lock(sharing_);
  return shares_.share(&ring);
}

Heads::Totals Heads::of_closed() const {
  const std::lock_guard lock(mutex_);
  return of_closed_;
}

std::uint64_t Heads::samples_published() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t samples = of_closed_.samples;
  for (const auto& head : *list_) samples += head->writer().samples_published();
  return samples;
}

}  // namespace batchcast::inline v0_1::detail
