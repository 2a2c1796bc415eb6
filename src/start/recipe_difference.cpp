// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "start/recipe_difference.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

constexpr std::size_t shown_max = 80;
constexpr int depth_max = 32;

std::string shown(const Json* value) {
  if (value == nullptr) return "nothing";
  std::string text = value->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= shown_max) return text;
  std::size_t end = shown_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

class Comparison {
 public:
  explicit Comparison(const ComparedNames& names) : names_(names) {}

  void compare(const std::string& path, const Json* stream, const Json* asked, int depth) {
    if (stream != nullptr && asked != nullptr && depth < depth_max) {
      if (*stream == *asked) return;
      if (stream->is_object() && asked->is_object()) return members(path, *stream, *asked, depth);
      if (stream->is_array() && asked->is_array() && worth_opening(*stream, *asked)) {
        return items(path, *stream, *asked, depth);
      }
    }
    found_.push_back((path.empty() ? "" : path + ": ") + names_.stream + " " + shown(stream) +
                     ", " + names_.asked + " " + shown(asked));
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(found_); }

 private:
  /// Lists of numbers are read as a whole.
  static bool worth_opening(const Json& stream, const Json& asked) {
    const auto structured = [](const Json& item) { return item.is_structured(); };
    return std::any_of(stream.begin(), stream.end(), structured) ||
           std::any_of(asked.begin(), asked.end(), structured);
  }

  void members(const std::string& path, const Json& stream, const Json& asked, int depth) {
    std::set<std::string> keys;
    for (const Json* object : {&stream, &asked}) {
      for (auto item = object->begin(); item != object->end(); ++item) keys.insert(item.key());
    }
    for (const std::string& key : keys) {
      const auto there = stream.find(key);
      const auto here = asked.find(key);
      compare(path.empty() ? key : path + "." + key, there == stream.end() ? nullptr : &*there,
              here == asked.end() ? nullptr : &*here, depth + 1);
    }
  }

  /// What a list of stages does, in order; empty for any other list.
  static std::string stages_of(const Json& list) {
    std::string names;
    for (const Json& item : list) {
      const auto stage = item.find("stage");
      if (stage == item.end() || !stage->is_string()) return {};
      names += (names.empty() ? "" : ", ") + stage->get<std::string>();
    }
    return names;
  }

  void items(const std::string& path, const Json& stream, const Json& asked, int depth) {
    // Where other stages stand, their parameters compare to nothing.
    const std::string there = stages_of(stream);
    const std::string here = stages_of(asked);
    if (!there.empty() && !here.empty() && there != here) {
      found_.push_back(path + ": " + names_.stream + " " + there + "; " + names_.asked + " " +
                       here);
      return;
    }
    for (std::size_t i = 0; i < std::max(stream.size(), asked.size()); ++i) {
      compare(path + "[" + std::to_string(i) + "]", i < stream.size() ? &stream[i] : nullptr,
              i < asked.size() ? &asked[i] : nullptr, depth + 1);
    }
  }

  const ComparedNames& names_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> recipe_differences(const Json& stream, const Json& asked,
                                            const ComparedNames& names) {
  Comparison comparison(names);
  comparison.compare("", &stream, &asked, 0);
  return comparison.take();
}

}  // namespace batchcast::inline v0_1::detail
