// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "start_support.hpp"

#include "../catch.hpp"
#include "consume.hpp"
#include "start/ensure.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/data/synthetic_maker.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

namespace batchcast::testing {
namespace {

namespace fs = std::filesystem;

/// The last word of a line in /proc/<process>/status; empty where there is no such process.
std::string status_of(const std::string& process, const std::string& key) {
  std::ifstream status("/proc/" + process + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return line.substr(line.find_last_of(" \t") + 1);
  }
  return "";
}

std::string open_descriptors() {
  std::set<int> open;
  for (int fd = 0; fd < 1'000; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) open.insert(fd);
  }
  std::string text;
  for (const int fd : open) text += (text.empty() ? "" : ",") + std::to_string(fd);
  return text;
}

void write_line(const std::string& path, const std::string& line) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string text = line + "\n";
  if (fd < 0 || ::write(fd, text.data(), text.size()) < 0) std::perror(path.c_str());
  ::close(fd);
}

std::string word_after(const std::string& line, const std::string& option) {
  const std::size_t at = line.find(option + " ");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + option.size() + 1;
  return line.substr(begin, std::min(line.find(' ', begin), line.size()) - begin);
}

std::optional<std::uint64_t> seed_of(const std::string& line) {
  const std::string seed = word_after(line, "--seed");
  if (seed.empty()) return std::nullopt;
  return std::stoull(seed);
}

/// Behaves as `batchcast serve` does, and writes into the ledger.
int serve(const Words& words) {
  ::alarm(120);  // whatever becomes of the test
  const std::string pid = "pid=" + std::to_string(::getpid());
  const std::string ledger = words.text("ledger");
  const std::string signals = " blocked=" + status_of("self", "SigBlk") +
                              " ignored=" + status_of("self", "SigIgn") +
                              " descriptors=" + open_descriptors();
  write_line(ledger, "runs " + pid);
  if (words.has("gate")) {
    static_cast<void>(eventually([&] { return fs::exists(words.text("gate")); }, 60'000));
  }
  if (words.has("fail")) {
    std::fprintf(stderr, "the dataset is broken: %s\n", words.text("fail").c_str());
    if (words.text("fail") == "kill") ::raise(SIGKILL);
    return 7;
  }
  try {
    SyntheticRecipe recipe = SyntheticRecipe::parse(words.line().substr(0, words.line().find(' ')));
    recipe.samples_per_epoch = static_cast<std::uint64_t>(words.number("--samples", 50'000));
    recipe.seed = seed_of(words.line()).value_or(0);
    const SyntheticMaker maker(recipe);
    ProducerOptions options = producer_options(maker, word_after(words.line(), "--stream"));
    options.memory = std::stoull(word_after(words.line(), "--memory"));
    const std::string epochs = word_after(words.line(), "--epochs");
    if (!epochs.empty()) options.epochs = std::stoull(epochs);
    const std::string place = word_after(words.line(), "--place");
    if (!place.empty()) options.places = {place};
    Producer producer(std::move(options));
    Feeder feeder(producer, maker, {.workers = 1});
    write_line(ledger, "serves " + pid + " session=" + std::to_string(::getsid(0)) + signals +
                           " directory=" + fs::current_path().string());
    const double idle_exit_s = std::stod(word_after(words.line(), "--idle-exit"));
    while (!producer.over() && !producer.stop_if_unattended(idle_exit_s, "nobody was attached")) {
      if (feeder.wait(0) && producer.finish(5)) return 0;
      if (fs::exists(ledger + ".end")) producer.stop("the test is over");
      pause_us(5'000);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}

const RoleRegistration serve_role("serve", serve);

/// Does what `batchcast ensure` does, with this program as `batchcast serve`.
int ensure(const Words& words) {
  std::vector<std::string> all;
  std::istringstream line(words.line());
  for (std::string word; line >> word;) all.push_back(word);
  detail::EnsureRequest request;
  request.stream = all.at(0);
  request.serve = {fs::read_symlink("/proc/self/exe").string(), "serve", all.at(1), "--stream",
                   request.stream};
  for (std::size_t i = 2; i < all.size(); ++i) {
    if (all[i] == "--with-parent") continue;
    if (all[i] == "--timeout") {
      request.timeout_ms = static_cast<int>(std::stod(all.at(++i)) * 1000);
    } else if (all[i] == "--directory") {
      request.directory = all.at(++i);
    } else {
      request.serve.push_back(all[i]);
    }
  }
  request.asked.source = all.at(1);
  request.asked.recipe = word_after(words.line(), "--recipe");
  request.asked.seed = seed_of(words.line());
  request.asked.arguments = request.serve;
  request.log = [](LogLevel, std::string_view text) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  };
  if (words.has("ledger")) {
    write_line(words.text("ledger"), "ensures pid=" + std::to_string(::getpid()) +
                                         " parent=" + std::to_string(::getppid()));
  }
  return detail::answer(request, words.line().find(" --with-parent") != std::string::npos);
}

const RoleRegistration ensure_role("ensure", ensure);

ConsumerOptions options_of(const Words& words) {
  ConsumerOptions options = consumer_options(words);
  options.start.source = words.text("source", "synthetic:3x8x8");
  options.start.command = words.text("command", "/proc/self/exe");
  options.start.recipe = words.text("recipe");
  options.start.idle_exit_s = std::stod(words.text("idle_exit", "60"));
  options.start.memory = 512 << 10;
  options.start.seed = static_cast<std::uint64_t>(words.number("seed"));
  options.start.epochs = static_cast<std::uint64_t>(words.number("of_epochs"));
  for (const char* key : {"ledger", "gate", "fail", "--samples"}) {
    if (words.has(key)) {
      options.start.arguments.push_back(std::string(key) + "=" + words.text(key));
    }
  }
  options.log = [](LogLevel, std::string_view text) {
    if (text.starts_with("waiting for the process")) say("waits");
    if (text.starts_with("waiting for the end")) say("waits for the end");
    if (text.starts_with("starting ")) say("starts");
  };
  return options;
}

bool train_until(const ConsumerOptions& options, const std::function<bool()>& is_over,
                 const std::function<void(Consumer&)>& attached) {
  try {
    Consumer consumer(options);
    attached(consumer);
    while (!is_over()) static_cast<void>(consumer.try_next(10));
    return true;
  } catch (const std::exception& error) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', '|');
    say("threw kind=" + kind_of(error) + " text: " + text);
    return false;
  }
}

int train(const Words& words) {
  if (words.has("odd_signals")) {
    ::signal(SIGINT, SIG_IGN);
    ::signal(SIGCHLD, SIG_IGN);
    sigset_t blocked;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
    static_cast<void>(::open("/dev/null", O_RDONLY));  // and a descriptor that children get
  }
  std::thread reaper;
  std::atomic<bool> reaps{words.has("reaps")};
  if (reaps) {  // every child that this program has, whoever started it
    reaper = std::thread([&reaps] {
      while (reaps) {
        if (::waitpid(-1, nullptr, WNOHANG) <= 0) pause_us(100);
      }
    });
  }
  const ConsumerOptions options = options_of(words);
  const auto attached = [](Consumer& consumer) {
    const bool childless = ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
    say("attached name=" + consumer.name() + " childless=" + (childless ? "yes" : "no"));
  };
  std::atomic<bool> over{false};
  std::vector<std::thread> others;
  for (std::int64_t i = 1; i < words.number("threads", 1); ++i) {
    others.emplace_back([&] {
      train_until(
          options, [&] { return over.load(); }, attached);
    });
  }
  const bool well = train_until(
      options, [] { return is_told(); }, attached);
  over = true;
  for (std::thread& other : others) other.join();
  reaps = false;
  if (reaper.joinable()) reaper.join();
  return well ? 0 : 3;
}

const RoleRegistration train_role("self_starter", train);

}  // namespace

Ledger::~Ledger() {
  for (const Words& line : lines("runs")) ::kill(static_cast<pid_t>(line.number("pid")), SIGKILL);
}

std::vector<std::string> Ledger::words() const {
  return {"ledger=" + directory_.path() + "/lines"};
}

std::vector<std::string> Ledger::words_with_gate() const {
  return {"ledger=" + directory_.path() + "/lines", "gate=" + directory_.path() + "/gate"};
}

void Ledger::open_gate() const { std::ofstream(directory_.path() + "/gate") << "open"; }
void Ledger::end_all() const { std::ofstream(directory_.path() + "/lines.end") << "end"; }

std::vector<Words> Ledger::lines(const std::string& beginning) const {
  std::ifstream file(directory_.path() + "/lines");
  std::vector<Words> found;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(beginning)) found.emplace_back(line);
  }
  return found;
}

Words Ledger::serving() const {
  REQUIRE(eventually([&] { return !lines("serves").empty(); }));
  return lines("serves").back();
}

bool Ledger::all_gone(int timeout_ms) const {
  return eventually(
      [&] {
        const auto all = lines("runs");
        return std::none_of(all.begin(), all.end(), [](const Words& line) {
          return testing::runs(static_cast<pid_t>(line.number("pid")));
        });
      },
      timeout_ms);
}

Process trainer(const std::vector<std::string>& words, const std::vector<std::string>& more) {
  std::vector<std::string> all = words;
  all.insert(all.end(), more.begin(), more.end());
  return {"self_starter", all};
}

void take_what_was_started(const Ledger& ledger, const OwnDirectory& directory) {
  Process second = trainer(ledger.words_with_gate());
  pause_us(30'000);
  ledger.open_gate();
  static_cast<void>(second.expect("attached"));
  CHECK(ledger.runs() == 1);
  leave(second);
  end(ledger, directory);
}

void leave(Process& trainer) {
  trainer.tell("leave");
  const End end = trainer.wait();
  INFO(trainer.errors());
  CHECK(end.exited_with(0));
}

void check_nothing_stays(const Ledger& ledger, const OwnDirectory& directory) {
  CHECK(ledger.all_gone());
  CHECK(directory.entries() == 0);
}

void end(const Ledger& ledger, const OwnDirectory& directory) {
  ledger.end_all();
  check_nothing_stays(ledger, directory);
}

bool runs(pid_t pid) {
  // Whoever adopted it may take its time to notice that it is dead.
  const std::string state = status_of(std::to_string(pid), "State");
  return !state.empty() && state != "(zombie)" && state != "(dead)";
}

pid_t parent_of(pid_t pid) {
  const std::string parent = status_of(std::to_string(pid), "PPid");
  return parent.empty() ? 0 : std::stoi(parent);
}

}  // namespace batchcast::testing
