// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/own_stream.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/join/absent_stream.hpp>
#include <batchcast/join/trust.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <vector>

namespace batchcast::cli {
namespace {

/// Nodes that share BATCHCAST_DIR may serve streams of one name. An order is for one of them.
void refuse_several_nodes(const std::string& stream, const std::vector<ListedStream>& all) {
  if (environment("BATCHCAST_DIR").empty()) return;
  std::string bases;
  std::size_t nodes = 0;
  for (const ListedStream& listed : all) {
    if (!listed.served) continue;
    bases += text("\n  BATCHCAST_DIR={}",
                  std::filesystem::path(listed.paths.directory).parent_path().string());
    ++nodes;
  }
  if (nodes < 2) return;
  throw Error(text("batchcast: {} nodes serve stream `{}`. Say which one is meant, with one of{}",
                   nodes, stream, bases));
}

}  // namespace

/// The directory that BATCHCAST_DIR names, where it is not there; else empty. `serve` makes it.
std::string missing_directory() {
  if (environment("BATCHCAST_DIR").empty()) return {};
  const std::string directory = candidate_directories().front();
  std::error_code error;
  const auto type = std::filesystem::symlink_status(directory, error).type();
  return type == std::filesystem::file_type::not_found ? printable(directory) : "";
}

void throw_absent(const std::string& stream) {
  if (const std::string missing = missing_directory(); !missing.empty()) {
    throw StreamNotFound(
        text("batchcast: no stream `{}` is served: {} (BATCHCAST_DIR) does not exist.", stream,
             missing));
  }
  throw StreamNotFound(
      text("batchcast: no stream `{}` is served.{} `batchcast ls` shows what there is.", stream,
           why_absent(stream, candidate_directories())));
}

ListedStream own_stream(const std::string& stream) {
  const std::vector<ListedStream> all = list_streams(stream);
  if (all.empty()) throw_absent(stream);
  const auto is_served = [](const ListedStream& listed) { return listed.served; };
  const auto served = std::find_if(all.begin(), all.end(), is_served);
  refuse_several_nodes(stream, all);
  const ListedStream& listed = served == all.end() ? all.front() : *served;
  if (!listed.foreign) return listed;
  const std::string whose =
      text("user {}'s: no permission. That user, or root, may do this.", listed.uid);
  if (listed.served) {
    throw Error(text("batchcast: stream `{}` in {} is {}", stream, listed.paths.directory, whose));
  }
  throw StreamNotFound(
      text("batchcast: stream `{}` is dead, its producer was killed, and its name in {} is {}",
           stream, listed.paths.directory, whose));
}

void throw_dead(const std::string& stream) {
  throw StreamNotFound(
      text("batchcast: stream `{}` is dead, its producer was killed. `batchcast serve … --stream "
           "{}` takes the name over, `batchcast stop {}` clears it.",
           stream, stream, stream));
}

}  // namespace batchcast::cli
