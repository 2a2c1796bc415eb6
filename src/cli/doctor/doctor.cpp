// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/doctor/doctor.hpp"

#include <batchcast/cuda/device.hpp>
#include "cli/command.hpp"
#include "cli/output.hpp"

#include <batchcast/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace batchcast::cli {
namespace {

struct Options {
  bool try_out = false;
  bool json = false;
};

const char* text_of(Mark mark) {
  switch (mark) {
    case Mark::ok:
      return "ok";
    case Mark::note:
      return "note";
    case Mark::problem:
      break;
  }
  return "problem";
}

bool streams_work(const Findings& findings) {
  return std::none_of(findings.all().begin(), findings.all().end(),
                      [](const Finding& finding) { return finding.stops_streams; });
}

nlohmann::json json_of(const Findings& findings) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Finding& finding : findings.all()) {
    rows.push_back({{"mark", text_of(finding.mark)},
                    {"subject", finding.subject},
                    {"value", finding.value},
                    {"meaning", finding.meaning}});
  }
  return rows;
}

void print(const Findings& findings, const nlohmann::json& devices) {
  std::size_t width = 0;
  for (const Finding& finding : findings.all()) width = std::max(width, finding.subject.size());
  for (const Finding& finding : findings.all()) {
    fmt::print("{:<8} {:<{}}  {}\n", text_of(finding.mark), finding.subject, width,
               printable(finding.value));
    fmt::print("{:<8} {:<{}}    {}\n", "", "", width, printable_lines(finding.meaning));
  }
  std::string rings;
  for (const auto& device : devices) {
    if (device["shares"] == "no") continue;
    rings += (rings.empty() ? "" : ", ") + device["placement"].get<std::string>();
  }
  fmt::print("\nStreams in host memory: {}. Rings on GPUs: {}.\n",
             streams_work(findings) ? "work" : "do not work", rings.empty() ? "none" : rings);
}

int doctor(const Options& options) {
  Findings findings;
  examine_kernel(findings);
  examine_limits(findings);
  examine_directory(findings);
  const nlohmann::json devices = examine_gpus(findings, {options.try_out});
  const bool work = streams_work(findings);
  if (options.json) {
    print_json({{"version", std::string(version)},
                {"host_streams", work},
                {"driver_version", detail::cuda::driver_version()},
                {"devices", devices},
                {"findings", json_of(findings)}});
  } else {
    print(findings, devices);
  }
  return work ? exit_ok : exit_environment;
}

}  // namespace

void add_doctor(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* doctor_command = program.add_subcommand(
      "doctor", "Say what this machine, container and user allow, and what it means");
  doctor_command->footer(
      "Each line is `ok`, a `note` (works, though not as well as it could) or a\n"
      "`problem`. The exit code is 0 unless a problem keeps streams from working at\n"
      "all; then it is 3.");
  doctor_command->add_flag("--try", options->try_out,
                           "Also share a little memory of each GPU and page-lock some of the "
                           "host's: takes a context on each for a moment");
  doctor_command->add_flag("--json", options->json, "Print one JSON object");
  doctor_command->callback([options, &chosen] { chosen = [options] { return doctor(*options); }; });
}

}  // namespace batchcast::cli
