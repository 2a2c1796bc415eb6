// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "start/serve_log.hpp"

#include <batchcast/starting/start_process.hpp>

#include <algorithm>
#include <cstddef>
#include <fstream>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::streamoff bytes_max = 8 << 10;

std::string last_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  const std::streamoff begin = std::max<std::streamoff>(0, size - bytes_max);
  std::string text(static_cast<std::size_t>(size - begin), '\0');
  file.seekg(begin);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  if (begin > 0) text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
  return text;
}

}  // namespace

std::string last_lines(const std::string& path) { return indented_end(last_bytes(path)); }

}  // namespace batchcast::inline v0_1::detail
