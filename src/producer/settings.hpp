// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/producer.hpp>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// What may be changed of a stream that is served, by name. Any thread may call everything; one
/// call is under way at a time.
class Settings {
 public:
  /// Another one of that name is replaced. One without functions comes soon: `set` waits up to half
  /// a second for it.
  void add(Setting setting);
  using Values = std::map<std::string, std::string>;
  /// Comes first. What an earlier producer of the stream was set to is set as soon as that setting
  /// is there. `keep`, if there is one, gets what differs from the values at the start, each time
  /// that changes, and the number of that change. It is called without a lock: of two changes at
  /// once the later one may come first. `log` gets a line for each value that changes.
  using Keep = std::function<void(const Values&, std::uint64_t change)>;
  void go_on(Values earlier, Keep keep, LogCallback log);
  /// Waits for a call of it that is under way.
  void remove(const std::string& name);

  struct Changed {
    std::string name;
    std::string before;
    std::string after;
  };
  /// Sets all of them, or none: where one is refused, those before it get back what they had.
  /// `default` is the value that a setting had when it was added. Throws InvalidArgument for a name
  /// that there is not, with those that there are, and what a setting throws.
  std::vector<Changed> set(const std::vector<std::pair<std::string, std::string>>& values);
  /// Of each setting its value.
  [[nodiscard]] std::map<std::string, std::string> values() const;

 private:
  struct Known {
    Setting setting;
    std::string initial;
    [[nodiscard]] bool is_there() const noexcept { return setting.get != nullptr; }
  };
  [[nodiscard]] Known& known(const std::string& name);
  [[nodiscard]] bool comes_soon(const std::string& name) const;
  struct Said {
    LogLevel level;
    std::string text;
  };
  [[nodiscard]] std::optional<Said> set_again(const Setting& setting);
  void tell(const std::vector<Changed>& changed) const;

  mutable std::mutex mutex_;
  std::condition_variable added_;
  std::map<std::string, Known> settings_;
  Values kept_;  ///< also of settings that are not there yet
  Keep keep_;
  std::uint64_t changes_ = 0;
  LogCallback log_;
};

}  // namespace batchcast::inline v0_1::detail
