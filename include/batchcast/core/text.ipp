// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/inline.hpp>
#include <batchcast/core/text.hpp>

namespace batchcast::inline v0_1::detail {

BATCHCAST_INLINE void TextValue::append_to(std::string& filled) const {
  switch (kind_) {
    case Kind::words:
      filled += words_;
      break;
    case Kind::sign:
      filled += sign_;
      break;
    case Kind::number:
      filled += std::to_string(number_);
      break;
    case Kind::negative:
      filled += std::to_string(static_cast<long long>(number_));
      break;
  }
}

BATCHCAST_INLINE std::string fill_text(std::string_view pattern,
                                       std::initializer_list<TextValue> values) {
  std::string filled;
  for (const TextValue& value : values) {
    const std::size_t place = pattern.find("{}");
    filled += pattern.substr(0, place);
    value.append_to(filled);
    pattern.remove_prefix(place + 2);
  }
  return filled += pattern;
}

}  // namespace batchcast::inline v0_1::detail
