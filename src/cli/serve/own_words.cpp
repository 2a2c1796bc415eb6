// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/serve/own_words.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace batchcast::cli {

std::vector<std::string> own_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find('\0', begin), all.size());
    words.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::vector<std::string> without_flag(std::vector<std::string> words, std::string_view flag) {
  std::erase_if(words, [&](const std::string& word) {
    if (!word.starts_with(flag)) return false;
    return word.size() == flag.size() || word[flag.size()] == '=';
  });
  return words;
}

}  // namespace batchcast::cli
