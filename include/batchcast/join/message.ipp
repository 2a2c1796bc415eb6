// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/message.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/hex.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/join/record_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace batchcast::inline v0_1 {
namespace detail::message {

inline constexpr auto segment_kinds = static_cast<std::uint32_t>(SegmentKind::cuda_ipc) + 1;
inline constexpr auto refusal_kinds = static_cast<std::uint32_t>(RefusalKind::group_broke) + 1;

inline void read_segments(const WelcomeRecord& record, Welcome& welcome) {
  const std::size_t count = number(record.segment_count, "segment_count", 1, limits::fields_max);
  bool handles = false;
  for (std::size_t i = 0; i < count; ++i) {
    const SegmentRecord& segment = record.segments[i];
    const auto kind = choice<SegmentKind>(segment.kind, "segment kind", segment_kinds);
    welcome.segment_bytes.push_back(number(segment.bytes, "segment bytes", 1, number_max));
    welcome.segment_kinds.push_back(kind);
    const bool by_handle = kind == SegmentKind::cuda_ipc;
    welcome.segment_handles.push_back(by_handle ? detail::to_hex(segment.handle) : std::string());
    handles |= by_handle;
  }
  if (!handles) welcome.segment_handles.clear();
}

inline Welcome welcome_from(const WelcomeRecord& record) {
  Welcome welcome;
  welcome.stream = name_in(record.stream, "stream", limits::stream_name_bytes_max);
  welcome.consumer_index =
      small_number(record.consumer_index, "consumer_index", limits::consumers_max - 1);
  welcome.consumer_id = number(record.consumer_id, "consumer_id", 0, number_max);
  welcome.name = name_in(record.name, "name", limits::consumer_name_bytes_max);
  welcome.position = number(record.position, "position", 0, number_max);
  welcome.epoch = number(record.epoch, "epoch", 0, number_max);
  welcome.epoch_start = number(record.epoch_start, "epoch_start", 0, number_max);
  welcome.samples_to_come = number(record.samples_to_come, "samples_to_come", 0, number_max);
  welcome.board_bytes = number(record.board_bytes, "board_bytes", 0, number_max);
  welcome.desk_bytes = number(record.desk_bytes, "desk_bytes", 0, number_max);
  read_segments(record, welcome);
  welcome.placement = placement_in(record.placement);
  welcome.has_member_lock = small_number(record.member_lock, "member_lock", 1) != 0;
  const std::uint32_t notes =
      small_number(record.note_count, "note_count", WelcomeRecord::notes_max);
  for (std::uint32_t i = 0; i < notes; ++i) {
    welcome.notes.push_back(text_in(record.notes[i], "a note"));
  }
  return welcome;
}

inline Refusal refusal_from(const RefusalRecord& record) {
  return {choice<RefusalKind>(record.kind, "kind", refusal_kinds), text_in(record.text, "text")};
}

inline Farewell farewell_from(const FarewellRecord& record) {
  return {text_in(record.reason, "reason"),
          small_number(record.group_broke, "group_broke", 1) != 0};
}

inline Rejoined rejoined_from(const RejoinedRecord& record) {
  return {.position = number(record.position, "position", 0, number_max),
          .epoch = number(record.epoch, "epoch", 0, number_max),
          .epoch_start = number(record.epoch_start, "epoch_start", 0, number_max),
          .samples_to_come = number(record.samples_to_come, "samples_to_come", 0, number_max)};
}

inline BatchCount batch_count_from(const BatchCountRecord& record) {
  return {.batches = number(record.batches, "batches", 0, number_max),
          .known = small_number(record.known, "known", 1) != 0};
}

}  // namespace detail::message

BATCHCAST_INLINE void check_consumer_name(std::string_view name) {
  if (std::all_of(name.begin(), name.end(), detail::message::is_in_names)) return;
  throw InvalidArgument(
      text("batchcast: \"{}\" cannot name a consumer: it has characters other than printable "
           "ASCII. Use letters, digits, blanks and signs such as '-', '_' and '.', as in lr-0.1.",
           printable(name.substr(0, 80))));
}

BATCHCAST_INLINE ProducerMessage decode_from_producer(std::string_view datagram) {
  try {
    const RecordHead head = detail::message::head_of(datagram);
    if (head.layout_version != layout_version) {
      return detail::message::refusal_of_layout(head.layout_version, layout_version);
    }
    if (detail::message::is(head, RecordType::welcome))
      return detail::message::welcome_from(detail::message::record_in<WelcomeRecord>(datagram));
    if (detail::message::is(head, RecordType::rejoined))
      return detail::message::rejoined_from(detail::message::record_in<RejoinedRecord>(datagram));
    if (detail::message::is(head, RecordType::refusal))
      return detail::message::refusal_from(detail::message::record_in<RefusalRecord>(datagram));
    if (detail::message::is(head, RecordType::farewell))
      return detail::message::farewell_from(detail::message::record_in<FarewellRecord>(datagram));
    if (detail::message::is(head, RecordType::batch_count)) {
      return detail::message::batch_count_from(
          detail::message::record_in<BatchCountRecord>(datagram));
    }
    if (detail::message::is(head, RecordType::forming)) {
      return Forming{detail::message::text_in(
          detail::message::record_in<FormingRecord>(datagram).missing, "missing")};
    }
    throw detail::message::of_unknown_type(head);
  } catch (const detail::message::Malformed& wrong) {
    return BadMessage{text("the producer's message cannot be read: {}", wrong.text)};
  }
}

}  // namespace batchcast::inline v0_1
