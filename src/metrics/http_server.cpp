// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "metrics/http_server.hpp"

#include <batchcast/core/error.hpp>

#include <microhttpd.h>
#include <signal.h>

#include <cstddef>
#include <exception>
#include <utility>

namespace batchcast::inline v0_1::metrics {
namespace {

constexpr unsigned connections_max = 64;
constexpr unsigned idle_seconds = 20;
constexpr std::size_t connection_memory = 32 << 10;  // of which a request's headers are a part

struct FreeResponse {
  void operator()(MHD_Response* response) const noexcept { MHD_destroy_response(response); }
};

std::string header_of(MHD_Connection* connection, const char* name) {
  const char* const value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? std::string() : std::string(value);
}

MHD_Result add_argument(void* request, MHD_ValueKind, const char* key, const char* value) {
  static_cast<Request*>(request)->arguments.emplace_back(key, value == nullptr ? "" : value);
  return MHD_YES;
}

Request request_of(MHD_Connection* connection, const char* url, const char* method) {
  Request request;
  request.method = method;
  request.path = url;
  request.host = header_of(connection, MHD_HTTP_HEADER_HOST);
  request.authorization = header_of(connection, MHD_HTTP_HEADER_AUTHORIZATION);
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_argument, &request);
  return request;
}

MHD_Result send(MHD_Connection* connection, const Response& answer) {
  static const std::string nothing;
  const std::string& body = answer.body ? *answer.body : nothing;
  // The library wants no const; it only copies.
  const std::unique_ptr<MHD_Response, FreeResponse> response(MHD_create_response_from_buffer(
      body.size(), const_cast<char*>(body.data()), MHD_RESPMEM_MUST_COPY));
  if (!response) return MHD_NO;
  MHD_add_response_header(response.get(), MHD_HTTP_HEADER_CONTENT_TYPE, answer.type.c_str());
  for (const auto& [name, value] : answer.headers) {
    MHD_add_response_header(response.get(), name.c_str(), value.c_str());
  }
  return MHD_queue_response(connection, answer.status, response.get());
}

MHD_Result answer(void* handler, MHD_Connection* connection, const char* url, const char* method,
                  const char*, const char*, std::size_t*, void** seen) {
  // The first call comes before a body; what is refused then ends the connection without it.
  static char headers_came;
  const std::string_view name = method;
  if (*seen == nullptr && (name == "GET" || name == "HEAD")) {
    *seen = &headers_came;
    return MHD_YES;
  }
  try {
    return send(connection, (*static_cast<const HttpServer::Handler*>(handler))(
                                request_of(connection, url, method)));
  } catch (const std::exception& error) {
    return send(connection, plain_response(500, error.what()));
  }
}

/// Threads that are made meanwhile get no signals of this process, but for those that a thread's
/// faults raise.
class BlocksSignals {
 public:
  BlocksSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
      sigdelset(&all, fault);
    }
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlocksSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlocksSignals(const BlocksSignals&) = delete;
  BlocksSignals& operator=(const BlocksSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

struct HttpServer::Daemon {
  Handler handler;
  MHD_Daemon* daemon = nullptr;
};

HttpServer::HttpServer(FileDescriptor listening, Handler handler)
    : daemon_(std::make_unique<Daemon>()) {
  daemon_->handler = std::move(handler);
  const BlocksSignals blocks;
  daemon_->daemon = MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ITC,
      0, nullptr, nullptr, answer, &daemon_->handler, MHD_OPTION_LISTEN_SOCKET, listening.get(),
      MHD_OPTION_CONNECTION_LIMIT, connections_max, MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory, MHD_OPTION_END);
  if (daemon_->daemon == nullptr) {
    throw Error(
        "batchcast: the server of metrics cannot start: this process may make no more threads or "
        "descriptors.");
  }
  static_cast<void>(listening.release());  // the daemon closes it
}

HttpServer::~HttpServer() { MHD_stop_daemon(daemon_->daemon); }

}  // namespace batchcast::inline v0_1::metrics
