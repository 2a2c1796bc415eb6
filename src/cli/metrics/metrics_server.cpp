// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/metrics/metrics_server.hpp"

#include "cli/command.hpp"
#include "cli/interrupts.hpp"
#include "cli/metrics/exporter.hpp"
#include "cli/metrics/stream_pictures.hpp"
#include "cli/output.hpp"
#include "metrics/http_server.hpp"
#include "metrics/listening.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <utility>

namespace batchcast::cli {
namespace {

FileDescriptor socket_of(const MetricsOptions& options) {
  auto ready = metrics::socket_from_systemd();
  if (ready && options.listen) {
    throw InvalidArgument(
        "batchcast: systemd gave a socket, and --listen names another one. Leave one of the two.");
  }
  if (ready) return std::move(*ready);
  if (!options.listen) {
    throw InvalidArgument(
        "batchcast: it needs --listen ADDRESS:PORT, such as --listen 127.0.0.1:0 for a port that "
        "is "
        "free, or a socket from systemd.");
  }
  return metrics::listen_at(metrics::parse_listen_address(*options.listen));
}

std::string user_name() {
  const passwd* const entry = ::getpwuid(::geteuid());
  return entry == nullptr ? std::to_string(::geteuid()) : std::string(entry->pw_name);
}

/// What a browser or Prometheus may call this machine.
std::vector<std::string> names_of(const MetricsOptions& options) {
  std::vector<std::string> names = options.host_names;
  std::array<char, 256> own{};
  if (::gethostname(own.data(), own.size() - 1) == 0) names.emplace_back(own.data());
  if (options.listen) names.push_back(metrics::parse_listen_address(*options.listen).host);
  return names;
}

void print_where(const MetricsOptions& options, const std::string& url, const std::string& token) {
  const std::string page = text("{}/#token={}", url, token);
  if (options.json) {
    print_json({{"metrics", url + "/metrics"}, {"page", page}});
  } else {
    fmt::print("metrics for Prometheus: {}/metrics\nthe page: {}\n", url, page);
  }
  std::fflush(stdout);
}

}  // namespace

int serve_metrics(const MetricsOptions& options) {
  FileDescriptor socket = socket_of(options);
  Interrupts interrupts;
  const std::string url = metrics::url_of(socket);
  const std::string token = metrics::random_token();
  Exporter exporter({{options.stream, options.all_users},
                     options.interval_s,
                     {options.consumers, options.all_users ? user_name() : ""}});
  StreamPictures pictures;
  const metrics::Site site(
      {[&] { return exporter.metrics_text(); }, [&] { return exporter.page_text(); },
       [&](const metrics::Request& request) {
         return pictures.answer(request.argument("stream"));
       }},
      token, names_of(options));
  const metrics::HttpServer server(
      std::move(socket), [&](const metrics::Request& request) { return site.answer(request); });
  print_where(options, url, token);
  constexpr int wait_ms = 3'600'000;
  for (;;) {
    if (const int signal = interrupts.wait(wait_ms)) return interrupted_exit(signal);
  }
}

}  // namespace batchcast::cli
