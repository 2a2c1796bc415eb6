// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/message.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/hex.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/utf8.hpp>
#include <batchcast/join/records.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

namespace batchcast::inline v0_1 {
namespace detail::message {

inline constexpr std::array<std::string_view, 12> refusal_names = {
    "bad_hello", "layout", "uid",         "full",      "ring_too_small", "finished",
    "stopped",   "failed", "cursor_gone", "placement", "busy",           "group"};
inline constexpr std::array<std::string_view, 3> segment_kind_names = {"memfd", "cuda_fd",
                                                                       "cuda_ipc"};

inline constexpr std::uint32_t paces = 2, joins = 4, betweens = 2, tails = 3;
inline constexpr std::uint64_t number_max = limits::position_max - 1;

/// What is wrong with a message. Never leaves this file.
struct Malformed {
  std::string text;
};

inline RecordHead head_of(std::string_view datagram) {
  RecordHead head;
  if (datagram.size() < sizeof head) {
    throw Malformed{text("its {} bytes are fewer than any record has", datagram.size())};
  }
  std::memcpy(&head, datagram.data(), sizeof head);
  if (head.magic != record_magic) {
    throw Malformed{"it does not begin with the magic bytes of a record"};
  }
  if (head.bytes != datagram.size()) {
    throw Malformed{
        text("it takes {} bytes, and says that it has {}", datagram.size(), head.bytes)};
  }
  return head;
}

inline bool is(const RecordHead& head, RecordType type) noexcept {
  return head.type == static_cast<std::uint32_t>(type);
}

inline Malformed of_unknown_type(const RecordHead& head) {
  return {text("its type is the unknown {}", head.type)};
}

template <class Record>
Record record_in(std::string_view datagram) {
  if (datagram.size() < Record::bytes_min) {
    throw Malformed{text("its {} bytes are too few for its type, which has at least {}",
                         datagram.size(), Record::bytes_min)};
  }
  Record record{};
  std::memcpy(static_cast<void*>(&record), datagram.data(),
              std::min(datagram.size(), sizeof record));
  return record;
}

inline std::uint64_t number(std::uint64_t value, const char* key, std::uint64_t least,
                            std::uint64_t most) {
  if (value >= least && value <= most) return value;
  throw Malformed{text("\"{}\" is {}, not from {} to {}", key, value, least, most)};
}

inline std::uint32_t small_number(std::uint32_t value, const char* key, std::uint32_t most) {
  return static_cast<std::uint32_t>(number(value, key, 0, most));
}

template <class Enum>
Enum choice(std::uint32_t value, const char* key, std::uint32_t count) {
  if (value < count) return static_cast<Enum>(value);
  throw Malformed{text("\"{}\" is the unknown {}", key, value)};
}

template <std::size_t n>
std::string text_in(const std::array<char, n>& field, const char* key) {
  const auto end = std::find(field.begin(), field.end(), '\0');
  if (end == field.end()) throw Malformed{text("\"{}\" has no end", key)};
  std::string result(field.begin(), end);
  if (!detail::is_utf8(result)) throw Malformed{text("\"{}\" is no valid UTF-8", key)};
  return result;
}

inline bool is_in_names(char c) noexcept { return c >= ' ' && c <= '~'; }

inline std::string name_in(const NameText& field, const char* key, std::size_t bytes_max) {
  const auto end = std::find(field.begin(), field.end(), '\0');
  const auto bytes = static_cast<std::size_t>(end - field.begin());
  if (end == field.end() || bytes > bytes_max) {
    throw Malformed{text("\"{}\" takes more than {} bytes", key, bytes_max)};
  }
  if (std::any_of(end, field.end(), [](char c) { return c != '\0'; })) {
    throw Malformed{text("\"{}\" goes on behind its end", key)};
  }
  if (!std::all_of(field.begin(), end, is_in_names)) {
    throw Malformed{text("\"{}\" has characters that are not printable ASCII", key)};
  }
  return {field.begin(), end};
}

inline std::string placement_in(const NameText& field) {
  std::string placement = name_in(field, "placement", sizeof field - 1);
  if (placement.empty()) throw Malformed{"\"placement\" is empty"};
  return placement;
}

inline std::uint64_t cursor_in(std::uint64_t cursor, Join join) {
  return number(cursor, "cursor", 0, join == Join::at ? number_max : 0);
}

inline Hello hello_from(const HelloRecord& record) {
  Hello hello;
  hello.layout_version = record.head.layout_version;
  hello.name = name_in(record.name, "name", limits::consumer_name_bytes_max);
  hello.batch_size = number(record.batch_size, "batch_size", 1, number_max);
  hello.pace = choice<Pace>(record.pace, "pace", paces);
  hello.join = choice<Join>(record.join, "join", joins);
  hello.cursor = cursor_in(record.cursor, hello.join);
  hello.between_epochs = choice<BetweenEpochs>(record.between_epochs, "between_epochs", betweens);
  hello.pid = static_cast<std::int32_t>(
      small_number(record.pid, "pid", std::numeric_limits<std::int32_t>::max()));
  hello.observes = small_number(record.observes, "observes", 1) != 0;
  hello.placement = placement_in(record.placement);
  hello.group = name_in(record.group, "group", limits::consumer_name_bytes_max);
  hello.world = record.world;
  hello.rank = small_number(record.rank, "rank", record.world == 0 ? 0 : record.world - 1);
  hello.tail = choice<Tail>(record.tail, "tail", tails);
  return hello;
}

inline void read_segments(const WelcomeRecord& record, Welcome& welcome) {
  const std::size_t count = number(record.segment_count, "segment_count", 1, limits::fields_max);
  bool handles = false;
  for (std::size_t i = 0; i < count; ++i) {
    const SegmentRecord& segment = record.segments[i];
    const auto kind = choice<SegmentKind>(segment.kind, "segment kind",
                                          static_cast<std::uint32_t>(segment_kind_names.size()));
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
  const std::uint32_t notes =
      small_number(record.note_count, "note_count", WelcomeRecord::notes_max);
  for (std::uint32_t i = 0; i < notes; ++i) {
    welcome.notes.push_back(text_in(record.notes[i], "a note"));
  }
  return welcome;
}

inline Refusal refusal_from(const RefusalRecord& record) {
  return {
      choice<RefusalKind>(record.kind, "kind", static_cast<std::uint32_t>(refusal_names.size())),
      text_in(record.text, "text")};
}

inline Rejoin rejoin_from(const RejoinRecord& record) {
  const Join join = choice<Join>(record.join, "join", joins);
  return {join, cursor_in(record.cursor, join)};
}

inline EpochEnd epoch_end_from(const EpochEndRecord& record) {
  return {.epoch = number(record.epoch, "epoch", 0, number_max),
          .position = number(record.position, "position", 0, number_max),
          .early = small_number(record.early, "early", 1) != 0,
          .known = small_number(record.known, "known", 1) != 0,
          .count = record.count,
          .hash = record.hash};
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

// ---- other versions

inline Refusal refusal_of_layout(std::uint32_t producer, std::uint32_t consumer) {
  return {RefusalKind::layout,
          text("batchcast: the producer speaks layout version {}, the consumer version {}. Use the "
               "same release of batchcast for both: start the producer again with the consumer's, "
               "or run the consumer with the producer's.",
               producer, consumer)};
}

}  // namespace detail::message

BATCHCAST_INLINE void check_consumer_name(std::string_view name) {
  if (std::all_of(name.begin(), name.end(), detail::message::is_in_names)) return;
  throw InvalidArgument(
      text("batchcast: \"{}\" cannot name a consumer: it has characters other than printable "
           "ASCII. Use letters, digits, blanks and signs such as '-', '_' and '.', as in lr-0.1.",
           printable(name.substr(0, 80))));
}

BATCHCAST_INLINE std::string_view name_of(RefusalKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < detail::message::refusal_names.size() ? detail::message::refusal_names[index]
                                                       : std::string_view("?");
}

BATCHCAST_INLINE std::string_view name_of(SegmentKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < detail::message::segment_kind_names.size()
             ? detail::message::segment_kind_names[index]
             : std::string_view("?");
}

BATCHCAST_INLINE std::variant<Hello, Refusal> decode_hello(std::string_view datagram,
                                                           std::uint32_t our_layout_version) {
  try {
    const RecordHead head = detail::message::head_of(datagram);
    if (!detail::message::is(head, RecordType::hello))
      throw detail::message::Malformed{"its type is not that of a hello"};
    // First of all: everything else may mean something different in another version.
    if (head.layout_version != our_layout_version) {
      return detail::message::refusal_of_layout(our_layout_version, head.layout_version);
    }
    return detail::message::hello_from(detail::message::record_in<HelloRecord>(datagram));
  } catch (const detail::message::Malformed& wrong) {
    return Refusal{RefusalKind::bad_hello,
                   text("batchcast: the hello cannot be read: {}", wrong.text)};
  }
}

BATCHCAST_INLINE ConsumerMessage decode_from_consumer(std::string_view datagram) {
  try {
    const RecordHead head = detail::message::head_of(datagram);
    if (head.layout_version != layout_version) {
      throw detail::message::Malformed{text("its layout version is {}", head.layout_version)};
    }
    if (detail::message::is(head, RecordType::bye)) return Bye{};
    if (detail::message::is(head, RecordType::pause)) return Pause{};
    if (detail::message::is(head, RecordType::rejoin))
      return detail::message::rejoin_from(detail::message::record_in<RejoinRecord>(datagram));
    if (detail::message::is(head, RecordType::epoch_end))
      return detail::message::epoch_end_from(detail::message::record_in<EpochEndRecord>(datagram));
    throw detail::message::of_unknown_type(head);
  } catch (const detail::message::Malformed& wrong) {
    return BadMessage{text("a consumer's message cannot be read: {}", wrong.text)};
  }
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
