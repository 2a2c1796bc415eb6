// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/identity.hpp>
#include <batchcast/core/options.hpp>
#include <batchcast/core/row_place.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// The messages of the door as values; records.hpp has their bytes. Encoding never fails: names and
// texts that are too long are cut. Decoding accepts any bytes and is strict. An out-of-range
// number, an unknown choice or a text without an end gives a BadMessage that says which. It costs
// microseconds for any datagram.
namespace batchcast::inline v0_1 {

/// Of a hello whose consumer was attached to an earlier producer of the stream, which died. It has
/// what that ring's board says.
struct Resumes {
  detail::Identity identity = {};  ///< of the recipe
  std::array<std::uint8_t, 16> incarnation = {};
  std::uint64_t consumer_id = 0;
  std::uint64_t kept_from = 0;
  std::uint64_t valid_from = 0;
  std::uint64_t claimed = 0;
  std::uint64_t published = 0;
  bool in_loop = true;  ///< false: with `let_go`, between two loops
};

/// Consumer to producer, first. Its only file descriptor is the consumer's pidfd (used where the
/// kernel has no SO_PEERPIDFD).
struct Hello {
  std::uint32_t layout_version = 0;
  std::string name = {};  ///< wanted; empty: the producer chooses
  std::uint64_t batch_size = 1;
  Pace pace = Pace::lockstep;
  Join join = Join::rewind;
  std::uint64_t cursor = 0;  ///< position, for Join::at
  BetweenEpochs between_epochs = BetweenEpochs::hold;
  std::int32_t pid = 0;  ///< as the consumer sees itself: for messages, never trusted
  /// Only looks: asks for no samples, holds no producer back, does not count for `wait_for`.
  bool observes = false;
  /// `host`, or the UUID of the GPU whose ring it wants: numbers differ between processes.
  std::string placement = "host";
  /// For a rank: its group.
  std::string group = {};
  std::uint32_t rank = 0;
  std::uint32_t world = 0;      ///< 0: no group
  std::uint32_t job_first = 0;  ///< of its group among the ranks of a job on several nodes
  std::uint32_t job_world = 0;  ///< the job's ranks; 0: those of the group are all
  Tail tail = Tail::keep;
  Budget budget = {};
  Oversize oversize = Oversize::error;
  Window window = {};
  std::uint64_t cursor_row = 0;  ///< inside the sample at `cursor`, for Join::at
  /// It goes on with the next producer when this one dies, and takes the lock of a member.
  bool rides = false;
  std::optional<Resumes> resumes = {};
};

/// Throws InvalidArgument unless a consumer can have that name: printable ASCII.
void check_consumer_name(std::string_view name);

/// What holds a field's samples.
enum class SegmentKind : std::uint8_t {
  memfd,     ///< sealed host memory, sent as a descriptor
  cuda_fd,   ///< an exported allocation of a GPU, sent as a descriptor
  cuda_ipc,  ///< a legacy IPC handle, in the welcome; no descriptor
};

/// Producer to consumer: admitted. Its file descriptors are, in this order: board, desk, the
/// producer's pidfd, then one segment per field in schema order, `sample_id` last. There are
/// `segment_bytes.size()` segments; those of kind cuda_ipc have no descriptor. The lock of a member
/// comes last.
struct Welcome {
  std::string stream = {};
  std::uint32_t consumer_index = 0;  ///< of the board's entry
  std::uint64_t consumer_id = 0;
  std::string name = {};  ///< made unique
  std::uint64_t position = 0;
  std::uint64_t epoch = 0;
  std::uint64_t epoch_start = 0;
  std::uint64_t samples_to_come = 0;  ///< before the first one that it gets: what to expect to wait
  std::uint64_t board_bytes = 0;
  std::uint64_t desk_bytes = 0;
  std::vector<std::uint64_t> segment_bytes = {};
  std::vector<SegmentKind> segment_kinds = {};  ///< one each; empty: all memfd
  /// One each, 128 hexadecimal digits for cuda_ipc, else empty. The list may be empty.
  std::vector<std::string> segment_handles = {};
  std::string placement = "host";       ///< as in the hello: whose ring it is
  std::vector<std::string> notes = {};  ///< for the trainer's log
  /// The consumer holds its last descriptor as long as it rides.
  bool has_member_lock = false;
};

/// Descriptors that precede the segments in a welcome.
inline constexpr std::size_t welcome_descriptors_before_segments = 3;

enum class RefusalKind : std::uint8_t {
  bad_hello,       ///< could not be read
  layout,          ///< other layout version
  uid,             ///< other user
  full,            ///< no desk free
  ring_too_small,  ///< for this batch size
  finished,        ///< nothing left to join
  stopped,
  failed,
  cursor_gone,  ///< the position asked for is not in the ring any more
  placement,    ///< the stream is not served on that GPU
  busy,         ///< try again
  group,        ///< what this rank asks for does not fit its group
  recipe,       ///< the consumer resumes a stream of another identity
  group_broke,  ///< the group of a rank that resumes has lost another rank
};

/// Producer to consumer: not admitted, or the rejoin is refused.
struct Refusal {
  RefusalKind kind = RefusalKind::bad_hello;
  std::string text = {};
};

/// Consumer to producer (`let_go`): do not wait for it until it rejoins. No answer.
struct Pause {};
/// Consumer to producer (`let_go`): the next loop begins. The answer is Rejoined or Refusal.
struct Rejoin {
  Join join = Join::rewind;
  RowPlace cursor = {};
};
struct Rejoined {
  std::uint64_t position = 0;
  std::uint64_t epoch = 0;
  std::uint64_t epoch_start = 0;
  std::uint64_t samples_to_come = 0;
};
/// Consumer to producer: leaving. No answer.
struct Bye {};
/// Producer to consumer, the last message: evicted, and why.
struct Farewell {
  std::string reason = {};
  bool group_broke = false;  ///< the reason is another rank of its group
};
/// Consumer to producer, from a rank of a group: what it took of an epoch. No answer.
struct EpochEnd {
  std::uint64_t epoch = 0;
  RowPlace place = {};      ///< after the last batch that it took
  bool early = false;       ///< it left the epoch before its end
  bool known = false;       ///< the receipt has every sample that is the rank's
  std::uint64_t count = 0;  ///< the receipt
  std::uint64_t hash = 0;
  RowReceipt rows = {};
};
/// Consumer to producer: how many batches a whole epoch has with that budget, or that window. The
/// answer is a BatchCount.
struct CountBatches {
  std::uint64_t epoch = 0;
  std::uint64_t batch_size = 1;  ///< the most samples of a run
  Budget budget = {};
  Oversize oversize = Oversize::error;
  std::uint32_t world = 1;  ///< ranks, which share a batch
  Window window = {};       ///< instead of a budget
  Tail tail = Tail::keep;   ///< of a window

  [[nodiscard]] const std::string& axis() const noexcept {
    return window.is_set() ? window.axis : budget.axis;
  }
  friend bool operator==(const CountBatches&, const CountBatches&) = default;
};
struct BatchCount {
  std::uint64_t batches = 0;
  bool known = false;  ///< the lengths of samples are
};
/// Producer to consumer: which ranks of its group have not come, in words. Sent after the
/// consumer's hello and each time that this changes. The welcome, or a refusal, follows.
struct Forming {
  std::string missing = {};
};

/// A datagram that is none of the above.
struct BadMessage {
  std::string text = {};
};

using ConsumerMessage = std::variant<Rejoin, Pause, Bye, EpochEnd, CountBatches, BadMessage>;
using ProducerMessage =
    std::variant<Welcome, Refusal, Rejoined, Farewell, Forming, BatchCount, BadMessage>;

[[nodiscard]] std::string encode(const Hello& hello);
[[nodiscard]] std::string encode(const Pause& pause);
[[nodiscard]] std::string encode(const Rejoin& rejoin);
[[nodiscard]] std::string encode(const Bye& bye);
[[nodiscard]] std::string encode(const EpochEnd& end);
[[nodiscard]] std::string encode(const CountBatches& request);

/// Decodes a message of a producer. A message of another layout version becomes a refusal that
/// names both. A consumer should not trust the numbers further than its mappings go.
[[nodiscard]] ProducerMessage decode_from_producer(std::string_view datagram);

/// Throws the exception that belongs to a refusal: RingTooSmall, StreamFinished, Stopped,
/// StreamFailed, RecipeMismatch, GroupBroken, or Refused. The producer wrote its text.
[[noreturn]] void throw_refused(const Refusal& refusal);

}  // namespace batchcast::inline v0_1
