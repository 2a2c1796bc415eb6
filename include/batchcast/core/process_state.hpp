// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/text.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// Whether the kernel says that a process is stopped: by SIGSTOP, its terminal or a debugger. False
/// where that cannot be seen. `pid` is as this process sees it; 0 is no process.
[[nodiscard]] inline bool is_stopped(std::uint32_t pid) {
  if (pid == 0) return false;
  const std::string path = text("/proc/{}/stat", pid);
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  const ssize_t bytes = file ? ::read(file.get(), text.data(), text.size()) : 0;
  if (bytes <= 0) return false;
  // The line is `123 (name) S …`, and the name may contain parentheses.
  const std::string_view line(text.data(), static_cast<std::size_t>(bytes));
  const std::size_t end = line.rfind(')');
  if (end == std::string_view::npos || end + 2 >= line.size()) return false;
  return line[end + 2] == 'T' || line[end + 2] == 't';
}

}  // namespace batchcast::inline v0_1::detail
