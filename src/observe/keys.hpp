// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "observe/screen.hpp"

#include <cstdint>
#include <string>

namespace batchcast::inline v0_1::observe {

/// A key, or a character of Unicode.
enum Key : std::uint32_t {
  key_ctrl_c = 3,
  key_ctrl_l = 12,
  key_enter = 13,
  key_escape = 27,
  key_backspace = 127,
  key_up = 0x110000,  // above all characters
  key_down,
  key_page_up,
  key_page_down,
  key_home,
  key_end,
  key_f1,
  key_f3,
  key_f4,
  key_f5,
  key_f6,
  key_f9,
  key_f10,
  key_none,
};

/// What the program has to do for a key, besides drawing again.
struct Order {
  enum class What : std::uint8_t { nothing, quit, redraw, save, evict, stop };
  What what = What::nothing;
  Entry target = {};
};

/// Changes what the user chose. `rows`: of the list on the screen. An order to evict or stop comes
/// after the user has said y to the question.
[[nodiscard]] Order press(std::uint32_t key, const Overview& overview, Choices& choices,
                          std::size_t rows);

}  // namespace batchcast::inline v0_1::observe
