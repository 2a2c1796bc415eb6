// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/console.hpp"

#include <batchcast/core/error.hpp>
#include "control/transport.hpp"
#include "stream/directory.hpp"

#include <fmt/format.h>

#include <memory>

// The commands that ask running producers: ls, stop, evict.
namespace batchcast::cli {
namespace {

constexpr int answer_timeout_ms = 1'000;

struct RemoteOptions {
  std::string stream;
  std::string consumer;
  std::string reason;
  bool json = false;
};

const char* state_of(const ListedStream& listed) noexcept {
  if (!listed.served) return "dead";
  return listed.foreign ? "foreign" : "silent";
}

nlohmann::json row_of(const ListedStream& listed) {
  nlohmann::json row = {{"stream", listed.name},
                        {"pid", listed.pid},
                        {"state", state_of(listed)},
                        {"epoch", 0},
                        {"position", 0},
                        {"published", 0},
                        {"samples_per_second", 0.0},
                        {"consumers", nlohmann::json::array()},
                        {"directory", listed.paths.directory}};
  if (!listed.served || listed.foreign) return row;
  const auto answer =
      ask_control(listed.paths.control, R"({"command":"stats"})", answer_timeout_ms);
  if (!answer) return row;
  const auto stats = nlohmann::json::parse(*answer, nullptr, false);
  if (!stats.is_object()) return row;
  for (const char* key : {"pid", "state", "epoch", "position", "published", "samples_per_second",
                          "consumers", "capacity", "memory", "placement", "rings", "waits_for"}) {
    if (stats.contains(key)) row[key] = stats[key];
  }
  return row;
}

std::string number_text(const nlohmann::json& row, const char* key) {
  return count_text(static_cast<std::uint64_t>(row.at(key).get<double>()));
}

std::vector<std::string> consumer_row(const nlohmann::json& consumer) {
  return {"  " + consumer["name"].get<std::string>(),
          std::to_string(consumer["pid"].get<long>()),
          consumer["state"],
          consumer.value("placement", "host"),
          "",
          "",
          "",
          number_text(consumer, "batch_size"),
          consumer["pace"],
          number_text(consumer, "lag")};
}

void print_streams(const nlohmann::json& rows) {
  std::vector<std::vector<std::string>> table = {{"STREAM", "PID", "STATE", "PLACE", "EPOCH",
                                                  "PUBLISHED", "SAMPLES/S", "BATCH", "PACE",
                                                  "LAG"}};
  for (const auto& row : rows) {
    table.push_back({row["stream"], std::to_string(row["pid"].get<long>()), row["state"],
                     row.value("placement", ""), number_text(row, "epoch"),
                     number_text(row, "published"), number_text(row, "samples_per_second"), "", "",
                     ""});
    for (const auto& ring : row.value("rings", nlohmann::json::array())) {
      if (ring["placement"] == "host") continue;  // the stream's own line
      table.push_back({"  (ring)", "", ring["state"], ring["placement"], "",
                       number_text(ring, "published"), "", "", "", ""});
    }
    for (const auto& consumer : row["consumers"]) table.push_back(consumer_row(consumer));
  }
  print_table(std::move(table));
  const auto explain = [&rows](const char* state, const char* meaning) {
    for (const auto& row : rows) {
      if (row["state"] == state) return fmt::print("{}: {}\n", state, meaning);
    }
  };
  const auto explain_consumer = [&rows](const char* state, const char* meaning) {
    for (const auto& row : rows) {
      for (const auto& consumer : row["consumers"]) {
        if (consumer["state"] == state) return fmt::print("{}: {}\n", state, meaning);
      }
    }
  };
  explain("dead", "the producer was killed; `serve` takes the name over");
  explain("silent", "the producer lives, and did not answer within a second");
  explain("foreign", "another user's producer; it answers no questions of this user");
  explain_consumer("stalled", "it has held the stream up for seconds; `evict` lets others go on");
  explain_consumer("stopped", "it does not run, as after SIGSTOP; `kill -CONT PID` lets it go on");
}

void say_what_cannot_be_listed() {
  for (const std::string& directory : unlisted_directories()) {
    say("batchcast: no permission to list " + printable(directory) +
        "; streams there can still be named\n");
  }
}

int list(const RemoteOptions& options) {
  nlohmann::json rows = nlohmann::json::array();
  for (const ListedStream& listed : list_streams()) rows.push_back(row_of(listed));
  say_what_cannot_be_listed();
  if (options.json) {
    print_json(rows);
  } else if (rows.empty()) {
    fmt::print("no streams; looked in");
    for (const std::string& directory : candidate_directories())
      fmt::print(" {}", printable(directory));
    fmt::print("\n");
  } else {
    print_streams(rows);
  }
  return exit_ok;
}

int ask(const RemoteOptions& options, const nlohmann::json& command, const std::string& done) {
  for (const ListedStream& listed : list_streams(options.stream)) {
    if (listed.foreign && listed.served) {
      throw Error("batchcast: stream `" + options.stream + "` in " + listed.paths.directory +
                  " is user " + std::to_string(listed.uid) +
                  "'s: no permission. That user, or root, may do this.");
    }
    if (!listed.served) {
      throw StreamNotFound("batchcast: stream `" + options.stream +
                           "` is dead, its producer was killed. `batchcast serve … --stream " +
                           options.stream + "` takes the name over.");
    }
    const auto text = ask_control(listed.paths.control, command.dump(), answer_timeout_ms);
    if (!text) {
      throw Error("batchcast: the producer of stream `" + options.stream + "` (pid " +
                  std::to_string(listed.pid) + ") does not answer.");
    }
    const auto answer = nlohmann::json::parse(*text, nullptr, false);
    if (answer.is_object() && answer.contains("error")) {
      throw InvalidArgument("batchcast: " + answer["error"].get<std::string>());
    }
    if (options.json) {
      print_json(answer);
    } else {
      fmt::print("{}\n", done);
    }
    return exit_ok;
  }
  throw StreamNotFound("batchcast: no stream `" + options.stream +
                       "` is served. `batchcast ls` shows what there is.");
}

}  // namespace

void add_list(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<RemoteOptions>();
  CLI::App* ls = program.add_subcommand("ls", "List streams and their consumers");
  ls->add_flag("--json", options->json, "Print one JSON array");
  ls->callback([options, &chosen] { chosen = [options] { return list(*options); }; });
}

void add_stop(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<RemoteOptions>();
  options->reason = "`batchcast stop` was called";
  CLI::App* stop = program.add_subcommand(
      "stop", "End a stream: consumers drain what is published, and are told");
  stop->add_option("stream", options->stream, "Name of the stream")->required();
  stop->add_option("--reason", options->reason, "What they are told")->capture_default_str();
  stop->add_flag("--json", options->json, "Print one JSON object");
  stop->callback([options, &chosen] {
    chosen = [options] {
      return ask(*options, {{"command", "stop"}, {"reason", options->reason}},
                 "stream `" + options->stream + "` is stopped");
    };
  });
}

void add_evict(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<RemoteOptions>();
  options->reason = "`batchcast evict` was called";
  CLI::App* evict =
      program.add_subcommand("evict", "Take a consumer out of a stream, so that the others go on");
  evict->add_option("stream", options->stream, "Name of the stream")->required();
  evict->add_option("consumer", options->consumer, "Its name, as ls shows it")->required();
  evict->add_option("--reason", options->reason, "What it is told")->capture_default_str();
  evict->add_flag("--json", options->json, "Print one JSON object");
  evict->callback([options, &chosen] {
    chosen = [options] {
      return ask(
          *options,
          {{"command", "evict"}, {"consumer", options->consumer}, {"reason", options->reason}},
          "`" + options->consumer + "` is evicted from stream `" + options->stream + "`");
    };
  });
}

}  // namespace batchcast::cli
