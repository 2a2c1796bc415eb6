// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "observe/grid.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace batchcast::cli {

/// The terminal of stdin and stdout, as long as one lives: cleared at first, and as it was before
/// at the end. One at a time, for the thread that made it, which gets the terminal's signals.
class Terminal {
 public:
  /// Null where there is no terminal that can be drawn on: another file, TERM dumb or not known.
  [[nodiscard]] static std::unique_ptr<Terminal> open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  struct Size {
    std::size_t width = 0;
    std::size_t height = 0;
  };
  /// At present, and at least 1 by 1.
  [[nodiscard]] Size size();
  /// Whether only characters of ASCII can be shown.
  [[nodiscard]] bool is_ascii() const noexcept { return ascii_; }

  void show(const observe::Grid& grid);
  /// The next `show` draws everything again.
  void forget();
  /// A key of `observe::Key`; waits for one at most that long.
  [[nodiscard]] std::uint32_t key(int timeout_ms);
  /// False once the terminal was closed.
  [[nodiscard]] bool is_there() const noexcept;

 private:
  struct Screen;
  explicit Terminal(std::unique_ptr<Screen> screen);
  void choose_colors();

  std::unique_ptr<Screen> screen_;
  bool ascii_ = false;
  bool has_colors_ = false;
};

}  // namespace batchcast::cli
