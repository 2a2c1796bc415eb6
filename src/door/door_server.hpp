// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/limits.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/join/door.hpp>
#include <batchcast/join/message.hpp>
#include "stream/stream_directory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace batchcast::inline v0_1 {

/// The producer's number for a consumer (the consumer_id), which it never uses again.
using ConsumerKey = std::uint64_t;

struct Admission {
  ConsumerKey key = 0;
  Welcome welcome = {};
  std::vector<int> descriptors = {};      ///< borrowed; in the order that Welcome says
  std::shared_ptr<const void> hold = {};  ///< kept until they are sent
};
/// The answer to a rank whose group is not complete: a consumer without a place.
struct Waiting {
  ConsumerKey key = 0;
};
using AdmissionReply = std::variant<Admission, Refusal, Waiting>;

/// What a consumer receives later: a rank because of another one, or the answer to a question that
/// took time. A welcome gives it the key that stands there; after a refusal it is no consumer any
/// more; a farewell evicts it.
struct RankNews {
  ConsumerKey key = 0;
  std::variant<Forming, Admission, Refusal, Farewell, BatchCount> said;
};

enum class Leaving {
  bye,         ///< said so
  closed,      ///< its end of the connection is closed, its process lives
  died,        ///< its process is dead
  misbehaved,  ///< said something that no consumer says
  evicted,     ///< by DoorServer::evict
};
[[nodiscard]] std::string_view name_of(Leaving) noexcept;

/// What the door server asks of the producer. It calls all of it on the door's thread, never while
/// it holds a lock. Each call must return soon: no other consumer is admitted, or seen to leave,
/// meanwhile.
class DoorEvents {
 public:
  virtual ~DoorEvents() = default;
  /// Called for a consumer whose user and layout version let it join. Once this returns a key,
  /// exactly one `left` follows for the key that it has by then. None follows if it is refused as
  /// news, or if the door server is stopped first.
  [[nodiscard]] virtual AdmissionReply admit(const Hello& hello, const PeerIdentity& peer) = 0;
  virtual void left(ConsumerKey key, Leaving how) = 0;
  [[nodiscard]] virtual std::variant<Rejoined, Refusal> rejoin(ConsumerKey key,
                                                               const Rejoin& rejoin) = 0;
  virtual void paused(ConsumerKey key) = 0;
  /// The answer comes as news.
  virtual void count_batches(ConsumerKey, const CountBatches&) {}
  /// A rank has ended an epoch.
  virtual void epoch_ended(ConsumerKey, const EpochEnd&) {}
  /// Called after each of the above, after each tick and each `work`, until there is no news.
  [[nodiscard]] virtual std::vector<RankNews> take_news() { return {}; }
  /// Called at least every `tick_ms`.
  virtual void tick() = 0;
  /// Something takes longer than a call may: the door calls `work` after each look at its clients,
  /// as long as this is true.
  [[nodiscard]] virtual bool has_work() const noexcept { return false; }
  /// Does a part of it.
  virtual void work() {}
  /// The program has closed the door's descriptors: no process can join any more, nor be seen to
  /// leave. This is the last call.
  virtual void door_lost() {}
};

/// Opens the producer's door: a thread that admits consumers and sees them leave or die. A client
/// counts as hostile until its user is checked. After that it may still be malformed, silent or one
/// of many: it costs the producer no more than its connection.
class DoorServer {
 public:
  struct Options {
    std::uint32_t layout_version = 0;
    int tick_ms = 100;
    int hello_timeout_ms = limits::hello_timeout_ms;
    std::size_t silent_connections_max = limits::silent_connections_max;
    PidfdSource pidfd_source = PidfdSource::kernel_if_it_can;
    LogCallback log = {};
  };

  /// Opens the door at once; `directory` and `events` must outlive this. A socket that vanishes is
  /// made again. Throws SystemError.
  DoorServer(StreamDirectory& directory, DoorEvents& events, Options options);
  /// Stops. In a forked child: leaves everything alone.
  ~DoorServer();

  DoorServer(const DoorServer&) = delete;
  DoorServer& operator=(const DoorServer&) = delete;

  /// Tells that consumer why, and closes its connection; `left(key, evicted)` follows on the door's
  /// thread. From any thread, also from within an event. An unknown key is ignored.
  void evict(ConsumerKey key, std::string reason);

  /// Closes all connections and ends the thread; no event is called afterwards. Not from an event.
  void stop() noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace batchcast::inline v0_1
