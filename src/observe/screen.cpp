// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/screen.hpp"

#include <batchcast/core/text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>

namespace batchcast::inline v0_1::observe {
namespace {

// ---- Columns of trainers.

struct Column {
  const char* title;
  std::size_t columns;
  bool right;
  int importance;  ///< the least important are left out first
  std::function<std::string(const TrainerRow&)> text;
};

constexpr std::size_t gap = 2;
constexpr std::size_t name_columns_min = 8;
constexpr std::size_t indent = 2;

const std::vector<Column>& columns() {
  static const std::vector<Column> all = {
      {"PLACE", 7, false, 3, [](const TrainerRow& row) { return row.trainer->placement; }},
      {"STATE", 9, false, 6, [](const TrainerRow& row) { return row.trainer->state; }},
      {"SAMPLES/S", 9, true, 9,
       [](const TrainerRow& row) { return row.rate ? short_count(*row.rate) : std::string("-"); }},
      {"LAG", 6, true, 8,
       [](const TrainerRow& row) { return short_count(static_cast<double>(row.trainer->lag)); }},
      {"WAITS", 5, true, 7, [](const TrainerRow& row) { return percent_text(row.wait_share); }},
      {"WAITED FOR", 10, true, 5,
       [](const TrainerRow& row) { return percent_text(row.waited_for_share); }},
      {"BATCH", 6, true, 2,
       [](const TrainerRow& row) {
         return short_count(static_cast<double>(row.trainer->batch_size));
       }},
      {"SAMPLES", 7, true, 1,
       [](const TrainerRow& row) {
         return short_count(static_cast<double>(row.trainer->samples));
       }},
      {"PID", 7, true, 4, [](const TrainerRow& row) { return std::to_string(row.trainer->pid); }},
  };
  return all;
}

/// Those that fit beside a name, in their order.
std::vector<const Column*> columns_for(std::size_t width) {
  std::vector<const Column*> chosen;
  for (const Column& column : columns()) chosen.push_back(&column);
  const auto needed = [&] {
    std::size_t sum = indent + name_columns_min;
    for (const Column* column : chosen) sum += gap + column->columns;
    return sum;
  };
  while (!chosen.empty() && needed() > width) {
    chosen.erase(std::min_element(
        chosen.begin(), chosen.end(),
        [](const Column* a, const Column* b) { return a->importance < b->importance; }));
  }
  return chosen;
}

struct Layout {
  std::vector<const Column*> columns;
  std::size_t name_columns = 0;
  std::size_t bar_columns = 0;  ///< of the lag; 0: none
};

Layout layout_for(std::size_t width) {
  constexpr std::size_t bar_min = 8;
  constexpr std::size_t bar_max = 24;
  Layout layout;
  layout.columns = columns_for(width);
  std::size_t used = indent;
  for (const Column* column : layout.columns) used += gap + column->columns;
  std::size_t left = width > used ? width - used : 0;
  const bool has_all = layout.columns.size() == columns().size();
  if (has_all && left >= 2 * name_columns_min + gap + bar_min) {
    layout.bar_columns = std::clamp(left - 2 * name_columns_min - gap, bar_min, bar_max);
    left -= layout.bar_columns + gap;
  }
  layout.name_columns = std::min<std::size_t>(left, 40);
  return layout;
}

// ---- The lines of the list. A line draws itself on a row of the grid.

struct Line {
  std::function<void(Grid&, std::size_t row)> draw;
  std::size_t entry = no_entry;  ///< what is selected with it
  static constexpr std::size_t no_entry = ~std::size_t{0};
};

Style style_of(const std::string& state) {
  if (state == "running") return Style::good;
  if (state == "failed" || state == "dead" || state == "stopped" || state == "stalled") {
    return Style::bad;
  }
  return state == "silent" || state == "starting" || state == "draining" ? Style::warn : Style::dim;
}

/// Puts pieces one after the other.
class Pen {
 public:
  Pen(Grid& grid, std::size_t row) : grid_(grid), row_(row) {}
  Pen& put(std::string_view text, Style style = Style::plain) {
    column_ += grid_.put(row_, column_, text, style);
    return *this;
  }

 private:
  Grid& grid_;
  std::size_t row_;
  std::size_t column_ = 0;
};

void draw_stream(const SeenStream& seen, Grid& grid, std::size_t row) {
  Pen pen(grid, row);
  pen.put(seen.name, Style::title).put("  ").put(seen.state, style_of(seen.state));
  if (!seen.owner.empty()) pen.put("  of " + seen.owner, Style::dim);
  if (!seen.answers) return;
  const Stream& now = seen.now;
  pen.put(text("  epoch {}", now.epoch));
  if (now.samples_per_epoch != 0) {
    const double into = static_cast<double>(now.published % now.samples_per_epoch);
    pen.put(text(" {}", percent_text(into / static_cast<double>(now.samples_per_epoch))));
  }
  pen.put(text("  {} samples/s", short_count(stream_rate(seen))));
  const std::string work = work_text(seen);
  if (!work.empty()) pen.put("  " + work);
}

void draw_ring(const SeenStream& seen, const Ring& ring, bool is_first, Grid& grid,
               std::size_t row) {
  constexpr std::size_t bar_columns = 12;
  const auto share = [](std::uint64_t used, std::uint64_t all) {
    return all == 0 ? 0.0 : static_cast<double>(used) / static_cast<double>(all);
  };
  Pen pen(grid, row);
  const double fill = share(ring.used, ring.capacity);
  pen.put(text("  ring {} {} {}", ring.placement, bar(fill, bar_columns, grid.is_ascii()),
               percent_text(fill)));
  for (const Axis& axis : ring.axes) {
    pen.put(text("  {} {}", axis.name, percent_text(share(axis.used, axis.rows))));
  }
  if (!is_first) return;
  const std::string sums = sums_text(seen);
  if (!sums.empty()) pen.put("  " + sums);
  pen.put("  ").put(spark_line(seen.history, 16, grid.is_ascii()), Style::good);
}

void draw_limit(const SeenStream& seen, Grid& grid, std::size_t row) {
  const bool is_one = seen.limit.by == Limiter::trainer;
  grid.put(row, indent, seen.limit.text, is_one ? Style::warn : Style::dim);
}

void draw_titles(const Layout& layout, SortKey sort, Grid& grid, std::size_t row) {
  const auto style = [](bool is_sorted) { return is_sorted ? Style::title : Style::dim; };
  grid.put(row, indent, "TRAINER", style(sort == SortKey::name), layout.name_columns);
  std::size_t at = indent + layout.name_columns;
  for (const Column* column : layout.columns) {
    const std::string_view title = column->title;
    const bool is_sorted = (title == "SAMPLES/S" && sort == SortKey::rate) ||
                           (title == "LAG" && sort == SortKey::lag) ||
                           (title == "WAITS" && sort == SortKey::waits) ||
                           (title == "WAITED FOR" && sort == SortKey::waited_for);
    const std::size_t shift = column->right ? column->columns - title.size() : 0;
    grid.put(row, at + gap + shift, title, style(is_sorted));
    at += gap + column->columns;
  }
}

void draw_trainer(const TrainerRow& trainer, const Layout& layout, Grid& grid, std::size_t row) {
  const Style name_style = trainer.limits ? Style::warn : Style::plain;
  grid.put(row, indent, trainer.trainer->name, name_style, layout.name_columns);
  std::size_t at = indent + layout.name_columns;
  for (const Column* column : layout.columns) {
    const std::string text = column->text(trainer);
    const std::size_t has = std::min(columns_of(text), column->columns);
    const std::size_t shift = column->right ? column->columns - has : 0;
    const bool is_state = std::string_view(column->title) == "STATE";
    grid.put(row, at + gap + shift, text, is_state ? style_of(text) : Style::plain,
             column->columns);
    at += gap + column->columns;
  }
  if (layout.bar_columns == 0) return;
  grid.put(row, at + gap, bar(trainer.lag_share, layout.bar_columns, grid.is_ascii()),
           trainer.lag_share > 0.9 ? Style::warn : Style::good);
}

/// All lines of one stream, and what can be selected.
void add_stream(const SeenStream& seen, const Choices& choices, const Layout& layout,
                std::size_t& entry, std::vector<Line>& lines) {
  lines.push_back({[&seen](Grid& grid, std::size_t row) { draw_stream(seen, grid, row); }, entry});
  ++entry;
  if (!seen.answers) return;
  bool is_first = true;
  for (const Ring& ring : seen.now.rings) {
    lines.push_back({[&seen, &ring, is_first](Grid& grid, std::size_t row) {
      draw_ring(seen, ring, is_first, grid, row);
    }});
    is_first = false;
  }
  if (!seen.limit.text.empty()) {
    lines.push_back({[&seen](Grid& grid, std::size_t row) { draw_limit(seen, grid, row); }});
  }
  const std::vector<TrainerRow> rows =
      trainer_rows(seen, choices.sort, choices.reversed, choices.filter);
  if (!rows.empty()) {
    lines.push_back({[&layout, sort = choices.sort](Grid& grid, std::size_t row) {
      draw_titles(layout, sort, grid, row);
    }});
  }
  for (const TrainerRow& trainer : rows) {
    lines.push_back({[trainer, &layout](Grid& grid, std::size_t row) {
                       draw_trainer(trainer, layout, grid, row);
                     },
                     entry});
    ++entry;
  }
  if (const std::uint64_t more = seen.now.trainers_left_out; more != 0) {
    lines.push_back({[more](Grid& grid, std::size_t row) {
      grid.put(row, indent, text("and {} more, which the producer leaves out", grouped(more)),
               Style::dim);
    }});
  }
  lines.push_back({[](Grid&, std::size_t) {}});
}

void add_words(const std::string& words, std::vector<Line>& lines) {
  lines.push_back({[words](Grid& grid, std::size_t row) { grid.put(row, 0, words); }});
}

std::vector<Line> help_lines() {
  std::vector<Line> lines;
  for (const char* words :
       {"Up Down PgUp PgDn Home End   choose a stream or a trainer",
        "Enter                        details of that stream; Esc goes back",
        "F3 or /                      search for a name; F3 again: the next one",
        "F4 or \\                      show only trainers whose names contain this",
        "F6 or > and <                sort by another column; I turns the order round",
        "N P M T                      sort by name, samples/s, lag, waits",
        "Space or Z                   freeze what is shown, and go on",
        "F9 or k                      evict that trainer, or stop that stream; it asks first",
        "F5 or Ctrl-L                 draw the screen again", "F10 or q or Ctrl-C           quit",
        "",
        "LAG: published samples that the trainer has not released. WAITS: the share of its time",
        "that it waited for samples. WAITED FOR: the share that the full ring waited for it."}) {
    add_words(words, lines);
  }
  return lines;
}

std::vector<Line> detail_lines(const SeenStream& seen) {
  std::vector<Line> lines;
  const Stream& now = seen.now;
  add_words(text("stream      {}", seen.name), lines);
  add_words(text("directory   {}", seen.directory), lines);
  add_words(
      text("producer    pid {}, {}, since {}", now.pid, seen.state, time_text(now.uptime_seconds)),
      lines);
  if (!seen.limit.text.empty()) add_words(text("limit       {}", seen.limit.text), lines);
  add_words(text("samples     {} made, {} delivered, {} published", grouped(now.samples),
                 grouped(now.delivered), grouped(now.published)),
            lines);
  for (const Ring& ring : now.rings) {
    add_words(text("ring        {}: {} of {} samples in use, {} published, {}", ring.placement,
                   grouped(ring.used), grouped(ring.capacity), grouped(ring.published), ring.state),
              lines);
    for (const Axis& axis : ring.axes) {
      add_words(text("  rows      {}: {} of {} in use", axis.name, grouped(axis.used),
                     grouped(axis.rows)),
                lines);
    }
  }
  std::string settings;
  for (const auto& [name, value] : now.settings) {
    settings += text("{}{}={}", settings.empty() ? "" : "  ", name, value);
  }
  if (!settings.empty()) add_words(text("set         {}", settings), lines);
  for (const Forming& group : now.forming) {
    add_words(text("group       {} waits for {} of {} ranks", group.group, group.missing.size(),
                   group.world),
              lines);
  }
  if (!now.making) return lines;
  const Making& making = *now.making;
  add_words(text("work        {}", work_text(seen)), lines);
  add_words(text("sums        {}", sums_text(seen)), lines);
  for (std::size_t i = 0; i < making.each.size(); ++i) {
    const Worker& one = making.each[i];
    add_words(text("worker {}    read {}  make {}  wait {}  cpu {}", i,
                   time_text(one.reading_seconds), time_text(one.making_seconds),
                   time_text(one.waiting_seconds), time_text(one.cpu_seconds)),
              lines);
  }
  return lines;
}

// ---- The frame.

std::string head_text(const Overview& overview) {
  std::size_t trainers = 0;
  double saved = 0;
  for (const SeenStream& seen : overview.streams) {
    trainers += seen.now.trainers.size() + seen.now.trainers_left_out;
    saved += saved_cpu_seconds(seen.now).value_or(0);
  }
  std::string told =
      text("batchcast top  {}  {} {}, {} {}", overview.clock, overview.streams.size(),
           overview.streams.size() == 1 ? "stream" : "streams", trainers,
           trainers == 1 ? "trainer" : "trainers");
  if (overview.idle_processors >= 0 && overview.processors != 0) {
    std::array<char, 32> idle{};
    std::snprintf(idle.data(), idle.size(), "%.1f", std::min(overview.idle_processors, 1e6));
    told += text("  {} of {} processors idle", idle.data(), overview.processors);
  }
  if (overview.pressure >= 0) told += text("  pressure {}", percent_text(overview.pressure));
  return told + text("  saved {}", time_text(saved));
}

std::string foot_text(const Choices& choices) {
  switch (choices.mode) {
    case Mode::search:
      return text("Search: {}", choices.search);
    case Mode::filter:
      return text("Filter: {}", choices.filter);
    case Mode::asks:
      return choices.question;
    case Mode::details:
    case Mode::help:
      return "Esc back  F10 quit";
    case Mode::list:
      break;
  }
  if (!choices.note.empty()) return choices.note;
  std::string told =
      "F1 help  F3 search  F4 filter  F6 sort  F9 evict/stop  Space freeze  F10 quit";
  if (!choices.filter.empty()) told = text("[filter: {}]  {}", choices.filter, told);
  return choices.frozen ? "FROZEN  " + told : told;
}

void scroll_to(std::size_t line, std::size_t lines, std::size_t rows, std::size_t& top) {
  if (rows == 0) return;
  top = std::min(top, lines > rows ? lines - rows : 0);
  if (line < top) top = line;
  if (line >= top + rows) top = line - rows + 1;
}

std::vector<Line> lines_of(const Overview& overview, const Choices& choices, const Layout& layout,
                           const std::vector<Entry>& entries) {
  if (choices.mode == Mode::help) return help_lines();
  if (choices.mode == Mode::details && !entries.empty()) {
    return detail_lines(overview.streams[entries[choices.selected].stream]);
  }
  std::vector<Line> lines;
  std::size_t entry = 0;
  for (const SeenStream& seen : overview.streams) add_stream(seen, choices, layout, entry, lines);
  if (overview.streams.empty()) {
    add_words("no streams; `batchcast serve` or a trainer starts one", lines);
  }
  return lines;
}

}  // namespace

std::vector<Entry> entries_of(const Overview& overview, const Choices& choices) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < overview.streams.size(); ++i) {
    entries.push_back({i, {}});
    if (!overview.streams[i].answers) continue;
    for (const TrainerRow& row :
         trainer_rows(overview.streams[i], choices.sort, choices.reversed, choices.filter)) {
      entries.push_back({i, row.trainer->name});
    }
  }
  return entries;
}

void follow_selected(const Overview& overview, Choices& choices) {
  const std::vector<Entry> entries = entries_of(overview, choices);
  if (choices.selected == choices.followed_at) {
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
      return overview.streams[entry.stream].name == choices.followed_stream &&
             entry.trainer == choices.followed_trainer;
    });
    if (found != entries.end()) {
      choices.selected = static_cast<std::size_t>(found - entries.begin());
    }
  }
  choices.selected = std::min(choices.selected, entries.empty() ? 0 : entries.size() - 1);
  choices.followed_at = choices.selected;
  choices.followed_stream.clear();
  choices.followed_trainer.clear();
  if (entries.empty()) return;
  choices.followed_stream = overview.streams[entries[choices.selected].stream].name;
  choices.followed_trainer = entries[choices.selected].trainer;
}

Grid draw(const Overview& overview, Choices& choices, std::size_t width, std::size_t height,
          bool ascii) {
  Grid grid(width, height, ascii);
  follow_selected(overview, choices);
  const std::vector<Entry> entries = entries_of(overview, choices);
  const Layout layout = layout_for(width);
  const std::vector<Line> lines = lines_of(overview, choices, layout, entries);
  // A screen of one row has the list's; one of two has no foot.
  const std::size_t head = height > 1 ? 1 : 0;
  const std::size_t foot = height > 2 ? 1 : 0;
  const std::size_t rows = height - head - foot;
  const bool selects = choices.mode != Mode::details && choices.mode != Mode::help;
  std::size_t chosen = choices.top;
  for (std::size_t i = 0; i < lines.size() && selects; ++i) {
    if (lines[i].entry == choices.selected) chosen = i;
  }
  scroll_to(chosen, lines.size(), rows, choices.top);
  for (std::size_t row = 0; row < rows && choices.top + row < lines.size(); ++row) {
    const Line& line = lines[choices.top + row];
    line.draw(grid, head + row);
    if (selects && line.entry == choices.selected) grid.paint(head + row, Style::selected);
  }
  if (head != 0) {
    grid.put(0, 0, head_text(overview));
    grid.paint(0, Style::head);
  }
  if (foot != 0) {
    grid.put(height - 1, 0, foot_text(choices));
    grid.paint(height - 1, Style::head);
  }
  return grid;
}

std::string bar(double share, std::size_t columns, bool ascii) {
  if (columns < 3) return std::string(columns, ' ');
  const std::size_t inner = columns - 2;
  const double clamped = std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(std::lround(clamped * static_cast<double>(inner)));
  std::string told = "[";
  for (std::size_t i = 0; i < inner; ++i) told += i >= full ? " " : ascii ? "#" : "\u2588";
  return told + "]";
}

std::string spark_line(const std::vector<double>& values, std::size_t columns, bool ascii) {
  constexpr std::array<const char*, 8> blocks = {"\u2581", "\u2582", "\u2583", "\u2584",
                                                 "\u2585", "\u2586", "\u2587", "\u2588"};
  constexpr std::array<const char*, 8> signs = {"_", ".", "-", "~", "=", "+", "*", "#"};
  const std::size_t shown = std::min(columns, values.size());
  double most = 0;
  for (std::size_t i = values.size() - shown; i < values.size(); ++i) {
    if (std::isfinite(values[i])) most = std::max(most, values[i]);
  }
  std::string told;
  for (std::size_t i = values.size() - shown; i < values.size(); ++i) {
    const double share = most > 0 && std::isfinite(values[i]) ? values[i] / most : 0;
    const auto level = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * 7));
    told += ascii ? signs[level] : blocks[level];
  }
  return told;
}

}  // namespace batchcast::inline v0_1::observe
