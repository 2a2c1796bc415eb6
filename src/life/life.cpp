// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "life/life.hpp"

#include <batchcast/core/hex.hpp>
#include <batchcast/core/identity.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/text.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <exception>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

constexpr int version = 1;

struct Malformed : std::exception {};

Json to_json(const MemberKey& key) {
  return {{"incarnation", key.incarnation}, {"consumer_id", key.consumer_id}};
}

Json to_json(const LifeMember& member) {
  Json json = to_json(member.key);
  if (member.follows) json["follows"] = to_json(*member.follows);
  json["lock"] = member.lock;
  json["name"] = member.name;
  json["pid"] = member.pid;
  json["pace"] = name_of(member.pace);
  json["between_epochs"] = name_of(member.between_epochs);
  json["ring"] = member.ring;
  if (member.in_head) json["in_head"] = true;
  json["batch_size"] = member.batch_size;
  json["floor"] = member.floor.position;
  json["in_loop"] = member.in_loop;
  return json;
}

Json to_json(const StartedWith& started) {
  return {{"words", started.words},
          {"directory", started.directory},
          {"environment", started.environment}};
}

StartedWith started_in(const Json& json) {
  return {json.at("words").get<std::vector<std::string>>(), json.at("directory").get<std::string>(),
          json.at("environment").get<std::vector<std::string>>()};
}

std::string digits_in(const Json& json, const char* key) {
  std::string digits = json.at(key).get<std::string>();
  Identity bytes{};
  if (!from_hex(digits, bytes)) throw Malformed();
  return digits;
}

std::uint64_t position_in(const Json& json, const char* key) {
  const auto position = json.at(key).get<std::uint64_t>();
  if (position >= limits::position_max) throw Malformed();
  return position;
}

MemberKey key_in(const Json& json) {
  return {digits_in(json, "incarnation"), json.at("consumer_id").get<std::uint64_t>()};
}

template <class Enum>
Enum choice(std::optional<Enum> choice) {
  if (!choice) throw Malformed();
  return *choice;
}

LifeMember member_in(const Json& json) {
  LifeMember member;
  member.key = key_in(json);
  if (json.contains("follows")) member.follows = key_in(json.at("follows"));
  member.lock = json.at("lock").get<std::string>();
  const bool is_name = member.lock.find('/') == std::string::npos;
  if (!is_name) throw Malformed();
  member.name = json.at("name").get<std::string>();
  member.pid = json.at("pid").get<std::uint32_t>();
  member.pace = choice(parse_pace(json.at("pace").get<std::string>()));
  member.between_epochs =
      choice(parse_between_epochs(json.at("between_epochs").get<std::string>()));
  member.ring = json.at("ring").get<std::string>();
  member.in_head = json.value("in_head", false);
  member.batch_size = json.at("batch_size").get<std::uint64_t>();
  if (member.batch_size == 0) throw Malformed();
  member.floor.position = position_in(json, "floor");
  member.in_loop = json.value("in_loop", false);
  return member;
}

/// One that is wrong does not cost the others their places.
std::vector<LifeMember> members_in(const Json& json) {
  std::vector<LifeMember> members;
  for (const Json& member : json) {
    try {
      members.push_back(member_in(member));
    } catch (const std::exception&) {
      continue;
    }
  }
  return members;
}

}  // namespace

std::string to_json(const Life& life) {
  Json json = {{"version", version},
               {"identity", life.identity},
               {"incarnation", life.incarnation},
               {"pid", life.pid},
               {"position", life.position.position},
               {"epoch", life.epoch},
               {"greatest", life.greatest},
               {"deaths", life.deaths},
               {"started", to_json(life.started)},
               {"members", Json::array()}};
  for (const LifeMember& member : life.members) json["members"].push_back(to_json(member));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string given_up_text(const std::string& stream, const Life& left, std::uint32_t deaths) {
  const std::uint64_t greatest = std::max(left.greatest, left.position.position);
  return text(
      "{} producers in a row were killed before they published more than those before, which is up "
      "to position {} (in epoch {}). A sample from there on, such as a file that a decoder crashes "
      "on, or a lack of memory may be the cause: see `dmesg`, and what the last ones said. "
      "Nothing is lost: once `batchcast serve … --stream {}` by hand serves it, trainers go on "
      "with "
      "their next call. --give-up-after 0 starts it again for ever",
      deaths, greatest, left.epoch, stream);
}

std::optional<Life> life_from(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("version").get<int>() != version) return std::nullopt;
    Life life;
    life.identity = digits_in(json, "identity");
    life.incarnation = digits_in(json, "incarnation");
    life.pid = json.at("pid").get<std::uint32_t>();
    life.position.position = position_in(json, "position");
    life.epoch = json.at("epoch").get<std::uint64_t>();
    life.greatest = position_in(json, "greatest");
    life.deaths = json.at("deaths").get<std::uint32_t>();
    life.started = started_in(json.at("started"));
    life.members = members_in(json.at("members"));
    return life;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace batchcast::inline v0_1::detail
