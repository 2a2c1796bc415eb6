// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/metrics/metrics_server.hpp"

#include <batchcast/core/error.hpp>

#include <unistd.h>

#include <memory>

namespace batchcast::cli {
namespace {

int metrics_command(const MetricsOptions& options) {
  if (options.all_users && ::geteuid() != 0) {
    throw InvalidArgument(
        "batchcast: --all-users is for root: other users' producers answer nobody else.");
  }
  return serve_metrics(options);
}

}  // namespace

void add_metrics(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<MetricsOptions>();
  CLI::App* command =
      program.add_subcommand("metrics", "Serve metrics of all streams, and a page, over HTTP");
  command->footer(
      "Prometheus asks for /metrics. The page at / needs the address that this prints,\n"
      "with its token. It takes a ready socket from systemd instead of --listen, and\n"
      "ends at SIGTERM or Ctrl-C.");
  command->add_option("--listen", options->listen,
                      "ADDRESS:PORT to listen at; port 0: one that is free");
  command->add_flag("--all-users", options->all_users,
                    "For root: the streams of all users, in the usual places");
  command->add_option("--interval", options->interval_s, "Seconds between two looks")
      ->check(seconds_between(0.1, 60))
      ->capture_default_str();
  command
      ->add_option("--consumers", options->consumers,
                   "Values of the label `consumer` of each stream; the rest are `other`")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  command->add_option("--host-name", options->host_names,
                      "Also answer requests that call this machine so");
  command->add_flag("--json", options->json, "Print where it listens as one JSON object");
  command->callback(
      [options, &chosen] { chosen = [options] { return metrics_command(*options); }; });
}

}  // namespace batchcast::cli
