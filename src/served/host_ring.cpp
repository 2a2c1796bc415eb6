// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "served/host_ring.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/ring/row_table.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <numeric>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

Schema with_sample_id(Schema fields) {
  fields.push_back({std::string(sample_id_name), DType::u64, {}});
  return fields;
}

Schema spaced(Schema fields, const std::vector<std::uint64_t>& strides) {
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] <= fields[i].byte_count()) continue;
    fields[i] = {fields[i].name, DType::u8, {static_cast<std::int64_t>(strides[i])}};
  }
  return fields;
}

RingWriter::Options writer_options(const HostRing::Parts& parts) {
  const ProducerOptions& options = parts.options;
  RingWriter::Options writer;
  writer.samples_per_epoch = options.samples_per_epoch;
  writer.epochs = options.epochs;
  writer.wait_for = options.wait_for;
  writer.free_running = options.free_running;
  writer.ahead = options.ahead;
  writer.goes_back = options.pure && parts.head.empty();
  writer.stall_timeout_ms = options.stall_timeout_ms;
  writer.on_stall = options.on_stall;
  writer.first_consumer_id = parts.first_consumer_id;
  writer.log = parts.log;
  writer.on_evicted = parts.on_evicted;
  return writer;
}

}  // namespace

std::vector<AxisWish> axis_wishes(const ProducerOptions& options) {
  std::vector<AxisWish> wishes;
  for (const std::string& axis : axes_of(options.schema)) {
    AxisWish& wish = wishes.emplace_back();
    for (const RowsPerSample& one : options.rows_per_sample) {
      if (one.axis == axis) wish.rows_per_sample = one.rows;
    }
    for (const AxisRowCount& one : options.rows) {
      if (one.axis == axis) wish.rows = one.rows;
    }
  }
  return wishes;
}

HostRing::HostRing(const Parts& parts)
    : id_(parts.head.empty() ? Placement().text() : parts.head),
      fields_(with_sample_id(parts.options.schema)),
      spaced_fields_(spaced(fields_, parts.strides)),
      axis_wishes_(axis_wishes(parts.options)) {
  make_memory(parts);
  show_fields(parts.log);
  populator_ = std::make_unique<Populator>(mappings_, MapMode::read_write);
  make_board(parts.options);
  RingWriter::Options writer = writer_options(parts);
  for (std::size_t axis = 0; axis < plan_.axes.size(); ++axis) {
    writer.row_tables.push_back(table_of(axis));
  }
  writer_ = std::make_unique<RingWriter>(board_->board(), std::move(writer));
}

void HostRing::make_memory(const Parts& parts) {
  const ProducerOptions& options = parts.options;
  if (make_segments(parts, choose_pages(options.huge_pages, options.memory, parts.log))) return;
  if (make_segments(parts, choose_pages(HugePages::off, options.memory, parts.log))) return;
  throw OutOfMemory("batchcast: the ring's memory could not be made.");
}

bool HostRing::make_segments(const Parts& parts, const MemoryChoice& choice) {
  segments_.clear();
  mappings_.clear();
  plan_ = plan_with(parts.options.memory, choice.granularity);
  // Reserved huge pages are no part of what the machine has left.
  if (!choice.huge) check_memory_exists(plan_.total_bytes());
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (!make_segment(parts, choice, fields_[i].name, plan_.fields[i].segment_bytes()))
      return false;
  }
  for (const AxisSpec& axis : plan_.axes) {
    if (!make_segment(parts, choice, "rows", axis.table_bytes)) return false;
  }
  return true;
}

bool HostRing::make_segment(const Parts& parts, const MemoryChoice& choice, const std::string& name,
                            std::uint64_t bytes) {
  auto segment = Segment::create(name, bytes, choice);
  if (!segment) {
    report(parts.log, LogLevel::warning, "huge pages ran out: the ring takes ordinary ones");
    return false;
  }
  // Both mappings come before the seal that forbids writable ones to all other processes.
  mappings_.emplace_back(*segment, MapMode::read_write);
  segment->seal(sealed_from_consumers);
  if (!writable_map_is_refused(*segment)) {
    if (!choice.huge) {
      throw SystemError(
          "batchcast: this kernel lets others write to sealed memory (Linux 5.1 or later is "
          "needed)",
          EPERM);
    }
    report(parts.log, LogLevel::warning,
           "this kernel does not seal huge pages: the ring takes ordinary ones");
    return false;
  }
  segments_.push_back(std::move(*segment));
  return true;
}

/// Spaces samples as in device rings, if that costs this ring no more than padding may.
RingPlan HostRing::plan_with(std::uint64_t memory, std::uint64_t granularity) const {
  if (!axis_wishes_.empty()) return plan_ring_of_rows(fields_, axis_wishes_, memory, granularity);
  RingPlan close = plan_ring(fields_, memory, granularity);
  if (spaced_fields_ == fields_) return close;
  if (memory_for(spaced_fields_, 1, granularity) > memory) return close;
  RingPlan spaced = plan_ring(spaced_fields_, memory, granularity);
  if (spaced.capacity < close.capacity - close.capacity / lost_part) return close;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    spaced.fields[i].sample_bytes = fields_[i].byte_count();
  }
  return spaced;
}

void HostRing::show_fields(const LogCallback& log) {
  std::vector<FieldInfo> infos;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const FieldPlan& plan = plan_.fields[i];
    windows_.push_back({mappings_[i].data(), plan.capacity, plan.stride_bytes, plan.sample_bytes});
    infos.push_back({fields_[i], fields_[i].element_count(), plan.sample_bytes, plan.stride_bytes});
    infos.back().axis = axis_index(fields_, fields_[i].axis);
    if (!plan.padded()) continue;
    const bool as_on_device = plan.stride_bytes == spaced_fields_[i].byte_count();
    report(log, LogLevel::info,
           text("samples of field {} lie {} bytes apart instead of {}{}; batches have that stride",
                to_text(fields_[i]), plan.stride_bytes, plan.sample_bytes,
                as_on_device ? ", as they do on the GPU"
                             : ", since rounding to pages would have cost more than a tenth "
                               "of the memory"));
  }
  field_table_ = FieldTable(std::move(infos));
}

void HostRing::make_board(const ProducerOptions& options) {
  std::vector<FieldEntry> entries;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    entries.push_back(
        field_entry(fields_[i], plan_.fields[i], axis_index(fields_, fields_[i].axis)));
  }
  BoardSpec spec;
  spec.recipe_json = options.recipe_json;
  spec.identity = options.identity;
  spec.fields = entries;
  spec.axes = plan_.axes;
  spec.capacity = plan_.capacity;
  spec.samples_per_epoch = options.samples_per_epoch;
  spec.epochs = options.epochs;
  // Mirrors stand on this board too, and take no place from a consumer.
  spec.consumers_max = options.max_consumers + static_cast<std::uint32_t>(options.places.size());
  spec.pure = options.pure;
  board_.emplace(spec);
}

std::optional<std::uint64_t> HostRing::rows_of(const std::string& axis) const {
  for (const AxisSpec& one : plan_.axes) {
    if (one.name == axis) return one.rows;
  }
  return std::nullopt;
}

std::optional<ServedRing::RowsThere> HostRing::rows_at(const std::string& axis,
                                                       std::uint64_t position) {
  if (plan_.axes.empty()) return RowsThere();
  const BoardProgress& progress = board().progress();
  std::vector<RowsThere> there;
  for (std::size_t i = 0; i < plan_.axes.size(); ++i) {
    if (!axis.empty() && plan_.axes[i].name != axis) continue;
    const std::optional<RowRange> rows = rows_of(i, position);
    if (!rows) return std::nullopt;
    there.push_back({plan_.axes[i].name, rows->rows});
  }
  if (there.empty()) return std::nullopt;
  // They were read before it is asked whether they are held.
  const bool is_held = oldest_held(ordered::load_kept_from_after_reading(progress),
                                   ordered::get_acquire(progress.valid_from)) <= position;
  if (!is_held) return std::nullopt;
  return there[axis_of_cursor(there.size(), [&](std::size_t i) { return there[i].rows; })];
}

std::string HostRing::axes_text() const {
  std::string names;
  for (const AxisSpec& one : plan_.axes)
    names += text("{}`{}`", names.empty() ? "" : ", ", one.name);
  return names.empty() ? ": all its samples have one shape" : text(". It has {}", names);
}

std::string HostRing::memory_option_for(std::uint64_t samples) const {
  if (!plan_.axes.empty()) {  // in proportion
    const double more = static_cast<double>(samples) / static_cast<double>(plan_.capacity);
    const double bytes = std::ceil(static_cast<double>(plan_.total_bytes()) * more * 1.02);
    return text("--memory {}", memory_argument(static_cast<std::uint64_t>(std::min(bytes, 9e18))));
  }
  return text("--memory {}",
              memory_argument(std::max(memory_for(fields_, samples, plan_.granularity),
                                       memory_for(spaced_fields_, samples, plan_.granularity))));
}

void HostRing::offer(Welcome& welcome, std::vector<int>& descriptors) {
  for (const Segment& segment : segments_) {
    welcome.segment_bytes.push_back(segment.bytes());
    descriptors.push_back(segment.fd());
  }
}

std::variant<Admitted, NotAdmitted> HostRing::admit(const AdmitRequest& request,
                                                    std::shared_ptr<Desk> desk) {
  return writer_->admit(request, std::move(desk));
}

std::variant<std::uint64_t, NotAdmitted> HostRing::resume(std::uint32_t index,
                                                          std::uint64_t consumer_id, Join join,
                                                          std::uint64_t cursor) {
  return writer_->resume(index, consumer_id, join, cursor);
}

Claim HostRing::lend(std::uint64_t samples_max, int timeout_ms, LoanContents& loan,
                     std::optional<std::uint64_t> interruptions) {
  Ticket ticket;
  const Claim claim = writer_->claim(samples_max, timeout_ms, ticket, interruptions);
  if (claim == Claim::granted) show(ticket, loan);
  return claim;
}

std::optional<Claim> HostRing::try_lend(std::uint64_t samples_max, LoanContents& loan) {
  Ticket ticket;
  const std::optional<Claim> claim = writer_->try_claim(samples_max, ticket);
  if (claim == Claim::granted) show(ticket, loan);
  return claim;
}

void HostRing::show(const Ticket& ticket, LoanContents& loan) {
  loan.fields = &field_table_;
  loan.position = ticket.position;
  loan.size = ticket.size;
  loan.epoch = ticket.epoch;
  loan.index_in_epoch = ticket.position - ticket.epoch_start;
  auto* ids = reinterpret_cast<std::uint64_t*>(windows_.back().at(ticket.position));
  std::iota(ids, ids + ticket.size, loan.index_in_epoch);
}

std::uint64_t HostRing::take_rows(LoanContents& loan, std::size_t axis, std::uint64_t index,
                                  std::span<const std::uint64_t> lengths, int timeout_ms,
                                  std::span<const std::uint64_t> first) {
  Ticket ticket{loan.position, loan.size, loan.epoch};
  const std::uint64_t taken = writer_->take_rows(ticket, axis, index, lengths, timeout_ms, first);
  loan.size = ticket.size;
  return taken;
}

void HostRing::publish(const LoanContents& loan) {
  if (loan.size == 0) return give_back(loan);  // the stream is over, or went back
  Receipt receipt;
  receipt.add(
      {reinterpret_cast<const std::uint64_t*>(windows_.back().at(loan.position)), loan.size});
  writer_->publish({loan.position, loan.size, loan.epoch}, receipt);
}

void HostRing::give_back(const LoanContents& loan) noexcept {
  writer_->give_back({loan.position, loan.size, loan.epoch});
}

}  // namespace batchcast::inline v0_1::detail
