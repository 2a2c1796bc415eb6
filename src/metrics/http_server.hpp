// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include "metrics/site.hpp"

#include <functional>
#include <memory>

namespace batchcast::inline v0_1::metrics {

/// Answers requests at a socket, from threads that end with it. A request may take time and holds
/// no other one up. A bounded number of connections is open at once, each for a bounded time.
class HttpServer {
 public:
  using Handler = std::function<Response(const Request&)>;

  /// `handler` is called from many threads; what it throws becomes an answer with status 500.
  /// Throws Error where the server cannot start.
  HttpServer(FileDescriptor listening, Handler handler);
  /// Waits for the answers that are under way.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  struct Daemon;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace batchcast::inline v0_1::metrics
