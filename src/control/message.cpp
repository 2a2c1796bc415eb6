// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/join/message.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace batchcast {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 11> refusal_names = {
    "bad_hello", "layout",      "uid",       "full", "ring_too_small", "finished", "stopped",
    "failed",    "cursor_gone", "placement", "busy"};
constexpr std::array<std::string_view, 3> segment_kind_names = {"memfd", "cuda_fd", "cuda_ipc"};
constexpr std::size_t notes_max = 16;
constexpr std::size_t placement_bytes_max = 63;  // a UUID takes 40
constexpr std::size_t handle_bytes_max = 256;    // cuIpcGetMemHandle gives 64 bytes, in two digits

/// What is wrong with a message. Never leaves this file.
struct Malformed {
  std::string text;
};

std::string to_datagram(const json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Texts come from elsewhere (an exception, a file name): a datagram must hold them anyway.
std::string shortened(const std::string& text, std::size_t bytes_max) {
  return text.size() <= bytes_max ? text : text.substr(0, bytes_max) + "…";
}

json parse(std::string_view text) {
  if (text.size() > limits::message_bytes_max) {
    throw Malformed{"it takes " + std::to_string(text.size()) + " bytes, of at most " +
                    std::to_string(limits::message_bytes_max)};
  }
  json message = json::parse(text, nullptr, false);
  if (!message.is_object()) throw Malformed{"it is not a JSON object"};
  return message;
}

const json& member(const json& message, const char* key) {
  const auto found = message.find(key);
  if (found == message.end()) throw Malformed{"it has no \"" + std::string(key) + '"'};
  return *found;
}

std::uint64_t number(const json& value, const char* key, std::uint64_t least, std::uint64_t most) {
  if (!value.is_number_unsigned()) {
    throw Malformed{'"' + std::string(key) + "\" is not a whole number from 0 on"};
  }
  const auto result = value.get<std::uint64_t>();
  if (result < least || result > most) {
    throw Malformed{'"' + std::string(key) + "\" is " + std::to_string(result) + ", not from " +
                    std::to_string(least) + " to " + std::to_string(most)};
  }
  return result;
}

std::uint64_t number(const json& message, const char* key, std::uint64_t most) {
  return number(member(message, key), key, 0, most);
}

std::uint64_t position(const json& message, const char* key) {
  return number(message, key, limits::position_max - 1);
}

std::string text_of(const json& message, const char* key, std::size_t bytes_max) {
  const json& value = member(message, key);
  if (!value.is_string()) throw Malformed{'"' + std::string(key) + "\" is not a string"};
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > bytes_max) {
    throw Malformed{'"' + std::string(key) + "\" takes " + std::to_string(text.size()) +
                    " bytes, of at most " + std::to_string(bytes_max)};
  }
  return text;
}

std::string name_in(const json& message, const char* key, std::size_t bytes_max) {
  std::string name = text_of(message, key, bytes_max);
  const bool printable =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (!printable) {
    throw Malformed{'"' + std::string(key) + "\" has characters that are not printable ASCII"};
  }
  return name;
}

template <class Parse>
auto choice(const json& message, const char* key, Parse parse_choice) {
  const std::string text = name_in(message, key, 32);
  const auto value = parse_choice(text);
  if (!value) throw Malformed{'"' + std::string(key) + "\" is the unknown \"" + text + '"'};
  return *value;
}

std::optional<RefusalKind> parse_refusal(std::string_view name) {
  const auto* found = std::find(refusal_names.begin(), refusal_names.end(), name);
  if (found == refusal_names.end()) return std::nullopt;
  return static_cast<RefusalKind>(found - refusal_names.begin());
}

std::optional<SegmentKind> parse_segment_kind(std::string_view name) {
  const auto* found = std::find(segment_kind_names.begin(), segment_kind_names.end(), name);
  if (found == segment_kind_names.end()) return std::nullopt;
  return static_cast<SegmentKind>(found - segment_kind_names.begin());
}

/// Who says nothing of GPUs means host memory.
std::string placement_in(const json& message) {
  if (message.find("placement") == message.end()) return "host";
  std::string placement = name_in(message, "placement", placement_bytes_max);
  if (placement.empty()) throw Malformed{"\"placement\" is empty"};
  return placement;
}

/// One text for each segment, or nothing at all.
std::vector<std::string> texts_of_segments(const json& message, const char* key,
                                           std::size_t segments, std::size_t bytes_max) {
  std::vector<std::string> texts;
  const auto found = message.find(key);
  if (found == message.end()) return texts;
  if (!found->is_array() || found->size() != segments) {
    throw Malformed{'"' + std::string(key) + "\" is not an array of one text for each segment"};
  }
  for (const json& text : *found) {
    if (!text.is_string() || text.get_ref<const std::string&>().size() > bytes_max) {
      throw Malformed{'"' + std::string(key) + "\" holds something that is not a short string"};
    }
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

bool is_handle(const std::string& text) {
  return !text.empty() && text.size() % 2 == 0 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void read_segments(const json& message, Welcome& welcome) {
  const std::size_t segments = welcome.segment_bytes.size();
  for (const std::string& name : texts_of_segments(message, "segment_kinds", segments, 16)) {
    const auto kind = parse_segment_kind(name);
    if (!kind) throw Malformed{"\"segment_kinds\" holds an unknown kind"};
    welcome.segment_kinds.push_back(*kind);
  }
  welcome.segment_handles =
      texts_of_segments(message, "segment_handles", segments, handle_bytes_max);
  for (std::size_t i = 0; i < segments; ++i) {
    const bool by_handle =
        !welcome.segment_kinds.empty() && welcome.segment_kinds[i] == SegmentKind::cuda_ipc;
    const std::string handle =
        welcome.segment_handles.empty() ? std::string() : welcome.segment_handles[i];
    if (by_handle ? !is_handle(handle) : !handle.empty()) {
      throw Malformed{
          "\"segment_handles\" is not hexadecimal for each segment of kind cuda_ipc, "
          "and empty for the others"};
    }
  }
}

Rejoin rejoin_from(const json& message) {
  Rejoin rejoin;
  rejoin.join = choice(message, "join", parse_join);
  if (rejoin.join == Join::at) rejoin.cursor = position(message, "cursor");
  return rejoin;
}

Hello hello_from(const json& message) {
  Hello hello;
  hello.name = name_in(message, "name", limits::consumer_name_bytes_max);
  hello.batch_size =
      number(member(message, "batch_size"), "batch_size", 1, limits::position_max - 1);
  hello.pace = choice(message, "pace", parse_pace);
  const Rejoin start = rejoin_from(message);
  hello.join = start.join;
  hello.cursor = start.cursor;
  hello.between_epochs = choice(message, "between_epochs", parse_between_epochs);
  hello.pid =
      static_cast<std::int32_t>(number(message, "pid", std::numeric_limits<std::int32_t>::max()));
  if (const auto observes = message.find("observes"); observes != message.end()) {
    if (!observes->is_boolean()) throw Malformed{"\"observes\" is neither true nor false"};
    hello.observes = observes->get<bool>();
  }
  hello.placement = placement_in(message);
  return hello;
}

Welcome welcome_from(const json& message) {
  constexpr std::uint64_t any = limits::position_max - 1;
  Welcome welcome;
  welcome.stream = name_in(message, "stream", limits::stream_name_bytes_max);
  welcome.consumer_index =
      static_cast<std::uint32_t>(number(message, "consumer_index", limits::consumers_max - 1));
  welcome.tenant = number(message, "tenant", any);
  welcome.name = name_in(message, "name", limits::consumer_name_bytes_max);
  welcome.position = position(message, "position");
  welcome.epoch = number(message, "epoch", any);
  welcome.epoch_start = position(message, "epoch_start");
  welcome.samples_to_come = number(message, "samples_to_come", any);
  welcome.board_bytes = number(message, "board_bytes", any);
  welcome.desk_bytes = number(message, "desk_bytes", any);
  const json& segments = member(message, "segment_bytes");
  if (!segments.is_array() || segments.empty() || segments.size() > limits::fields_max) {
    throw Malformed{"\"segment_bytes\" is not an array of 1 to " +
                    std::to_string(limits::fields_max) + " sizes"};
  }
  for (const json& bytes : segments) {
    welcome.segment_bytes.push_back(number(bytes, "segment_bytes", 1, any));
  }
  read_segments(message, welcome);
  welcome.placement = placement_in(message);
  const json& notes = member(message, "notes");
  if (!notes.is_array() || notes.size() > notes_max) throw Malformed{"\"notes\" is no short array"};
  for (const json& note : notes) {
    if (!note.is_string()) throw Malformed{"\"notes\" holds something that is not a string"};
    welcome.notes.push_back(note.get<std::string>());
  }
  return welcome;
}

Rejoined rejoined_from(const json& message) {
  return {.position = position(message, "position"),
          .epoch = number(message, "epoch", limits::position_max - 1),
          .epoch_start = position(message, "epoch_start"),
          .samples_to_come = number(message, "samples_to_come", limits::position_max - 1)};
}

std::string type_of(const json& message) { return name_in(message, "type", 32); }

json rejoin_json(Join join, std::uint64_t cursor) {
  json message = {{"join", name_of(join)}};
  if (join == Join::at) message["cursor"] = cursor;
  return message;
}

}  // namespace

std::string_view name_of(RefusalKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < refusal_names.size() ? refusal_names[index] : std::string_view("?");
}

std::string_view name_of(SegmentKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < segment_kind_names.size() ? segment_kind_names[index] : std::string_view("?");
}

std::string encode(const Hello& hello) {
  json message = rejoin_json(hello.join, hello.cursor);
  message["type"] = "hello";
  message["layout"] = hello.layout_version;
  message["name"] = hello.name;
  message["batch_size"] = hello.batch_size;
  message["pace"] = name_of(hello.pace);
  message["between_epochs"] = name_of(hello.between_epochs);
  message["pid"] = hello.pid;
  if (hello.observes) message["observes"] = true;
  if (hello.placement != "host") message["placement"] = hello.placement;
  return to_datagram(message);
}

std::string encode(const Welcome& welcome) {
  json message = {{"type", "welcome"},
                  {"stream", welcome.stream},
                  {"consumer_index", welcome.consumer_index},
                  {"tenant", welcome.tenant},
                  {"name", welcome.name},
                  {"position", welcome.position},
                  {"epoch", welcome.epoch},
                  {"epoch_start", welcome.epoch_start},
                  {"samples_to_come", welcome.samples_to_come},
                  {"board_bytes", welcome.board_bytes},
                  {"desk_bytes", welcome.desk_bytes},
                  {"segment_bytes", welcome.segment_bytes},
                  {"notes", json::array()}};
  if (welcome.placement != "host") message["placement"] = welcome.placement;
  if (!welcome.segment_kinds.empty()) {
    json kinds = json::array();
    for (const SegmentKind kind : welcome.segment_kinds) kinds.push_back(name_of(kind));
    message["segment_kinds"] = std::move(kinds);
  }
  if (!welcome.segment_handles.empty()) message["segment_handles"] = welcome.segment_handles;
  for (std::size_t i = 0; i < std::min(welcome.notes.size(), notes_max); ++i) {
    message["notes"].push_back(shortened(welcome.notes[i], 512));
  }
  return to_datagram(message);
}

std::string encode(const Refusal& refusal) {
  return to_datagram({{"type", "refusal"},
                      {"kind", name_of(refusal.kind)},
                      {"text", shortened(refusal.text, limits::state_text_bytes_max)}});
}

std::string encode(const Pause&) { return to_datagram({{"type", "pause"}}); }

std::string encode(const Rejoin& rejoin) {
  json message = rejoin_json(rejoin.join, rejoin.cursor);
  message["type"] = "rejoin";
  return to_datagram(message);
}

std::string encode(const Rejoined& rejoined) {
  return to_datagram({{"type", "rejoined"},
                      {"position", rejoined.position},
                      {"epoch", rejoined.epoch},
                      {"epoch_start", rejoined.epoch_start},
                      {"samples_to_come", rejoined.samples_to_come}});
}

std::string encode(const Bye&) { return to_datagram({{"type", "bye"}}); }

std::string encode(const Farewell& farewell) {
  return to_datagram(
      {{"type", "farewell"}, {"reason", shortened(farewell.reason, limits::state_text_bytes_max)}});
}

std::variant<Hello, Refusal> decode_hello(std::string_view text, std::uint32_t our_layout_version) {
  try {
    const json message = parse(text);
    if (type_of(message) != "hello") throw Malformed{"its type is not \"hello\""};
    // First of all: everything else may mean something different in another version.
    const auto theirs = static_cast<std::uint32_t>(
        number(message, "layout", std::numeric_limits<std::uint32_t>::max()));
    if (theirs != our_layout_version) {
      return Refusal{RefusalKind::layout, "batchcast: the producer speaks layout version " +
                                              std::to_string(our_layout_version) +
                                              ", the consumer version " + std::to_string(theirs) +
                                              ". Use the same release of batchcast for both."};
    }
    Hello hello = hello_from(message);
    hello.layout_version = theirs;
    return hello;
  } catch (const Malformed& wrong) {
    return Refusal{RefusalKind::bad_hello, "batchcast: the hello cannot be read: " + wrong.text};
  }
}

ConsumerMessage decode_from_consumer(std::string_view text) {
  try {
    const json message = parse(text);
    const std::string type = type_of(message);
    if (type == "bye") return Bye{};
    if (type == "pause") return Pause{};
    if (type == "rejoin") return rejoin_from(message);
    throw Malformed{"its type is the unknown \"" + type + '"'};
  } catch (const Malformed& wrong) {
    return BadMessage{"a consumer's message cannot be read: " + wrong.text};
  }
}

ProducerMessage decode_from_producer(std::string_view text) {
  try {
    const json message = parse(text);
    const std::string type = type_of(message);
    if (type == "welcome") return welcome_from(message);
    if (type == "rejoined") return rejoined_from(message);
    if (type == "farewell") return Farewell{text_of(message, "reason", limits::message_bytes_max)};
    if (type == "refusal") {
      return Refusal{choice(message, "kind", parse_refusal),
                     text_of(message, "text", limits::message_bytes_max)};
    }
    throw Malformed{"its type is the unknown \"" + type + '"'};
  } catch (const Malformed& wrong) {
    return BadMessage{"the producer's message cannot be read: " + wrong.text};
  }
}

}  // namespace batchcast
