// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "start_log.hpp"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <vector>

namespace batchcast::detail {
namespace {

constexpr std::streamoff bytes_max = 8 << 10;
constexpr std::size_t lines_max = 20;

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

std::string last_lines(const std::string& path) {
  const std::string text = last_bytes(path);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::string shown;
  for (std::size_t i = lines.size() - std::min(lines.size(), lines_max); i < lines.size(); ++i) {
    shown += "\n  " + lines[i];
  }
  return shown;
}

}  // namespace batchcast::detail
