// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "life/life.hpp"

#include <batchcast/core/hex.hpp>
#include <batchcast/core/identity.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/text.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

constexpr int version = 1;

struct Malformed : std::exception {};

Json to_json(const MemberKey& key) {
  return {{"incarnation", key.incarnation}, {"consumer_id", key.consumer_id}};
}

constexpr std::array<std::string_view, 3> loss_names = {"left", "died", "evicted"};

std::string name_of(RankLoss loss) {
  return std::string(loss_names.at(static_cast<std::size_t>(loss) - 1));
}

std::optional<RankLoss> parse_loss(const std::string& name) {
  const auto found = std::find(loss_names.begin(), loss_names.end(), name);
  if (found == loss_names.end()) return std::nullopt;
  return static_cast<RankLoss>(found - loss_names.begin() + 1);
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
  if (member.group.world == 0) return json;
  json["group"] = member.group.name;
  json["rank"] = member.group.rank;
  json["world"] = member.group.world;
  json["tail"] = name_of(member.tail);
  json["ended"] = member.ended;
  if (member.gone) json["gone"] = name_of(*member.gone);
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

DiedAt died_in(const Json& json) {
  return {json.at("from").get<std::uint64_t>(), json.at("to").get<std::uint64_t>(),
          json.at("ids").get<std::vector<std::uint64_t>>(),
          json.value("names", std::vector<std::string>())};
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

Tail tail_in(const std::string& name) {
  for (const Tail tail : {Tail::keep, Tail::drop, Tail::pad}) {
    if (name == name_of(tail)) return tail;
  }
  throw Malformed();
}

void read_rank(const Json& json, LifeMember& member) {
  member.group.name = json.at("group").get<std::string>();
  member.group.rank = json.at("rank").get<std::uint32_t>();
  member.group.world = json.at("world").get<std::uint32_t>();
  const bool is_rank = !member.group.name.empty() && member.group.rank < member.group.world &&
                       member.group.world <= limits::consumers_max;
  if (!is_rank) throw Malformed();
  member.tail = tail_in(json.at("tail").get<std::string>());
  member.ended = json.at("ended").get<std::uint64_t>();
  if (json.contains("gone")) member.gone = choice(parse_loss(json.at("gone").get<std::string>()));
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
  if (json.contains("group")) read_rank(json, member);
  return member;
}

Json to_json(const std::map<std::uint64_t, std::uint64_t>& stand_ins) {
  Json json = Json::object();
  for (const auto& [position, sample_id] : stand_ins) json[std::to_string(position)] = sample_id;
  return json;
}

/// Where it is wrong, bad samples are tried again.
std::map<std::uint64_t, std::uint64_t> stand_ins_in(const Json& json) {
  std::map<std::uint64_t, std::uint64_t> stand_ins;
  try {
    for (const auto& [position, sample_id] : json.items()) {
      if (!sample_id.is_number_unsigned()) throw Malformed();
      stand_ins.emplace(std::stoull(position), sample_id.get<std::uint64_t>());
    }
  } catch (const std::exception&) {
    stand_ins.clear();
  }
  return stand_ins;
}

/// Where it is wrong, the stream has what its words say.
std::map<std::string, std::string> settings_in(const Json& json) {
  try {
    return json.get<std::map<std::string, std::string>>();
  } catch (const std::exception&) {
    return {};
  }
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
               {"settings", life.settings},
               {"stand_ins", to_json(life.stand_ins)},
               {"members", Json::array()}};
  if (!life.grid.empty()) json["grid"] = life.grid;
  if (life.died) {
    json["died"] = {{"from", life.died->from},
                    {"to", life.died->to},
                    {"ids", life.died->ids},
                    {"names", life.died->names}};
  }
  for (const LifeMember& member : life.members) json["members"].push_back(to_json(member));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

/// `7 `dog/0007.jpg``, or what is known of that.
std::string sample_text(const DiedAt& died, std::size_t index) {
  std::string sample;
  if (index < died.ids.size()) sample = text("{}", died.ids[index]);
  if (index >= died.names.size() || died.names[index].empty()) return sample;
  return text("{}{}`{}`", sample, sample.empty() ? "" : " ", printable(died.names[index]));
}

/// `. One of them was making positions 12 to 40 (samples 7 `cat/7.jpg`, 4711 `dog/4711.jpg` and 27
/// more)`
std::string samples_text(const DiedAt& died) {
  constexpr std::size_t bytes_max = 1'500;
  if (died.to <= died.from) return {};
  const std::uint64_t count = died.to - died.from;
  std::string samples;
  std::uint64_t named = 0;
  for (; named < count && samples.size() < bytes_max; ++named) {
    const std::string sample = sample_text(died, named);
    if (sample.empty()) break;
    samples += text("{}{}", named == 0 ? "" : ", ", sample);
  }
  if (named != 0 && named != count) samples += text(" and {} more", count - named);
  return text(". One of them was making positions {} to {}{}", died.from, died.to - 1,
              samples.empty() ? "" : text(" (samples {})", samples));
}

}  // namespace

std::string given_up_text(const std::string& stream, const Life& left, std::uint32_t deaths) {
  const std::uint64_t greatest = std::max(left.greatest, left.position.position);
  return text(
      "{} producers in a row were killed before they published more than those before, which is up "
      "to position {} (in epoch {}){}. A sample from there on, such as a file that a decoder "
      "crashes "
      "on, or a lack of memory may be the cause: see `dmesg`, and what the last ones said. "
      "Nothing is lost: once `batchcast serve … --stream {}` by hand serves it, trainers go on "
      "with "
      "their next call. --give-up-after 0 starts it again for ever",
      deaths, greatest, left.epoch, left.died ? samples_text(*left.died) : "", stream);
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
    life.grid = json.value("grid", std::string());
    if (json.contains("died")) life.died = died_in(json.at("died"));
    life.members = members_in(json.at("members"));
    life.settings = settings_in(json.value("settings", Json::object()));
    life.stand_ins = stand_ins_in(json.value("stand_ins", Json::object()));
    return life;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace batchcast::inline v0_1::detail
