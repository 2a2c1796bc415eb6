// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/output.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/version.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace batchcast;

/// What is opened later must not take the place of a stream that was closed: reports would go into
/// it.
void open_closed_standard_streams() noexcept {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // The lowest free number is this one.
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0) return;
  }
}

int fail(const std::string& text, cli::Exit code) {
  cli::say(text + "\n");
  return code;
}

int parse_and_run(CLI::App& program, std::vector<std::string> words, const cli::Action& chosen) {
  if (const std::string text = cli::unknown_command(program, words); !text.empty()) {
    return fail(text, cli::exit_usage);
  }
  if (const std::string text = cli::empty_value(program, words); !text.empty()) {
    return fail(text, cli::exit_usage);
  }
  if (const std::string help = cli::help_without_command(program, words); !help.empty()) {
    return fail(help, cli::exit_usage);
  }
  try {
    std::reverse(words.begin(), words.end());  // as the parser takes them
    program.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    const bool failed = error.get_exit_code() != 0;
    if (const std::string text = cli::unknown_argument(program); failed && !text.empty()) {
      return fail(text, cli::exit_usage);
    }
    return cli::exit_of(program, error);
  }
  return chosen();
}

/// What `batchcast --help` lists below one heading.
struct CommandGroup {
  const char* title;
  std::vector<void (*)(CLI::App&, cli::Action&)> commands;
};

void add_commands(CLI::App& program, cli::Action& chosen) {
  const std::vector<CommandGroup> groups = {
      {"Serve",
       {cli::add_serve, cli::add_ensure, cli::add_tokenize, cli::add_stop, cli::add_set,
        cli::add_evict}},
      {"Look at streams, at data and at this machine",
       {cli::add_list, cli::add_top, cli::add_metrics, cli::add_trace, cli::add_peek,
        cli::add_consume, cli::add_inspect, cli::add_recipe, cli::add_check, cli::add_dump,
        cli::add_cache, cli::add_doctor, cli::add_bench}},
  };
  for (const CommandGroup& group : groups) {
    for (const auto& add : group.commands) {
      add(program, chosen);
      program.get_subcommands({}).back()->group(group.title);
    }
  }
}

int run(int argc, char** argv) {
  CLI::App program(
      "Decode and augment a dataset once, for any number of trainers on this machine.");
  program.name("batchcast");
  program.formatter(std::make_shared<cli::HelpFormatter>());
  program.set_version_flag("--version", text("batchcast {}", version));
  program.require_subcommand(1);
  cli::Action chosen;
  add_commands(program, chosen);
  // Not before: commands would take it over.
  program.footer(
      "Exit: 0 well, 1 promise broke, 2 usage, 3 environment, 4 ended early, 130 Ctrl-C");
  return parse_and_run(program, cli::command_words(argc, argv), chosen);
}

}  // namespace

int main(int argc, char** argv) {
  open_closed_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // what is too large for `ulimit -f` is an error with a text
  try {
    return cli::finish_output(run(argc, argv));
  } catch (const CLI::Error& error) {
    return fail(text("batchcast: {}", error.what()), cli::exit_usage);
  } catch (const InvalidArgument& error) {
    return fail(error.what(), cli::exit_usage);
  } catch (const StreamOver& error) {
    return fail(error.what(), cli::exit_stream_ended);
  } catch (const Revoked& error) {
    return fail(error.what(), cli::exit_stream_ended);
  } catch (const Error& error) {
    return fail(error.what(), cli::exit_environment);
  } catch (const std::bad_alloc&) {
    return fail(
        "batchcast: this process may not take more memory. Allow it more address space (`ulimit "
        "-v`), or end what else takes the machine's memory.",
        cli::exit_environment);
  } catch (const std::exception& error) {
    return fail(text("batchcast: {}", error.what()), cli::exit_environment);
  }
}
