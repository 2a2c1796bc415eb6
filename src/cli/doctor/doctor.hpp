// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

// What `batchcast doctor` looks at, each part in a separate file.
namespace batchcast::cli {

enum class Mark {
  ok,
  note,    ///< works, though not as well as it could, or not everything does
  problem  ///< something that a user may want does not work
};

struct Finding {
  Mark mark = Mark::ok;
  std::string subject;
  std::string value;           ///< what was found
  std::string meaning;         ///< what it means for the user, in one sentence
  bool stops_streams = false;  ///< a problem with which no stream works, wherever its samples lie
};

class Findings {
 public:
  void add(Finding finding) { all_.push_back(std::move(finding)); }
  [[nodiscard]] const std::vector<Finding>& all() const noexcept { return all_; }

 private:
  std::vector<Finding> all_;
};

void examine_kernel(Findings& findings);
void examine_limits(Findings& findings);
void examine_directory(Findings& findings);
struct GpuExamination {
  bool try_out = false;
};
/// Returns the devices with all that is known of them.
[[nodiscard]] nlohmann::json examine_gpus(Findings& findings, const GpuExamination& how);

}  // namespace batchcast::cli
