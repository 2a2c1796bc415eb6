// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "tidy.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

namespace tidy {
namespace {

// Who may include whom. `consumer` is all that a trainer runs, on what it stands on: ring, join and
// core; `torch` is its face for libtorch, and `torch_serve` the one part of that which is a
// producer. `cuda` is the driver's layer, `gpu` what is made of it. `ends` is the producer, which
// joins data, ring and control; `start` is what the command does for trainers that start a stream;
// `compiled` is where the definitions of a trainer's headers are
// compiled; `map` is batchcast.hpp, which includes everything but torch.
const std::map<std::string, std::set<std::string>> edges = {
    {"core", {"core"}},
    {"data", {"core", "data"}},
    {"ring", {"core", "ring"}},
    {"join", {"core", "join"}},
    {"control", {"core", "join", "control"}},
    {"cuda", {"core", "cuda"}},
    {"consumer", {"core", "ring", "join", "cuda", "consumer"}},
    {"gpu", {"core", "data", "ring", "join", "control", "consumer", "ends", "cuda", "gpu"}},
    {"ends", {"core", "data", "ring", "join", "control", "consumer", "ends"}},
    {"start", {"core", "data", "ring", "join", "control", "consumer", "ends", "start"}},
    {"compiled", {"core", "ring", "join", "cuda", "consumer"}},
    {"map", {"core", "data", "ring", "join", "control", "consumer", "ends"}},
    {"torch", {"core", "ring", "join", "consumer", "torch"}},
    {"torch_serve",
     {"core", "data", "ring", "join", "control", "consumer", "ends", "map", "torch",
      "torch_serve"}},
    {"cli",
     {"core", "data", "ring", "join", "control", "consumer", "ends", "start", "cuda", "map",
      "cli"}},
    {"python", {"core", "data", "ring", "join", "control", "consumer", "ends", "map", "python"}},
};

// Third-party headers, by the start of their name, and where they may be included.
struct Border {
  std::string header;
  std::vector<std::string> folders;
};
const std::vector<std::string> torch_folders = {"include/batchcast/adapt/",
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
    {"spng.h", {"src/data/", "tests/data/"}},
    {"webp/", {"src/data/", "tests/data/"}},
    {"archive", {"src/data/", "tests/data/"}},
    {"opencv2/", {"benchmarks/"}},
    {"benchmark/", {"benchmarks/"}},
    {"CLI/", {"src/cli/"}},
    {"fmt/", {"src/cli/"}},
    {"spdlog/", {"src/cli/"}},
    {"torch/", torch_folders},
    {"ATen/", torch_folders},
    {"c10/", torch_folders},
    {"catch2/", {"tests/catch.hpp"}},
    {"rapidcheck", {"tests/"}},
    {"iceoryx_", {"benchmarks/"}},
};
const std::vector<std::string> system_folders = {"sys/", "linux/", "netinet/", "arpa/", "net/"};

bool starts_with_any(const std::string& text, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return text.starts_with(prefix); });
}

// `path` as it stands below include/batchcast/ or src/.
std::string module_of(const std::string& path) {
  const std::size_t slash = path.find('/');
  if (path.starts_with("adapt/torch_serve")) return "torch_serve";
  if (path.starts_with("adapt/")) return "torch";
  if (slash != std::string::npos) return path.substr(0, slash);
  static const std::map<std::string, std::string> files = {
      {"batchcast.hpp", "map"},     {"version.hpp", "core"},   {"version.hpp.in", "core"},
      {"consumer.hpp", "consumer"}, {"batch.hpp", "consumer"}, {"checkpoint.hpp", "consumer"},
      {"start.hpp", "consumer"},    {"torch.hpp", "torch"},    {"torch_serve.hpp", "torch_serve"},
  };
  const auto known = files.find(path);
  return known == files.end() ? "ends" : known->second;
}

// Where a file or a header of our own belongs; empty for tests, examples and benchmarks.
std::string module_of_file(const std::string& path) {
  for (const std::string folder : {"include/batchcast/", "src/"}) {
    if (path.starts_with(folder)) return module_of(path.substr(folder.size()));
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
  // What users read includes none; how it is done needs them, and stands in folders.
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
  std::set<std::string> top_of_src;
  std::set<std::string> of_examples;
  for (const File& file : files) {
    if (is_below(file, "examples/")) of_examples.insert(file.path);
    if (is_below(file, "src/") && file.path.find('/', 4) == std::string::npos) {
      top_of_src.insert(file.path.substr(4));
    }
  }
  for (const File& file : files) {
    if (!is_source(file)) continue;
    const std::string from = module_of_file(file.path);
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
        to = module_of(header.substr(10));
      } else if (quoted) {
        const bool beside = header.find('/') == std::string::npos && !top_of_src.contains(header);
        to = beside ? from : module_of(header);
      } else {
        const std::string why = border_broken(file, header);
        if (!why.empty()) found.push_back({file.path, i + 1, "border", "<" + header + "> " + why});
        continue;
      }
      if (from.empty() || to.empty()) continue;
      const auto edge = edges.find(from);
      if (edge == edges.end() || !edge->second.contains(to)) {
        found.push_back({file.path, i + 1, "edge", from + " must not include " + to});
      }
    }
  }
}

}  // namespace tidy
