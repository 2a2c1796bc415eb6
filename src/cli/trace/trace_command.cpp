// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/interrupts.hpp"
#include "cli/output.hpp"
#include "cli/own_stream.hpp"
#include "cli/trace/written_once.hpp"
#include "control/transport.hpp"
#include "observe/chrome_trace.hpp"

#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/join/stream_lock.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace batchcast::cli {
namespace {

struct TraceOptions {
  std::string stream;
  std::string duration = "10s";
  std::string out;  ///< empty: by the stream's name
  bool json = false;
};

constexpr std::size_t file_bytes_max = 100'000'000;
constexpr double seconds_max = 3'600;
constexpr int page_timeout_ms = 2'000;
constexpr int silent_ms_max = 10'000;

/// `10s`, `500ms`, `2min`, `10`. Throws InvalidArgument.
int duration_ms(const std::string& word) {
  double count = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  const std::string_view unit(end, static_cast<std::size_t>(word.data() + word.size() - end));
  constexpr std::array<std::pair<std::string_view, double>, 4> units = {
      {{"", 1}, {"s", 1}, {"ms", 0.001}, {"min", 60}}};
  double seconds = -1;
  for (const auto& [name, of_one] : units) {
    if (error == std::errc() && unit == name) seconds = count * of_one;
  }
  if (!(seconds >= 0.001 && seconds <= seconds_max)) {
    throw InvalidArgument(
        text("batchcast: trace: `{}` is no time from 1ms to 60min, such as 500ms, 10s or 2min.",
             printable(word)));
  }
  return static_cast<int>(std::lround(seconds * 1000));
}

/// Tells this trace from those of other processes.
std::string session_name() {
  std::random_device random;
  return fmt::format("{}-{:08x}{:08x}", ::getpid(), random(), random());
}

/// One trace of one producer.
class Trace {
 public:
  explicit Trace(const ListedStream& listed)
      : listed_(listed), producer_(listed.paths.control), session_(session_name()) {}

  enum class Page { taken, silent, over };
  /// Asks for a page. Throws InvalidArgument where the producer refuses to trace.
  Page ask(const char* what) {
    const nlohmann::json command = {{"command", "trace"}, {"session", session_}, {what, true}};
    const auto answer = producer_.ask(command.dump(), page_timeout_ms);
    if (!answer) return look_at_lock(listed_.paths.lock).held ? Page::silent : Page::over;
    const nlohmann::json page = nlohmann::json::parse(*answer, nullptr, false);
    if (file_.add(page)) {
      has_begun_ = true;
      return Page::taken;
    }
    if (has_begun_) return Page::over;  // the next producer of that name knows of no trace
    refuse(page);
  }
  /// All that the producer still has, in at most ten seconds.
  Page end() {
    const detail::Deadline deadline(silent_ms_max);
    Page last = Page::taken;
    do {
      last = ask("end");
    } while (last == Page::taken && file_.has_more() && !deadline.over());
    return last;
  }
  [[nodiscard]] observe::ChromeTrace& file() noexcept { return file_; }

 private:
  [[noreturn]] void refuse(const nlohmann::json& page) const {
    const std::string who =
        text("batchcast: the producer of stream `{}` (pid {})", listed_.name, listed_.pid);
    const auto error = page.is_object() ? page.find("error") : page.end();
    const bool has_reason = page.is_object() && error != page.end() && error->is_string();
    if (!has_reason) throw Error(text("{} does not answer with spans.", who));
    const std::string why = error->get<std::string>();
    if (why.starts_with("no command")) {
      throw Error(text("{} is of an older version, which cannot trace.", who));
    }
    throw Error(text("{} does not trace: {}.", who, printable(why)));
  }

  const ListedStream& listed_;
  ControlClient producer_;
  const std::string session_;
  bool has_begun_ = false;
  observe::ChromeTrace file_{file_bytes_max};
};

/// How the time went by: a signal's number, 0 where it is over.
struct Ended {
  int signal = 0;
  bool stream_is_over = false;
};

Ended watch(Trace& trace, int for_ms, Interrupts& interrupts) {
  constexpr int between_ms = 50;
  const detail::Deadline deadline(for_ms);
  std::optional<detail::Deadline> silent;
  while (!deadline.over()) {
    const bool waits = !trace.file().has_more();
    const int wait_ms = waits ? std::min(between_ms, deadline.left_ms()) : 0;
    if (const int signal = interrupts.wait(wait_ms)) return {signal, false};
    switch (trace.ask("next")) {
      case Trace::Page::taken:
        silent.reset();
        break;
      case Trace::Page::silent:
        if (!silent) silent.emplace(silent_ms_max);
        if (silent->over()) return {0, true};
        break;
      case Trace::Page::over:
        return {0, true};
    }
  }
  return {};
}

std::string report(const TraceOptions& options, const observe::ChromeTrace& trace,
                   std::size_t bytes) {
  std::string told =
      text("{} of stream `{}` in {}, {}: {}. Open it at https://ui.perfetto.dev",
           fmt::format("{:.1f} s", trace.seconds()), options.stream, printable(options.out),
           bytes_text(bytes), counted(trace.spans(), "span"));
  if (trace.cut() != 0) {
    told += text("\n{} were cut, from the end: the file would be longer than {}",
                 counted(trace.cut(), "span"), bytes_text(file_bytes_max));
  }
  if (trace.left_out() != 0) {
    told += text("\n{} are missing: the producer had no room for them",
                 counted(trace.left_out(), "span"));
  }
  return told;
}

int trace(TraceOptions options) {
  const int for_ms = duration_ms(options.duration);
  Interrupts interrupts;
  const ListedStream listed = own_stream(options.stream);
  if (!listed.served) throw_dead(options.stream);
  if (options.out.empty()) options.out = options.stream + ".trace.json";
  WrittenOnce out(options.out);
  Trace trace(listed);
  if (trace.ask("begin") != Trace::Page::taken) {
    throw Error(text("batchcast: the producer of stream `{}` (pid {}) does not answer.",
                     options.stream, listed.pid));
  }
  Ended ended = watch(trace, for_ms, interrupts);
  if (!ended.stream_is_over) ended.stream_is_over = trace.end() == Trace::Page::over;
  const std::string content = trace.file().finish(options.stream);
  out.write(content);
  if (options.json) {
    print_json({{"stream", options.stream},
                {"out", options.out},
                {"seconds", trace.file().seconds()},
                {"spans", trace.file().spans()},
                {"cut", trace.file().cut()},
                {"left_out", trace.file().left_out()},
                {"bytes", content.size()}});
  } else {
    fmt::print("{}\n", report(options, trace.file(), content.size()));
  }
  if (ended.signal != 0) return interrupted_exit(ended.signal);
  if (!ended.stream_is_over) return exit_ok;
  say(
      text("batchcast: stream `{}` ended before the time was over, or its producer was stopped for "
           "more than 5 s.\n",
           options.stream));
  return exit_stream_ended;
}

}  // namespace

void add_trace(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<TraceOptions>();
  CLI::App* command =
      program.add_subcommand("trace", "Record what workers, ring and trainers do, for Perfetto");
  command->footer(
      "Ctrl-C ends it early, with a whole file. The exit code is 4 where the stream\n"
      "ended meanwhile.\n"
      "  batchcast trace imagenet 10s --out t.json");
  command->add_option("stream", options->stream, "Name of the stream")->required();
  command->add_option("duration", options->duration, "How long: 10s, 500ms, 2min")
      ->capture_default_str();
  command->add_option("--out", options->out, "The file (default STREAM.trace.json)");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &chosen] { chosen = [options] { return trace(*options); }; });
}

}  // namespace batchcast::cli
