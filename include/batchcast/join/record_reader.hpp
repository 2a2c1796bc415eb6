// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/limits.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/core/utf8.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/join/records.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

// What reads a datagram strictly, at either end: each throws Malformed.
namespace batchcast::inline v0_1::detail::message {

inline constexpr std::uint64_t number_max = limits::position_max - 1;

/// What is wrong with a message. Never leaves the function that decodes it.
struct Malformed {
  std::string text;
};

inline RecordHead head_of(std::string_view datagram) {
  RecordHead head;
  if (datagram.size() < sizeof head) {
    throw Malformed{text("its {} bytes are fewer than any record has", datagram.size())};
  }
  std::memcpy(&head, datagram.data(), sizeof head);
  if (head.magic != record_magic) {
    throw Malformed{"it does not begin with the magic bytes of a record"};
  }
  if (head.bytes != datagram.size()) {
    throw Malformed{
        text("it takes {} bytes, and says that it has {}", datagram.size(), head.bytes)};
  }
  return head;
}

inline bool is(const RecordHead& head, RecordType type) noexcept {
  return head.type == static_cast<std::uint32_t>(type);
}

inline Malformed of_unknown_type(const RecordHead& head) {
  return {text("its type is the unknown {}", head.type)};
}

template <class Record>
Record record_in(std::string_view datagram) {
  if (datagram.size() < Record::bytes_min) {
    throw Malformed{text("its {} bytes are too few for its type, which has at least {}",
                         datagram.size(), Record::bytes_min)};
  }
  Record record{};
  std::memcpy(static_cast<void*>(&record), datagram.data(),
              std::min(datagram.size(), sizeof record));
  return record;
}

inline std::uint64_t number(std::uint64_t value, const char* key, std::uint64_t least,
                            std::uint64_t most) {
  if (value >= least && value <= most) return value;
  throw Malformed{text("\"{}\" is {}, not from {} to {}", key, value, least, most)};
}

inline std::uint32_t small_number(std::uint32_t value, const char* key, std::uint32_t most) {
  return static_cast<std::uint32_t>(number(value, key, 0, most));
}

template <class Enum>
Enum choice(std::uint32_t value, const char* key, std::uint32_t count) {
  if (value < count) return static_cast<Enum>(value);
  throw Malformed{text("\"{}\" is the unknown {}", key, value)};
}

template <std::size_t n>
std::string text_in(const std::array<char, n>& field, const char* key) {
  const auto end = std::find(field.begin(), field.end(), '\0');
  if (end == field.end()) throw Malformed{text("\"{}\" has no end", key)};
  std::string result(field.begin(), end);
  if (!detail::is_utf8(result)) throw Malformed{text("\"{}\" is no valid UTF-8", key)};
  return result;
}

inline bool is_in_names(char c) noexcept { return c >= ' ' && c <= '~'; }

inline std::string name_in(const NameText& field, const char* key, std::size_t bytes_max) {
  const auto end = std::find(field.begin(), field.end(), '\0');
  const auto bytes = static_cast<std::size_t>(end - field.begin());
  if (end == field.end() || bytes > bytes_max) {
    throw Malformed{text("\"{}\" takes more than {} bytes", key, bytes_max)};
  }
  if (std::any_of(end, field.end(), [](char c) { return c != '\0'; })) {
    throw Malformed{text("\"{}\" goes on after its end", key)};
  }
  if (!std::all_of(field.begin(), end, is_in_names)) {
    throw Malformed{text("\"{}\" has characters that are not printable ASCII", key)};
  }
  return {field.begin(), end};
}

inline std::string placement_in(const NameText& field) {
  std::string placement = name_in(field, "placement", sizeof field - 1);
  if (placement.empty()) throw Malformed{"\"placement\" is empty"};
  return placement;
}

inline Refusal refusal_of_layout(std::uint32_t producer, std::uint32_t consumer) {
  return {RefusalKind::layout,
          text("batchcast: the producer speaks layout version {}, the consumer version {}. Use the "
               "same release of batchcast for both: start the producer again with the consumer's, "
               "or run the consumer with the producer's.",
               producer, consumer)};
}

}  // namespace batchcast::inline v0_1::detail::message
