// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "door/door_server.hpp"

#include "control/control_support.hpp"

#include <sys/eventfd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace batchcast::test {

/// A producer that admits all consumers (or none) and writes down what it is told.
class FakeProducer : public DoorEvents {
 public:
  struct Left {
    Leaving how;
    std::uint64_t at_ns;
  };

  AdmissionReply admit(const Hello& hello, const PeerIdentity& peer) override {
    const std::lock_guard lock(mutex_);
    if (refusal_) return *refusal_;
    const ConsumerKey key = ++last_key;
    left_at_last_admission = left_count.load();
    pids_[key] = peer.pid;
    Admission admission{.key = key, .descriptors = {fd_.get()}};
    admission.welcome.stream = "demo";
    admission.welcome.consumer_id = key;
    admission.welcome.name = hello.name;
    admission.welcome.segment_bytes = {1};
    return admission;
  }
  void left(ConsumerKey key, Leaving how) override {
    {
      const std::lock_guard lock(mutex_);
      left_[key] = {how, now_ns()};
      ++left_count;
    }
    changed_.notify_all();
  }
  std::variant<Rejoined, Refusal> rejoin(ConsumerKey, const Rejoin& request) override {
    if (request.join == Join::at) return Refusal{RefusalKind::cursor_gone, "gone"};
    return Rejoined{100, 2, 90, 3};
  }
  void paused(ConsumerKey) override { ++pauses; }
  void epoch_ended(ConsumerKey key, const EpochEnd&) override {
    ++epochs_ended;
    if (dismisses_at_epoch_end) news_.push_back({key, Farewell{"its epoch ended"}});
  }
  std::vector<RankNews> take_news() override { return std::exchange(news_, {}); }
  void tick() override {
    ++ticks;
    while (busy) {
      held = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void door_lost() override { lost = true; }

  [[nodiscard]] std::optional<Left> wait_for_left(ConsumerKey key, int timeout_ms = 5'000) {
    std::unique_lock lock(mutex_);
    const auto end = std::chrono::system_clock::now() + std::chrono::milliseconds(timeout_ms);
    if (!changed_.wait_until(lock, end, [&] { return left_.contains(key); })) return std::nullopt;
    return left_.at(key);
  }
  [[nodiscard]] std::string how_left(ConsumerKey key) {
    const auto left = wait_for_left(key);
    return left ? std::string(name_of(left->how)) : "still there";
  }

  [[nodiscard]] std::int32_t pid_of(ConsumerKey key) {
    const std::lock_guard lock(mutex_);
    return pids_[key];
  }
  void refuse_all(Refusal with) {
    const std::lock_guard lock(mutex_);
    refusal_ = std::move(with);
  }

  std::atomic<ConsumerKey> last_key{0};
  std::atomic<int> left_count{0}, left_at_last_admission{0}, pauses{0}, ticks{0}, epochs_ended{0};
  std::atomic<bool> busy{false}, held{false};  ///< the door's thread is, in a tick
  std::atomic<bool> dismisses_at_epoch_end{false};
  std::atomic<bool> lost{false};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<ConsumerKey, Left> left_;
  std::map<ConsumerKey, std::int32_t> pids_;
  std::optional<Refusal> refusal_;
  std::vector<RankNews> news_;  ///< the door's thread's
  FileDescriptor fd_{::eventfd(42, EFD_CLOEXEC | EFD_NONBLOCK)};
};

/// A stream with nothing but a door.
struct House {
  explicit House(DoorServer::Options options = {}, std::vector<std::uint32_t> allow_uids = {})
      : directory({.stream = "demo",
                   .base = base.path(),
                   .allow_uids = std::move(allow_uids),
                   .log = [this](LogLevel, std::string_view text) { write_down(text); }}),
        keeper(directory, producer, with_log(std::move(options))) {}

  [[nodiscard]] const std::string& door() const { return directory.paths().door; }
  [[nodiscard]] std::vector<std::string> log() {
    const std::lock_guard lock(mutex);
    return lines;
  }

  TemporaryDirectory base;
  std::mutex mutex;
  std::vector<std::string> lines;
  StreamDirectory directory;
  FakeProducer producer;
  DoorServer keeper;

 private:
  DoorServer::Options with_log(DoorServer::Options options) {
    options.layout_version = layout;
    options.log = [this](LogLevel, std::string_view text) { write_down(text); };
    return options;
  }
  void write_down(std::string_view text) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(text);
  }
};

}  // namespace batchcast::test
