// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/image_folder/class_list.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/printable.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::size_t list_bytes_max = std::size_t{64} << 20;

std::string contents_of(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  std::ifstream file;
  // A pipe would wait for its other end.
  if (std::filesystem::is_regular_file(status)) file.open(path, std::ios::binary);
  if (!file.is_open()) {
    throw BadDataset(
        text("batchcast: `classes`: {} {}. A text file with the name of a class in "
             "each line is expected.",
             path, std::filesystem::exists(status) ? "cannot be read" : "is not there"));
  }
  std::string content(std::filesystem::file_size(path, error), '\0');
  if (error || content.size() > list_bytes_max) {
    throw BadDataset(
        text("batchcast: `classes`: {} has more than 64 MiB, and is no list of classes.", path));
  }
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(file.gcount()));
  return content;
}

}  // namespace

std::vector<std::string> read_class_list(const std::string& path,
                                         std::span<const std::string> folders) {
  const std::string content = contents_of(path);
  std::string_view rest = content;
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (rest.starts_with(byte_order_mark)) rest.remove_prefix(byte_order_mark.size());
  std::vector<std::string> classes;
  std::map<std::string, std::size_t, std::less<>> lines;
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string name(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name.ends_with('\r')) name.pop_back();
    if (name.find_first_not_of(" \t") == std::string::npos) continue;
    if (!std::binary_search(folders.begin(), folders.end(), name)) {
      throw BadDataset(text("batchcast: {}:{}: there is no folder `{}` in the dataset.{}", path,
                            line, printable(name), did_you_mean(name, folders)));
    }
    const auto [earlier, added] = lines.emplace(name, line);
    if (!added) {
      throw BadDataset(text("batchcast: {}:{}: the class `{}` stands in line {} already.", path,
                            line, printable(name), earlier->second));
    }
    classes.push_back(std::move(name));
  }
  if (classes.empty()) {
    throw BadDataset(text("batchcast: `classes`: {} names no class.", path));
  }
  return classes;
}

}  // namespace batchcast::inline v0_1::detail
