// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/interrupts.hpp"
#include "cli/metrics/metrics_server.hpp"
#include "cli/output.hpp"
#include "cli/top/choices_file.hpp"
#include "cli/top/terminal.hpp"
#include "cli/top/watch.hpp"
#include "observe/keys.hpp"
#include "observe/screen.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/named_thread.hpp>
#include <batchcast/core/text.hpp>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace batchcast::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct TopOptions {
  WatchOptions watch;
  double interval_s = 1;
  std::uint64_t count = 0;  ///< looks; 0: until it is ended
  bool once = false;
  bool json = false;
  bool web = false;
};

/// What watches in the background, so that a producer that does not answer keeps no key waiting.
class Watcher {
 public:
  explicit Watcher(const TopOptions& options)
      : watch_(options.watch),
        interval_(std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(options.interval_s))),
        thread_(start_thread("bc-top", [this] { run(); })) {}
  ~Watcher() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// The newest look, if it is another one than the caller has. Throws what a look threw.
  [[nodiscard]] bool take(observe::Overview& overview, std::uint64_t& number) {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    if (number == number_) return false;
    number = number_;
    overview = newest_;
    return true;
  }
  /// Asks a producer for something; `take_note` says how that ended.
  void order(std::string directory, nlohmann::json command, std::string done) {
    const std::lock_guard lock(mutex_);
    orders_.push_back({std::move(directory), std::move(command), std::move(done)});
    changed_.notify_all();
  }
  [[nodiscard]] std::string take_note() {
    const std::lock_guard lock(mutex_);
    return std::exchange(note_, {});
  }

 private:
  struct Ordered {
    std::string directory;
    nlohmann::json command;
    std::string done;
  };

  void run() {
    std::unique_lock lock(mutex_);
    while (!ends_) {
      const Clock::time_point due = Clock::now() + interval_;
      lock.unlock();
      look();
      lock.lock();
      while (!ends_ && Clock::now() < due) {
        changed_.wait_until(lock, due, [this] { return ends_ || !orders_.empty(); });
        if (orders_.empty()) break;
        const Ordered ordered = std::move(orders_.front());
        orders_.pop_front();
        lock.unlock();
        const std::string note = note_of(ordered);
        lock.lock();
        note_ = note;
        break;  // and looks at once
      }
    }
  }
  void look() {
    try {
      observe::Overview overview = watch_.look();
      const std::lock_guard lock(mutex_);
      newest_ = std::move(overview);
      ++number_;
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
  }
  [[nodiscard]] std::string note_of(const Ordered& ordered) const {
    constexpr int order_timeout_ms = 10'000;
    try {
      const auto answer = ask_control(watch_.control_of(ordered.directory), ordered.command.dump(),
                                      order_timeout_ms);
      if (!answer) return "the producer does not answer";
      const auto told = nlohmann::json::parse(*answer, nullptr, false);
      if (!told.is_object() || !told.contains("error")) return ordered.done;
      return printable(told["error"].is_string() ? told["error"].get<std::string>() : "refused");
    } catch (const std::exception& error) {
      return printable(error.what());
    }
  }

  Watch watch_;
  const Clock::duration interval_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  observe::Overview newest_;
  std::uint64_t number_ = 0;
  std::deque<Ordered> orders_;
  std::string note_;
  std::exception_ptr failure_;
  std::thread thread_;
};

void give_order(Watcher& watcher, const observe::Order& order, const observe::Overview& overview) {
  const observe::SeenStream& seen = overview.streams[order.target.stream];
  if (order.what == observe::Order::What::stop) {
    watcher.order(seen.directory, {{"command", "stop"}, {"reason", "`batchcast top` stopped it"}},
                  text("stream `{}` is stopped", seen.name));
  } else {
    watcher.order(seen.directory,
                  {{"command", "evict"},
                   {"consumer", order.target.trainer},
                   {"reason", "`batchcast top` evicted it"}},
                  text("`{}` is evicted from stream `{}`", order.target.trainer, seen.name));
  }
}

/// The screen, until the user quits or what ends it comes.
int watch_on(Terminal& terminal, const TopOptions& options, Interrupts& interrupts) {
  constexpr int key_ms = 100;
  Watcher watcher(options);
  observe::Overview overview;
  observe::Choices choices;
  load_choices(choices);
  std::uint64_t number = 0;
  Terminal::Size drawn;
  bool changed = true;
  for (;;) {
    if (!choices.frozen && watcher.take(overview, number)) changed = true;
    if (std::string note = watcher.take_note(); !note.empty()) choices.note = note, changed = true;
    const Terminal::Size size = terminal.size();
    changed = changed || size.width != drawn.width || size.height != drawn.height;
    if (changed) {
      terminal.show(observe::draw(overview, choices, size.width, size.height, terminal.is_ascii()));
      drawn = size;
    }
    if (options.count != 0 && number > options.count) return exit_ok;
    if (const int signal = interrupts.wait(0))
      return signal == SIGINT ? exit_ok : interrupted_exit(signal);
    const std::uint32_t key = terminal.key(key_ms);
    if (key == observe::key_none && !terminal.is_there()) return exit_ok;
    const std::size_t rows = size.height > 2 ? size.height - 2 : 1;
    const observe::Order order = observe::press(key, overview, choices, rows);
    changed = key != observe::key_none;
    switch (order.what) {
      case observe::Order::What::quit:
        return exit_ok;
      case observe::Order::What::redraw:
        terminal.forget();
        break;
      case observe::Order::What::save:
        save_choices(choices);
        break;
      case observe::Order::What::evict:
      case observe::Order::What::stop:
        give_order(watcher, order, overview);
        break;
      case observe::Order::What::nothing:
        break;
    }
  }
}

/// What the kernel does not say is left out.
nlohmann::json look_json(const observe::Overview& overview, const nlohmann::json& answers) {
  nlohmann::json look = {
      {"time", overview.clock}, {"processors", overview.processors}, {"streams", answers}};
  if (overview.idle_processors >= 0) look["idle_processors"] = overview.idle_processors;
  if (overview.pressure >= 0) look["pressure"] = overview.pressure;
  return look;
}

/// For a pipe, a dumb terminal, --once and --json: a look after the other. The first one only
/// begins the time that rates are of.
int print_looks(const TopOptions& options, Interrupts& interrupts) {
  observe::Choices choices;
  load_choices(choices);
  Watch watch(options.watch);
  static_cast<void>(watch.look());
  const std::uint64_t count = options.once ? 1 : options.count;
  const auto interval_ms = static_cast<int>(options.interval_s * 1000);
  for (std::uint64_t looks = 0; count == 0 || looks < count; ++looks) {
    if (const int signal = interrupts.wait(interval_ms)) return interrupted_exit(signal);
    const observe::Overview overview = watch.look();
    if (options.json) {
      print_json(look_json(overview, watch.answers()));
    } else {
      fmt::print("{}{}", looks == 0 ? "" : "\n",
                 observe::plain_text(overview, choices.sort, choices.reversed, ""));
    }
    if (std::fflush(stdout) != 0) return exit_environment;
  }
  return exit_ok;
}

int top(const TopOptions& options) {
  if (options.watch.all_users && ::geteuid() != 0) {
    throw InvalidArgument(
        "batchcast: --all-users is for root: other users' producers answer nobody else.");
  }
  if (options.web) {
    MetricsOptions web;
    web.listen = "127.0.0.1:0";
    web.stream = options.watch.stream;
    web.all_users = options.watch.all_users;
    web.interval_s = options.interval_s;
    return serve_metrics(web);
  }
  Interrupts interrupts;
  if (!options.once && !options.json) {
    if (const auto terminal = Terminal::open()) return watch_on(*terminal, options, interrupts);
  }
  return print_looks(options, interrupts);
}

}  // namespace

void add_top(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<TopOptions>();
  CLI::App* command =
      program.add_subcommand("top", "Watch streams and trainers, and what limits them");
  command->footer(
      "Keys: F1 lists them. Into a pipe, and where the terminal cannot be drawn on, it\n"
      "prints plain text.");
  command->add_option("--stream", options->watch.stream, "Only this one");
  command->add_flag("--all-users", options->watch.all_users,
                    "For root: the streams of all users, in the usual places");
  command->add_option("--interval", options->interval_s, "Seconds between two looks")
      ->check(seconds_between(0.1, 3600))
      ->capture_default_str();
  command->add_option("--count", options->count, "End after this many looks; 0: go on")
      ->check(CLI::Range(0, 1'000'000'000))
      ->capture_default_str();
  command->add_flag("--once", options->once, "Print one look, of the first interval, and end");
  command->add_flag("--json", options->json, "Print one JSON object for each look");
  command->add_flag("--web", options->web, "Show it in a browser: prints the page's address")
      ->excludes("--once")
      ->excludes("--json")
      ->excludes("--count");
  command->callback([options, &chosen] { chosen = [options] { return top(*options); }; });
}

}  // namespace batchcast::cli
