// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/message.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/join/record_writer.hpp>

// Writes a consumer's messages into records; message.ipp reads a producer's.
namespace batchcast::inline v0_1 {
namespace detail::message_encode {

template <class Record>
void put_window(Record& record, const Window& window) noexcept {
  if (!window.is_set()) return;
  record.window_rows = window.rows;
  record.window_runs = window.runs;
  record.window_extra = window.extra;
  put_name(record.window_axis, window.axis);
}

}  // namespace detail::message_encode

BATCHCAST_INLINE std::string encode(const Hello& hello) {
  auto record = detail::message_encode::blank<HelloRecord>(hello.layout_version);
  record.batch_size = hello.batch_size;
  record.cursor = hello.join == Join::at ? hello.cursor : 0;
  record.pid = static_cast<std::uint32_t>(hello.pid);
  record.pace = static_cast<std::uint32_t>(hello.pace);
  record.join = static_cast<std::uint32_t>(hello.join);
  record.between_epochs = static_cast<std::uint32_t>(hello.between_epochs);
  record.observes = hello.observes ? 1 : 0;
  detail::message_encode::put_name(record.name, hello.name);
  detail::message_encode::put_name(record.placement, hello.placement);
  detail::message_encode::put_name(record.group, hello.group);
  record.rank = hello.rank;
  record.world = hello.world;
  record.job_first = hello.job_first;
  record.job_world = hello.job_world;
  record.tail = static_cast<std::uint32_t>(hello.tail);
  record.oversize = static_cast<std::uint32_t>(hello.oversize);
  record.budget_rows = hello.budget.rows;
  detail::message_encode::put_name(record.budget_axis, hello.budget.axis);
  record.cursor_row = hello.join == Join::at ? hello.cursor_row : 0;
  detail::message_encode::put_window(record, hello.window);
  record.rides = hello.rides ? 1 : 0;
  if (const auto& resumes = hello.resumes) {
    record.resumes = resumes->in_loop ? 1 : 2;
    record.identity = resumes->identity;
    record.incarnation = resumes->incarnation;
    record.consumer_id = resumes->consumer_id;
    record.kept_from = resumes->kept_from;
    record.valid_from = resumes->valid_from;
    record.claimed = resumes->claimed;
    record.published = resumes->published;
  }
  return detail::message_encode::to_datagram(record);
}

BATCHCAST_INLINE std::string encode(const Pause&) {
  return detail::message_encode::to_datagram(detail::message_encode::blank<PauseRecord>());
}

BATCHCAST_INLINE std::string encode(const Rejoin& rejoin) {
  auto record = detail::message_encode::blank<RejoinRecord>();
  record.join = static_cast<std::uint32_t>(rejoin.join);
  record.cursor = rejoin.join == Join::at ? rejoin.cursor.position : 0;
  record.row = rejoin.join == Join::at ? rejoin.cursor.row : 0;
  return detail::message_encode::to_datagram(record);
}

BATCHCAST_INLINE std::string encode(const Bye&) {
  return detail::message_encode::to_datagram(detail::message_encode::blank<ByeRecord>());
}

BATCHCAST_INLINE std::string encode(const EpochEnd& end) {
  auto record = detail::message_encode::blank<EpochEndRecord>();
  record.epoch = end.epoch;
  record.position = end.place.position;
  record.row = end.place.row;
  record.count = end.count;
  record.hash = end.hash;
  record.known = end.known ? 1 : 0;
  record.early = end.early ? 1 : 0;
  record.own_rows = end.rows.own;
  record.all_rows = end.rows.all;
  return detail::message_encode::to_datagram(record);
}

BATCHCAST_INLINE std::string encode(const CountBatches& request) {
  auto record = detail::message_encode::blank<CountBatchesRecord>();
  record.epoch = request.epoch;
  record.batch_size = request.batch_size;
  record.budget_rows = request.budget.rows;
  record.oversize = static_cast<std::uint32_t>(request.oversize);
  record.world = request.world;
  detail::message_encode::put_name(record.budget_axis, request.budget.axis);
  record.tail = static_cast<std::uint32_t>(request.tail);
  detail::message_encode::put_window(record, request.window);
  return detail::message_encode::to_datagram(record);
}

}  // namespace batchcast::inline v0_1
