// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "feeder/processor_room.hpp"

#include "core/usable_processors.hpp"
#include "feeder/worker_count.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "temporary_folder.hpp"

using namespace batchcast;
using detail::ProcessorRoom;
using detail::WorkerCount;

namespace {

/// A machine of as many processors as this process may use, whose ticks a test counts.
class Machine {
 public:
  explicit Machine(unsigned processors) : processors_(processors) { pass(0, 0, 0); }

  /// Time passes, of which others, this process and its trainer use that many processors.
  void pass(double others, double own, double trainer) {
    constexpr double ticks = 200;
    busy_ += static_cast<std::uint64_t>(ticks * (others + own + trainer));
    own_ += static_cast<std::uint64_t>(ticks * own);
    trainer_ += static_cast<std::uint64_t>(ticks * trainer);
    all_ += static_cast<std::uint64_t>(ticks * processors_);
    write("stat", "cpu  " + std::to_string(busy_) + " 0 0 " + std::to_string(all_ - busy_) +
                      " 0 0 0 0\n" + cpu_lines());
    write("self/stat", process(own_));
    write("42/stat", process(trainer_));
  }
  [[nodiscard]] const std::string& root() const { return folder_.path(); }

 private:
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(folder_.path()) / "proc" / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  [[nodiscard]] static std::string process(std::uint64_t ticks) {
    return "7 (a b) c) S 1 1 1 0 -1 0 0 0 0 0 " + std::to_string(ticks) + " 0 0 0 20 0 1 0\n";
  }
  [[nodiscard]] std::string cpu_lines() const {
    std::string lines;
    for (unsigned i = 0; i < processors_; ++i) lines += "cpu" + std::to_string(i) + " 0\n";
    return lines;
  }

  testing::TemporaryFolder folder_;
  unsigned processors_;
  std::uint64_t busy_ = 0;
  std::uint64_t own_ = 0;
  std::uint64_t trainer_ = 0;
  std::uint64_t all_ = 0;
};

}  // namespace

TEST_CASE("workers give way to other processes, and not to their trainers", "[observe]") {
  const unsigned usable = usable_processors();
  Machine machine(usable);
  ProcessorRoom room(machine.root());
  const auto after = [&](int looks, double others, double own, double trainer) {
    unsigned left = 0;
    for (int i = 0; i < looks; ++i) {
      machine.pass(others, own, trainer);
      left = room.look({42});
    }
    return left;
  };
  CHECK(after(10, 0, usable * 0.5, usable * 0.5) == usable);
  CHECK(room.others() < 0.1);
  if (usable == 1) return;
  CHECK(after(2, usable - 1.0, 0.5, 0.5) == usable);  // it has to last
  CHECK(after(15, usable - 1.0, 0.5, 0.5) == 1);
  CHECK(room.others() > usable - 1.5);
  CHECK(room.why() == "other processes use about " + std::to_string(usable - 1));
  CHECK(after(20, 0, 1, 0) == usable);
  CHECK(room.why().find("control group") != std::string::npos);
}

TEST_CASE("a kernel that says nothing of processors takes none away", "[observe]") {
  ProcessorRoom room("/nowhere");
  for (int i = 0; i < 10; ++i) CHECK(room.look({1, 2}) == usable_processors());
}

TEST_CASE("workers above what is left end, also where some wait", "[observe]") {
  WorkerCount count(8);
  CHECK(count.next(8, {0, 0.9, 0.1}) == 8);
  count.set_processors(3);
  CHECK(count.next(8, {0, 0.9, 0.1}) == 3);
  CHECK(count.next(2, {0, 0.9, 0.1}) == 2);
  count.set_processors(8);
  CHECK(count.next(3, {0, 1, 0}) == 6);
}
