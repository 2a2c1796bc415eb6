// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pipeline/pipeline_core.hpp"
#include "data/read_sample.hpp"
#include "data/reason.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/printable.hpp>

#include <cstring>
#include <new>
#include <string>
#include <system_error>

namespace batchcast::inline v0_1::detail {
namespace {

std::string called(const Source& source, std::uint64_t sample_id) {
  return text("sample {}, `{}`", sample_id, printable(source.name_of(sample_id)));
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
}

MakerTimes PipelineWorker::times() const noexcept {
  return {read_ns_.load(std::memory_order_relaxed), make_ns_.load(std::memory_order_relaxed)};
}

void PipelineWorker::make(const SampleSlots& slots) {
  const std::uint64_t began_ns = now_ns();
  const std::uint64_t read_before_ns = read_ns_.load(std::memory_order_relaxed);
  if (pipeline_.copies_only && pipeline_.options.source->in_memory()) {
    copy_all(slots);
  } else {
    const auto order = pipeline_.order.epoch(slots.epoch);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const std::uint64_t index = slots.index_in_epoch + i;
      slots.sample_ids[i] = make_one({slots.epoch, index, order.index_at(index)}, slots, i);
    }
  }
  const std::uint64_t read_ns = read_ns_.load(std::memory_order_relaxed) - read_before_ns;
  make_ns_.fetch_add(now_ns() - began_ns - read_ns, std::memory_order_relaxed);
}

std::uint64_t PipelineWorker::make_noted(const SampleSlots& slots,
                                         std::vector<std::vector<std::vector<Note>>>& notes) {
  notes_ = &notes;
  const std::uint64_t id = pipeline_.order.sample_id_at(slots.epoch, slots.index_in_epoch);
  const std::uint64_t made = make_one({slots.epoch, slots.index_in_epoch, id}, slots, 0);
  slots.sample_ids[0] = made;
  notes_ = nullptr;
  return made;
}

// Makes the sample, or the first one after it in the dataset that can be made. Whether one can be
// made depends on its draws: a crop may lie above the damage in a file. So a sample that was bad in
// one epoch is tried again in the next, and a restart there makes the same samples.
std::uint64_t PipelineWorker::make_one(const Place& place, const SampleSlots& slots,
                                       std::size_t slot) {
  const Source& source = *pipeline_.options.source;
  const std::uint64_t samples = source.size();
  for (std::uint64_t step = 0; step < samples; ++step) {
    const std::uint64_t id = (place.sample_id + step) % samples;
    try {
      read({place.epoch, place.index, id}, step == 0 && notes_ == nullptr);
      attempt({place.epoch, place.index, id}, slots, slot);
      return id;
    } catch (const BadSample& bad) {
      pipeline_.bad_samples.add({id, source.name_of(id), as_reason(bad.what())});
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
  throw BadSample("batchcast: no sample of this dataset can be made. `batchcast check` says why.");
}

// Substitutes, and single samples for `trace`, are not the next in the stream.
void PipelineWorker::read(const Place& place, bool in_order) {
  const std::uint64_t began_ns = now_ns();
  read_sample([&] {
    if (in_order) {
      pipeline_.read_ahead.take(place.epoch, place.index, place.sample_id, parts_);
    } else {
      pipeline_.options.source->read(place.sample_id, parts_);
    }
  });
  read_ns_.fetch_add(now_ns() - began_ns, std::memory_order_relaxed);
}

void PipelineWorker::attempt(const Place& place, const SampleSlots& slots, std::size_t slot) {
  const SampleKey key{pipeline_.options.seed, place.epoch, place.sample_id};
  for (std::size_t u = 0; u < runners_.size(); ++u) {
    const PipelineCore::Unit& unit = pipeline_.units[u];
    std::vector<FieldTarget>& targets = targets_[u];
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const std::size_t field = unit.fields[i];
      const FieldSlots& to = slots.fields[field];
      targets[i] = {{to.data + slot * to.stride_bytes, pipeline_.fields[field].byte_count}};
      if (notes_ == nullptr) continue;
      targets[i].notes = &(*notes_)[field];
      for (std::vector<Note>& view : *targets[i].notes) view.clear();
    }
    runners_[u]->run({part_of(pipeline_.fields[unit.fields.front()]), key}, targets);
    for (std::size_t i = 0; i < targets.size(); ++i) sizes_[unit.fields[i]] = targets[i].size;
  }
  check_sizes();
}

void PipelineWorker::check_sizes() const {
  const auto called_field = [&](std::size_t field) {
    return text("`{}` of {} x {}", pipeline_.schema[field].name, sizes_[field].width,
                sizes_[field].height);
  };
  for (const auto& [first, second] : pipeline_.same_sizes) {
    if (sizes_[first] == sizes_[second]) continue;
    throw BadSample(
        text("what is drawn for the image is done to its mask, and they differ in size: {} and {} "
             "pixels. Store them in one size, or let their fields draw on their own",
             called_field(first), called_field(second)));
  }
}

// For samples of a few hundred bytes everything but the copying is what costs.
void PipelineWorker::copy_all(const SampleSlots& slots) {
  const Source& source = *pipeline_.options.source;
  const auto order = pipeline_.order.epoch(slots.epoch);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::uint64_t index = slots.index_in_epoch + i;
    const std::uint64_t id = order.index_at(index);
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
      slots.sample_ids[i] = make_one({slots.epoch, index, id}, slots, i);
    }
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
