// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/chrome_trace.hpp"

#include <batchcast/core/printable.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
#include <optional>
#include <string_view>

namespace batchcast::inline v0_1::observe {
namespace {

using nlohmann::json;

constexpr std::size_t kinds_max = 64;
constexpr std::size_t groups_max = 16;
constexpr std::size_t tracks_max = 8'192;
constexpr std::size_t text_bytes_max = 200;
constexpr std::size_t bytes_around = 1'024;  // of the file, besides spans and names

/// A text of an answer, as JSON has it.
std::string quoted(const json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : "?";
  return json(printable(std::string_view(text).substr(0, text_bytes_max)))
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

std::uint64_t number_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

const json* array_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? &*found : nullptr;
}

/// In microseconds, as traces count.
std::string microseconds(std::uint64_t ns) {
  std::string fraction = std::to_string(1'000 + ns % 1'000);
  return std::to_string(ns / 1'000) + "." + fraction.substr(1);
}

std::string named(const char* what, std::size_t process, std::uint64_t thread,
                  const std::string& name) {
  return text(R"({"name":"{}","ph":"M","pid":{},"tid":{},"args":{"name":{}}})", what, process,
              thread, name);
}

}  // namespace

bool ChromeTrace::add(const json& answer) {
  has_more_ = false;
  const auto page = answer.is_object() ? answer.find("trace") : answer.end();
  if (!answer.is_object() || page == answer.end() || !page->is_object()) return false;
  until_ns_ = std::max(until_ns_, number_in(*page, "nanoseconds"));
  left_out_ = std::max(left_out_, number_in(*page, "left_out"));
  if (const json* kinds = array_in(*page, "kinds"); kinds != nullptr && kinds_.empty()) {
    add_kinds(*kinds);
  }
  if (const json* tracks = array_in(*page, "tracks")) {
    for (const json& track : *tracks) add_track(track);
  }
  if (const json* spans = array_in(*page, "spans")) {
    for (const json& span : *spans) add_span(span);
  }
  const auto more = page->find("more");
  has_more_ = more != page->end() && more->is_boolean() && more->get<bool>();
  return true;
}

void ChromeTrace::add_kinds(const json& kinds) {
  for (const json& kind : kinds) {
    if (kinds_.size() == kinds_max) return;
    const bool is_pair = kind.is_array() && kind.size() == 2;
    const bool has_value = is_pair && kind[1].is_string() && !kind[1].get<std::string>().empty();
    kinds_.push_back({is_pair ? quoted(kind[0]) : "\"?\"", has_value ? quoted(kind[1]) : ""});
  }
}

void ChromeTrace::add_track(const json& track) {
  const bool is_one = track.is_array() && track.size() == 3 && track[0].is_number_unsigned();
  if (!is_one || tracks_.size() == tracks_max) return;
  const std::string group = quoted(track[1]);
  const auto found = std::find(groups_.begin(), groups_.end(), group);
  if (found == groups_.end() && groups_.size() == groups_max) return;
  const auto at = static_cast<std::size_t>(found - groups_.begin());
  if (found == groups_.end()) groups_.push_back(group);
  const auto [entry, is_new] =
      tracks_.emplace(track[0].get<std::uint64_t>(), Track{at, quoted(track[2])});
  if (is_new) names_bytes_ += named("thread_name", at, 0, entry->second.name).size() + 32;
}

void ChromeTrace::add_span(const json& span) {
  constexpr std::size_t numbers = 5;
  if (!span.is_array() || span.size() != numbers) return;
  if (!std::all_of(span.begin(), span.end(), [](const json& n) { return n.is_number_unsigned(); }))
    return;
  const auto track = tracks_.find(span[0].get<std::uint64_t>());
  const auto kind = span[1].get<std::uint64_t>();
  if (track == tracks_.end() || kind >= kinds_.size()) return;
  const Kind& of = kinds_[kind];
  std::string event =
      text(R"(,
{"name":{},"ph":"X","pid":{},"tid":{},"ts":{},"dur":{})",
           of.name, track->second.group + 1, track->first + 1,
           microseconds(span[2].get<std::uint64_t>()), microseconds(span[3].get<std::uint64_t>()));
  if (!of.value.empty()) {
    event += text(R"(,"args":{{}:{}})", of.value, span[4].get<std::uint64_t>());
  }
  event += '}';
  if (events_.size() + event.size() + names_bytes_ + bytes_around > bytes_max_) {
    ++cut_;
    return;
  }
  events_ += event;
  ++spans_;
}

std::string ChromeTrace::finish(const std::string& stream) {
  std::string file = R"({"displayTimeUnit":"ms","otherData":)";
  file += json{{"stream", printable(stream)}, {"cut", cut_}, {"left_out", left_out_}}.dump();
  file += R"(,"traceEvents":[)";
  file += named("process_name", 0, 0, json("batchcast").dump());
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    file += ",\n" + named("process_name", group + 1, 0, groups_[group]);
  }
  for (const auto& [number, track] : tracks_) {
    file += ",\n" + named("thread_name", track.group + 1, number + 1, track.name);
  }
  file += events_;
  events_.clear();
  events_.shrink_to_fit();
  return file + "]}\n";
}

}  // namespace batchcast::inline v0_1::observe
