// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/overview.hpp"

#include "observe/grid.hpp"

#include <batchcast/core/text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

namespace batchcast::inline v0_1::observe {
namespace {

constexpr std::array<std::string_view, sort_keys> key_names = {"name", "rate", "lag", "waits",
                                                               "waited_for"};

/// Samples that the ring of that placement has room for; 0 where it is not known.
std::uint64_t capacity_at(const Stream& stream, const std::string& placement) {
  for (const Ring& ring : stream.rings) {
    if (ring.placement == placement) return ring.capacity;
  }
  return stream.capacity;
}

TrainerRow row_of(const SeenStream& seen, const Trainer& trainer) {
  TrainerRow row;
  row.trainer = &trainer;
  row.rate = rate_of(seen.before, seen.now, trainer);
  const std::uint64_t capacity = capacity_at(seen.now, trainer.placement);
  if (capacity != 0) {
    row.lag_share = std::min(1.0, static_cast<double>(trainer.lag) / static_cast<double>(capacity));
  }
  row.wait_share = wait_share_of(seen.before, seen.now, trainer);
  row.waited_for_share = waited_for_share_of(seen.before, seen.now, trainer);
  row.limits = !seen.limit.trainer.empty() && seen.limit.trainer == trainer.name;
  return row;
}

double number_of(const TrainerRow& row, SortKey key) {
  switch (key) {
    case SortKey::rate:
      return row.rate.value_or(0);
    case SortKey::lag:
      return static_cast<double>(row.trainer->lag);
    case SortKey::waits:
      return row.wait_share;
    case SortKey::waited_for:
      return row.waited_for_share;
    case SortKey::name:
      break;
  }
  return 0;
}

bool is_before(const TrainerRow& a, const TrainerRow& b, SortKey key) {
  if (key != SortKey::name) {
    const double left = number_of(a, key);
    const double right = number_of(b, key);
    if (left != right) return left > right;  // the largest first
  }
  if (a.trainer->name != b.trainer->name) return a.trainer->name < b.trainer->name;
  return a.trainer->id < b.trainer->id;
}

double grown(double before, double now) noexcept { return now > before ? now - before : 0; }

std::string padded(const std::string& text, std::size_t columns, bool right) {
  const std::size_t has = columns_of(text);
  const std::string blanks(columns > has ? columns - has : 0, ' ');
  return right ? blanks + text : text + blanks;
}

std::string trainer_line(const TrainerRow& row, std::size_t name_columns) {
  const Trainer& trainer = *row.trainer;
  return text("  {}  {}  {}  {}/s  lag {}  waits {}  waited for {}{}",
              padded(trainer.name, name_columns, false), padded(trainer.placement, 6, false),
              padded(trainer.state, 9, false),
              padded(row.rate ? short_count(*row.rate) : "-", 6, true),
              padded(short_count(static_cast<double>(trainer.lag)), 6, true),
              padded(percent_text(row.wait_share), 4, true),
              padded(percent_text(row.waited_for_share), 4, true), row.limits ? "  <" : "");
}

void add_rings(const Stream& stream, std::string& text_of_all) {
  for (const Ring& ring : stream.rings) {
    text_of_all += text("  ring {}  {} of {} samples wait for trainers", ring.placement,
                        grouped(ring.used), grouped(ring.capacity));
    for (const Axis& axis : ring.axes) {
      text_of_all +=
          text(", {} of {} rows of {}", grouped(axis.used), grouped(axis.rows), axis.name);
    }
    if (ring.work_share >= 0) {
      text_of_all += text(", {} of the work", percent_text(ring.work_share));
    }
    text_of_all += "\n";
  }
}

std::string stream_text(const SeenStream& seen, SortKey key, bool reversed,
                        const std::string& filter) {
  const std::string whose = seen.owner.empty() ? "" : text("  of {}", seen.owner);
  if (!seen.answers) return text("{}{}  {}\n", seen.name, whose, seen.state);
  std::string told = text("{}{}  {}  epoch {}  {} samples/s", seen.name, whose, seen.state,
                          seen.now.epoch, short_count(stream_rate(seen)));
  const std::string work = work_text(seen);
  if (!work.empty()) told += "  " + work;
  told += "\n";
  const std::string sums = sums_text(seen);
  if (!sums.empty()) told += "  " + sums + "\n";
  add_rings(seen.now, told);
  if (!seen.limit.text.empty()) told += "  " + seen.limit.text + "\n";
  const std::vector<TrainerRow> rows = trainer_rows(seen, key, reversed, filter);
  std::size_t widest = 4;
  for (const TrainerRow& row : rows) widest = std::max(widest, columns_of(row.trainer->name));
  for (const TrainerRow& row : rows) told += trainer_line(row, widest) + "\n";
  if (seen.now.trainers_left_out != 0) {
    told +=
        text("  and {} more, which the producer leaves out\n", grouped(seen.now.trainers_left_out));
  }
  return told;
}

}  // namespace

std::string name_of(SortKey key) {
  return std::string(key_names[static_cast<std::size_t>(key) % sort_keys]);
}

std::optional<SortKey> sort_key_of(const std::string& name) {
  for (std::size_t i = 0; i < sort_keys; ++i) {
    if (key_names[i] == name) return static_cast<SortKey>(i);
  }
  return std::nullopt;
}

std::vector<TrainerRow> trainer_rows(const SeenStream& seen, SortKey key, bool reversed,
                                     const std::string& filter) {
  std::vector<TrainerRow> rows;
  for (const Trainer& trainer : seen.now.trainers) {
    if (trainer.name.find(filter) == std::string::npos) continue;
    rows.push_back(row_of(seen, trainer));
  }
  std::sort(rows.begin(), rows.end(), [&](const TrainerRow& a, const TrainerRow& b) {
    return reversed ? is_before(b, a, key) : is_before(a, b, key);
  });
  return rows;
}

double stream_rate(const SeenStream& seen) {
  const double seconds = grown(seen.before.uptime_seconds, seen.now.uptime_seconds);
  const bool is_same = seen.before.pid == seen.now.pid && seen.now.samples >= seen.before.samples;
  if (!is_same || seconds <= 0) return seen.now.samples_per_second;
  return static_cast<double>(seen.now.samples - seen.before.samples) / seconds;
}

std::string grouped(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string short_count(double count) {
  constexpr std::array<const char*, 5> units = {"k", "M", "G", "T", "P"};
  if (!(count >= 0) || count > 9e17) return "-";
  if (count < 10'000) return std::to_string(static_cast<std::uint64_t>(std::llround(count)));
  std::size_t unit = 0;
  for (count /= 1000; count >= 999.5 && unit + 1 < units.size(); ++unit) count /= 1000;
  std::array<char, 32> shown{};
  std::snprintf(shown.data(), shown.size(), count < 99.95 ? "%.1f%s" : "%.0f%s", count,
                units[unit]);
  return shown.data();
}

std::string time_text(double seconds) {
  std::array<char, 48> shown{};
  if (!(seconds >= 0) || seconds > 1e12) return "-";
  const auto whole = static_cast<unsigned long long>(seconds);
  if (seconds < 99.95) {
    std::snprintf(shown.data(), shown.size(), "%.1f s", seconds);
  } else if (whole < 3600) {
    std::snprintf(shown.data(), shown.size(), "%llu min", whole / 60);
  } else if (whole < 48 * 3600ULL) {
    std::snprintf(shown.data(), shown.size(), "%llu h %02llu", whole / 3600, whole / 60 % 60);
  } else {
    std::snprintf(shown.data(), shown.size(), "%llu days", whole / 86'400);
  }
  return shown.data();
}

std::string percent_text(double share) {
  const double percent = std::clamp(share, 0.0, 9.99) * 100;
  return text("{}%", static_cast<std::uint64_t>(std::llround(percent)));
}

std::string work_text(const SeenStream& seen) {
  if (!seen.now.making) return {};
  const Making none;
  const Making& now = *seen.now.making;
  const bool is_same = seen.before.pid == seen.now.pid && seen.before.making.has_value();
  const Making& from = is_same ? *seen.before.making : none;
  const double reading = grown(from.reading_seconds, now.reading_seconds);
  const double making = grown(from.making_seconds, now.making_seconds);
  const double waiting = grown(from.waiting_seconds, now.waiting_seconds);
  const double all = reading + making + waiting;
  std::string told = text("{} {}", now.workers, now.workers == 1 ? "worker" : "workers");
  if (all <= 0) return told;
  return told + text("  read {}  make {}  wait {}", percent_text(reading / all),
                     percent_text(making / all), percent_text(waiting / all));
}

std::string sums_text(const SeenStream& seen) {
  if (!seen.now.making) return {};
  const Making& making = *seen.now.making;
  std::string told = text("cpu {}", time_text(making.cpu_seconds));
  if (const auto saved = saved_cpu_seconds(seen.now)) {
    told += text("  saved {}", time_text(*saved));
  }
  if (making.decoding_seconds && making.making_seconds > 0) {
    told += text("  decoding about {} of making",
                 percent_text(*making.decoding_seconds / making.making_seconds));
  }
  if (making.has_cache) {
    const double met = static_cast<double>(making.cache_hits + making.cache_misses);
    told += text("  cache {}",
                 percent_text(met > 0 ? static_cast<double>(making.cache_hits) / met : 0));
  }
  if (making.bad_samples != 0) {
    told += text("  {} bad {}", grouped(making.bad_samples),
                 making.bad_samples == 1 ? "sample" : "samples");
  }
  return told;
}

std::string plain_text(const Overview& overview, SortKey key, bool reversed,
                       const std::string& filter) {
  if (overview.streams.empty()) return "no streams\n";
  std::string told;
  for (const SeenStream& seen : overview.streams) {
    told += stream_text(seen, key, reversed, filter);
  }
  return told;
}

}  // namespace batchcast::inline v0_1::observe
