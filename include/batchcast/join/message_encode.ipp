// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/message.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/core/hex.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/utf8.hpp>
#include <batchcast/join/records.hpp>

#include <algorithm>
#include <array>

// Writes the messages of the door into records; message.ipp reads them.
namespace batchcast::inline v0_1 {
namespace detail::message_encode {

template <class Record>
Record blank(std::uint32_t version = layout_version) noexcept {
  Record record{};
  record.head.magic = record_magic;
  record.head.layout_version = version;
  record.head.type = static_cast<std::uint32_t>(Record::type);
  record.head.bytes = sizeof(Record);
  return record;
}

template <class Record>
std::string to_datagram(const Record& record) {
  return {reinterpret_cast<const char*>(&record), sizeof record};
}

template <std::size_t n>
void put_name(std::array<char, n>& to, std::string_view name) noexcept {
  std::copy_n(name.begin(), std::min(name.size(), n - 1), to.begin());
}

/// Texts come from elsewhere (an exception, a file name): they are cut, and made UTF-8.
template <std::size_t n>
void put_text(std::array<char, n>& to, std::string_view text) {
  constexpr std::string_view more = "…";
  constexpr std::size_t bytes_max = n - 1;
  const bool cut = text.size() > bytes_max;
  std::string valid;
  for (std::string_view left = text.substr(0, bytes_max); !left.empty();) {
    const std::size_t bytes = left.front() == '\0' ? 0 : detail::utf8_character_bytes(left);
    valid += bytes == 0 ? "?" : left.substr(0, bytes);
    left.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  if (cut) {
    valid.resize(detail::utf8_prefix(valid, bytes_max - more.size()).size());
    valid += more;
  }
  std::copy(valid.begin(), valid.end(), to.begin());
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
  record.tail = static_cast<std::uint32_t>(hello.tail);
  return detail::message_encode::to_datagram(record);
}

BATCHCAST_INLINE std::string encode(const Welcome& welcome) {
  auto record = detail::message_encode::blank<WelcomeRecord>();
  record.consumer_id = welcome.consumer_id;
  record.position = welcome.position;
  record.epoch = welcome.epoch;
  record.epoch_start = welcome.epoch_start;
  record.samples_to_come = welcome.samples_to_come;
  record.board_bytes = welcome.board_bytes;
  record.desk_bytes = welcome.desk_bytes;
  record.consumer_index = welcome.consumer_index;
  record.segment_count = static_cast<std::uint32_t>(welcome.segment_bytes.size());
  detail::message_encode::put_name(record.stream, welcome.stream);
  detail::message_encode::put_name(record.name, welcome.name);
  detail::message_encode::put_name(record.placement, welcome.placement);
  const std::size_t segments = std::min(welcome.segment_bytes.size(), record.segments.size());
  for (std::size_t i = 0; i < segments; ++i) {
    SegmentRecord& segment = record.segments[i];
    segment.bytes = welcome.segment_bytes[i];
    if (welcome.segment_kinds.empty()) continue;
    segment.kind = static_cast<std::uint32_t>(welcome.segment_kinds[i]);
    if (segment.kind != static_cast<std::uint32_t>(SegmentKind::cuda_ipc)) continue;
    const bool whole = detail::from_hex(welcome.segment_handles[i], segment.handle);
    BATCHCAST_ASSERT(whole);
  }
  const std::size_t notes = std::min(welcome.notes.size(), WelcomeRecord::notes_max);
  record.note_count = static_cast<std::uint32_t>(notes);
  for (std::size_t i = 0; i < notes; ++i)
    detail::message_encode::put_text(record.notes[i], welcome.notes[i]);
  return detail::message_encode::to_datagram(record);
}

BATCHCAST_INLINE std::string encode(const Refusal& refusal) {
  auto record = detail::message_encode::blank<RefusalRecord>();
  record.kind = static_cast<std::uint32_t>(refusal.kind);
  detail::message_encode::put_text(record.text, refusal.text);
  return detail::message_encode::to_datagram(record);
}

BATCHCAST_INLINE std::string encode(const Pause&) {
  return detail::message_encode::to_datagram(detail::message_encode::blank<PauseRecord>());
}

BATCHCAST_INLINE std::string encode(const Rejoin& rejoin) {
  auto record = detail::message_encode::blank<RejoinRecord>();
  record.join = static_cast<std::uint32_t>(rejoin.join);
  record.cursor = rejoin.join == Join::at ? rejoin.cursor : 0;
  return detail::message_encode::to_datagram(record);
}

BATCHCAST_INLINE std::string encode(const Rejoined& rejoined) {
  auto record = detail::message_encode::blank<RejoinedRecord>();
  record.position = rejoined.position;
  record.epoch = rejoined.epoch;
  record.epoch_start = rejoined.epoch_start;
  record.samples_to_come = rejoined.samples_to_come;
  return detail::message_encode::to_datagram(record);
}

BATCHCAST_INLINE std::string encode(const Bye&) {
  return detail::message_encode::to_datagram(detail::message_encode::blank<ByeRecord>());
}

BATCHCAST_INLINE std::string encode(const Farewell& farewell) {
  auto record = detail::message_encode::blank<FarewellRecord>();
  detail::message_encode::put_text(record.reason, farewell.reason);
  record.group_broke = farewell.group_broke ? 1 : 0;
  return detail::message_encode::to_datagram(record);
}

BATCHCAST_INLINE std::string encode(const EpochEnd& end) {
  auto record = detail::message_encode::blank<EpochEndRecord>();
  record.epoch = end.epoch;
  record.position = end.position;
  record.count = end.count;
  record.hash = end.hash;
  record.known = end.known ? 1 : 0;
  record.early = end.early ? 1 : 0;
  return detail::message_encode::to_datagram(record);
}

BATCHCAST_INLINE std::string encode(const Forming& forming) {
  auto record = detail::message_encode::blank<FormingRecord>();
  detail::message_encode::put_text(record.missing, forming.missing);
  return detail::message_encode::to_datagram(record);
}

}  // namespace batchcast::inline v0_1
