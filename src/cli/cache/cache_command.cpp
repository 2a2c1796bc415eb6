// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "data/cache/cache_directory.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

// What lies in a cache's directory.
namespace batchcast::cli {
namespace {

using detail::CacheDirectory;
using detail::RecordPlace;
using detail::Segment;
using Json = nlohmann::json;

struct Options {
  std::string directory;
  bool json = false;
};

struct Found {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
  std::uint64_t damaged = 0;
  bool in_use = false;
  bool is_known = true;  ///< it is of this version
};

struct KeyHash {
  std::size_t operator()(const Fingerprint& key) const noexcept {
    return static_cast<std::size_t>(key.low);
  }
};
using Keys = std::unordered_set<Fingerprint, KeyHash>;

/// Of one segment; with `reads_all` its entries are read and compared with their sums.
Found look_at(const CacheDirectory& directory, const std::string& name, bool reads_all,
              Keys& keys) {
  Found found{.name = name, .in_use = directory.is_in_use(name)};
  const std::unique_ptr<Segment> segment = directory.open(name);
  if (segment == nullptr) return found;
  found.bytes = segment->file_bytes();
  found.is_known = segment->is_segment();
  if (!found.is_known) return found;
  if (const auto index = directory.index_of(name, *segment); index && !reads_all) {
    for (const detail::IndexRecord& record : index->records) keys.insert(record.key);
    found.entries = index->records.size();
    segment->go_on_at(index->end);
  }
  std::vector<std::byte> entry;
  std::uint64_t end = segment->scanned();
  segment->scan(!found.in_use, [&](const Fingerprint& key, const RecordPlace& place) {
    if (place.offset != end) ++found.damaged;  // a head that was passed
    end = place.end();
    ++found.entries;
    keys.insert(key);
    if (!reads_all) return;
    entry.resize(place.byte_count);
    if (!segment->read(key, place, entry)) ++found.damaged;
  });
  return found;
}

struct Everything {
  std::vector<Found> segments;
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;  ///< those of one key count once
  std::uint64_t damaged = 0;
};

Everything look(const CacheDirectory& directory, bool reads_all) {
  Everything all;
  Keys keys;
  for (const std::string& name : directory.names()) {
    Found found = look_at(directory, name, reads_all, keys);
    all.bytes += found.bytes;
    all.damaged += found.damaged;
    all.segments.push_back(std::move(found));
  }
  all.entries = keys.size();
  return all;
}

Json json_of(const std::string& path, const Everything& all) {
  Json segments = Json::array();
  for (const Found& found : all.segments) {
    segments.push_back({{"name", found.name},
                        {"bytes", found.bytes},
                        {"entries", found.entries},
                        {"damaged", found.damaged},
                        {"in_use", found.in_use},
                        {"known", found.is_known}});
  }
  return {{"directory", path},
          {"bytes", all.bytes},
          {"entries", all.entries},
          {"damaged", all.damaged},
          {"segments", std::move(segments)}};
}

std::string note_on(const Found& found) {
  if (!found.is_known) return "  of another version";
  std::string note = found.in_use ? "  a process appends to it" : "";
  if (found.damaged != 0) note += "  " + counted(found.damaged, "damaged record");
  return note;
}

int list(const Options& options, bool reads_all) {
  const CacheDirectory directory(options.directory, CacheDirectory::Missing::refuse);
  const Everything all = look(directory, reads_all);
  if (options.json) {
    print_json(json_of(directory.path(), all));
  } else {
    for (const Found& found : all.segments) {
      fmt::print("{}  {:>10}  {}{}\n", printable(found.name), bytes_text(found.bytes),
                 counted(found.entries, "entry", "entries"), note_on(found));
    }
    fmt::print("{}: {} in {}{}\n", printable(directory.path()), counted(all.entries, "JPEG"),
               bytes_text(all.bytes), all.damaged == 0 ? "" : text(", {} damaged", all.damaged));
  }
  return reads_all && all.damaged != 0 ? exit_not_held : exit_ok;
}

int clear(const Options& options) {
  const CacheDirectory directory(options.directory, CacheDirectory::Missing::refuse);
  const auto lock = directory.lock();
  std::uint64_t removed = 0;
  std::uint64_t in_use = 0;
  const std::uint64_t bytes = directory.bytes();
  for (const std::string& name : directory.names()) {
    if (directory.is_in_use(name)) ++in_use;
    directory.remove(name);
    ++removed;
  }
  if (options.json) {
    print_json({{"directory", directory.path()},
                {"removed", removed},
                {"bytes", bytes},
                {"in_use", in_use}});
    return exit_ok;
  }
  fmt::print("{}: removed {}, {}", printable(directory.path()), counted(removed, "segment"),
             bytes_text(bytes));
  if (in_use != 0) {
    fmt::print("; {} in use, whose space is free once their processes end",
               counted(in_use, "segment"));
  }
  fmt::print("\n");
  return exit_ok;
}

template <class Run>
void add(CLI::App& cache, Action& chosen, const char* name, const char* what, const char* footer,
         Run run) {
  auto options = std::make_shared<Options>();
  CLI::App* const command = cache.add_subcommand(name, what);
  command->add_option("DIR", options->directory, "The directory that `--cache` named")->required();
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(footer);
  command->callback([options, &chosen, run] { chosen = [options, run] { return run(*options); }; });
}

}  // namespace

void add_cache(CLI::App& program, Action& chosen) {
  CLI::App* const cache =
      program.add_subcommand("cache", "Look at a cache's directory, check it, empty it");
  cache->footer(
      "Example: the cache of `serve --cache 200GiB:/fast/cache`.\n"
      "  batchcast cache ls /fast/cache");
  cache->require_subcommand(1);
  add(*cache, chosen, "ls", "List its files, how much they hold, and which are in use",
      "Example: the cache of `serve --cache 200GiB:/fast/cache`.\n"
      "  batchcast cache ls /fast/cache",
      [](const Options& options) { return list(options, false); });
  add(*cache, chosen, "check",
      "Read every entry and compare it with its sum. Exit code 1 if any is damaged",
      "Streams make damaged entries again from their files; `cache clear` removes them.\n"
      "Example: what is damaged of a cache.\n"
      "  batchcast cache check /fast/cache",
      [](const Options& options) { return list(options, true); });
  add(*cache, chosen, "clear",
      "Remove every entry; streams that use it go on, and make their samples from files",
      "Example: remove what a cache kept of files that are gone, or that are damaged.\n"
      "  batchcast cache clear /fast/cache",
      [](const Options& options) { return clear(options); });
}

}  // namespace batchcast::cli
