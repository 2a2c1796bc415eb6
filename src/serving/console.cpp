// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "serving/console.hpp"

#include <batchcast/core/limits.hpp>
#include <batchcast/core/try_write.hpp>

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>

namespace batchcast::inline v0_1::serving {
namespace {

constexpr auto terminal_every = std::chrono::milliseconds(100);
constexpr double plain_every_s = 30;
// Tests do not wait so long.
constexpr const char* env_plain_every_s = "BATCHCAST_PROGRESS_EVERY_S";
constexpr std::size_t usual_columns = 80;
constexpr std::string_view erased_line = "\r\x1b[K";

/// How many bytes of `text` fit into a line of the terminal, its last column left free: what fills
/// that wraps on some.
std::size_t bytes_of_columns(std::string_view text) {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  const std::size_t limit = (known ? size.ws_col : usual_columns) - 1;
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0U) == 0x80U) continue;  // goes on with a character
    // Wide ones, of which a line must not have too many, begin with U+1100.
    columns += byte >= 0xe1U ? 2U : 1U;
    if (columns > limit) return i;
  }
  return text.size();
}

/// False where a shell runs this process in the background: the terminal shows what the user types
/// there, which is not to be painted over.
bool is_in_foreground() noexcept {
  const pid_t group = ::tcgetpgrp(STDERR_FILENO);
  return group < 0 || group == ::getpgrp();  // below 0: no shell shares this terminal
}

/// stderr, and the line that a terminal shows last there as long as it is rewritten in place. What
/// any thread prints meanwhile comes above it.
struct StandardError {
  std::mutex mutex;
  std::string live_line;
  std::atomic<int> unwaited{0};  ///< how many UnwaitedStderr live
  std::atomic<bool> json{false};
};

StandardError& standard_error() {
  static StandardError state;
  return state;
}

void put_on_stderr(std::string_view text) noexcept {
  if (standard_error().unwaited.load() != 0) {
    static_cast<void>(detail::try_write(STDERR_FILENO, text));
  } else {
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  }
}

/// Whole lines.
void write_to_stderr(std::string_view lines) {
  StandardError& state = standard_error();
  const std::lock_guard lock(state.mutex);
  if (!is_in_foreground()) state.live_line.clear();
  if (state.live_line.empty()) return put_on_stderr(lines);
  // One write, so that what other processes write does not come in between.
  put_on_stderr(fmt::format("{}{}{}", erased_line, lines, state.live_line));
}

/// 2026-11-24T14:13:12.123Z
std::string time_text() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  std::tm parts{};
  std::array<char, 32> shown{};
  ::gmtime_r(&seconds, &parts);
  std::strftime(shown.data(), shown.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", shown.data(), since.count() % 1000);
}

void write_json(std::string_view level, std::string_view text) {
  const nlohmann::json line = {{"time", time_text()}, {"level", level}, {"text", text}};
  write_to_stderr(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

/// An object for each line that is not empty.
void write_lines_as_json(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end != 0) write_json("info", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Where spdlog writes, so that it knows of the live line.
class StandardErrorSink final : public spdlog::sinks::base_sink<std::mutex> {
 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    write_to_stderr({text.data(), text.size()});
  }
  void flush_() override {}
};

/// Nothing where `text` is more or less than one finite number.
std::optional<double> number_in(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool whole = !text.empty() && end == text.c_str() + text.size();
  return whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", count_text(count), one)
                      : fmt::format("{} {}", count_text(count), many);
}

std::string left_text(double seconds) {
  constexpr double worth_saying_s = 1e7;
  if (!(seconds >= 0 && seconds < worth_saying_s)) return {};
  const auto whole = static_cast<std::uint64_t>(std::ceil(seconds));
  const std::uint64_t minutes = whole / 60;
  if (minutes < 60) return fmt::format("  {}:{:02} left", minutes, whole % 60);
  return fmt::format("  {}:{:02}:{:02} left", minutes / 60, minutes % 60, whole % 60);
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

void say(std::string_view text) noexcept {
  try {
    if (standard_error().json.load()) return write_lines_as_json(text);
    write_to_stderr(printable_lines(text));
  } catch (const std::exception&) {
    put_on_stderr("batchcast: out of memory\n");
  }
}

void log_as_json() noexcept { standard_error().json.store(true); }

UnwaitedStderr::UnwaitedStderr() noexcept { ++standard_error().unwaited; }

UnwaitedStderr::~UnwaitedStderr() { --standard_error().unwaited; }

namespace {

const char* level_name(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      break;
  }
  return "error";
}

}  // namespace

LogCallback console_log(bool verbose) {
  auto logger =
      std::make_shared<spdlog::logger>("batchcast", std::make_shared<StandardErrorSink>());
  logger->set_pattern("%H:%M:%S %l: %v");
  logger->set_level(verbose ? spdlog::level::debug : spdlog::level::info);
  logger->flush_on(spdlog::level::debug);
  return [logger, verbose](LogLevel level, std::string_view raw) {
    if (standard_error().json.load()) {
      if (verbose || level != LogLevel::debug) write_json(level_name(level), raw);
      return;
    }
    const std::string text = printable_lines(raw);
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

ProgressLine::ProgressLine() : terminal_(can_rewrite()), every_(interval(terminal_)) {
  next_ = Clock::now() + every_;
}

bool ProgressLine::can_rewrite() {
  const char* const kind = std::getenv("TERM");
  if (standard_error().json.load()) return false;
  return ::isatty(STDERR_FILENO) != 0 && (kind == nullptr || std::string_view(kind) != "dumb");
}

ProgressLine::Clock::duration ProgressLine::interval(bool terminal) {
  if (terminal) return terminal_every;
  const char* const given = std::getenv(env_plain_every_s);
  const double asked = number_in(given == nullptr ? "" : given).value_or(plain_every_s);
  const double seconds = asked > 0 && asked <= limits::waiting_seconds_max ? asked : plain_every_s;
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

ProgressLine::~ProgressLine() { finish(); }

bool ProgressLine::due() noexcept { return Clock::now() >= next_; }

void ProgressLine::show(std::string_view text) {
  next_ = Clock::now() + every_;
  std::string line = printable(text);
  if (terminal_) {
    line.resize(bytes_of_columns(line));  // one that wraps could not be rewritten
    StandardError& state = standard_error();
    const std::lock_guard lock(state.mutex);
    if (!is_in_foreground()) return state.live_line.clear();
    put_on_stderr(fmt::format("{}{}", erased_line, line));
    state.live_line = std::move(line);
  } else if (line != plain_) {
    say(line + "\n");
    plain_ = std::move(line);
  }
}

void ProgressLine::finish() noexcept {
  if (!terminal_) return;
  StandardError& state = standard_error();
  const std::lock_guard lock(state.mutex);
  if (!state.live_line.empty() && is_in_foreground()) put_on_stderr("\n");
  state.live_line.clear();
}

}  // namespace batchcast::inline v0_1::serving
