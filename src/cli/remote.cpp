// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/own_stream.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/process_state.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/join/absent_stream.hpp>
#include <batchcast/join/stream_lock.hpp>
#include <batchcast/join/trust.hpp>
#include "control/transport.hpp"
#include "life/life_files.hpp"
#include "observe/ask_statistics.hpp"
#include "serving/serve_table.hpp"
#include "start/given_up.hpp"
#include "stream/stream_directory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

// The commands that ask running producers: ls, stop, evict, set.
namespace batchcast::cli {
namespace {

constexpr int stats_timeout_ms = 1'000;  // of all streams together
// An order to one producer, which a busy machine may keep off its processors: a user who reads that
// it does not answer takes the stream for one that goes on.
constexpr int order_timeout_ms = 10'000;

struct RemoteOptions {
  std::string stream;
  std::vector<std::string> values;  ///< NAME=VALUE
  std::optional<std::string> only;  ///< of the streams that there are
  std::string consumer;
  std::string reason;
  bool json = false;
};

nlohmann::json ranks_without(const std::set<std::uint32_t>& present, std::uint32_t world) {
  nlohmann::json missing = nlohmann::json::array();
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    if (!present.contains(rank)) missing.push_back(rank);
  }
  return missing;
}

const char* state_of(const ListedStream& listed) noexcept {
  if (!listed.served) return "dead";
  return listed.foreign ? "foreign" : "silent";
}

/// The groups that a stream's statistics tell of, each with the ranks that it has and lacks. One
/// that is not whole is forming while ranks wait at the door for the others, and broken afterwards.
/// Where the producer left consumers out, its answer does not say what the other ranks do.
nlohmann::json groups_of(const nlohmann::json& stats) {
  std::map<std::string, nlohmann::json> groups;
  for (const auto& group : stats.value("forming", nlohmann::json::array())) {
    groups[group["group"]] = {{"group", group["group"]},
                              {"world", group["world"]},
                              {"state", "forming"},
                              {"missing", group["missing"]}};
    const auto left_out = group.find("missing_left_out");
    if (left_out != group.end()) groups[group["group"]]["missing_left_out"] = *left_out;
  }
  std::map<std::string, std::set<std::uint32_t>> present;
  for (const auto& consumer : stats.value("consumers", nlohmann::json::array())) {
    if (!consumer.contains("group")) continue;
    const std::string name = consumer["group"];
    present[name].insert(consumer["rank"].get<std::uint32_t>());
    groups.try_emplace(name, nlohmann::json{{"group", name}, {"world", consumer["world"]}});
  }
  const bool some_left_out = stats.contains("consumers_left_out");
  nlohmann::json rows = nlohmann::json::array();
  for (auto& [name, group] : groups) {
    const std::size_t listed = present[name].size();
    if (!group.contains("state") && some_left_out && listed < group["world"]) {
      group["state"] = "unknown";
      group["missing"] = nlohmann::json::array();
      group["listed"] = listed;
    }
    if (!group.contains("missing")) group["missing"] = ranks_without(present[name], group["world"]);
    if (!group.contains("state")) group["state"] = group["missing"].empty() ? "running" : "broken";
    rows.push_back(std::move(group));
  }
  return rows;
}

/// The trainers of a producer that was killed, which wait for the next one or come to it later.
nlohmann::json waiting_at(const std::string& directory) {
  nlohmann::json rows = nlohmann::json::array();
  const std::optional<detail::Life> life = detail::read_life(directory);
  if (!life) return rows;
  for (const detail::LifeMember& member : life->members) {
    if (!detail::is_member_alive(directory, member.lock)) continue;
    const std::uint64_t at = member.floor.position;
    const std::uint64_t reached = life->position.position;
    rows.push_back({{"name", member.name},
                    {"pid", member.pid},
                    {"state", "waiting"},
                    {"placement", member.ring},
                    {"batch_size", member.batch_size},
                    {"pace", std::string(name_of(member.pace))},
                    {"position", at},
                    {"lag", reached > at ? reached - at : 0}});
  }
  return rows;
}

bool is_asked(const ListedStream& listed) noexcept { return listed.served && !listed.foreign; }

nlohmann::json row_of(const ListedStream& listed, const std::optional<nlohmann::json>& answer) {
  nlohmann::json row = {{"stream", listed.name},
                        {"pid", listed.pid},
                        {"state", state_of(listed)},
                        {"epoch", 0},
                        {"position", 0},
                        {"published", 0},
                        {"samples_per_second", 0.0},
                        {"consumers", nlohmann::json::array()},
                        {"groups", nlohmann::json::array()},
                        {"directory", listed.paths.directory}};
  if (!listed.served) row["consumers"] = waiting_at(listed.paths.directory);
  if (!answer) return row;
  const nlohmann::json& stats = *answer;
  for (const char* key : {"pid",
                          "state",
                          "epoch",
                          "position",
                          "published",
                          "samples_per_second",
                          "consumers",
                          "capacity",
                          "memory",
                          "placement",
                          "rings",
                          "waits_for",
                          "consumers_to_come",
                          "uptime_seconds",
                          "samples",
                          "delivered",
                          "space_wait_seconds",
                          "process_cpu_seconds",
                          "workers",
                          "workers_auto",
                          "bottleneck",
                          "reading_seconds",
                          "making_seconds",
                          "waiting_seconds",
                          "cpu_seconds",
                          "decoding_seconds_estimate",
                          "bad_samples",
                          "stand_ins",
                          "stand_in_times",
                          "cache"}) {
    if (stats.contains(key)) row[key] = stats[key];
  }
  if (stats.contains("consumers_left_out")) row["consumers_left_out"] = stats["consumers_left_out"];
  if (stats.contains("forming_left_out")) row["groups_left_out"] = stats["forming_left_out"];
  row["groups"] = groups_of(stats);
  return row;
}

/// Of each stream what its producer says, and what can be seen without it.
nlohmann::json rows_of(const std::vector<ListedStream>& streams) {
  const std::shared_ptr<ControlContext> context = make_control_context();
  std::deque<ControlClient> clients;
  std::vector<ControlClient*> producers;
  for (const ListedStream& listed : streams) {
    producers.push_back(is_asked(listed) ? &clients.emplace_back(listed.paths.control, context)
                                         : nullptr);
  }
  const std::vector<observe::AskedStatistics> asked =
      observe::ask_statistics(producers, stats_timeout_ms);
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (asked[i].failure) std::rethrow_exception(asked[i].failure);
    rows.push_back(row_of(streams[i], asked[i].answer));
  }
  return rows;
}

std::string number_text(const nlohmann::json& row, const char* key) {
  return count_text(static_cast<std::uint64_t>(row.at(key).get<double>()));
}

/// `resnet: 3 of 4 ranks, without 2`
std::string group_text(const nlohmann::json& group) {
  constexpr std::size_t named_max = 4;
  if (group.contains("listed")) {
    return fmt::format("{}: {} of {} listed", group["group"].get<std::string>(),
                       group["listed"].get<std::size_t>(),
                       counted(group["world"].get<std::uint64_t>(), "rank"));
  }
  const std::size_t named = group["missing"].size();
  const std::size_t missing = named + group.value("missing_left_out", std::size_t{0});
  std::string text = fmt::format("{}: {} of {}", group["group"].get<std::string>(),
                                 group["world"].get<std::size_t>() - missing,
                                 counted(group["world"].get<std::uint64_t>(), "rank"));
  for (std::size_t i = 0; i < std::min(named, named_max); ++i) {
    text += fmt::format("{} {}", i == 0 ? ", without" : ",", group["missing"][i].get<unsigned>());
  }
  return text + (missing > named_max ? ", …" : "");
}

std::vector<std::string> group_row(const nlohmann::json& group) {
  return {"  " + group_text(group), "", group["state"], "", "", "", "", "", "", ""};
}

/// Below the line of its group, if it is a rank of one.
std::vector<std::string> consumer_row(const nlohmann::json& consumer) {
  const bool is_rank = consumer.contains("group");
  const std::string place =
      is_rank ? fmt::format("    {}: ", consumer["rank"].get<unsigned>()) : "  ";
  return {place + consumer["name"].get<std::string>(),
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

/// Those without a group first, then each group with its ranks in their order.
void add_consumers(const nlohmann::json& row, std::vector<std::vector<std::string>>& table) {
  for (const auto& consumer : row["consumers"]) {
    if (!consumer.contains("group")) table.push_back(consumer_row(consumer));
  }
  for (const auto& group : row.value("groups", nlohmann::json::array())) {
    table.push_back(group_row(group));
    std::map<std::uint32_t, std::vector<std::string>> ranks;
    for (const auto& consumer : row["consumers"]) {
      if (consumer.value("group", "") != group.value("group", "")) continue;
      ranks[consumer["rank"].get<std::uint32_t>()] = consumer_row(consumer);
    }
    for (auto& [rank, cells] : ranks) table.push_back(std::move(cells));
  }
}

/// A name that a killed producer left, and that nothing uses.
bool is_left_over(const nlohmann::json& row) {
  return row["state"] == "dead" && row["consumers"].empty();
}

void print_left_over(const nlohmann::json& rows) {
  for (const auto& row : rows) {
    if (!is_left_over(row)) continue;
    fmt::print("{}: dead, its producer was killed; `serve` takes the name over, `stop` clears it\n",
               row["stream"].get<std::string>());
  }
}

bool has_heads(const nlohmann::json& row) {
  const nlohmann::json rings = row.value("rings", nlohmann::json::array());
  return std::any_of(rings.begin(), rings.end(),
                     [](const auto& ring) { return ring.contains("work_share"); });
}

void print_streams(const nlohmann::json& rows) {
  if (std::all_of(rows.begin(), rows.end(), is_left_over)) return print_left_over(rows);
  std::vector<std::vector<std::string>> table = {{"STREAM", "PID", "STATE", "PLACE", "EPOCH",
                                                  "PUBLISHED", "SAMPLES/S", "BATCH", "PACE",
                                                  "LAG"}};
  for (const auto& row : rows) {
    if (is_left_over(row)) continue;
    table.push_back({row["stream"], std::to_string(row["pid"].get<long>()), row["state"],
                     row.value("placement", ""), number_text(row, "epoch"),
                     number_text(row, "published"), number_text(row, "samples_per_second"), "", "",
                     ""});
    for (const auto& ring : row.value("rings", nlohmann::json::array())) {
      const bool is_shared = ring.contains("work_share");
      if (ring["placement"] == "host" && !is_shared) continue;  // the stream's own line
      std::string name = "  (ring)";
      if (is_shared) {
        name = fmt::format("  (ring, {:.0f}% of the work, {})", 100 * ring.value("work_share", 0.0),
                           bytes_text(ring.value("memory", std::uint64_t{0})));
      }
      table.push_back({name, "", ring["state"], ring["placement"], "",
                       number_text(ring, "published"), "", "", "", ""});
    }
    add_consumers(row, table);
    if (const auto more = row.value("consumers_left_out", std::uint64_t{0}); more != 0) {
      table.push_back(
          {text("  and {}", counted(more, "more consumer")), "", "", "", "", "", "", "", "", ""});
    }
    if (const auto more = row.value("groups_left_out", std::uint64_t{0}); more != 0) {
      table.push_back({text("  and {}", counted(more, "more group")), "", "forming", "", "", "", "",
                       "", "", ""});
    }
  }
  print_table(std::move(table));
  const auto explain = [&rows](const char* state, const char* meaning) {
    for (const auto& row : rows) {
      if (row["state"] == state && !is_left_over(row)) {
        return fmt::print("{}: {}\n", state, meaning);
      }
    }
  };
  const auto explain_consumer = [&rows](const char* state, const char* meaning) {
    for (const auto& row : rows) {
      for (const auto& consumer : row["consumers"]) {
        if (consumer["state"] == state) return fmt::print("{}: {}\n", state, meaning);
      }
    }
  };
  explain("dead", "the producer was killed; `serve` takes the name over, `stop` clears it");
  explain("silent", "the producer lives, and did not answer within a second");
  explain("foreign", "another user's producer; it answers no questions of this user");
  explain_consumer(
      "stalled",
      "it has held the stream up for a twelfth of --stall-timeout (5 s of 60 s, unless "
      "set) or longer; `evict` lets others go on");
  if (std::any_of(rows.begin(), rows.end(), has_heads)) {
    fmt::print(
        "head: a ring at another place; its trainers come to the first one once they have caught "
        "up, and the ranks of a group stay\n");
  }
  const auto explain_group = [&rows](const char* state, const char* meaning) {
    for (const auto& row : rows) {
      for (const auto& group : row.value("groups", nlohmann::json::array())) {
        if (group["state"] == state) return fmt::print("{}: {}\n", state, meaning);
      }
    }
  };
  for (const auto& row : rows) {
    if (row.value("waits_for", "") != "consumers") continue;
    const auto to_come = row.value("consumers_to_come", std::uint64_t{0});
    fmt::print("{}: waits for {} (a group counts as one)\n", row["stream"].get<std::string>(),
               counted(to_come, row["consumers"].empty() ? "consumer" : "more consumer"));
  }
  explain_group("forming", "its ranks begin once the last of them has come");
  explain_group("broken", "a rank left or died; the others learn of it at their next batch");
  explain_consumer("waiting",
                   "it goes on with the next producer, which `serve` or its keeper starts");
  explain_consumer("missing",
                   "it has not come from the producer that was killed; its place is kept");
  for (const auto& row : rows) {
    const auto pid = row["pid"].get<long>();
    if (row["state"] != "silent" || pid <= 0 ||
        !detail::is_stopped(static_cast<std::uint32_t>(pid))) {
      continue;
    }
    fmt::print(
        "{}: process {} is stopped, and lives; `kill -CONT {}` continues it, `serve --replace` "
        "takes "
        "its place\n",
        row["stream"].get<std::string>(), pid, pid);
  }
  explain_consumer("stopped", "it does not run, as after SIGSTOP; `kill -CONT PID` resumes it");
  print_left_over(rows);
}

void say_what_cannot_be_listed() {
  for (const std::string& directory : unlisted_directories()) {
    say(text("batchcast: no permission to list {}; streams there can still be named\n",
             printable(directory)));
  }
}

int list(const RemoteOptions& options) {
  const nlohmann::json rows = rows_of(options.only ? list_streams(*options.only) : list_streams());
  if (options.only && rows.empty()) throw_absent(*options.only);
  if (!options.only) say_what_cannot_be_listed();
  const std::string missing = missing_directory();
  if (options.json) {
    if (!missing.empty()) say(text("batchcast: {} (BATCHCAST_DIR) does not exist\n", missing));
    print_json(rows);
  } else if (!missing.empty()) {
    fmt::print("no streams: {} (BATCHCAST_DIR) does not exist\n", missing);
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

/// What the command prints of a stream that did as it was asked; may add to the answer.
using Done = std::function<std::string(const ListedStream&, nlohmann::json& answer)>;

int print_answer(const RemoteOptions& options, const nlohmann::json& answer,
                 const std::string& told) {
  if (options.json) {
    print_json(answer);
  } else {
    fmt::print("{}\n", told);
  }
  return exit_ok;
}

/// The answer of its producer. One that has just begun does not listen yet, and is waited for.
std::optional<std::string> order(const ListedStream& listed, const std::string& command) {
  const detail::Deadline deadline(order_timeout_ms);
  for (;;) {
    auto answer = ask_control(listed.paths.control, command, deadline.left_ms());
    if (answer || deadline.left_ms() == 0 || !look_at_lock(listed.paths.lock).held) return answer;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

int ask(const RemoteOptions& options, const ListedStream& listed, const nlohmann::json& command,
        const Done& done) {
  const auto reply = order(listed, command.dump());
  if (!reply) {
    throw Error(text("batchcast: the producer of stream `{}` (pid {}) does not answer.",
                     options.stream, listed.pid));
  }
  auto answer = nlohmann::json::parse(*reply, nullptr, false);
  if (!answer.is_object()) {
    throw Error(text("batchcast: the producer of stream `{}` (pid {}) answers with no JSON object.",
                     options.stream, listed.pid));
  }
  if (const auto error = answer.find("error"); error != answer.end()) {
    const std::string why =
        text("batchcast: {}", error->is_string() ? error->get<std::string>() : error->dump());
    // Only `set` has words that the producer reads; a consumer may not be there, as a stream may.
    if (command["command"] == "set") throw InvalidArgument(why);
    throw Error(why);
  }
  const std::string told = done(listed, answer);
  return print_answer(options, answer, told);
}

/// Waits until another producer may take the name. False: it is not free yet, as where trainers
/// still drain what is published, or where a program goes on without its stream.
bool is_name_free_soon(const ListedStream& listed) {
  constexpr auto patience = std::chrono::seconds(2);
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const LockState lock = look_at_lock(listed.paths.lock);
    if (!lock.held || lock.pid != listed.pid) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void clear(const std::string& stream, const StreamPaths& paths, const std::string& reason = "") {
  const std::filesystem::path directory = paths.directory;
  detail::end_dead_stream(stream, directory.parent_path().string(), reason);
}

int clear_dead(const RemoteOptions& options, const ListedStream& listed) {
  clear(listed.name, listed.paths, options.reason);
  return print_answer(
      options, {{"ok", true}, {"was_dead", true}, {"name_is_free", true}},
      text("stream `{}` was dead, its producer was killed; its name is free now", options.stream));
}

int clear_failed(const RemoteOptions& options, const StreamPaths& paths) {
  const std::string why = why_absent(options.stream, candidate_directories());
  clear(options.stream, paths);
  return print_answer(options, {{"ok", true}, {"had_failed", true}, {"name_is_free", true}},
                      text("stream `{}` is served no more.{} What it left to tell so is removed.",
                           options.stream, why));
}

int stop(const RemoteOptions& options) {
  if (list_streams(options.stream).empty()) {
    if (const auto left = find_failed_stream(options.stream)) return clear_failed(options, *left);
  }
  const ListedStream stream = own_stream(options.stream);
  if (!stream.served) return clear_dead(options, stream);
  return ask(options, stream, {{"command", "stop"}, {"reason", options.reason}},
             [&](const ListedStream& listed, nlohmann::json& answer) {
               const bool is_free = is_name_free_soon(listed);
               if (answer.is_object()) answer["name_is_free"] = is_free;
               if (is_free) return text("stream `{}` is stopped", options.stream);
               return text(
                   "stream `{}` is stopped; process {} still has its name, until its trainers have "
                   "what is published or it ends",
                   options.stream, listed.pid);
             });
}

int evict(const RemoteOptions& options) {
  const ListedStream stream = own_stream(options.stream);
  if (!stream.served) throw_dead(options.stream);
  return ask(options, stream,
             {{"command", "evict"}, {"consumer", options.consumer}, {"reason", options.reason}},
             [&](const ListedStream&, nlohmann::json&) {
               return text("`{}` is evicted from stream `{}`", options.consumer, options.stream);
             });
}

std::vector<std::string> settable_names() {
  std::vector<std::string> names;
  for (const options::Option& option : serving::serve_options().options()) {
    if (option.is_settable) names.push_back(option.name);
  }
  return names;
}

std::string settable_text() { return fmt::format("{}", fmt::join(settable_names(), ", ")); }

/// The name, as the table has it, and the value of a word. Throws InvalidArgument, with what can be
/// set, for what cannot.
std::pair<std::string, std::string> setting_in(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
    throw InvalidArgument(
        text("batchcast: set: `{}` is not NAME=VALUE, such as workers=4.", printable(word)));
  }
  std::string name = word.substr(0, equals);
  std::replace(name.begin(), name.end(), '-', '_');
  const std::string value = word.substr(equals + 1);
  const options::Option* const option = options::find(serving::serve_options().options(), name);
  if (option == nullptr || !option->is_settable) {
    const char* const why =
        option == nullptr ? "no option of a stream" : "fixed once the stream is served";
    throw InvalidArgument(text(
        "batchcast: set: `{}` is {}.{} What can be set: {}.", printable(name), why,
        option == nullptr ? detail::did_you_mean(name, settable_names()) : "", settable_text()));
  }
  try {
    const bool is_word = value == "default" || (value == "none" && name == "idle_exit");
    if (!is_word) check(*option, options::value_in(*option, value));
  } catch (const options::Refused& refused) {
    throw InvalidArgument(text("batchcast: set: {} {}", name, refused.what()));
  }
  return {name, value};
}

/// `workers: 2 → 4`, a line each.
std::string changes_text(const nlohmann::json& answer) {
  std::string told;
  for (const auto& one : answer["set"]) {
    told += text("{}{}: {} → {}", told.empty() ? "" : "\n", printable(one.value("name", "")),
                 printable(one.value("before", "")), printable(one.value("after", "")));
  }
  return told;
}

int set(const RemoteOptions& options) {
  nlohmann::json values = nlohmann::json::object();
  for (const std::string& word : options.values) {
    const auto [name, value] = setting_in(word);
    if (values.contains(name)) {
      throw InvalidArgument(text("batchcast: set: `{}` is given twice.", name));
    }
    values[name] = value;
  }
  const ListedStream stream = own_stream(options.stream);
  if (!stream.served) throw_dead(options.stream);
  return ask(options, stream, {{"command", "set"}, {"values", values}},
             [&](const ListedStream& listed, nlohmann::json& answer) {
               if (answer.is_object() && answer.contains("set") && answer["set"].is_array()) {
                 return changes_text(answer);
               }
               throw Error(
                   text("batchcast: the producer of stream `{}` (pid {}) is of an older "
                        "version, which cannot change this.",
                        options.stream, listed.pid));
             });
}

}  // namespace

void add_list(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<RemoteOptions>();
  CLI::App* ls = program.add_subcommand("ls", "List streams and their consumers");
  ls->add_option("stream", options->only, "Only this one");
  ls->add_flag("--json", options->json, "Print one JSON array");
  ls->callback([options, &chosen] { chosen = [options] { return list(*options); }; });
}

void add_stop(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<RemoteOptions>();
  options->reason = "`batchcast stop` was called";
  CLI::App* command = program.add_subcommand(
      "stop", "End a stream: consumers get the reason, and its name is free");
  command->footer(
      "Consumers drain what is published. Of a stream whose producer was killed or\n"
      "failed it clears the name.");
  command->add_option("stream", options->stream, "Name of the stream")->required();
  command->add_option("--reason", options->reason, "The reason that consumers get")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &chosen] { chosen = [options] { return stop(*options); }; });
}

void add_evict(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<RemoteOptions>();
  options->reason = "`batchcast evict` was called";
  CLI::App* command =
      program.add_subcommand("evict", "Take a consumer out of a stream, so that the others go on");
  command->add_option("stream", options->stream, "Name of the stream")->required();
  command->add_option("consumer", options->consumer, "Its name, as ls shows it")->required();
  command->add_option("--reason", options->reason, "The reason that the consumer gets")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &chosen] { chosen = [options] { return evict(*options); }; });
}

void add_set(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<RemoteOptions>();
  CLI::App* command = program.add_subcommand("set", "Change a stream while it runs");
  command->footer(
      text("What can be set:\n"
           "  {}\n"
           "`default` gives back the value that the stream began with. `workers=auto`\n"
           "leaves their number to the producer.\n"
           "  batchcast set imagenet workers=4 stall_timeout=30",
           settable_text()));
  command->add_option("stream", options->stream, "Name of the stream")->required();
  command->add_option("values", options->values, "What to set, such as workers=4")->required();
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &chosen] { chosen = [options] { return set(*options); }; });
}

}  // namespace batchcast::cli
