// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/metrics/metrics_server.hpp"

#include <batchcast/core/error.hpp>

namespace batchcast::cli {

int serve_metrics(const MetricsOptions&) {
  throw Error(
      "batchcast: this command was built without prometheus-cpp and libmicrohttpd, and has neither "
      "metrics nor the page. Build it where Debian's prometheus-cpp-dev and libmicrohttpd-dev "
      "are.");
}

}  // namespace batchcast::cli
