// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "control/transport.hpp"

#include <batchcast/core/limits.hpp>
#include <batchcast/core/text.hpp>

#include <batchcast/core/named_thread.hpp>
#include <batchcast/join/unix_socket.hpp>
#include "control/messenger.hpp"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace batchcast::inline v0_1 {
namespace {

constexpr std::size_t waiting_max = 64;

/// Called before a command is parsed: deep nesting costs a parser far more than length does.
bool nests_deeper(std::string_view json, std::size_t depth_max) noexcept {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > depth_max) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace

/// Two threads: the messenger's sends and receives, this one runs the program's callbacks.
class ControlServer::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)),
        owner_pid_(::getpid()),
        messenger_(options_.control_path, options_.events_path,
                   {.on_command =
                        [this](Messenger::Envelope envelope, std::string command) {
                          return queue({std::move(envelope), std::move(command)});
                        },
                    .on_trouble = [this](std::string text) { queue_trouble(std::move(text)); },
                    .owns_paths = options_.owns_paths}),
        thread_(start_thread("bc-control", [this] { run(); })) {}
  ~Impl() { stop(); }

  void publish(std::string json) { messenger_.publish(std::move(json)); }

  void stop() noexcept {
    if (!thread_.joinable() || owner_pid_ != ::getpid()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
    messenger_.stop();
  }
  [[nodiscard]] std::int32_t owner_pid() const noexcept { return owner_pid_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Messenger::Envelope envelope;
    std::string command;
  };

  bool queue(Waiting waiting) {
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() >= waiting_max) return false;
      waiting_.push_back(std::move(waiting));
    }
    changed_.notify_one();
    return true;
  }

  void queue_trouble(std::string text) {
    {
      const std::lock_guard lock(mutex_);
      if (troubles_.size() < waiting_max) troubles_.push_back(std::move(text));
    }
    changed_.notify_one();
  }

  void run() {
    const std::chrono::milliseconds interval(std::max(options_.statistics_interval_ms, 1));
    Clock::time_point due = Clock::now() + interval;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      const auto something = [this] {
        return stopping_ || !waiting_.empty() || !troubles_.empty();
      };
      if (options_.statistics) {
        changed_.wait_until(lock, due, something);
      } else {
        changed_.wait(lock, something);
      }
      std::deque<Waiting> waiting = std::exchange(waiting_, {});
      const std::deque<std::string> troubles = std::exchange(troubles_, {});
      if (stopping_) break;
      lock.unlock();
      for (const std::string& text : troubles)
        detail::report(options_.log, LogLevel::warning, text);
      for (Waiting& one : waiting) {
        messenger_.answer(std::move(one.envelope), answer_to(one.command));
      }
      if (options_.statistics && Clock::now() >= due) {
        due = Clock::now() + interval;
        publish_statistics();
      }
      lock.lock();
    }
  }

  std::string answer_to(const std::string& command) {
    if (command.size() > limits::message_bytes_max) {
      return error_answer(text("a command takes at most {} bytes; this one took {}",
                               limits::message_bytes_max, command.size()));
    }
    if (nests_deeper(command, limits::message_depth_max)) {
      return error_answer(text("a command is nested at most {} deep", limits::message_depth_max));
    }
    try {
      if (!nlohmann::json::parse(command, nullptr, false).is_object()) {
        return error_answer("a command is a JSON object, such as {\"command\": \"stats\"}");
      }
      return options_.handle(command);
    } catch (const nlohmann::json::exception&) {
      return error_answer("a value in this command is of another kind than it must be");
    } catch (const std::exception& error) {
      return error_answer(error.what());
    }
  }

  void publish_statistics() {
    try {
      messenger_.publish(options_.statistics());
    } catch (const std::exception& error) {
      detail::report(options_.log, LogLevel::debug, text("no statistics: {}", error.what()));
    }
  }

  const Options options_;
  const std::int32_t owner_pid_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  std::deque<std::string> troubles_;
  bool stopping_ = false;
  Messenger messenger_;
  std::thread thread_;
};

ControlServer::ControlServer(Options options) {
  check_socket_path(options.control_path);
  check_socket_path(options.events_path);
  impl_ = std::make_unique<Impl>(std::move(options));
}

ControlServer::~ControlServer() {
  // A forked child has neither the threads nor, in most cases, the sockets.
  if (impl_ && impl_->owner_pid() != ::getpid()) static_cast<void>(impl_.release());
}

void ControlServer::publish_event(std::string json) { impl_->publish(std::move(json)); }

void ControlServer::stop() noexcept { impl_->stop(); }

std::string error_answer(std::string_view text) {
  const nlohmann::json answer = {{"error", text}};
  return answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace batchcast::inline v0_1
