// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "core/cpu_time.hpp"
#include "data/pipeline/pipeline_core.hpp"
#include "data/read_sample.hpp"
#include "data/reason.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/printable.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

std::string called(const Source& source, std::uint64_t sample_id) {
  return text("sample {}, `{}`", sample_id, printable(source.name_of(sample_id)));
}

/// Whether a worker measures its sample of that number. Measuring one without an entry costs a
/// second decoding, so only the first ones are measured often.
constexpr std::uint64_t measured_each(std::uint64_t number) noexcept {
  constexpr std::uint64_t often_until = 256;
  return number <= often_until ? 16 : 128;
}
constexpr bool is_measured(std::uint64_t number) noexcept {
  return number % measured_each(number) == 0;
}
/// Whether it measures how long a sample takes from the entry that it has just made.
constexpr bool is_forecast(std::uint64_t number) noexcept {
  return number % measured_each(number) == 8;
}

constexpr std::uint64_t split_one_in = 64;

std::uint64_t trained_in(std::span<const std::byte> mask) noexcept {
  return mask.size() -
         static_cast<std::uint64_t>(std::count(mask.begin(), mask.end(), std::byte{0}));
}

/// The same error with the sample's name in front.
SystemError with_name(const std::string& sample, const SystemError& error) {
  std::string reason = as_reason(error.what());
  const std::string message = text(": {}", std::generic_category().message(error.code()));
  if (reason.ends_with(message)) reason.resize(reason.size() - message.size());
  return {text("batchcast: {}, cannot be made: {}", sample, reason), error.code()};
}

}  // namespace

PipelineWorker::PipelineWorker(const PipelineCore& pipeline) : pipeline_(pipeline) {
  for (const PipelineCore::Unit& unit : pipeline.units) {
    std::vector<const FieldProgram*> others;
    for (const std::size_t field : unit.fields) {
      others.push_back(pipeline.fields[field].program.get());
    }
    const FieldProgram* const first = others.front();
    others.erase(others.begin());
    runners_.push_back(first->runner(others));
    targets_.emplace_back(unit.fields.size());
  }
  sizes_.resize(pipeline.fields.size());
  made_sizes_.resize(pipeline.fields.size());
  scaled_.resize(pipeline.options.source->parts().size());
  for (const PipelineCore::Field& field : pipeline.fields) {
    cut_sizes_.emplace_back(field.cuts * field.views);
  }
  if (pipeline.cache) keeper_ = std::make_unique<SampleKeeper>(*pipeline.cache);
}

MakerTimes PipelineWorker::times() const noexcept {
  return {read_ns_.load(std::memory_order_relaxed), make_ns_.load(std::memory_order_relaxed),
          split_make_ns_.load(std::memory_order_relaxed),
          split_decode_ns_.load(std::memory_order_relaxed)};
}

void PipelineWorker::make(const SampleSlots& slots) {
  const std::uint64_t began_ns = now_ns();
  const std::uint64_t read_before_ns = read_ns_.load(std::memory_order_relaxed);
  if (!pipeline_.axes.empty()) {
    BATCHCAST_ASSERT(pipeline_.fills_in_place);
    copy_rows(slots);
  } else if (pipeline_.copies_only && pipeline_.options.source->in_memory()) {
    copy_all(slots);
  } else {
    const auto order = pipeline_.order.epoch(slots.epoch);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const std::uint64_t index = slots.index_in_epoch + i;
      slots.sample_ids[i] = make_one({slots.epoch, index, order.index_at(index)}, {&slots, i});
    }
  }
  const std::uint64_t read_ns = read_ns_.load(std::memory_order_relaxed) - read_before_ns;
  make_ns_.fetch_add(now_ns() - began_ns - read_ns, std::memory_order_relaxed);
}

void PipelineWorker::make_apart(std::uint64_t epoch, std::uint64_t index_in_epoch,
                                MadeSample& made) {
  const std::uint64_t began_ns = now_ns();
  const std::uint64_t read_before_ns = read_ns_.load(std::memory_order_relaxed);
  const std::uint64_t id = pipeline_.order.sample_id_at(epoch, index_in_epoch);
  made.sample_id = make_one({epoch, index_in_epoch, id}, {nullptr, 0, &made});
  count_tokens(made);
  const std::uint64_t read_ns = read_ns_.load(std::memory_order_relaxed) - read_before_ns;
  make_ns_.fetch_add(now_ns() - began_ns - read_ns, std::memory_order_relaxed);
}

void PipelineWorker::make_noted(const SampleSlots& slots, NoteLists& notes) {
  notes_ = &notes;
  const std::uint64_t id = pipeline_.order.sample_id_at(slots.epoch, slots.index_in_epoch);
  slots.sample_ids[0] = make_one({slots.epoch, slots.index_in_epoch, id}, {&slots, 0});
  notes_ = nullptr;
}

void PipelineWorker::make_noted(std::uint64_t epoch, std::uint64_t index_in_epoch, MadeSample& made,
                                NoteLists& notes) {
  notes_ = &notes;
  make_apart(epoch, index_in_epoch, made);
  notes_ = nullptr;
}

std::uint64_t PipelineWorker::make_one(const Place& place, const Goal& goal) {
  if (spans_ == nullptr || !spans_->is_on()) return make_or_replace(place, goal);
  const std::uint64_t began_ns = now_ns();
  const std::uint64_t id = make_or_replace(place, goal);
  spans_->note(SpanKind::sample, began_ns, now_ns(), id);
  return id;
}

// Makes the sample, or the first one after it in the dataset that can be made. Whether one can be
// made depends on its draws: a crop may lie above the damage in a file. So a sample that was bad in
// one epoch is tried again in the next, and a restart there makes the same samples. What stands at
// a position already stays there.
std::uint64_t PipelineWorker::make_or_replace(const Place& place, const Goal& goal) {
  const Source& source = *pipeline_.options.source;
  const std::uint64_t samples = source.size();
  const std::uint64_t first = stand_in_at(place).value_or(place.sample_id);
  std::string last;
  for (std::uint64_t step = 0; step < samples; ++step) {
    const std::uint64_t id = (first + step) % samples;
    const bool stands_in = id != place.sample_id;
    try {
      make_whole({place.epoch, place.index, id}, goal, !stands_in && notes_ == nullptr);
      if (!stands_in) return id;
      pipeline_.bad_samples.stood_in(id);
      if (substitutions_ != nullptr) substitutions_->decide(position_of(place), id);
      return id;
    } catch (const BadSample& bad) {
      const std::string reason = as_reason(bad.what());
      pipeline_.bad_samples.add({id, source.name_of(id), reason});
      if (step + 1 == samples) last = text("{}: {}", called(source, id), reason);
    } catch (const SystemError& error) {
      throw with_name(called(source, id), error);
    } catch (const OutOfMemory& error) {
      throw OutOfMemory(
          text("batchcast: {}, cannot be made: {}.", called(source, id), as_reason(error.what())));
    } catch (const std::bad_alloc&) {
      throw OutOfMemory(
          text("batchcast: there is not enough memory to make {}. Fewer workers need less.",
               called(source, id)));
    }
  }
  throw BadSample(
      text("batchcast: no sample of this dataset can be made. The last one that was tried is {}.",
           last));
}

std::optional<std::uint64_t> PipelineWorker::stand_in_at(const Place& place) const {
  if (substitutions_ == nullptr) return std::nullopt;
  const std::optional<std::uint64_t> id = substitutions_->at(position_of(place));
  return id && *id < pipeline_.options.source->size() ? id : std::nullopt;
}

void PipelineWorker::make_whole(const Place& place, const Goal& goal, bool in_order) {
  if (keeper_ == nullptr) {
    read(place, in_order);
    return attempt(place, goal);
  }
  const bool measures = is_measured(++samples_);
  const bool foresees = is_forecast(samples_);
  const auto now = [&] { return measures || foresees ? thread_cpu_ns() : 0; };
  const std::uint64_t began_ns = now();
  const std::uint64_t waited_ns = read_ns_.load(std::memory_order_relaxed);
  read(place, in_order);
  const std::uint64_t read_ns = now();
  const bool is_warm = uses_entries();
  // A sample that is measured shows what the others would cost without the cache.
  const bool is_cold = keeper_->keep(parts_, measures);
  if (is_cold) {
    pipeline_.cache->note_wait(read_ns_.load(std::memory_order_relaxed) - waited_ns);
  }
  const std::uint64_t kept_ns = now();
  const bool used_entries = attempt_kept(place, goal);
  const std::uint64_t made_ns = now();
  if (is_cold) keeper_->keep_unscaled(parts_, scaled_);
  if (foresees && is_cold && !is_warm && used_entries) {
    pipeline_.cache->forecast().add(made_ns - kept_ns);
  }
  if (!measures || is_warm == is_cold || is_warm != used_entries) return;
  CpuTimes& times = is_warm ? pipeline_.cache->warm() : pipeline_.cache->cold();
  times.add(made_ns - kept_ns + read_ns - began_ns);
}

bool PipelineWorker::uses_entries() const noexcept {
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (parts_.is_kept(part)) return true;
  }
  return false;
}

// An entry that is damaged costs time, and never a sample.
bool PipelineWorker::attempt_kept(const Place& place, const Goal& goal) {
  const bool has_entries = uses_entries();
  try {
    attempt(place, goal);
    return has_entries;
  } catch (const NeedsFile&) {
    attempt_uncached(place, goal);
    pipeline_.cache->note_passed_by(true);
  } catch (const BadSample&) {
    if (!has_entries) throw;
    attempt_uncached(place, goal);
    pipeline_.cache->note_damaged();
  }
  return false;
}

void PipelineWorker::attempt_uncached(const Place& place, const Goal& goal) {
  read_sample([&] { pipeline_.uncached->read(place.sample_id, parts_); });
  attempt(place, goal);
}

// Substitutes, and single samples for `trace`, are not the next in the stream.
void PipelineWorker::read(const Place& place, bool in_order) {
  const std::uint64_t began_ns = now_ns();
  read_sample([&] {
    if (in_order) {
      pipeline_.read_ahead->take(place.epoch, place.index, place.sample_id, parts_);
    } else {
      pipeline_.options.source->read(place.sample_id, parts_);
    }
  });
  const std::uint64_t ended_ns = now_ns();
  read_ns_.fetch_add(ended_ns - began_ns, std::memory_order_relaxed);
  if (spans_ != nullptr) spans_->note(SpanKind::reading, began_ns, ended_ns, place.sample_id);
}

// The first sample of 64 is split, so that a short stream has an estimate too.
void PipelineWorker::attempt(const Place& place, const Goal& goal) {
  if (attempts_++ % split_one_in != 0) return run(place, goal, nullptr);
  std::uint64_t decode_ns = 0;
  const std::uint64_t began_ns = now_ns();
  run(place, goal, &decode_ns);
  split_decode_ns_.fetch_add(decode_ns, std::memory_order_relaxed);
  split_make_ns_.fetch_add(now_ns() - began_ns, std::memory_order_relaxed);
}

void PipelineWorker::run(const Place& place, const Goal& goal, std::uint64_t* decode_ns) {
  const SampleKey key{pipeline_.options.seed, place.epoch, place.sample_id};
  std::fill(scaled_.begin(), scaled_.end(), std::uint8_t{0});
  for (std::size_t u = 0; u < runners_.size(); ++u) {
    const PipelineCore::Unit& unit = pipeline_.units[u];
    std::vector<FieldTarget>& targets = targets_[u];
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const std::size_t field = unit.fields[i];
      targets[i] = target_of(field, goal);
      std::fill(cut_sizes_[field].begin(), cut_sizes_[field].end(), ImageSize());
      targets[i].cuts = cut_sizes_[field];
      if (notes_ == nullptr) continue;
      targets[i].notes = &(*notes_)[field];
      for (std::vector<Note>& view : *targets[i].notes) view.clear();
    }
    const PipelineCore::Field& first = pipeline_.fields[unit.fields.front()];
    runners_[u]->run({part_of(first), key, parts_.is_kept(first.part), decode_ns}, targets);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      sizes_[unit.fields[i]] = targets[i].size;
      made_sizes_[unit.fields[i]] = targets[i].made;
    }
    if (targets.front().is_scaled_down) scaled_[unit.part] = 1;
  }
  write_sizes(goal);
  check_sizes();
  if (goal.apart != nullptr) settle_rows(place.sample_id, *goal.apart);
}

FieldTarget PipelineWorker::target_of(std::size_t field, const Goal& goal) {
  const PipelineCore::Field& of = pipeline_.fields[field];
  FieldTarget target;
  if (of.on_axis()) {
    target.rows = goal.apart;
    target.field = field;
    target.axis = static_cast<std::size_t>(of.axis);
    target.row_bytes = of.row_bytes;
  } else if (goal.apart != nullptr) {
    target.out = goal.apart->make(field, of.byte_count);
  } else {
    const FieldSlots& to = goal.slots->fields[field];
    target.out = {to.data + goal.slot * to.stride_bytes, of.byte_count};
  }
  return target;
}

void PipelineWorker::write_sizes(const Goal& goal) {
  for (std::size_t i = 0; i < pipeline_.fields.size(); ++i) {
    if (!pipeline_.fields[i].size_of) continue;
    const ImageSize made = made_sizes_[*pipeline_.fields[i].size_of];
    const std::array<std::int32_t, 2> size = {made.height, made.width};
    std::memcpy(target_of(i, goal).out.data(), size.data(), sizeof size);
  }
}

void PipelineWorker::settle_rows(std::uint64_t sample_id, MadeSample& made) const {
  for (std::size_t axis = 0; axis < pipeline_.axes.size(); ++axis) {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < pipeline_.fields.size(); ++i) {
      if (pipeline_.fields[i].axis != static_cast<int>(axis)) continue;
      const std::uint64_t rows = rows_of(sample_id, axis, i, made.field(i).size());
      if (!first) {
        first = i;
        made.set_rows(axis, rows);
      } else if (rows != made.rows()[axis]) {
        throw BadSample(text("`{}` has {} rows and `{}` {}, and both lie on the axis `{}`",
                             pipeline_.schema[*first].name, made.rows()[axis],
                             pipeline_.schema[i].name, rows, pipeline_.axes[axis].name));
      }
    }
  }
}

std::uint64_t PipelineWorker::rows_of(std::uint64_t sample_id, std::size_t axis, std::size_t field,
                                      std::size_t byte_count) const {
  const PipelineCore::Rows& on = pipeline_.axes[axis];
  const std::size_t row_bytes = pipeline_.fields[field].row_bytes;
  if (byte_count % row_bytes != 0) {
    throw BadSample(text("its `{}` has {} bytes, and a row of it {}", pipeline_.schema[field].name,
                         byte_count, row_bytes));
  }
  const std::uint64_t rows = byte_count / row_bytes;
  if (on.lengths != nullptr && (*on.lengths)[sample_id] != rows) {
    throw BadSample(text(
        "it has {} rows on the axis `{}`, and the lengths of its source say {}. Make `lengths` "
        "say what the samples have",
        rows, on.name, (*on.lengths)[sample_id]));
  }
  return rows;
}

void PipelineWorker::check_sizes() const {
  for (const SameSize& pair : pipeline_.same_sizes) {
    if (have_same_size(pair) || are_cut_alike(pair)) continue;
    throw BadSample(why_other_size(pair));
  }
}

// In units of the fields' scales, of which both sizes must be multiples.
bool PipelineWorker::have_same_size(const SameSize& pair) const noexcept {
  const ImageSize a = sizes_[pair.first];
  const ImageSize b = sizes_[pair.second];
  const std::int64_t of_a = pipeline_.fields[pair.first].scale;
  const std::int64_t of_b = pipeline_.fields[pair.second].scale;
  if (a.width % of_a != 0 || a.height % of_a != 0) return false;
  return a.width * of_b == b.width * of_a && a.height * of_b == b.height * of_a;
}

// Images of other sizes may have come to one size before each stage that cuts both.
bool PipelineWorker::are_cut_alike(const SameSize& pair) const noexcept {
  if (pair.cuts.empty()) return false;
  const PipelineCore::Field& first = pipeline_.fields[pair.first];
  const PipelineCore::Field& second = pipeline_.fields[pair.second];
  for (std::size_t view = 0; view < std::min(first.views, second.views); ++view) {
    const auto size_at = [&](std::size_t field, std::int32_t cut) {
      return cut_sizes_[field][view * pipeline_.fields[field].cuts + static_cast<std::size_t>(cut)];
    };
    for (const SharedCut& cut : pair.cuts) {
      if (size_at(pair.first, cut.first) != size_at(pair.second, cut.second)) return false;
    }
  }
  return true;
}

std::string PipelineWorker::why_other_size(const SameSize& pair) const {
  const auto called_field = [&](std::size_t field) {
    const std::int32_t scale = pipeline_.fields[field].scale;
    return text("`{}` of {} x {}{}", pipeline_.schema[field].name, sizes_[field].width,
                sizes_[field].height, scale == 1 ? "" : text(" with scale = {}", scale));
  };
  const std::string both =
      text("{} and {} pixels", called_field(pair.first), called_field(pair.second));
  if (pipeline_.fields[pair.first].scale != pipeline_.fields[pair.second].scale) {
    return text(
        "what is drawn for one is done to the other, and they do not differ by their "
        "`scale`: {}. Store them in sizes that differ by exactly that",
        both);
  }
  if (pair.has_mask) {
    return text(
        "what is drawn for the image is done to its mask, and they differ in size: {}. "
        "Store them in one size, or let their fields draw on their own",
        both);
  }
  return text(
      "what is drawn for one is done to the other, and they differ in size: {}. Store them "
      "in one size, resize both to one [height, width] first, or let their fields draw on "
      "their own. Where one is always N times as large, its field says scale = N",
      both);
}

// For samples of a few hundred bytes everything but the copying is what costs.
void PipelineWorker::copy_all(const SampleSlots& slots) {
  const Source& source = *pipeline_.options.source;
  const auto order = pipeline_.order.epoch(slots.epoch);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::uint64_t index = slots.index_in_epoch + i;
    const std::uint64_t id = order.index_at(index);
    if (stand_in_at({slots.epoch, index, id})) {
      slots.sample_ids[i] = make_one({slots.epoch, index, id}, {&slots, i});
      continue;
    }
    try {
      read_sample([&] { source.read(id, parts_); });
      for (std::size_t f = 0; f < pipeline_.fields.size(); ++f) {
        const PipelineCore::Field& field = pipeline_.fields[f];
        const FieldSlots& target = slots.fields[f];
        std::memcpy(target.data + i * target.stride_bytes, part_of(field).data(), field.byte_count);
      }
      slots.sample_ids[i] = id;
    } catch (const std::exception&) {
      // make_one() tries again, since it knows what to do with such a sample.
      slots.sample_ids[i] = make_one({slots.epoch, index, id}, {&slots, i});
    }
  }
}

// Lengths are known and reading only looks at memory: only a file that is written over meanwhile
// makes a sample bad, and the stream fails then.
void PipelineWorker::copy_rows(const SampleSlots& slots) {
  const Source& source = *pipeline_.options.source;
  const auto order = pipeline_.order.epoch(slots.epoch);
  at_.clear();
  for (const FieldSlots& field : slots.fields) at_.push_back(field.data);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::uint64_t id = order.index_at(slots.index_in_epoch + i);
    try {
      read_sample([&] { source.read(id, parts_); });
      append_parts(id, slots);
    } catch (const BadSample& bad) {
      pipeline_.bad_samples.add({id, source.name_of(id), as_reason(bad.what())});
      throw;
    }
    slots.sample_ids[i] = id;
  }
  note_tokens(std::exchange(counted_, {}));
}

/// A sample that is made apart, once it is.
void PipelineWorker::count_tokens(const MadeSample& made) {
  if (!pipeline_.tokens_field) return;
  const int axis = pipeline_.fields[*pipeline_.tokens_field].axis;
  MadeTokens counted;
  counted.tokens = made.rows()[static_cast<std::size_t>(axis)];
  counted.trained =
      pipeline_.mask_field ? trained_in(made.field(*pipeline_.mask_field)) : counted.tokens;
  note_tokens(counted);
}

void PipelineWorker::note_tokens(const MadeTokens& counted) const noexcept {
  pipeline_.made_tokens.fetch_add(counted.tokens, std::memory_order_relaxed);
  pipeline_.trained_tokens.fetch_add(counted.trained, std::memory_order_relaxed);
}

void PipelineWorker::append_parts(std::uint64_t sample_id, const SampleSlots& slots) {
  for (std::size_t f = 0; f < pipeline_.fields.size(); ++f) {
    const PipelineCore::Field& field = pipeline_.fields[f];
    const std::span<const std::byte> bytes = part_of(field);
    // The ring has as many rows for it as the lengths say, which do not change.
    if (field.on_axis()) {
      const std::uint64_t rows =
          rows_of(sample_id, static_cast<std::size_t>(field.axis), f, bytes.size());
      if (pipeline_.tokens_field == f) {
        counted_.tokens += rows;
        if (!pipeline_.mask_field) counted_.trained += rows;
      }
      if (pipeline_.mask_field == f) counted_.trained += trained_in(bytes);
    }
    if (!bytes.empty()) std::memcpy(at_[f], bytes.data(), bytes.size());
    at_[f] += field.on_axis() ? bytes.size() : slots.fields[f].stride_bytes;
  }
}

std::span<const std::byte> PipelineWorker::part_of(const PipelineCore::Field& field) const {
  const std::span<const std::byte> bytes = parts_[field.part];
  if (field.part_bytes && bytes.size() != *field.part_bytes) {
    throw BadSample(text("its part `{}` has {} bytes, and the source says that it has {}",
                         pipeline_.options.source->parts()[field.part].name, bytes.size(),
                         *field.part_bytes));
  }
  return bytes;
}

}  // namespace batchcast::inline v0_1::detail
