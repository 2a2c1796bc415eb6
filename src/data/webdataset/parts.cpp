// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/webdataset/parts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::array<std::string_view, 4> image_suffixes = {"jpg", "jpeg", "png", "webp"};
constexpr std::array<std::string_view, 3> integer_extensions = {"cls", "label", "index"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::size_t suffix_begin(std::string_view extension) {
  const std::size_t dot = extension.rfind('.');
  return dot == std::string_view::npos ? 0 : dot + 1;
}

PartMeaning meaning_of(std::string_view extension) {
  const std::string_view suffix = extension.substr(suffix_begin(extension));
  if (is_one_of(image_suffixes, suffix)) return PartMeaning::image;
  if (suffix == "npy") return PartMeaning::npy;
  return is_one_of(integer_extensions, extension) ? PartMeaning::integer : PartMeaning::other;
}

// Extensions of the same image in different formats: jpg and png, input.jpg and input.png.
struct ImageGroup {
  std::string_view prefix;  ///< with its dot
  ExtensionSet members = 0;
  bool one_part = true;
  std::optional<std::size_t> part = {};
};

std::vector<ImageGroup> image_groups(std::span<const std::string> extensions,
                                     const std::set<ExtensionSet>& samples) {
  std::vector<ImageGroup> groups;
  for (std::size_t i = 0; i < extensions.size(); ++i) {
    const std::string_view extension = extensions[i];
    if (meaning_of(extension) != PartMeaning::image) continue;
    const std::string_view prefix = extension.substr(0, suffix_begin(extension));
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const ImageGroup& g) { return g.prefix == prefix; });
    if (group == groups.end()) group = groups.insert(groups.end(), {prefix});
    group->members |= ExtensionSet{1} << i;
  }
  for (ImageGroup& group : groups) {
    group.one_part = std::none_of(samples.begin(), samples.end(), [&](ExtensionSet sample) {
      return std::popcount(sample & group.members) > 1;
    });
  }
  return groups;
}

PartSpec spec_of(PartMeaning meaning, std::string name) {
  switch (meaning) {
    case PartMeaning::image:
      return {.name = std::move(name), .kind = PartKind::image};
    case PartMeaning::integer:
    case PartMeaning::class_name:
      return {.name = std::move(name), .kind = PartKind::tensor, .dtype = DType::i64};
    case PartMeaning::npy:
      return {.name = std::move(name), .kind = PartKind::tensor};
    case PartMeaning::other:
      break;
  }
  return {.name = std::move(name), .kind = PartKind::bytes};
}

class Planner {
 public:
  Planner(std::span<const std::string> extensions, const std::set<ExtensionSet>& samples,
          bool labels_are_names)
      : extensions_(extensions),
        groups_(image_groups(extensions, samples)),
        labels_are_names_(labels_are_names) {}

  PartPlan run() {
    for (std::size_t i = 0; i < extensions_.size(); ++i) plan_.part_of.push_back(part_of(i));
    name_only_image();
    return std::move(plan_);
  }

 private:
  std::size_t part_of(std::size_t extension) {
    PartMeaning meaning = meaning_of(extensions_[extension]);
    const bool is_label = meaning == PartMeaning::integer && extensions_[extension] != "index";
    if (is_label && labels_are_names_) meaning = PartMeaning::class_name;
    if (meaning != PartMeaning::image) return add(meaning, name_of(extension));
    for (ImageGroup& group : groups_) {
      if ((group.members >> extension & 1) == 0 || !group.one_part) continue;
      if (!group.part) group.part = add(meaning, name_of(group, extension));
      return *group.part;
    }
    return add(meaning, extensions_[extension]);
  }

  std::size_t add(PartMeaning meaning, std::string name) {
    plan_.parts.push_back(spec_of(meaning, std::move(name)));
    plan_.meanings.push_back(meaning);
    return plan_.parts.size() - 1;
  }

  [[nodiscard]] bool is_extension(std::string_view name) const {
    return std::find(extensions_.begin(), extensions_.end(), name) != extensions_.end();
  }

  [[nodiscard]] std::string name_of(std::size_t extension) const {
    const bool is_label = extensions_[extension] == "cls" && !is_extension("label");
    return is_label ? "label" : extensions_[extension];
  }

  [[nodiscard]] std::string name_of(const ImageGroup& group, std::size_t extension) const {
    const std::string several = std::string(group.prefix) + "image";
    const bool one_format = std::has_single_bit(group.members);
    return one_format || is_extension(several) ? extensions_[extension] : several;
  }

  void name_only_image() {
    const auto images =
        std::count(plan_.meanings.begin(), plan_.meanings.end(), PartMeaning::image);
    if (images != 1 || is_extension("image")) return;
    const auto at = std::find(plan_.meanings.begin(), plan_.meanings.end(), PartMeaning::image);
    plan_.parts[static_cast<std::size_t>(at - plan_.meanings.begin())].name = "image";
  }

  std::span<const std::string> extensions_;
  std::vector<ImageGroup> groups_;
  bool labels_are_names_;
  PartPlan plan_;
};

}  // namespace

MemberName split_member_name(std::string_view name) noexcept {
  const std::size_t slash = name.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base) return {name, {}};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

PartPlan plan_parts(std::span<const std::string> extensions, const std::set<ExtensionSet>& samples,
                    bool labels_are_names) {
  return Planner(extensions, samples, labels_are_names).run();
}

}  // namespace batchcast::inline v0_1::detail
