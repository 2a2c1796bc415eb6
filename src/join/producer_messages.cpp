// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "join/producer_messages.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/hex.hpp>
#include <batchcast/core/layout_version.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/core/utf8.hpp>
#include <batchcast/join/record_reader.hpp>
#include <batchcast/join/record_writer.hpp>
#include <batchcast/join/records.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace batchcast::inline v0_1 {
namespace detail::message {
namespace {

constexpr std::array<std::string_view, 13> refusal_names = {
    "bad_hello", "layout",      "uid",       "full", "ring_too_small", "finished", "stopped",
    "failed",    "cursor_gone", "placement", "busy", "group",          "recipe"};
constexpr std::array<std::string_view, 3> segment_kind_names = {"memfd", "cuda_fd", "cuda_ipc"};

constexpr std::uint32_t paces = 2, joins = 4, betweens = 2, tails = 3, oversizes = 4;

/// A part of a cursor.
std::uint64_t cursor_in(std::uint64_t part, const char* key, Join join) {
  return number(part, key, 0, join == Join::at ? number_max : 0);
}

template <class Record>
Window window_in(const Record& record) {
  Window window;
  window.axis = name_in(record.window_axis, "window_axis", limits::field_name_bytes_max);
  const std::uint64_t least = window.axis.empty() ? 0 : 1;
  const std::uint64_t most = window.axis.empty() ? 0 : number_max;
  window.rows = number(record.window_rows, "window_rows", least, most);
  window.runs = number(record.window_runs, "window_runs", least, most);
  window.extra = number(record.window_extra, "window_extra", 0, most);
  return window.is_set() ? window : Window();
}

std::optional<Resumes> resumes_in(const HelloRecord& record) {
  constexpr std::uint32_t in_loop = 1, between_loops = 2;
  const std::uint32_t how = small_number(record.resumes, "resumes", between_loops);
  if (how == 0) return std::nullopt;
  Resumes resumes;
  resumes.identity = record.identity;
  resumes.incarnation = record.incarnation;
  resumes.consumer_id = number(record.consumer_id, "consumer_id", 1, number_max);
  resumes.kept_from = number(record.kept_from, "kept_from", 0, number_max);
  resumes.valid_from = number(record.valid_from, "valid_from", 0, number_max);
  resumes.claimed = number(record.claimed, "claimed", 0, number_max);
  resumes.published = number(record.published, "published", 0, record.claimed);
  resumes.in_loop = how == in_loop;
  return resumes;
}

/// A job has the group's ranks, and others.
std::uint32_t job_world_in(const HelloRecord& record) {
  constexpr std::uint32_t ranks_max = 1U << 24;
  if (record.job_world == 0) return 0;
  if (record.world == 0) return small_number(record.job_world, "job_world", 0);
  return static_cast<std::uint32_t>(number(record.job_world, "job_world", record.world, ranks_max));
}

Hello hello_from(const HelloRecord& record) {
  Hello hello;
  hello.layout_version = record.head.layout_version;
  hello.name = name_in(record.name, "name", limits::consumer_name_bytes_max);
  hello.batch_size = number(record.batch_size, "batch_size", 1, number_max);
  hello.pace = choice<Pace>(record.pace, "pace", paces);
  hello.join = choice<Join>(record.join, "join", joins);
  hello.cursor = cursor_in(record.cursor, "cursor", hello.join);
  hello.between_epochs = choice<BetweenEpochs>(record.between_epochs, "between_epochs", betweens);
  hello.pid = static_cast<std::int32_t>(
      small_number(record.pid, "pid", std::numeric_limits<std::int32_t>::max()));
  hello.observes = small_number(record.observes, "observes", 1) != 0;
  hello.placement = placement_in(record.placement);
  hello.group = name_in(record.group, "group", limits::consumer_name_bytes_max);
  hello.world = record.world;
  hello.rank = small_number(record.rank, "rank", record.world == 0 ? 0 : record.world - 1);
  hello.job_world = job_world_in(record);
  hello.job_first = small_number(record.job_first, "job_first",
                                 hello.job_world == 0 ? 0 : hello.job_world - hello.world);
  hello.tail = choice<Tail>(record.tail, "tail", tails);
  hello.oversize = choice<Oversize>(record.oversize, "oversize", oversizes);
  hello.budget.axis = name_in(record.budget_axis, "budget_axis", limits::field_name_bytes_max);
  hello.budget.rows = number(record.budget_rows, "budget_rows", hello.budget.axis.empty() ? 0 : 1,
                             hello.budget.axis.empty() ? 0 : number_max);
  hello.cursor_row = cursor_in(record.cursor_row, "cursor_row", hello.join);
  hello.window = window_in(record);
  hello.rides = small_number(record.rides, "rides", 1) != 0;
  hello.resumes = resumes_in(record);
  return hello;
}

Rejoin rejoin_from(const RejoinRecord& record) {
  const Join join = choice<Join>(record.join, "join", joins);
  return {join, {cursor_in(record.cursor, "cursor", join), cursor_in(record.row, "row", join)}};
}

EpochEnd epoch_end_from(const EpochEndRecord& record) {
  return {.epoch = number(record.epoch, "epoch", 0, number_max),
          .place = {number(record.position, "position", 0, number_max),
                    number(record.row, "row", 0, number_max)},
          .early = small_number(record.early, "early", 1) != 0,
          .known = small_number(record.known, "known", 1) != 0,
          .count = record.count,
          .hash = record.hash,
          .rows = {record.own_rows, record.all_rows}};
}

CountBatches count_batches_from(const CountBatchesRecord& record) {
  const Window window = window_in(record);
  const std::uint64_t least = window.is_set() ? 0 : 1;
  const std::uint64_t most = window.is_set() ? 0 : number_max;
  return {.epoch = number(record.epoch, "epoch", 0, number_max),
          .batch_size = number(record.batch_size, "batch_size", 1, number_max),
          .budget = {name_in(record.budget_axis, "budget_axis", limits::field_name_bytes_max),
                     number(record.budget_rows, "budget_rows", least, most)},
          .oversize = choice<Oversize>(record.oversize, "oversize", oversizes),
          .world = small_number(record.world, "world", limits::consumers_max),
          .window = window,
          .tail = choice<Tail>(record.tail, "tail", tails)};
}

}  // namespace
}  // namespace detail::message

namespace detail::message_encode {
namespace {

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

}  // namespace
}  // namespace detail::message_encode

std::string encode(const Welcome& welcome) {
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
  record.member_lock = welcome.has_member_lock ? 1 : 0;
  const std::size_t notes = std::min(welcome.notes.size(), WelcomeRecord::notes_max);
  record.note_count = static_cast<std::uint32_t>(notes);
  for (std::size_t i = 0; i < notes; ++i)
    detail::message_encode::put_text(record.notes[i], welcome.notes[i]);
  return detail::message_encode::to_datagram(record);
}

std::string encode(const Refusal& refusal) {
  auto record = detail::message_encode::blank<RefusalRecord>();
  record.kind = static_cast<std::uint32_t>(refusal.kind);
  detail::message_encode::put_text(record.text, refusal.text);
  return detail::message_encode::to_datagram(record);
}

std::string encode(const Rejoined& rejoined) {
  auto record = detail::message_encode::blank<RejoinedRecord>();
  record.position = rejoined.position;
  record.epoch = rejoined.epoch;
  record.epoch_start = rejoined.epoch_start;
  record.samples_to_come = rejoined.samples_to_come;
  return detail::message_encode::to_datagram(record);
}

std::string encode(const BatchCount& count) {
  auto record = detail::message_encode::blank<BatchCountRecord>();
  record.batches = count.batches;
  record.known = count.known ? 1 : 0;
  return detail::message_encode::to_datagram(record);
}

std::string encode(const Farewell& farewell) {
  auto record = detail::message_encode::blank<FarewellRecord>();
  detail::message_encode::put_text(record.reason, farewell.reason);
  record.group_broke = farewell.group_broke ? 1 : 0;
  return detail::message_encode::to_datagram(record);
}

std::string encode(const Forming& forming) {
  auto record = detail::message_encode::blank<FormingRecord>();
  detail::message_encode::put_text(record.missing, forming.missing);
  return detail::message_encode::to_datagram(record);
}

std::string_view name_of(RefusalKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < detail::message::refusal_names.size() ? detail::message::refusal_names[index]
                                                       : std::string_view("?");
}

std::string_view name_of(SegmentKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < detail::message::segment_kind_names.size()
             ? detail::message::segment_kind_names[index]
             : std::string_view("?");
}

std::variant<Hello, Refusal> decode_hello(std::string_view datagram,
                                          std::uint32_t our_layout_version) {
  try {
    const RecordHead head = detail::message::head_of(datagram);
    if (!detail::message::is(head, RecordType::hello))
      throw detail::message::Malformed{"its type is not that of a hello"};
    // This comes first: everything else may mean something different in another version.
    if (head.layout_version != our_layout_version) {
      return detail::message::refusal_of_layout(our_layout_version, head.layout_version);
    }
    return detail::message::hello_from(detail::message::record_in<HelloRecord>(datagram));
  } catch (const detail::message::Malformed& wrong) {
    return Refusal{RefusalKind::bad_hello,
                   text("batchcast: the hello cannot be read: {}", wrong.text)};
  }
}

ConsumerMessage decode_from_consumer(std::string_view datagram) {
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
    if (detail::message::is(head, RecordType::count_batches)) {
      return detail::message::count_batches_from(
          detail::message::record_in<CountBatchesRecord>(datagram));
    }
    throw detail::message::of_unknown_type(head);
  } catch (const detail::message::Malformed& wrong) {
    return BadMessage{text("a consumer's message cannot be read: {}", wrong.text)};
  }
}

}  // namespace batchcast::inline v0_1
