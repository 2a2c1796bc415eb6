// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::observe {

/// The spans of a producer as a trace in Chrome's JSON, which Perfetto shows: complete events, and
/// names of processes and threads. A group of tracks is a process there, and a track a thread.
class ChromeTrace {
 public:
  /// Spans that would make it longer are cut, and counted.
  explicit ChromeTrace(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Adds an answer to the command `trace`. It is hostile input: what is of another kind than it
  /// must be is left out. Returns false for an answer that is no page.
  bool add(const nlohmann::json& answer);
  /// The last page said that there are more.
  [[nodiscard]] bool has_more() const noexcept { return has_more_; }

  /// The whole file. Call it once.
  [[nodiscard]] std::string finish(const std::string& stream);

  [[nodiscard]] double seconds() const noexcept { return static_cast<double>(until_ns_) * 1e-9; }
  [[nodiscard]] std::uint64_t spans() const noexcept { return spans_; }
  /// That did not fit into the file.
  [[nodiscard]] std::uint64_t cut() const noexcept { return cut_; }
  /// That the producer had no room for.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }

 private:
  struct Track {
    std::size_t group = 0;
    std::string name = {};
  };
  struct Kind {
    std::string name = {};
    std::string value = {};
  };
  void add_kinds(const nlohmann::json& kinds);
  void add_track(const nlohmann::json& track);
  void add_span(const nlohmann::json& span);

  const std::size_t bytes_max_;
  std::vector<Kind> kinds_;  ///< names are JSON texts
  std::vector<std::string> groups_;
  std::map<std::uint64_t, Track> tracks_;
  std::size_t names_bytes_ = 0;  ///< that the tracks will take
  std::string events_;
  std::uint64_t until_ns_ = 0;
  std::uint64_t spans_ = 0;
  std::uint64_t cut_ = 0;
  std::uint64_t left_out_ = 0;
  bool has_more_ = false;
};

}  // namespace batchcast::inline v0_1::observe
