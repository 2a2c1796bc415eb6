// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/error.hpp>
#include <batchcast/data/source.hpp>

#include "temporary_folder.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What the tests of all sources need: small datasets in a folder of their own.
namespace source_test {

using batchcast::testing::TemporaryFolder;

/// The bytes of numbers, as this machine has them.
template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// One part of one sample.
inline std::string part_of(const batchcast::Source& source, std::uint64_t sample_id,
                           std::size_t part) {
  batchcast::SampleParts parts;
  source.read(sample_id, parts);
  return text_of(parts[part]);
}

template <class T>
std::vector<T> values_of(const batchcast::Source& source, std::uint64_t sample_id,
                         std::size_t part) {
  const std::string bytes = part_of(source, sample_id, part);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

inline std::int64_t label_of(const batchcast::Source& source, std::uint64_t sample_id) {
  return values_of<std::int64_t>(source, sample_id, 1).at(0);
}

/// The text of the E that `action` throws; empty where it throws nothing or something else.
template <class E, class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception&) {
  }
  return {};
}

/// The text of the E that opening throws.
template <class E>
std::string refusal_to_open(const std::string& spec) {
  return refusal<E>([&] { return batchcast::open_source(spec); });
}

/// Whether all of `words` stand in `text`.
inline bool mentions(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (text.find(word) == std::string_view::npos) return false;
  }
  return true;
}

}  // namespace source_test
