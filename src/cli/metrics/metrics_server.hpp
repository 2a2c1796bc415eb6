// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::cli {

struct MetricsOptions {
  std::optional<std::string> listen = {};  ///< without one systemd has to give a socket
  std::optional<std::string> stream = {};  ///< only this one
  bool all_users = false;                  ///< for root: also the streams of other users
  double interval_s = 2;
  std::size_t consumers = 100;  ///< values of the label `consumer`, beside `other`
  std::vector<std::string> host_names = {};
  bool json = false;
};

/// Serves metrics and the page until a signal ends it; prints where. Returns the exit code. A build
/// without the libraries for it throws Error, whose text names them.
int serve_metrics(const MetricsOptions& options);

}  // namespace batchcast::cli
