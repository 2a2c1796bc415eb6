// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "torch_catch.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdint>
#include <string>
#include <vector>

extern char** environ;

namespace batchcast::testing {

/// What a process of roles_test.cpp was asked for, in its environment.
inline constexpr const char* role_directory = "BATCHCAST_TEST_ROLE_DIRECTORY";
inline constexpr const char* role_recipe = "BATCHCAST_TEST_ROLE_RECIPE";
inline constexpr const char* role_file = "BATCHCAST_TEST_ROLE_FILE";

/// This program again, running one hidden test case; killed with the object at the latest.
class RoleProcess {
 public:
  RoleProcess(std::string tag, const std::vector<std::string>& environment) {
    std::string program = "/proc/self/exe";
    std::vector<std::string> variables = environment;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      variables.emplace_back(*variable);
    }
    std::vector<char*> pointers;
    for (std::string& variable : variables) pointers.push_back(variable.data());
    pointers.push_back(nullptr);
    char* const arguments[] = {program.data(), tag.data(), nullptr};
    REQUIRE(::posix_spawn(&pid_, program.c_str(), nullptr, nullptr, arguments, pointers.data()) ==
            0);
  }
  ~RoleProcess() {
    if (pid_ > 0) kill();
  }
  RoleProcess(const RoleProcess&) = delete;
  RoleProcess& operator=(const RoleProcess&) = delete;

  void kill() {
    ::kill(pid_, SIGKILL);
    static_cast<void>(wait());
  }
  /// As waitpid has it.
  [[nodiscard]] int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
};

/// A stream `served` of 10 samples an epoch, without end.
class ProducerProcess : public RoleProcess {
 public:
  explicit ProducerProcess(const std::string& directory, const std::string& recipe = {})
      : RoleProcess("[.producer]", {std::string(role_directory) + "=" + directory,
                                    std::string(role_recipe) + "=" + recipe}) {}
};

}  // namespace batchcast::testing
