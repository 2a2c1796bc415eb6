// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/later_sizes.hpp"

#include "data/reason.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/data/stage.hpp>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace {

// All random sizes of a recipe may be combined; these are far more than any recipe has.
constexpr std::size_t sizes_max = 4096;

using Sizes = std::vector<ImageSize>;

bool is_before(const ImageSize& a, const ImageSize& b) noexcept {
  return std::tie(a.width, a.height) < std::tie(b.width, b.height);
}

std::string words(ImageSize size) { return text("{} x {}", size.width, size.height); }

/// `238 x 317 to 298 x 397 pixels`, of sorted sizes.
std::string words(const Sizes& sizes) {
  if (sizes.size() == 1) return words(sizes.front()) + " pixels";
  return text("{} to {} pixels", words(sizes.front()), words(sizes.back()));
}

class Search {
 public:
  explicit Search(ImageSize size) : sizes_{size} {}

  std::optional<LaterFailure> run(std::span<const NamedStage> stages) {
    for (const NamedStage& stage : stages) {
      walk(stage);
      if (failure_ || sizes_.empty()) break;
    }
    return std::move(failure_);
  }

 private:
  void walk(const NamedStage& named) {
    if (failure_ || sizes_.empty()) return;
    if (const GeometryStage* geometry = named.stage->as_geometry()) return place(named, *geometry);
    if (const ContainerStage* container = named.stage->as_container())
      return choose(named, *container);
  }

  void place(const NamedStage& named, const GeometryStage& stage) {
    Sizes made;
    bool is_known = true;
    std::string why;
    for (const ImageSize size : sizes_) {
      try {
        const Sizes some = stage.extremes(size);
        if (some.empty()) is_known = false;
        made.insert(made.end(), some.begin(), some.end());
      } catch (const InvalidArgument& error) {
        if (why.empty()) why = as_reason(error.what());
      } catch (const BadSample& error) {
        if (why.empty()) why = as_reason(error.what());
      }
    }
    if (!why.empty() && !made.empty()) {
      failure_ = {named.path, text("before it, draws give {}: {}", words(sizes_), why)};
    }
    sizes_ = is_known ? std::move(made) : Sizes();
    settle();
  }

  void choose(const NamedStage& named, const ContainerStage& container) {
    const Branching branching = container.branching();
    const Sizes in = sizes_;
    Sizes out;
    if (branching == Branching::all || branching == Branching::all_or_none) {
      for (const NamedStage& inner : named.stages) walk(inner);
      if (sizes_.empty()) return;
      out = sizes_;
      if (branching == Branching::all_or_none) out.insert(out.end(), in.begin(), in.end());
    } else {
      if (branching == Branching::any) out = in;
      for (const NamedStage& inner : named.stages) {
        sizes_ = in;
        walk(inner);
        if (sizes_.empty()) return;
        out.insert(out.end(), sizes_.begin(), sizes_.end());
      }
    }
    sizes_ = std::move(out);
    settle();
  }

  void settle() {
    std::sort(sizes_.begin(), sizes_.end(), is_before);
    sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
    if (sizes_.size() > sizes_max) sizes_.clear();
  }

  Sizes sizes_;  ///< that may come in; empty: not known
  std::optional<LaterFailure> failure_;
};

}  // namespace

std::optional<LaterFailure> later_failure(std::span<const NamedStage> stages, ImageSize size) {
  return Search(size).run(stages);
}

}  // namespace batchcast::inline v0_1::detail
