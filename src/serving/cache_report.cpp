// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "serving/cache_report.hpp"

#include "serving/console.hpp"

#include <batchcast/core/bytes_text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace batchcast::inline v0_1::serving {

std::string cache_note(const CacheStats& cache) {
  if (!cache.exists) return {};
  return fmt::format("  cache {}, {:.0f}% hits", bytes_text(cache.bytes),
                     100 * cache.share_of_hits());
}

namespace {

using Json = nlohmann::json;

/// The members that are numbers, as they are called in JSON.
template <class Stats, class Take>
void each_number(Stats& cache, Take take) {
  take("bytes_max", cache.bytes_max);
  take("bytes", cache.bytes);
  take("entries", cache.entries);
  take("images", cache.images);
  take("kept", cache.kept);
  take("file_bytes", cache.file_bytes);
  take("kept_bytes", cache.kept_bytes);
  take("hits", cache.hits);
  take("misses", cache.misses);
  take("unclean", cache.unclean);
  take("passed_by", cache.passed_by);
  take("damaged", cache.damaged);
  take("cpu_seconds_saved", cache.cpu_seconds_saved);
}

}  // namespace

std::string cache_json(const CacheStats& cache) {
  if (!cache.exists) return "null";
  Json object;
  each_number(cache, [&object](const char* key, const auto& number) { object[key] = number; });
  object["stopped"] = cache.stopped.empty() ? Json() : Json(cache.stopped);
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

CacheStats cache_from_json(std::string_view text) {
  CacheStats cache;
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return cache;
  cache.exists = true;
  each_number(cache, [&object](const char* key, auto& number) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_number()) found->get_to(number);
  });
  const auto stopped = object.find("stopped");
  if (stopped != object.end() && stopped->is_string()) stopped->get_to(cache.stopped);
  return cache;
}

std::string cache_report(const CacheStats& cache) {
  if (!cache.exists) return {};
  std::string text =
      fmt::format("cache: {} in {}", counted(cache.entries, "JPEG"), bytes_text(cache.bytes));
  if (cache.file_bytes != 0) {
    text += fmt::format(" ({:.2f} times their files)", static_cast<double>(cache.kept_bytes) /
                                                           static_cast<double>(cache.file_bytes));
  }
  if (cache.images != 0) {
    text += fmt::format(", {:.0f}% of all images", 100 * cache.share_kept());
  }
  text += fmt::format(", {} of {} images from it ({:.1f}%), {:.1f} s of processor time saved",
                      count_text(cache.hits), count_text(cache.hits + cache.misses),
                      100 * cache.share_of_hits(), cache.cpu_seconds_saved);
  if (cache.unclean != 0) {
    text += fmt::format(", {} not kept (damaged or unusual)", counted(cache.unclean, "JPEG"));
  }
  if (cache.passed_by != 0) {
    text += fmt::format(", {} passed it by (scaled down by `fast` decoding)",
                        counted(cache.passed_by, "image"));
  }
  if (cache.damaged != 0)
    text += fmt::format(", {}", counted(cache.damaged, "damaged entry", "damaged entries"));
  if (!cache.stopped.empty()) text += ", keeps nothing more: " + cache.stopped;
  return text;
}

}  // namespace batchcast::inline v0_1::serving
