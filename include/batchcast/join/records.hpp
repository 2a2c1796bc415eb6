// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/layout_version.hpp>
#include <batchcast/core/limits.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// The messages of the door, byte by byte: one record per datagram. docs/ring-format.md is their
// spec, message.hpp reads and writes them. Texts end with a NUL and are filled up with NULs.
//
// A field may be appended to a record without a new layout version. A reader ignores the end of a
// record that is longer than it knows. It takes the fields that a shorter one lacks as zero, down
// to `bytes_min` of its type. Every other change needs a new version. The head is the same in every
// version.
namespace batchcast::inline v0_1 {

inline constexpr std::array<char, 8> record_magic = {'b', 'c', 'r', 'e', 'c', 'o', 'r', 'd'};

enum class RecordType : std::uint32_t {
  hello = 1,
  pause = 2,
  rejoin = 3,
  bye = 4,
  epoch_end = 5,
  count_batches = 6,
  welcome = 101,
  refusal = 102,
  rejoined = 103,
  farewell = 104,
  forming = 105,
  batch_count = 106,
};

struct RecordHead {
  std::array<char, 8> magic;
  std::uint32_t layout_version;
  std::uint32_t type;   ///< RecordType
  std::uint64_t bytes;  ///< of the whole record, which is the whole datagram
};
static_assert(sizeof(RecordHead) == 24 && std::has_unique_object_representations_v<RecordHead>);

using NameText = std::array<char, 64>;
using LongText = std::array<char, limits::state_text_bytes_max>;
static_assert(limits::consumer_name_bytes_max < sizeof(NameText) &&
              limits::stream_name_bytes_max < sizeof(NameText));

/// Consumer to producer, first.
struct HelloRecord {
  static constexpr RecordType type = RecordType::hello;

  RecordHead head;
  std::uint64_t batch_size;
  std::uint64_t cursor;  ///< for Join::at; else 0
  std::uint32_t pid;
  std::uint32_t pace;            ///< Pace
  std::uint32_t join;            ///< Join
  std::uint32_t between_epochs;  ///< BetweenEpochs
  std::uint32_t observes;        ///< 0 or 1
  std::uint32_t reserved;
  NameText name;       ///< empty: the producer chooses
  NameText placement;  ///< `host`, or a GPU's UUID
  // A hello may end here or later.
  NameText group;             ///< of ranks that share batches; empty: none
  std::uint32_t rank;         ///< below world
  std::uint32_t world;        ///< 0: no group
  std::uint32_t tail;         ///< Tail
  std::uint32_t oversize;     ///< Oversize
  std::uint64_t budget_rows;  ///< of a batch; 0: it has batch_size samples
  NameText budget_axis;
  std::uint64_t cursor_row;    ///< for Join::at, inside the sample at `cursor`; else 0
  std::uint64_t window_rows;   ///< of a run; 0: no window
  std::uint64_t window_runs;   ///< of a batch
  std::uint64_t window_extra;  ///< rows that each run shows besides
  NameText window_axis;
  std::uint32_t rides;    ///< 1: it goes on with the next producer
  std::uint32_t resumes;  ///< 0: no; what follows is zeros. 1: in a loop. 2: between two loops
  std::array<std::uint8_t, 16> identity;                    ///< of the stream that it resumes
  std::array<std::uint8_t, 16> incarnation;                 ///< of the ring that it was attached to
  std::uint64_t consumer_id;                                ///< there
  std::uint64_t kept_from, valid_from, claimed, published;  ///< as that ring's board has them
  // Or here.
  std::uint32_t job_first;  ///< of a rank: the first of its group among the job's
  std::uint32_t job_world;  ///< ranks of the job on all nodes; 0: those of the group

  static constexpr std::size_t bytes_min = 192;
};
static_assert(sizeof(HelloRecord) == 528 && std::has_unique_object_representations_v<HelloRecord>);
static_assert(offsetof(HelloRecord, pid) == 40 && offsetof(HelloRecord, name) == 64 &&
              offsetof(HelloRecord, group) == HelloRecord::bytes_min &&
              offsetof(HelloRecord, rank) == 256 && offsetof(HelloRecord, budget_axis) == 280 &&
              offsetof(HelloRecord, cursor_row) == 344 &&
              offsetof(HelloRecord, window_axis) == 376 && offsetof(HelloRecord, rides) == 440 &&
              offsetof(HelloRecord, consumer_id) == 480 && offsetof(HelloRecord, job_first) == 520);

/// Consumer to producer.
struct PauseRecord {
  static constexpr RecordType type = RecordType::pause;
  RecordHead head;
  static constexpr std::size_t bytes_min = 24;
};
struct ByeRecord {
  static constexpr RecordType type = RecordType::bye;
  RecordHead head;
  static constexpr std::size_t bytes_min = 24;
};
static_assert(sizeof(PauseRecord) == 24 && sizeof(ByeRecord) == 24);

/// Consumer to producer.
struct RejoinRecord {
  static constexpr RecordType type = RecordType::rejoin;
  RecordHead head;
  std::uint64_t cursor;  ///< for Join::at; else 0
  std::uint32_t join;    ///< Join
  std::uint32_t reserved;
  // A rejoin may end here or later.
  std::uint64_t row;  ///< inside the sample at `cursor`, for Join::at; else 0
  static constexpr std::size_t bytes_min = 40;
};
static_assert(sizeof(RejoinRecord) == 48 && std::has_unique_object_representations_v<RejoinRecord>);

/// Consumer to producer, from a rank of a group.
struct EpochEndRecord {
  static constexpr RecordType type = RecordType::epoch_end;
  RecordHead head;
  std::uint64_t epoch;
  std::uint64_t position;  ///< after the last batch that the rank took
  std::uint64_t count;     ///< the rank's receipt
  std::uint64_t hash;
  std::uint32_t known;  ///< 1: the receipt has every sample that is the rank's
  std::uint32_t early;  ///< 1: the rank left the epoch before its end
  // An epoch end may end here or later.
  std::uint64_t row;  ///< inside the sample at `position`, with a window
  // Or here.
  std::uint64_t own_rows;  ///< of the epoch, for which the rank answers
  std::uint64_t all_rows;  ///< those of all ranks, as it saw them go by; 0: not known
  static constexpr std::size_t bytes_min = 64;
};
static_assert(sizeof(EpochEndRecord) == 88 &&
              std::has_unique_object_representations_v<EpochEndRecord>);

/// Consumer to producer.
struct CountBatchesRecord {
  static constexpr RecordType type = RecordType::count_batches;
  RecordHead head;
  std::uint64_t epoch;
  std::uint64_t batch_size;   ///< the most samples of a run
  std::uint64_t budget_rows;  ///< 0 with a window
  std::uint32_t oversize;     ///< Oversize
  std::uint32_t world;        ///< ranks, at least 1
  NameText budget_axis;
  // A count of batches may end here or later.
  std::uint64_t window_rows;  ///< 0: no window
  std::uint64_t window_runs;
  std::uint64_t window_extra;
  std::uint32_t tail;  ///< Tail, of a window
  std::uint32_t reserved;
  NameText window_axis;
  static constexpr std::size_t bytes_min = 120;
};
static_assert(sizeof(CountBatchesRecord) == 216 &&
              std::has_unique_object_representations_v<CountBatchesRecord>);

inline constexpr std::size_t segment_handle_bytes = 64;  // of cuIpcGetMemHandle

struct SegmentRecord {
  std::uint64_t bytes;
  std::uint32_t kind;  ///< SegmentKind
  std::uint32_t reserved;
  std::array<std::uint8_t, segment_handle_bytes> handle;  ///< for cuda_ipc; else zeros
};
static_assert(sizeof(SegmentRecord) == 80 && offsetof(SegmentRecord, handle) == 16 &&
              std::has_unique_object_representations_v<SegmentRecord>);

/// Producer to consumer: admitted.
struct WelcomeRecord {
  static constexpr RecordType type = RecordType::welcome;
  static constexpr std::size_t notes_max = 8;
  using Note = std::array<char, 256>;

  RecordHead head;
  std::uint64_t consumer_id;
  std::uint64_t position;
  std::uint64_t epoch;
  std::uint64_t epoch_start;
  std::uint64_t samples_to_come;
  std::uint64_t board_bytes;
  std::uint64_t desk_bytes;
  std::uint32_t consumer_index;
  std::uint32_t segment_count;  ///< 1 to limits::fields_max
  NameText stream;
  NameText name;
  NameText placement;
  std::array<SegmentRecord, limits::fields_max> segments;
  // A welcome may end here or later.
  std::uint32_t note_count;
  std::uint32_t member_lock;  ///< 1: the last descriptor is the lock of a member
  std::array<Note, notes_max> notes;

  static constexpr std::size_t bytes_min = 5'400;
};
static_assert(sizeof(WelcomeRecord) == 7'456 &&
              std::has_unique_object_representations_v<WelcomeRecord>);
static_assert(offsetof(WelcomeRecord, consumer_index) == 80 &&
              offsetof(WelcomeRecord, stream) == 88 && offsetof(WelcomeRecord, segments) == 280 &&
              offsetof(WelcomeRecord, note_count) == WelcomeRecord::bytes_min);

/// Producer to consumer: not admitted, or the rejoin is refused.
struct RefusalRecord {
  static constexpr RecordType type = RecordType::refusal;
  RecordHead head;
  std::uint32_t kind;  ///< RefusalKind
  std::uint32_t reserved;
  LongText text;
  static constexpr std::size_t bytes_min = 2'080;
};
static_assert(sizeof(RefusalRecord) == RefusalRecord::bytes_min &&
              std::has_unique_object_representations_v<RefusalRecord>);

/// Producer to consumer.
struct RejoinedRecord {
  static constexpr RecordType type = RecordType::rejoined;
  RecordHead head;
  std::uint64_t position;
  std::uint64_t epoch;
  std::uint64_t epoch_start;
  std::uint64_t samples_to_come;
  static constexpr std::size_t bytes_min = 56;
};
static_assert(sizeof(RejoinedRecord) == RejoinedRecord::bytes_min &&
              std::has_unique_object_representations_v<RejoinedRecord>);

/// Producer to consumer, the last message.
struct FarewellRecord {
  static constexpr RecordType type = RecordType::farewell;
  RecordHead head;
  LongText reason;
  // A farewell may end here or later.
  std::uint32_t group_broke;  ///< 1: its group has lost another rank
  std::uint32_t reserved;
  static constexpr std::size_t bytes_min = 2'072;
};
static_assert(sizeof(FarewellRecord) == 2'080 &&
              std::has_unique_object_representations_v<FarewellRecord> &&
              offsetof(FarewellRecord, group_broke) == FarewellRecord::bytes_min);

/// Producer to consumer: its group is not complete. The welcome, or a refusal, follows.
struct FormingRecord {
  static constexpr RecordType type = RecordType::forming;
  RecordHead head;
  LongText missing;  ///< for messages
  static constexpr std::size_t bytes_min = 2'072;
};
static_assert(sizeof(FormingRecord) == FormingRecord::bytes_min &&
              std::has_unique_object_representations_v<FormingRecord>);

/// Producer to consumer.
struct BatchCountRecord {
  static constexpr RecordType type = RecordType::batch_count;
  RecordHead head;
  std::uint64_t batches;  ///< 0 where they are not known
  std::uint32_t known;    ///< 0 or 1
  std::uint32_t reserved;
  static constexpr std::size_t bytes_min = 40;
};
static_assert(sizeof(BatchCountRecord) == BatchCountRecord::bytes_min &&
              std::has_unique_object_representations_v<BatchCountRecord>);

static_assert(sizeof(HelloRecord) <= limits::consumer_record_bytes_max &&
              sizeof(WelcomeRecord) <= limits::producer_record_bytes_max);

}  // namespace batchcast::inline v0_1
