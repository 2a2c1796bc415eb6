// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/settings.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace batchcast::inline v0_1::detail {

namespace {

// The threads that make samples are started right after the stream is there.
constexpr auto patience = std::chrono::milliseconds(500);

}  // namespace

void Settings::add(Setting setting) {
  std::unique_lock lock(mutex_);
  const std::string name = setting.name;
  std::string initial = setting.get ? setting.get() : "";
  Known& known = settings_[name];
  known = {std::move(setting), std::move(initial)};
  const std::optional<Said> said = known.is_there() ? set_again(known.setting) : std::nullopt;
  added_.notify_all();
  lock.unlock();
  if (said) log_(said->level, said->text);
}

void Settings::go_on(Values earlier, Keep keep, LogCallback log) {
  const std::lock_guard lock(mutex_);
  kept_ = std::move(earlier);
  keep_ = std::move(keep);
  log_ = std::move(log);
}

std::optional<Settings::Said> Settings::set_again(const Setting& setting) {
  const auto earlier = kept_.find(setting.name);
  if (earlier == kept_.end()) return std::nullopt;
  try {
    setting.set(earlier->second);
    return Said{LogLevel::info, text("{} is {}, as it was set while its last producer ran",
                                     setting.name, printable(earlier->second))};
  } catch (const std::exception& error) {
    kept_.erase(earlier);
    return Said{LogLevel::warning,
                text("{} was set while its last producer ran, and cannot be set again: {}",
                     setting.name, error.what())};
  }
}

void Settings::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  settings_.erase(name);
}

Settings::Known& Settings::known(const std::string& name) {
  const auto found = settings_.find(name);
  if (found != settings_.end() && found->second.is_there()) return found->second;
  std::vector<std::string> names;
  std::string list;
  for (const auto& [other, setting] : settings_) {
    if (!setting.is_there()) continue;
    names.push_back(other);
    list += (list.empty() ? "" : ", ") + other;
  }
  throw InvalidArgument(text("`{}` cannot be set while this stream runs.{} It has {}",
                             printable(name), did_you_mean(name, names),
                             list.empty() ? "nothing that can" : list));
}

bool Settings::comes_soon(const std::string& name) const {
  const auto found = settings_.find(name);
  return found != settings_.end() && !found->second.is_there();
}

std::vector<Settings::Changed> Settings::set(
    const std::vector<std::pair<std::string, std::string>>& values) {
  std::unique_lock lock(mutex_);
  added_.wait_for(lock, patience, [&] {
    return std::none_of(values.begin(), values.end(),
                        [this](const auto& value) { return comes_soon(value.first); });
  });
  for (const auto& [name, value] : values) static_cast<void>(known(name));
  std::vector<Changed> changed;
  try {
    for (const auto& [name, value] : values) {
      Known& one = known(name);
      const std::string before = one.setting.get();
      one.setting.set(value == "default" ? one.initial : value);
      changed.push_back({name, before, one.setting.get()});
    }
  } catch (...) {
    while (!changed.empty()) {
      known(changed.back().name).setting.set(changed.back().before);
      changed.pop_back();
    }
    throw;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].second == "default") {
      kept_.erase(changed[i].name);
    } else {
      kept_[changed[i].name] = changed[i].after;
    }
  }
  const Values kept = kept_;
  const std::uint64_t change = ++changes_;
  lock.unlock();  // it writes a file, and may log
  if (keep_) keep_(kept, change);
  tell(changed);
  return changed;
}

void Settings::tell(const std::vector<Changed>& changed) const {
  for (const auto& [name, before, after] : changed) {
    if (before == after) continue;
    report(log_, LogLevel::info,
           text("{} is set to {}; it was {}", name, printable(after), printable(before)));
  }
}

std::map<std::string, std::string> Settings::values() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::string> values;
  for (const auto& [name, one] : settings_) {
    if (one.is_there()) values.emplace(name, one.setting.get());
  }
  return values;
}

}  // namespace batchcast::inline v0_1::detail
