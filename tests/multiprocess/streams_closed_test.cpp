// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

constexpr int leaves_them_alone = 7;

/// Whether a thread of this process has anything but /dev/null at 0 to 2.
bool takes_standard_streams() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::vector<fs::path> tasks;  // while they are listed, the list itself is open
  for (const auto& task : fs::directory_iterator("/proc/self/task")) tasks.push_back(task.path());
  for (const fs::path& task : tasks) {
    for (const char* fd : {"0", "1", "2"}) {
      const auto what = fs::read_symlink(task / "fd" / fd, ignored);
      if (!what.empty() && what != "/dev/null") return true;
    }
  }
  return false;
}

/// Serves and consumes without standard streams, as a daemon may that closed them.
int without_streams(const Words&) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) ::close(fd);
  Server server(producer_options(), {});
  Consumer consumer(consumer_options(Words(std::string("name=bare"))));
  for (int batches = 0; batches < 20; ++batches) {
    if (takes_standard_streams()) return 1;
    static_cast<void>(consumer.next());
  }
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) return 2;
  }
  server.stop();
  return leaves_them_alone;
}

const RoleRegistration bare("without_streams", without_streams);

}  // namespace

#ifndef __SANITIZE_THREAD__  // there ZeroMQ shares the program's descriptors
TEST_CASE("neither producer nor consumer takes the place of closed streams", "[names][short]") {
  const OwnDirectory directory;
  Process process("without_streams", {});
  const End end = process.wait();
  INFO(end.text());
  CHECK(end.exited_with(leaves_them_alone));
}
#endif
