// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "simulation/world.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

using namespace batchcast::simulation;

namespace {

struct Mutant {
  int line;
  const char* file;
  const char* what;
  const char* why;  ///< it need not be caught
  bool lives;       ///< the world of lives judges it
};
constexpr Mutant mutants[] = {
#include "mutants.inc"
    {0, "", "", "", false}};
constexpr std::uint32_t mutant_count = std::size(mutants) - 1;

struct Arguments {
  std::uint64_t schedules = 20'000;
  std::uint64_t seed = 1;
  bool one = false;  ///< tells the story of that seed
  bool ledger = false;
  bool lives = false;  ///< the world of lives
  double seconds = 0;  ///< of processor time; 0: no limit
};

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

volatile std::uint64_t running_seed = 0;

/// An assertion of the library, or worse: says which schedule it was.
void say_seed(int signal) {
  std::array<char, 80> line{};
  const int length = std::snprintf(line.data(), line.size(), "seed %llu ended with signal %d\n",
                                   static_cast<unsigned long long>(running_seed), signal);
  static_cast<void>(!::write(STDOUT_FILENO, line.data(), static_cast<std::size_t>(length)));
  ::_exit(3);
}

bool runs_lives = false;

Outcome run_one() { return runs_lives ? run_lives_world() : run_ring_world(); }

Outcome run_seed(std::uint64_t seed) {
  running_seed = seed;
  chance().begin(seed);
  return run_one();
}

Outcome run_draws(const std::vector<std::uint32_t>& draws) {
  chance().replay(draws);
  return run_one();
}

/// What has to stay the same while a schedule is shrunk: the fault without its numbers.
std::string kind_of(const std::string& fault) {
  std::string kind;
  for (const char c : fault) {
    if (c < '0' || c > '9') kind += c;
  }
  return kind;
}

/// Fewer and plainer draws that end with the same kind of fault.
std::vector<std::uint32_t> shrunk(std::vector<std::uint32_t> draws, const std::string& fault) {
  const std::string kind = kind_of(fault);
  int runs_left = 6000;
  const auto fails = [&](const std::vector<std::uint32_t>& tried) {
    return --runs_left > 0 && kind_of(run_draws(tried).fault) == kind;
  };
  bool better = true;
  while (better && runs_left > 0) {
    better = false;
    for (std::size_t size = std::max<std::size_t>(draws.size() / 2, 1); size != 0; size /= 2) {
      for (std::size_t at = 0; at < draws.size();) {
        const std::size_t end = std::min(at + size, draws.size());
        std::vector<std::uint32_t> without = draws;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(at),
                      without.begin() + static_cast<std::ptrdiff_t>(end));
        if (fails(without)) {
          draws = without;
          better = true;
          continue;
        }
        std::vector<std::uint32_t> plain = draws;
        std::fill(plain.begin() + static_cast<std::ptrdiff_t>(at),
                  plain.begin() + static_cast<std::ptrdiff_t>(end), 0);
        if (plain != draws && fails(plain)) {
          draws = plain;
          better = true;
        }
        at = end;
      }
    }
  }
  return draws;
}

/// Runs the schedules of consecutive seeds. The fault of the first one that has any.
bool all_hold(const Arguments& arguments, std::uint64_t& ran, std::uint64_t& seed, Outcome& last,
              Outcome& sums) {
  const double until = processor_seconds() + arguments.seconds;
  for (ran = 0; ran < arguments.schedules; ++ran) {
    if (arguments.seconds != 0 && ran % 256 == 255 && processor_seconds() > until) return true;
    seed = arguments.seed + ran;
    last = run_seed(seed);
    sums.steps += last.steps;
    sums.switches += last.switches;
    sums.deaths += last.deaths;
    sums.wakes += last.wakes;
    sums.time_outs += last.time_outs;
    if (!last.fault.empty()) {
      ++ran;
      return false;
    }
  }
  return true;
}

int tell_story(std::uint64_t seed) {
  Outcome outcome = run_seed(seed);
  if (outcome.fault.empty()) {
    set_telling(true);
    outcome = run_seed(seed);
    std::printf("seed %llu: all holds\n", static_cast<unsigned long long>(seed));
    return 0;
  }
  const std::vector<std::uint32_t> long_one = chance().draws();
  const std::vector<std::uint32_t> draws = shrunk(long_one, outcome.fault);
  std::printf("seed %llu, shrunk from %zu draws to %zu:\n", static_cast<unsigned long long>(seed),
              long_one.size(), draws.size());
  set_telling(true);
  outcome = run_draws(draws);
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), outcome.fault.c_str());
  return 1;
}

std::string short_name(const char* function) {
  std::string name = function;
  name = name.substr(0, name.find('('));
  const std::size_t at = name.rfind("::");
  return at == std::string::npos ? name : name.substr(at + 2);
}

void print_ledger() {
  std::uint64_t met = 0;
  std::uint64_t lines = 0;
  for (const StepDeaths& one : steps_and_deaths()) {
    std::printf("%-34s line %4u %12llu steps %8llu deaths\n", short_name(one.function).c_str(),
                one.line, static_cast<unsigned long long>(one.steps),
                static_cast<unsigned long long>(one.deaths));
    ++lines;
    met += one.deaths != 0;
  }
  std::printf("%llu of %llu kinds of steps met a death\n", static_cast<unsigned long long>(met),
              static_cast<unsigned long long>(lines));
}

/// 0: caught, or explained.
int try_here(Arguments arguments, std::uint32_t number) {
  const Mutant& mutant = mutants[number - 1];
  chosen_mutant = number;
  runs_lives = mutant.lives;
  std::uint64_t ran = 0;
  std::uint64_t seed = 0;
  Outcome last;
  Outcome sums;
  const double before = processor_seconds();
  const bool explained = *mutant.why != '\0' && std::strncmp(mutant.why, "found", 5) != 0;
  if (explained) arguments.schedules /= 20;  // it only has to do no harm
  const bool holds = all_hold(arguments, ran, seed, last, sums);
  chosen_mutant = 0;
  std::printf("%s mutant %u (line %d): %s: %s\n   %s after %llu schedules, %.1f s%s%s\n",
              !holds      ? "caught"
              : explained ? "explained"
                          : "SURVIVED",
              number, mutant.line, mutant.file, mutant.what,
              holds ? mutant.why : last.fault.c_str(), static_cast<unsigned long long>(ran),
              processor_seconds() - before, holds ? "" : ", seed ",
              holds ? "" : std::to_string(seed).c_str());
  std::fflush(stdout);
  return holds && !explained ? 1 : 0;
}

/// In a process for it: a mutant may hit an assertion, or worse.
int try_mutant(const Arguments& arguments, std::uint32_t number) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto most = static_cast<rlim_t>(arguments.seconds * 2) + 20;
    const rlimit limit{most, most};
    ::setrlimit(RLIMIT_CPU, &limit);  // a loop without a step ends nowhere else
    ::_exit(try_here(arguments, number));
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return 1;
  if (WIFEXITED(status) && WEXITSTATUS(status) <= 1) return WEXITSTATUS(status);
  std::printf(
      "caught mutant %u (line %d): %s: %s\n   by an assertion of the library, or it never ends\n",
      number, mutants[number - 1].line, mutants[number - 1].file, mutants[number - 1].what);
  return 0;
}

int run_all(const Arguments& arguments) {
  std::uint64_t ran = 0;
  std::uint64_t seed = 0;
  Outcome last;
  Outcome sums;
  const double before = processor_seconds();
  const bool holds = all_hold(arguments, ran, seed, last, sums);
  const double seconds = processor_seconds() - before;
  std::printf(
      "%llu schedules from seed %llu: %llu steps, %u switches, %u deaths, %u wakes, %u "
      "time-outs, %.1f s of one processor, %.0f a second\n",
      static_cast<unsigned long long>(ran), static_cast<unsigned long long>(arguments.seed),
      static_cast<unsigned long long>(sums.steps), sums.switches, sums.deaths, sums.wakes,
      sums.time_outs, seconds, static_cast<double>(ran) / seconds);
  if (arguments.ledger) print_ledger();
  if (holds) return 0;
  std::printf("seed %llu failed: %s\n", static_cast<unsigned long long>(seed), last.fault.c_str());
  return tell_story(seed);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  std::vector<std::uint32_t> tried;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0; };
    if (word == "--schedules") {
      arguments.schedules = number();
    } else if (word == "--seed") {
      arguments.seed = number();
    } else if (word == "--seconds") {
      arguments.seconds = static_cast<double>(number());
    } else if (word == "--story") {
      arguments.one = true;
    } else if (word == "--ledger") {
      arguments.ledger = true;
    } else if (word == "--lives") {
      arguments.lives = true;
    } else if (word == "--mutant") {
      tried.push_back(static_cast<std::uint32_t>(number()));
    } else if (word == "--mutants") {
      for (std::uint32_t one = 1; one <= mutant_count; ++one) tried.push_back(one);
    } else if (word == "--found") {
      for (std::uint32_t one = 1; one <= mutant_count; ++one) {
        if (std::strncmp(mutants[one - 1].why, "found", 5) == 0) std::printf("%u\n", one);
      }
      return 0;
    } else if (word == "--count-mutants") {
      std::printf("%u\n", mutant_count);
      return 0;
    } else {
      std::fprintf(
          stderr,
          "usage: %s [--schedules N] [--seconds S] [--seed N] [--lives] [--story] [--ledger]\n"
          "       [--mutant N]... [--mutants] [--count-mutants] [--found]\n",
          argv[0]);
      return 2;
    }
  }
  std::signal(SIGABRT, say_seed);
  std::signal(SIGSEGV, say_seed);
  runs_lives = arguments.lives;
  if (tried.empty()) return arguments.one ? tell_story(arguments.seed) : run_all(arguments);
  int survived = 0;
  for (const std::uint32_t one : tried) {
    if (one == 0 || one > mutant_count) return 2;
    if (arguments.one) {
      chosen_mutant = one;
      runs_lives = mutants[one - 1].lives;
      return tell_story(arguments.seed);
    }
    survived += try_mutant(arguments, one);
  }
  std::printf("%zu mutants, %d survived\n", tried.size(), survived);
  return survived == 0 ? 0 : 1;
}
