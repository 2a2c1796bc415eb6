// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/error.hpp>
#include <batchcast/data/source.hpp>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catch.hpp"
#include "data/source/source_kinds.hpp"
#include "tar_writer.hpp"
#include "temporary_folder.hpp"

// What the tests of webdatasets share.
namespace webdataset_test {

namespace bc = batchcast;
using bc::test::gzip_of;
using bc::test::TarWriter;
using bc::test::zstd_of;
using bc::testing::TemporaryFolder;
using Catch::Contains;
using Strings = std::vector<std::string>;

inline std::unique_ptr<bc::Source> open(const std::string& patterns,
                                        const std::string& options = {}) {
  return bc::detail::open_webdataset(patterns, bc::detail::SourceOptions("webdataset", options));
}

inline Strings part_names(const bc::Source& source) {
  Strings names;
  for (const bc::PartSpec& part : source.parts()) names.push_back(part.name);
  return names;
}

inline Strings part_bytes(const bc::Source& source, std::uint64_t sample) {
  bc::SampleParts parts;
  source.read(sample, parts);
  Strings all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    all.emplace_back(reinterpret_cast<const char*>(parts[i].data()), parts[i].size());
  }
  return all;
}

inline std::string as_bytes(std::int64_t value) {
  std::string text(sizeof value, '\0');
  std::memcpy(text.data(), &value, sizeof value);
  return text;
}

inline std::string joined(std::span<const std::string> lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Sample i of a shard: a text whose length differs from its neighbours', and a label.
inline std::string text_of(int shard, int i) {
  return std::string(static_cast<std::size_t>(1 + 613 * i % 2000),
                     static_cast<char>('a' + i % 26)) +
         std::to_string(shard);
}
inline TarWriter shard_of(int shard, int samples) {
  TarWriter tar;
  for (int i = 0; i < samples; ++i) {
    const std::string key = "train/" + std::to_string(100 * shard + i);
    tar.add(key + ".jpg", text_of(shard, i)).add(key + ".cls", std::to_string(i) + "\n");
  }
  return tar;
}

}  // namespace webdataset_test
