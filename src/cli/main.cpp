// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/version.hpp>

#include <cstdio>
#include <exception>

namespace {

using namespace batchcast;

int run(int argc, char** argv) {
  CLI::App program(
      "batchcast: decode and augment a dataset once, for any number of trainers on this machine.");
  program.name("batchcast");
  program.set_version_flag("--version", "batchcast " + std::string(version));
  program.require_subcommand(1);
  program.footer(
      "`batchcast COMMAND --help` says more. Exit codes: 0 all well, 1 a promise did not hold,\n"
      "2 wrong arguments, 3 the environment (no such stream, no memory …), 4 the stream ended "
      "early.");
  cli::Action chosen;
  cli::add_serve(program, chosen);
  cli::add_ensure(program, chosen);
  cli::add_consume(program, chosen);
  cli::add_recipe(program, chosen);
  cli::add_list(program, chosen);
  cli::add_stop(program, chosen);
  cli::add_evict(program, chosen);
  cli::add_dump(program, chosen);
  cli::add_check(program, chosen);
  cli::add_peek(program, chosen);
  cli::add_bench(program, chosen);
  cli::add_doctor(program, chosen);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? cli::exit_ok : cli::exit_usage;
  }
  return chosen();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const CLI::Error& error) {
    std::fprintf(stderr, "batchcast: %s\n", error.what());
    return cli::exit_usage;
  } catch (const InvalidArgument& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return cli::exit_usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return cli::exit_environment;
  }
}
