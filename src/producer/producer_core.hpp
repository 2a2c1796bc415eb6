// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/producer.hpp>
#include <batchcast/ring/fork_guard.hpp>
#include "control/transport.hpp"
#include "door/door_server.hpp"
#include "producer/commands.hpp"
#include "producer/reception.hpp"
#include "producer/sample_rate.hpp"
#include "producer/served_rings.hpp"
#include "producer/settings.hpp"
#include "producer/tracing.hpp"
#include "stream/stream_directory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// Throws InvalidArgument for options that cannot be served.
[[nodiscard]] ProducerOptions checked(ProducerOptions options);

/// What a producer serves with: the name, the rings, the control socket and the door. They must
/// come up in this order: commands are answered before the door opens, and until they no longer
/// are, the door stays. Thread-safe, as Producer is.
class ProducerCore {
 public:
  explicit ProducerCore(ProducerOptions options, const DeviceRingMaker& devices = {});
  ~ProducerCore();
  ProducerCore(const ProducerCore&) = delete;
  ProducerCore& operator=(const ProducerCore&) = delete;

  [[nodiscard]] bool in_forked_child() const noexcept { return fork_guard_.in_child(); }
  /// Throws Forked in a forked child.
  void check_process() const;

  [[nodiscard]] std::optional<LoanContents> loan(std::uint64_t samples_max, int timeout_ms);
  /// Whether no further loan will come.
  [[nodiscard]] bool over() const noexcept { return over_.load(std::memory_order_relaxed); }

  /// Waits for consumers as the options say.
  bool finish();
  bool finish(int linger_ms);
  void stop(const std::string& reason) noexcept;
  /// Stops, and removes the door, the control socket and the directory. The rings stay.
  void give_up_name(const std::string& reason) noexcept;
  /// Removes the same first, and then stops. It leaves no last words.
  void make_way(const std::string& reason) noexcept;
  [[nodiscard]] bool stop_if_unattended(std::uint64_t for_ns, const std::string& reason) noexcept;
  /// What the end of a Producer does to its stream. Runs on the thread that ends it.
  void end() noexcept;
  [[nodiscard]] bool evict(std::string_view consumer, const std::string& reason);
  [[nodiscard]] ProducerStats stats() const;
  [[nodiscard]] StreamState state() const;
  /// Says it through the options' log, with the stream's name.
  void say(LogLevel level, std::string_view text) const { log_(level, text); }
  /// What can be changed while it runs. From any thread.
  [[nodiscard]] Settings& settings() noexcept { return settings_; }
  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] Tracing& tracing() noexcept { return tracing_; }
  /// Null where no producer can go on with the stream.
  [[nodiscard]] Substitutions* substitutions() noexcept { return life_ ? &*life_ : nullptr; }
  /// Empty: none reports.
  void report_making(std::function<MakingStats()> report);
  /// The names of an earlier producer's trainers that have not come, and whose places are kept.
  [[nodiscard]] std::set<std::string> missing_members() const { return reception_.missing(); }

  [[nodiscard]] ServedRings& rings() noexcept { return rings_; }
  [[nodiscard]] const ServedRings& rings() const noexcept { return rings_; }
  [[nodiscard]] Reception& reception() noexcept { return reception_; }
  [[nodiscard]] const ProducerOptions& options() const noexcept { return options_; }
  [[nodiscard]] const StreamDirectory& directory() const noexcept { return directory_; }

 private:
  void open_control();
  void open_door();
  void take_down() noexcept;
  void finish_at_end(bool unwinds);
  /// Decides what stays of the stream's directory, and leaves the last words.
  void note_end();
  void cut_short(bool unwinds, const std::string& when) noexcept;
  /// A ring's writer decided to evict a consumer.
  void tell_evicted(ConsumerKey key, const std::string& reason);

  const ProducerOptions options_;
  const LogCallback log_;  ///< never empty
  ForkGuard fork_guard_;
  const std::uint64_t began_ns_;
  const int exceptions_;  ///< that unwound where the producer was made
  StreamDirectory directory_;
  std::atomic<bool> over_{false};
  std::atomic<bool> stopped_{false};  ///< the producer no longer waits for consumers that drain
  /// Mirrors' threads evict through it. It is null before the door is open and once it is gone.
  std::atomic<DoorServer*> door_{nullptr};
  SampleRate rate_;
  ServedRings rings_;
  std::optional<LifeBook> life_;  ///< of a stream that can be made again
  bool ended_ = false;            ///< in order: no producer goes on with it
  Reception reception_;
  Settings settings_;
  Tracing tracing_;
  ProducerCommands commands_;

  mutable std::mutex reporting_;  ///< held while the report is called
  std::function<MakingStats()> making_;
  std::mutex giving_up_;    ///< of two threads that give up the name
  std::mutex noting_;       ///< of the next one
  std::string unattended_;  ///< why it was stopped, if because no consumer was there
  // These come last: their threads call into all of the above.
  std::unique_ptr<DoorServer> door_server_;
  std::unique_ptr<ControlServer> control_;
};

}  // namespace batchcast::inline v0_1::detail
