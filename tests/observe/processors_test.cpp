// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/processors.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "temporary_folder.hpp"

using namespace batchcast;
using namespace batchcast::observe;

namespace {

void write_stat(const std::string& root, const std::string& text) {
  std::filesystem::create_directories(root + "/proc");
  std::ofstream(root + "/proc/stat") << text;
}

}  // namespace

TEST_CASE("idle processors are counted between two looks", "[observe]") {
  const testing::TemporaryFolder folder;
  write_stat(folder.path(),
             "cpu  10 0 10 70 10 0 0 0 5 0\ncpu0 5 0 5 35 5 0 0 0 0 0\ncpu1 5 0 5 35 5 0 0 0 0 0\n"
             "intr 7\n");
  const ProcessorTicks before = processor_ticks(folder.path());
  CHECK(before.processors == 2);
  CHECK(before.all == 100);
  CHECK(before.idle == 80);
  write_stat(folder.path(), "cpu  60 0 10 110 20 0 0 0 5 0\ncpu0 1\ncpu1 1\n");
  CHECK(idle_between(before, processor_ticks(folder.path())) == 1.0);
  CHECK(idle_between(before, before) < 0);
}

TEST_CASE("the kernel's pressure is a share, or not known", "[observe]") {
  const testing::TemporaryFolder folder;
  const auto pressure_of = [&](const std::string& text) {
    static_cast<void>(folder.write("proc/pressure/cpu", text));
    return processor_pressure(folder.path());
  };
  CHECK(processor_pressure(folder.path()) == -1);
  CHECK(pressure_of("some avg10=25.00 avg60=7.62 avg300=8.16 total=1\nfull avg10=0.00\n") == 0.25);
  for (const char* text : {"", "some", "full avg10=25.00", "some avg60=1.00", "some avg10=nan",
                           "some avg10=101", "some avg10=-1", "some avg10=x"}) {
    CAPTURE(text);
    CHECK(pressure_of(text) == -1);
  }
}

TEST_CASE("without numbers of the kernel idle processors are not known", "[observe]") {
  const ProcessorTicks none = processor_ticks("/nowhere");
  CHECK(none.processors == 0);
  CHECK(idle_between(none, none) < 0);
  CHECK(processor_ticks().processors > 0);
}
