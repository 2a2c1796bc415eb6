// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/field_program.hpp"

#include "data/reason.hpp"
#include "data/refuse_at.hpp"

namespace batchcast::inline v0_1::detail {

void refuse_stage(const std::string& field, std::string_view stage, const std::string& why,
                  const std::string& where) {
  refuse_at(where, "the stage `" + std::string(stage) + "` of the field `" + field +
                       "` does not fit: " + as_reason(why) + ".");
}

}  // namespace batchcast::inline v0_1::detail
