// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/log.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

using namespace batchcast;

namespace {

/// What `write` puts on stderr.
template <class Write>
std::string on_stderr(Write&& write) {
  std::fflush(stderr);
  const FileDescriptor before(::dup(STDERR_FILENO));
  const FileDescriptor memory(::memfd_create("stderr", MFD_CLOEXEC));
  ::dup2(memory.get(), STDERR_FILENO);
  write();
  std::fflush(stderr);
  ::dup2(before.get(), STDERR_FILENO);
  std::array<char, 256> text{};
  const ssize_t bytes = ::pread(memory.get(), text.data(), text.size(), 0);
  return std::string(text.data(), static_cast<std::size_t>(bytes));
}

}  // namespace

TEST_CASE("what is reported goes to the callback, as it is") {
  std::string told;
  const LogCallback log = [&](LogLevel level, std::string_view text) {
    told += (level == LogLevel::debug ? "debug " : "other ") + std::string(text);
  };
  const std::string printed =
      on_stderr([&] { detail::report(log, LogLevel::debug, "a\x1b[2J", "stream `s`: "); });
  CHECK(told == "debug a\x1b[2J");
  CHECK(printed.empty());
}

TEST_CASE("without a callback, warnings and errors go to stderr") {
  const std::string printed = on_stderr([] {
    detail::report({}, LogLevel::info, "not worth it");
    detail::report({}, LogLevel::warning, "a\x1b[2J");
    detail::report({}, LogLevel::error, "b", "stream `s`: ");
  });
  CHECK(printed == "batchcast: a\\x1b[2J\nbatchcast: stream `s`: b\n");
}

TEST_CASE("a log callback that throws ends nothing") {
  const LogCallback log = [](LogLevel, std::string_view) { throw std::runtime_error("full"); };
  CHECK_NOTHROW(detail::report(log, LogLevel::error, "c"));
}
