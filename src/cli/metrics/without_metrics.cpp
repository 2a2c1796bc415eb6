// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/metrics/metrics_server.hpp"

#include <batchcast/core/error.hpp>

namespace batchcast::cli {

int serve_metrics(const MetricsOptions&) {
  throw Error(
      "batchcast: this command was built without metrics and the page. They need prometheus-cpp "
      "and libmicrohttpd: install Debian's prometheus-cpp-dev and libmicrohttpd-dev, and build it "
      "with -DBATCHCAST_METRICS=ON.");
}

}  // namespace batchcast::cli
