// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/compared_field.hpp"

#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// How two fields belong together: an image and a mask, two masks, or two of different scales.
struct FieldBond {
  bool share_joint = false;  ///< they share a joint's stages
  bool cut_alike = false;    ///< random stages that draw alike place pixels by the image's size
};

/// Checks whether such fields show the same place of an image. The fields must outlive it.
class SamePlace {
 public:
  SamePlace(const ComparedField& a, const ComparedField& b)
      : a_(a),
        b_(b),
        has_mask_(a.field.kind == FieldKind::mask || b.field.kind == FieldKind::mask) {}

  /// Throws InvalidArgument where fields that belong together would show different places.
  void check(const FieldBond& bond) const;

 private:
  [[nodiscard]] bool draw_alike() const;
  void check_policies() const;
  void check_containers() const;
  void check_holders() const;
  void check_cuts() const;
  void check_joint() const;
  void check_lacking(const ComparedField& has, const ComparedField& lacks) const;
  [[noreturn]] void refuse_cut(const NamedStage& cut, const NamedStage& other) const;
  /// "the fields `a` and `b`"
  [[nodiscard]] std::string both() const;
  /// What they are, for messages.
  [[nodiscard]] std::string_view the_two() const noexcept;

  const ComparedField& a_;
  const ComparedField& b_;
  const bool has_mask_;
};

}  // namespace batchcast::inline v0_1::detail
