// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "start/recipe_difference.hpp"

#include <batchcast/core/text.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

constexpr std::size_t json_max = 80;
constexpr std::size_t names_max = 400;
constexpr int depth_max = 32;

std::string cut(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

std::string name_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The names of a list of stages, or of fields with their stages; nothing for any other list.
std::optional<std::string> names_of(const Json& list) {
  std::string names;
  for (const Json& item : list) {
    if (!item.is_object()) return std::nullopt;
    std::string name = name_in(item, "stage");
    if (name.empty()) name = name_in(item, "name");
    if (name.empty()) return std::nullopt;
    if (const auto stages = item.find("stages"); stages != item.end() && stages->is_array()) {
      const std::optional<std::string> of_field = names_of(*stages);
      if (of_field && !of_field->empty()) name += text(" ({})", *of_field);
    }
    names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

std::string shown(const Json* value) { return value == nullptr ? "nothing" : in_words(*value); }

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
    found_.push_back(text("{}{} {}, {} {}", path.empty() ? "" : text("{}: ", path), names_.stream,
                          shown(stream), names_.asked, shown(asked)));
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
      compare(path.empty() ? key : text("{}.{}", path, key),
              there == stream.end() ? nullptr : &*there, here == asked.end() ? nullptr : &*here,
              depth + 1);
    }
  }

  /// What a list of stages does, in order; nothing for any other list.
  static std::optional<std::string> stages_of(const Json& list) {
    const bool are_stages = std::all_of(list.begin(), list.end(), [](const Json& item) {
      return item.is_object() && !name_in(item, "stage").empty();
    });
    return are_stages ? names_of(list) : std::nullopt;
  }

  void items(const std::string& path, const Json& stream, const Json& asked, int depth) {
    // Parameters of different stages cannot be compared.
    const std::optional<std::string> there = stages_of(stream);
    const std::optional<std::string> here = stages_of(asked);
    if (there && here && *there != *here) {
      const auto listed = [](const std::string& names) { return names.empty() ? "none" : names; };
      found_.push_back(text("{}: {} {}; {} {}", path, names_.stream, listed(*there), names_.asked,
                            listed(*here)));
      return;
    }
    for (std::size_t i = 0; i < std::max(stream.size(), asked.size()); ++i) {
      compare(text("{}[{}]", path, i), i < stream.size() ? &stream[i] : nullptr,
              i < asked.size() ? &asked[i] : nullptr, depth + 1);
    }
  }

  const ComparedNames& names_;
  std::vector<std::string> found_;
};

}  // namespace

std::string in_words(const Json& value) {
  const std::optional<std::string> names =
      value.is_array() && !value.empty() ? names_of(value) : names_of(Json::array({value}));
  if (names) return cut(*names, names_max);
  return cut(value.dump(-1, ' ', false, Json::error_handler_t::replace), json_max);
}

std::vector<std::string> recipe_differences(const Json& stream, const Json& asked,
                                            const ComparedNames& names) {
  Comparison comparison(names);
  comparison.compare("", &stream, &asked, 0);
  return comparison.take();
}

}  // namespace batchcast::inline v0_1::detail
