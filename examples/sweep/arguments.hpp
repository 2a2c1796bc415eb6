// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sweep {

/// Wrong arguments; the text says which.
struct UsageError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// Words and `--name value` options of a command line. What was asked for is known, and `finish`
/// refuses the rest. Every member throws UsageError.
class Arguments {
 public:
  explicit Arguments(std::vector<std::string> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i].starts_with("--")) {
        words_.push_back(arguments[i]);
      } else if (i + 1 == arguments.size()) {
        throw UsageError(arguments[i] + " needs a value");
      } else {
        options_[arguments[i].substr(2)] = arguments[i + 1];
        ++i;
      }
    }
  }

  /// The next word that is no option's; `what` it is.
  [[nodiscard]] std::string word(const std::string& what) {
    if (taken_ == words_.size()) throw UsageError(what + " is missing");
    return words_[taken_++];
  }

  [[nodiscard]] std::string text(const std::string& name, const std::string& fallback) {
    known_.insert(name);
    const auto found = options_.find(name);
    return found == options_.end() ? fallback : found->second;
  }

  template <class Number>
  [[nodiscard]] Number number(const std::string& name, Number fallback) {
    const std::string given = text(name, {});
    return given.empty() ? fallback : parse<Number>("--" + name, given);
  }

  /// All of `text` as a number that is not negative.
  template <class Number>
  [[nodiscard]] static Number parse(const std::string& what, std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= 0)) {
      throw UsageError(what + ": `" + std::string(text) + "` is not such a number");
    }
    return value;
  }

  void finish() const {
    if (taken_ < words_.size()) throw UsageError("what is `" + words_[taken_] + "`?");
    for (const auto& [name, value] : options_) {
      if (!known_.contains(name)) throw UsageError("there is no option --" + name);
    }
  }

 private:
  std::vector<std::string> words_;
  std::size_t taken_ = 0;
  std::map<std::string, std::string> options_;
  std::set<std::string> known_;
};

}  // namespace sweep
