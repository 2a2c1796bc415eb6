// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "cli/console.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>

namespace batchcast::cli {
namespace {

constexpr auto terminal_every = std::chrono::milliseconds(100);
constexpr auto plain_every_min = std::chrono::seconds(5);
constexpr auto plain_every_max = std::chrono::minutes(10);
constexpr int plain_share = 20;  // of the time that has gone by

/// How many bytes of `text` fit into a line of the terminal.
std::size_t bytes_of_columns(std::string_view text) {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return text.size();
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins_character = (static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U;
    if (begins_character && ++columns == size.ws_col) return i;
  }
  return text.size();
}

}  // namespace

std::uint64_t parse_bytes(const std::string& text) {
  const auto refuse = [&text] {
    throw CLI::ValidationError("`" + text + "` is no amount of memory: write 256MiB, 1GiB, 64k …");
  };
  std::size_t digits = 0;
  double number = 0;
  try {
    number = std::stod(text, &digits);
  } catch (const std::exception&) {
    refuse();
  }
  std::string unit = text.substr(digits);
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::vector<std::pair<std::string, double>> units = {{"", 1},
                                                             {"b", 1},
                                                             {"k", 1024.0},
                                                             {"kib", 1024.0},
                                                             {"kb", 1e3},
                                                             {"m", 1048576.0},
                                                             {"mib", 1048576.0},
                                                             {"mb", 1e6},
                                                             {"g", 1073741824.0},
                                                             {"gib", 1073741824.0},
                                                             {"gb", 1e9},
                                                             {"t", 1099511627776.0},
                                                             {"tib", 1099511627776.0},
                                                             {"tb", 1e12}};
  const auto found = std::find_if(units.begin(), units.end(),
                                  [&](const auto& entry) { return entry.first == unit; });
  if (found == units.end()) refuse();
  const double bytes = number * found->second;
  if (!(bytes >= 1) || bytes > 9e18) refuse();
  return static_cast<std::uint64_t>(bytes);
}

CLI::Validator at_least(std::uint64_t minimum) {
  return {[minimum](std::string& text) {
            const bool digits =
                !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
            const bool fits = digits && text.size() <= 19 && std::stoull(text) >= minimum;
            return fits ? std::string()
                        : "`" + text + "` must be a whole number, " + std::to_string(minimum) +
                              " or more";
          },
          "", ""};
}

CLI::Validator above_zero() {
  return {[](std::string& text) {
            char* end = nullptr;
            const double number = std::strtod(text.c_str(), &end);
            const bool fits = end != text.c_str() && *end == '\0' && number > 0 && number < 1e9;
            return fits ? std::string() : "`" + text + "` must be a number above 0";
          },
          "", ""};
}

std::string bytes_text(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= std::uint64_t{1} << 30) return fmt::format("{:.2f} GiB", value / (1 << 30));
  if (bytes >= 1 << 20) return fmt::format("{:.1f} MiB", value / (1 << 20));
  if (bytes >= 1 << 10) return fmt::format("{:.1f} KiB", value / (1 << 10));
  return fmt::format("{} bytes", bytes);
}

std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

std::string bar_text(std::uint64_t done, std::uint64_t total) {
  constexpr std::size_t width = 20;
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<std::size_t>(share * width);
  std::string bar(filled, '=');
  if (filled < width) bar += '>';
  return fmt::format("[{:<{}}] {:3.0f}%", bar, width, 100 * share);
}

void print_json(const nlohmann::json& value) {
  std::fflush(stderr);
  // Names of files and folders may be any bytes.
  fmt::print("{}\n", value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  std::fflush(stdout);
}

void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      // The first column is a name, the others are figures.
      line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    fmt::print("{}\n", line);
  }
  std::fflush(stdout);
}

void say(std::string_view text) noexcept {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

LogCallback console_log(bool verbose) {
  auto logger = std::make_shared<spdlog::logger>("batchcast",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%H:%M:%S %l: %v");
  logger->set_level(verbose ? spdlog::level::debug : spdlog::level::info);
  logger->flush_on(spdlog::level::debug);
  return [logger](LogLevel level, std::string_view text) {
    switch (level) {
      case LogLevel::debug:
        logger->debug(text);
        break;
      case LogLevel::info:
        logger->info(text);
        break;
      case LogLevel::warning:
        logger->warn(text);
        break;
      case LogLevel::error:
        logger->error(text);
        break;
    }
  };
}

ProgressLine::ProgressLine()
    : terminal_(::isatty(STDERR_FILENO) != 0), next_(began_ + interval()) {}

ProgressLine::Clock::duration ProgressLine::interval() const noexcept {
  if (terminal_) return terminal_every;
  return std::clamp<Clock::duration>((Clock::now() - began_) / plain_share, plain_every_min,
                                     plain_every_max);
}

ProgressLine::~ProgressLine() { finish(); }

bool ProgressLine::due() noexcept { return Clock::now() >= next_; }

void ProgressLine::show(std::string_view text) {
  next_ = Clock::now() + interval();
  if (terminal_) {
    // A line that wraps could not be rewritten.
    say(fmt::format("\r\x1b[K{}", text.substr(0, bytes_of_columns(text))));
  } else {
    say(fmt::format("{}\n", text));
  }
  open_ = terminal_;
}

void ProgressLine::finish() {
  if (std::exchange(open_, false)) say("\n");
}

}  // namespace batchcast::cli
