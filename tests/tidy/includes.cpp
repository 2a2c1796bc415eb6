// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "tidy.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

namespace tidy {
namespace {

using Rooms = std::map<std::string, std::set<std::string>>;

// What may include what, besides the rooms of the library, which are listed in src/rooms.cmake.
// `trainer` is what a trainer calls; `torch` is its face for libtorch, and `torch_serve` the one
// part of that which is a producer; `batchcast` is batchcast.hpp, which includes all but torch.
const Rooms beyond_the_library = {
    {"batchcast",
     {"core", "data", "consumer", "delivery", "starting", "trainer", "producer", "feeder", "gpu"}},
    {"torch", {"core", "ring", "consumer", "delivery", "starting", "trainer"}},
    {"torch_serve",
     {"core", "data", "ring", "consumer", "trainer", "producer", "feeder", "batchcast", "torch"}},
    {"options", {"core", "consumer"}},
    {"serving",
     {"options", "core", "data", "data/cache", "data/spec", "ring", "launcher", "served",
      "producer", "feeder", "gpu"}},
    {"metrics", {"core", "observe"}},
    {"cli", {"options",    "serving",      "core",        "data",      "data/cache", "data/codec",
             "data/image", "data/program", "data/source", "data/spec", "ring",       "join",
             "cuda",       "launcher",     "consumer",    "starting",  "trainer",    "stream",
             "control",    "served",       "producer",    "feeder",    "start",      "gpu",
             "observe",    "metrics",      "batchcast",   "life"}},
    {"python",
     {"options", "serving", "core", "data", "data/codec", "ring", "join", "consumer", "starting",
      "trainer", "stream", "producer", "feeder", "batchcast"}},
};

// `batchcast_room(NAME DEPENDS ROOM... PACKAGES ... SOURCES ...)`, as src/rooms.cmake calls it.
Rooms read_rooms(const Files& files) {
  static const std::regex begins(R"(^batchcast_room\((\S+?)\)?$)");
  static const std::regex word(R"([^\s()]+)");
  Rooms rooms = beyond_the_library;
  std::string room;
  bool depends = false;
  for (const File& file : files) {
    if (file.path != "src/rooms.cmake") continue;
    for (const std::string& line : file.lines) {
      std::smatch match;
      if (std::regex_match(line, match, begins)) {
        room = match[1];
        rooms[room];
        depends = false;
        continue;
      }
      for (std::sregex_iterator it(line.begin(), line.end(), word), end; it != end; ++it) {
        const std::string text = it->str();
        const bool key = text == "DEPENDS" || text == "PACKAGES" || text == "SOURCES";
        if (key) depends = text == "DEPENDS";
        if (!key && depends && !room.empty()) rooms[room].insert(text);
      }
    }
  }
  return rooms;
}

// Third-party headers, by the start of their name, and where they may be included.
struct Border {
  std::string header;
  std::vector<std::string> folders;
};
const std::vector<std::string> torch_folders = {"include/batchcast/torch/",
                                                "include/batchcast/torch.hpp",
                                                "include/batchcast/torch_serve.hpp",
                                                "tests/torch/",
                                                "tests/gpu/",
                                                "tests/package/",
                                                "examples/",
                                                "benchmarks/"};
const std::vector<Border> borders = {
    {"zmq.h", {"src/", "tests/"}},
    {"boost/interprocess/mapped_region.hpp", {"include/batchcast/ring/mapping.ipp"}},
    {"boost/lockfree/", {"src/"}},
    {"boost/context/", {"tests/simulation/"}},
    {"relacy/", {"tests/relacy/"}},
    {"nlohmann/", {"src/", "tests/", "benchmarks/"}},
    {"toml++/", {"src/"}},
    {"xxhash.h", {"src/", "tests/"}},
    {"cuda.h", {"src/cuda/driver_api_check.cpp", "tests/fake_cuda/"}},
    {"dlfcn.h",
     {"include/batchcast/cuda/", "include/batchcast/core/process_symbol.ipp",
      "include/batchcast/ring/", "tests/"}},
    {"hwy/", {"src/data/", "tests/data/"}},
    {"jpeglib.h", {"src/data/", "tests/data/", "benchmarks/"}},
    {"turbojpeg.h", {"src/data/"}},
    {"spng.h", {"src/data/", "tests/data/", "benchmarks/"}},
    {"webp/", {"src/data/", "tests/data/", "benchmarks/"}},
    {"archive", {"src/data/", "tests/data/"}},
    {"opencv2/", {"benchmarks/"}},
    {"benchmark/", {"benchmarks/"}},
    {"CLI/", {"src/cli/"}},
    {"fmt/", {"src/cli/", "src/serving/"}},
    {"spdlog/", {"src/serving/"}},
    {"prometheus/", {"src/metrics/", "src/cli/metrics/", "tests/metrics/"}},
    {"microhttpd.h", {"src/metrics/"}},
    {"torch/", torch_folders},
    {"ATen/", torch_folders},
    {"c10/", torch_folders},
    {"catch2/", {"tests/catch.hpp"}},
    {"rapidcheck", {"tests/"}},
    {"iceoryx_", {"benchmarks/"}},
    {"nanobind/", {"src/python/"}},
};
const std::vector<std::string> system_folders = {"sys/", "linux/", "netinet/", "arpa/", "net/"};

bool starts_with_any(const std::string& text, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return text.starts_with(prefix); });
}

// The room of `path`, as that stands below include/batchcast/ or src/: the deepest folder that is
// one, or what a header at the top belongs to.
std::string room_of(const Rooms& rooms, const std::string& path) {
  if (path.starts_with("torch/serve")) return "torch_serve";
  for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash != 0;
       slash = path.rfind('/', slash - 1)) {
    if (std::string folder = path.substr(0, slash); rooms.contains(folder)) return folder;
  }
  static const std::map<std::string, std::string> files = {
      {"batchcast.hpp", "batchcast"},
      {"version.hpp", "core"},
      {"version.hpp.in", "core"},
      {"batch.hpp", "consumer"},
      {"consumer_options.hpp", "consumer"},
      {"start_options.hpp", "consumer"},
      {"gpu.hpp", "delivery"},
      {"start.hpp", "starting"},
      {"consumer.hpp", "trainer"},
      {"checkpoint.hpp", "trainer"},
      {"producer.hpp", "producer"},
      {"device_stage.hpp", "served"},
      {"feeder.hpp", "feeder"},
      {"loan.hpp", "served"},
      {"producer_options.hpp", "served"},
      {"finish_stage.hpp", "gpu"},
      {"torch.hpp", "torch"},
      {"torch_serve.hpp", "torch_serve"},
  };
  const auto known = files.find(path);
  return known == files.end() ? path : known->second;
}

// Where a file of our own belongs; empty for tests, examples and benchmarks.
std::string room_of_file(const Rooms& rooms, const std::string& path) {
  for (const std::string folder : {"include/batchcast/", "src/"}) {
    if (path.starts_with(folder)) return room_of(rooms, path.substr(folder.size()));
  }
  return {};
}

std::string border_broken(const File& file, const std::string& header) {
  for (const Border& border : borders) {
    if (!header.starts_with(border.header)) continue;
    if (starts_with_any(file.path, border.folders)) return {};
    return "belongs in " + border.folders.front() + " only";
  }
  const bool in_folder = header.find('/') != std::string::npos;
  const bool in_system = starts_with_any(header, system_folders);
  if (in_folder && !in_system)
    return "is not a header that tests/tidy/includes.cpp knows a place for";
  const bool of_system = header.ends_with(".h");
  // The headers that users read include none; the definitions in the folders below need them.
  const bool read_by_users =
      is_below(file, "include/") && file.path.find('/', 18) == std::string::npos;
  if (of_system && read_by_users) {
    return "is the system's: public headers include the standard library and batchcast only";
  }
  return {};
}

}  // namespace

void check_includes(const Files& files, Violations& found) {
  static const std::regex include(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  const Rooms rooms = read_rooms(files);
  std::set<std::string> of_examples;
  for (const File& file : files) {
    if (is_below(file, "examples/")) of_examples.insert(file.path);
  }
  for (const File& file : files) {
    if (!is_source(file)) continue;
    const std::string from = room_of_file(rooms, file.path);
    for (std::size_t i = 0; i < file.code.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(file.code[i], match, include)) continue;
      const bool quoted = match[1] == "\"";
      const std::string header = match[2];
      const std::string folder = file.path.substr(0, file.path.rfind('/') + 1);
      if (quoted && of_examples.contains(folder + header)) continue;  // an example's own
      if (quoted && (is_below(file, "include/") || is_below(file, "examples/"))) {
        found.push_back({file.path, i + 1, "border", "\"" + header + "\" is private"});
        continue;
      }
      std::string to;
      if (header.starts_with("batchcast/")) {
        to = room_of(rooms, header.substr(10));
      } else if (quoted) {
        to = room_of(rooms, header);
      } else {
        const std::string why = border_broken(file, header);
        if (!why.empty()) found.push_back({file.path, i + 1, "border", "<" + header + "> " + why});
        continue;
      }
      if (from.empty() || from == to) continue;
      const auto edges = rooms.find(from);
      if (edges == rooms.end() || !edges->second.contains(to)) {
        found.push_back({file.path, i + 1, "edge", from + " must not include " + to});
      }
    }
  }
}

}  // namespace tidy
