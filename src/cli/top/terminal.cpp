// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/top/terminal.hpp"

#include "observe/keys.hpp"

// Its macros are named like functions of the standard library.
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace batchcast::cli {
namespace {

using observe::Style;

constexpr short good_pair = 1;
constexpr short warn_pair = 2;
constexpr short bad_pair = 3;

bool is_drawn_on() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) return false;
  const char* const name = std::getenv("TERM");
  return name != nullptr && *name != '\0' && std::string_view(name) != "dumb";
}

/// What the kernel says; zeros where it does not.
winsize window_size() noexcept {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

attr_t attributes_of(Style style, bool has_colors) {
  const auto color = [has_colors](short pair, attr_t otherwise) -> attr_t {
    return has_colors ? static_cast<attr_t>(COLOR_PAIR(pair)) : otherwise;
  };
  switch (style) {
    case Style::title:
      return A_BOLD;
    case Style::head:
    case Style::selected:
      return A_REVERSE;
    case Style::dim:
      return A_DIM;
    case Style::good:
      return color(good_pair, A_NORMAL);
    case Style::warn:
      return color(warn_pair, A_BOLD);
    case Style::bad:
      return color(bad_pair, A_BOLD) | A_BOLD;
    case Style::plain:
      break;
  }
  return A_NORMAL;
}

std::uint32_t special_key(wint_t code) noexcept {
  switch (code) {
    case KEY_UP:
      return observe::key_up;
    case KEY_DOWN:
      return observe::key_down;
    case KEY_PPAGE:
      return observe::key_page_up;
    case KEY_NPAGE:
      return observe::key_page_down;
    case KEY_HOME:
      return observe::key_home;
    case KEY_END:
      return observe::key_end;
    case KEY_ENTER:
      return observe::key_enter;
    case KEY_BACKSPACE:
      return observe::key_backspace;
    case KEY_F(1):
      return observe::key_f1;
    case KEY_F(3):
      return observe::key_f3;
    case KEY_F(4):
      return observe::key_f4;
    case KEY_F(5):
      return observe::key_f5;
    case KEY_F(6):
      return observe::key_f6;
    case KEY_F(9):
      return observe::key_f9;
    case KEY_F(10):
      return observe::key_f10;
    default:
      return observe::key_none;
  }
}

}  // namespace

struct Terminal::Screen {
  SCREEN* screen = nullptr;
};

std::unique_ptr<Terminal> Terminal::open() {
  if (!is_drawn_on()) return nullptr;
  std::setlocale(LC_CTYPE, "");
  // In the environment they would freeze the size.
  if (window_size().ws_col != 0) {
    ::unsetenv("LINES");
    ::unsetenv("COLUMNS");
  }
  // Unlike initscr() it does not end the process where TERM is not known.
  SCREEN* const made = ::newterm(nullptr, stdout, stdin);
  if (made == nullptr) return nullptr;
  auto screen = std::make_unique<Screen>();
  screen->screen = made;
  return std::unique_ptr<Terminal>(new Terminal(std::move(screen)));
}

Terminal::Terminal(std::unique_ptr<Screen> screen) : screen_(std::move(screen)) {
  ascii_ = std::string_view(::nl_langinfo(CODESET)) != "UTF-8";
  ::set_term(screen_->screen);
  ::cbreak();
  ::noecho();
  ::nonl();
  ::keypad(stdscr, TRUE);
  ::set_escdelay(25);
  ::curs_set(0);
  choose_colors();
}

Terminal::~Terminal() {
  ::endwin();
  ::delscreen(screen_->screen);
}

void Terminal::choose_colors() {
  const char* const unwanted = std::getenv("NO_COLOR");
  if ((unwanted != nullptr && *unwanted != '\0') || !::has_colors()) return;
  if (::start_color() == ERR) return;
  const short background = ::use_default_colors() == OK ? short{-1} : short{COLOR_BLACK};
  ::init_pair(good_pair, COLOR_GREEN, background);
  ::init_pair(warn_pair, COLOR_YELLOW, background);
  ::init_pair(bad_pair, COLOR_RED, background);
  has_colors_ = true;
}

Terminal::Size Terminal::size() {
  const winsize now = window_size();
  if (now.ws_col != 0 && now.ws_row != 0 &&
      (now.ws_row != getmaxy(stdscr) || now.ws_col != getmaxx(stdscr))) {
    ::resizeterm(now.ws_row, now.ws_col);
    ::clearok(curscr, TRUE);
  }
  const auto at_least_one = [](int count) { return static_cast<std::size_t>(std::max(count, 1)); };
  return {at_least_one(getmaxx(stdscr)), at_least_one(getmaxy(stdscr))};
}

void Terminal::show(const observe::Grid& grid) {
  ::werase(stdscr);
  for (std::size_t row = 0; row < grid.height(); ++row) {
    for (std::size_t column = 0; column < grid.width(); ++column) {
      const observe::Cell& cell = grid.at(row, column);
      if (cell.glyph.empty()) continue;  // the other half of a wide character
      const bool is_blank =
          cell.glyph == " " && cell.style != Style::head && cell.style != Style::selected;
      if (is_blank) continue;
      ::wattrset(stdscr, static_cast<int>(attributes_of(cell.style, has_colors_)));
      ::mvwaddstr(stdscr, static_cast<int>(row), static_cast<int>(column), cell.glyph.c_str());
    }
  }
  ::wattrset(stdscr, A_NORMAL);
  ::wrefresh(stdscr);
}

void Terminal::forget() { ::clearok(curscr, TRUE); }

std::uint32_t Terminal::key(int timeout_ms) {
  ::wtimeout(stdscr, timeout_ms);
  wint_t code = 0;
  const int kind = ::wget_wch(stdscr, &code);
  if (kind == KEY_CODE_YES) return special_key(code);
  return kind == OK ? static_cast<std::uint32_t>(code)
                    : static_cast<std::uint32_t>(observe::key_none);
}

bool Terminal::is_there() const noexcept {
  pollfd in{STDIN_FILENO, POLLIN, 0};
  return ::poll(&in, 1, 0) < 0 || (in.revents & (POLLHUP | POLLERR | POLLNVAL)) == 0;
}

}  // namespace batchcast::cli
