// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/keys.hpp"

#include <batchcast/core/text.hpp>
#include <batchcast/core/utf8.hpp>

#include <algorithm>
#include <vector>

namespace batchcast::inline v0_1::observe {
namespace {

using What = Order::What;

constexpr std::size_t typed_bytes_max = 63;

void type(std::uint32_t key, std::string& text) {
  if (key == key_backspace || key == 8) {
    if (!text.empty()) text = std::string(detail::utf8_prefix(text, text.size() - 1));
    return;
  }
  if (key < 0x20 || key >= 0x110000 || text.size() + 4 > typed_bytes_max) return;
  if (key < 0x80) {
    text += static_cast<char>(key);
  } else if (key < 0x800) {
    text += static_cast<char>(0xc0U | key >> 6);
    text += static_cast<char>(0x80U | (key & 0x3fU));
  } else if (key < 0x10000) {
    text += static_cast<char>(0xe0U | key >> 12);
    text += static_cast<char>(0x80U | (key >> 6 & 0x3fU));
    text += static_cast<char>(0x80U | (key & 0x3fU));
  } else {
    text += static_cast<char>(0xf0U | key >> 18);
    text += static_cast<char>(0x80U | (key >> 12 & 0x3fU));
    text += static_cast<char>(0x80U | (key >> 6 & 0x3fU));
    text += static_cast<char>(0x80U | (key & 0x3fU));
  }
}

const std::string& name_of_entry(const Overview& overview, const Entry& entry) {
  return entry.trainer.empty() ? overview.streams[entry.stream].name : entry.trainer;
}

/// Selects the next entry, from `from` on, whose name contains what is searched for.
void find(const Overview& overview, Choices& choices, std::size_t from) {
  const std::vector<Entry> entries = entries_of(overview, choices);
  if (choices.search.empty()) return;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t at = (from + i) % entries.size();
    if (name_of_entry(overview, entries[at]).find(choices.search) == std::string::npos) continue;
    choices.selected = at;
    return;
  }
}

void ask(const Overview& overview, Choices& choices) {
  const std::vector<Entry> entries = entries_of(overview, choices);
  if (choices.selected >= entries.size()) return;
  const Entry& entry = entries[choices.selected];
  const std::string& stream = overview.streams[entry.stream].name;
  choices.mode = Mode::asks;
  choices.question = entry.trainer.empty()
                         ? text("Stop stream `{}` for all of its trainers? [y/N]", stream)
                         : text("Evict `{}` from stream `{}`? [y/N]", entry.trainer, stream);
  choices.asked = entry;
  choices.asked_stream = stream;
}

Order answered(std::uint32_t key, const Overview& overview, Choices& choices) {
  choices.mode = Mode::list;
  if (key != 'y' && key != 'Y') return {};
  // The list may have changed while it asked.
  for (std::size_t i = 0; i < overview.streams.size(); ++i) {
    if (overview.streams[i].name != choices.asked_stream) continue;
    choices.asked.stream = i;
    return {choices.asked.trainer.empty() ? What::stop : What::evict, choices.asked};
  }
  choices.note = text("stream `{}` is gone", choices.asked_stream);
  return {};
}

Order typed(std::uint32_t key, const Overview& overview, Choices& choices) {
  const bool searches = choices.mode == Mode::search;
  std::string& text = searches ? choices.search : choices.filter;
  if (key == key_escape) {
    text.clear();
    choices.mode = Mode::list;
    return {searches ? What::nothing : What::save};
  }
  if (key == key_enter || key == '\n') {
    choices.mode = Mode::list;
    return {searches ? What::nothing : What::save};
  }
  if (searches && key == key_f3) {
    find(overview, choices, choices.selected + 1);
    return {};
  }
  type(key, text);
  if (searches) find(overview, choices, choices.selected);
  return {};
}

/// True where the key moves in the list.
bool move(std::uint32_t key, Choices& choices, std::size_t rows, std::size_t entries) {
  const bool scrolls = choices.mode != Mode::list;
  std::size_t& at = scrolls ? choices.top : choices.selected;
  const std::size_t page = std::max<std::size_t>(rows, 1);
  const std::size_t last = scrolls ? at + page : entries == 0 ? 0 : entries - 1;
  switch (key) {
    case key_up:
      at -= at > 0 ? 1 : 0;
      return true;
    case key_down:
      at = std::min(at + 1, last);
      return true;
    case key_page_up:
      at -= std::min(at, page);
      return true;
    case key_page_down:
      at = std::min(at + page, last);
      return true;
    case key_home:
      at = 0;
      return true;
    case key_end:
      at = last;
      return true;
    default:
      return false;
  }
}

Order sort_by(SortKey key, Choices& choices) {
  choices.reversed = choices.sort == key && !choices.reversed;
  choices.sort = key;
  return {What::save};
}

Order sort_beside(std::size_t step, Choices& choices) {
  const std::size_t at = (static_cast<std::size_t>(choices.sort) + step) % sort_keys;
  choices.sort = static_cast<SortKey>(at);
  choices.reversed = false;
  return {What::save};
}

Order sorted(std::uint32_t key, Choices& choices) {
  switch (key) {
    case key_f6:
    case '>':
      return sort_beside(1, choices);
    case '<':
      return sort_beside(sort_keys - 1, choices);
    case 'I':
      choices.reversed = !choices.reversed;
      return {What::save};
    case 'N':
      return sort_by(SortKey::name, choices);
    case 'P':
      return sort_by(SortKey::rate, choices);
    case 'M':
      return sort_by(SortKey::lag, choices);
    case 'T':
      return sort_by(SortKey::waits, choices);
    default:
      return {};
  }
}

void turn_to(Mode mode, Choices& choices) {
  choices.mode = mode;
  choices.top = 0;
}

Order pressed_in_list(std::uint32_t key, const Overview& overview, Choices& choices) {
  switch (key) {
    case key_f1:
    case 'h':
    case '?':
      turn_to(Mode::help, choices);
      return {};
    case key_enter:
    case '\n':
      if (!overview.streams.empty()) turn_to(Mode::details, choices);
      return {};
    case key_f3:
    case '/':
      choices.mode = Mode::search;
      choices.search.clear();
      return {};
    case 'n':
      find(overview, choices, choices.selected + 1);
      return {};
    case key_f4:
    case '\\':
      choices.mode = Mode::filter;
      return {};
    case key_f9:
    case 'k':
      ask(overview, choices);
      return {};
    case ' ':
    case 'Z':
      choices.frozen = !choices.frozen;
      return {};
    default:
      return sorted(key, choices);
  }
}

Order pressed(std::uint32_t key, const Overview& overview, Choices& choices, std::size_t rows) {
  choices.note.clear();
  if (key == key_ctrl_c || key == key_f10) return {What::quit};
  if (key == key_ctrl_l || key == key_f5) return {What::redraw};
  if (choices.mode == Mode::asks) return answered(key, overview, choices);
  if (choices.mode == Mode::search || choices.mode == Mode::filter) {
    return typed(key, overview, choices);
  }
  if (key == 'q') return {What::quit};
  if (move(key, choices, rows, entries_of(overview, choices).size())) return {};
  if (choices.mode != Mode::list) {
    turn_to(Mode::list, choices);
    return {};
  }
  return pressed_in_list(key, overview, choices);
}

}  // namespace

Order press(std::uint32_t key, const Overview& overview, Choices& choices, std::size_t rows) {
  if (key == key_none) return {};
  follow_selected(overview, choices);
  const Order order = pressed(key, overview, choices, rows);
  follow_selected(overview, choices);
  return order;
}

}  // namespace batchcast::inline v0_1::observe
