// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace sweep {

/// As printf, into a string.
[[gnu::format(printf, 1, 2)]] inline std::string text_of(const char* format, ...) {
  char text[512];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return text;
}

/// 1234567 as 1,234,567.
[[nodiscard]] inline std::string count_text(double count) {
  std::string text = text_of("%.0f", count);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

/// A few lines of stdout that are drawn over and over on a terminal; elsewhere they are printed one
/// below the other, now and then.
class Progress {
 public:
  explicit Progress(double seconds_between)
      : terminal_(::isatty(STDOUT_FILENO) == 1 && std::string_view(term()) != "dumb"),
        seconds_between_(seconds_between) {}

  void show(const std::vector<std::string>& lines, bool last = false) {
    const double every = terminal_ ? 0.1 : seconds_between_;
    if (!last && std::chrono::duration<double>(Clock::now() - shown_).count() < every) return;
    shown_ = Clock::now();
    go_up();
    for (const std::string& line : lines) print(line);
    drawn_ = terminal_ && !last ? lines.size() : 0;
    std::fflush(stdout);
  }

  /// A line that stays, above the others.
  void say(const std::string& line) {
    go_up();
    if (terminal_) std::printf("\033[J");
    drawn_ = 0;
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static const char* term() {
    const char* name = std::getenv("TERM");
    return name == nullptr ? "dumb" : name;
  }

  void go_up() const {
    if (drawn_ > 0) std::printf("\033[%zuA", drawn_);
  }

  void print(const std::string& line) const {
    if (!terminal_) {
      std::printf("%s\n", line.c_str());
      return;
    }
    // A line that the terminal broke in two would be two to go up by.
    winsize size{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    const std::size_t columns = known ? size.ws_col - 1U : 79;
    std::printf("%s\033[K\n", line.substr(0, columns).c_str());
  }

  bool terminal_;
  double seconds_between_;
  std::size_t drawn_ = 0;
  Clock::time_point shown_;
};

/// How far something is, in `width` characters.
[[nodiscard]] inline std::string bar(double share, std::size_t width) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(width) + 0.5);
  return std::string(full, '#') + std::string(width - full, '.');
}

}  // namespace sweep
