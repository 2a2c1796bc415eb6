// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/layout_version.hpp>
#include <batchcast/join/records.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// What writes a record, at either end.
namespace batchcast::inline v0_1::detail::message_encode {

template <class Record>
Record blank(std::uint32_t version = layout_version) noexcept {
  Record record{};
  record.head.magic = record_magic;
  record.head.layout_version = version;
  record.head.type = static_cast<std::uint32_t>(Record::type);
  record.head.bytes = sizeof(Record);
  return record;
}

template <class Record>
std::string to_datagram(const Record& record) {
  return {reinterpret_cast<const char*>(&record), sizeof record};
}

template <std::size_t n>
void put_name(std::array<char, n>& to, std::string_view name) noexcept {
  std::copy_n(name.begin(), std::min(name.size(), n - 1), to.begin());
}

}  // namespace batchcast::inline v0_1::detail::message_encode
