// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/trainer.hpp"

#include "python/consumer/consumer_bindings.hpp"
#include "python/consumer/names.hpp"

#include <batchcast/core/error.hpp>

#include <array>
#include <cstdio>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

/// Where the batch begins; for a rank's part, where the batch of all ranks begins. A batch with
/// padding does not say that. Then it is the cursor `before`, since such a part ends an epoch that
/// others have begun.
[[nodiscard]] RowPlace begin_of(const Batch& batch, const Consumer& consumer, RowPlace before) {
  const Group& group = consumer.group();
  if (group.world == 0) {
    return {consumer.cursor_of(batch.position()), batch.is_window() ? batch.row() : 0};
  }
  if (batch.is_window()) return before;
  if (consumer.budget().is_set() || batch.padding() != 0) return {before.position, 0};
  return {consumer.cursor_of(batch.position() - group.rank * batch.size()), 0};
}

}  // namespace

Trainer::Trainer(ConsumerOptions options, nb::object log)
    : stream_(options.stream),
      process_(options.stream),
      starts_(!options.start.source.empty()),
      may_be_quick_(options.access == Access::shared && options.pace == Pace::lockstep &&
                    options.tail != Tail::pad && !options.pin && options.placement.is_host() &&
                    options.between_epochs == BetweenEpochs::hold && options.group == Group()) {
  options.while_waiting = [calls = calls_.get()] { calls->while_waiting(); };
  if (!log.is_none()) {
    calls_->set_log(std::move(log));
    // Shared: batches may outlive this object, and report.
    options.log = [calls = calls_](LogLevel level, std::string_view text) {
      calls->report(level, text);
    };
  }
  try {
    calls_->run([&] { consumer_.emplace(std::move(options)); });
  } catch (...) {
    if (consumer_) close();
    calls_->let_go();
    if (starts_) raise_changed(std::current_exception(), with_names_of_start);
    throw;
  }
}

Trainer::~Trainer() {
  // No thread is in a call: a call keeps this object.
  if (consumer_) without_gil([this] { consumer_.reset(); });
  calls_->let_go();
}

std::optional<Batch> Trainer::next(int timeout_ms) {
  check_ready();
  if (!held_.is_valid()) return next_new(timeout_ms);
  const nb::object held = std::exchange(held_, nb::object());
  return std::move(*nb::inst_ptr<Batch>(held));
}

nb::object Trainer::hold(int timeout_ms) {
  check_ready();
  if (held_.is_valid()) return held_;
  const RowPlace before{consumer_->cursor(), consumer_->cursor_row()};
  std::optional<Batch> batch = next_new(timeout_ms);
  if (!batch) return {};
  cursor_of_held_ = begin_of(*batch, *consumer_, before);
  held_ = nb::cast(std::move(*batch));
  return held_;
}

nb::object Trainer::peek(int timeout_ms) {
  check_ready();
  if (held_.is_valid()) return held_;
  std::optional<Batch> batch;
  try {
    calls_->run([&] { batch = consumer_->peek(timeout_ms); });
  } catch (const RingTooSmall& error) {
    throw told(error.what());
  }
  if (!batch) throw_timeout(timeout_ms);
  return nb::cast(std::move(*batch));
}

std::optional<Batch> Trainer::next_new(int timeout_ms) {
  calls_->throw_raised();  // by a call that had a batch
  try {
    return next_of(timeout_ms);
  } catch (const RingTooSmall& error) {
    if (consumer_->stats().leases_held == 0) throw told(error.what());
    throw told(
        text("{} In Python a loop's variables hold a batch and its arrays until the next one is "
             "there: `del` them at the end of the loop's body.",
             error.what()));
  }
}

std::optional<Batch> Trainer::next_of(int timeout_ms) {
  NextBatch next;
  if (is_quick_) {
    next = consumer_->poll();
    calls_->hand_on_lines();
  }
  // With leases that are held, a look is not enough: they may be what it waits for.
  const bool asks = !is_quick_ || timeout_ms != 0 || consumer_->stats().leases_held != 0;
  if (next.outcome == Outcome::timed_out && asks) {
    calls_->run_to_its_end([&] {
      do next = consumer_->try_next(timeout_ms);
      while (timeout_ms < 0 && next.outcome == Outcome::timed_out);
    });
  }
  if (next.outcome == Outcome::end_of_epoch) return std::nullopt;
  if (next.outcome == Outcome::timed_out) {
    calls_->throw_raised();
    throw_timeout(timeout_ms);
  }
  is_quick_ = may_be_quick_ && !next.batch.writable();  // not before the first, which takes longer
  return std::move(next.batch);
}

bool Trainer::has_next_epoch() {
  check_ready();
  if (held_.is_valid()) return true;  // the rest of its epoch, at least that batch
  bool has = false;
  calls_->run([&] { has = consumer_->has_next_epoch(); });
  return has;
}

std::optional<Batch> Trainer::newest(std::uint64_t samples_max) {
  check_ready();
  std::optional<Batch> newest;
  calls_->run([&] { newest = consumer_->newest(samples_max); });
  return newest;
}

void Trainer::leave_epoch() {
  check_ready();
  held_.reset();
  left_loop_ = loops_;
  calls_->run([&] { consumer_->leave_epoch(); });
}

bool Trainer::move_to(RowPlace cursor) {
  check_ready();
  if (held_.is_valid()) return false;
  bool moved = false;
  calls_->run([&] { moved = consumer_->move_to(cursor); });
  if (moved) ++loops_;
  return moved;
}

std::optional<std::uint64_t> Trainer::batches_of_epoch() {
  check_ready();
  std::optional<std::uint64_t> batches;
  calls_->run([&] { batches = consumer_->batches_of_epoch(); });
  return batches;
}

void Trainer::set_batch_size(std::uint64_t batch_size) {
  try {
    changed().set_batch_size(batch_size);
  } catch (const RingTooSmall& error) {
    throw told(error.what());
  }
}

void Trainer::set_budget(const Budget& budget) {
  try {
    changed().set_budget(budget);
  } catch (const RingTooSmall& error) {
    throw told(error.what());
  }
}

void Trainer::set_window(const Window& window) {
  try {
    changed().set_window(window);
  } catch (const RingTooSmall& error) {
    throw told(error.what());
  }
}

void Trainer::close() {
  if (process_.in_forked_child()) return consumer_.reset();  // its calls are the parent's
  calls_->check_free();
  held_.reset();
  if (consumer_) calls_->run([this] { consumer_.reset(); });
}

const Consumer& Trainer::looked_at() const {
  process_.check();
  calls_->check_free_to_look();
  check_open();
  return *consumer_;
}

Consumer& Trainer::changed() {
  check_ready();
  return *consumer_;
}

std::uint64_t Trainer::cursor() const {
  const Consumer& consumer = looked_at();
  return held_.is_valid() ? cursor_of_held_.position : consumer.cursor();
}

std::uint64_t Trainer::cursor_row() const {
  const Consumer& consumer = looked_at();
  return held_.is_valid() ? cursor_of_held_.row : consumer.cursor_row();
}

std::uint64_t Trainer::epoch() const {
  const Consumer& consumer = looked_at();
  return held_.is_valid() ? nb::inst_ptr<Batch>(held_)->epoch() : consumer.epoch();
}

void Trainer::set_cuda_stream(void* stream) {
  changed().set_cuda_stream(stream);
  if (held_.is_valid()) nb::inst_ptr<Batch>(held_)->use(stream);
}

void Trainer::end_loop(std::uint64_t loop, bool by_exception) noexcept {
  if (loop != loops_ || !consumer_ || process_.in_forked_child() || calls_->is_busy()) return;
  // The other ranks of a group would take an epoch left here for a shorter one.
  if (by_exception && consumer_->group().world != 0) return;
  calls_->run_in_destructor([this] { consumer_->leave_epoch(); });
}

void Trainer::throw_timeout(int timeout_ms) const {
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%g", timeout_ms / 1e3);
  raise("Timeout", text("batchcast: no batch of stream `{}` within {} s. Ask again; `batchcast ls` "
                        "says what the stream waits for.",
                        stream_, seconds.data()));
}

RingTooSmall Trainer::told(const std::string& text) const {
  return RingTooSmall(starts_ ? with_names_of_start(text) : text);
}

void Trainer::check_ready() const {
  process_.check();  // first: threads that were in a call have not come along
  calls_->check_free();
  check_open();
}

void Trainer::check_open() const {
  if (consumer_) return;
  throw InvalidArgument(text("batchcast: this consumer of stream `{}` is closed.", stream_));
}

}  // namespace batchcast::inline v0_1::python
