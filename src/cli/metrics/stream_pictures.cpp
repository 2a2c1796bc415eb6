// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/metrics/stream_pictures.hpp"

#include "cli/output.hpp"
#include "cli/peek/sample_sheet.hpp"
#include "data/codec/png_writer.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>

#include <string_view>
#include <utility>

namespace batchcast::cli {
namespace {

constexpr int wait_ms = 1'500;
constexpr std::uint64_t kept_ns = 2'000'000'000;

metrics::Response picture_of(const std::string& stream) {
  const StreamSheet taken = sheet_of_stream(stream, {}, wait_ms, console_log(false));
  const Picture& all = taken.sheet.picture();
  return {200,
          "image/png",
          std::make_shared<const std::string>(
              detail::quick_png({static_cast<std::uint32_t>(all.width),
                                 static_cast<std::uint32_t>(all.height), all.rgb})),
          {}};
}

/// What `peek` would say, without the name of the command.
std::string words_of(const Error& error) {
  std::string_view words = error.what();
  constexpr std::string_view prefix = "batchcast: ";
  if (words.starts_with(prefix)) words.remove_prefix(prefix.size());
  return std::string(words);
}

}  // namespace

metrics::Response StreamPictures::answer(const std::string& stream) {
  const std::lock_guard lock(mutex_);
  std::erase_if(taken_, [](const auto& one) { return now_ns() - one.second.at_ns > kept_ns; });
  const auto kept = taken_.find(stream);
  if (kept != taken_.end()) return kept->second.response;
  metrics::Response response;
  try {
    response = picture_of(stream);
  } catch (const Error& error) {
    response = metrics::plain_response(404, words_of(error));
  }
  taken_[stream] = {now_ns(), response};
  return response;
}

}  // namespace batchcast::cli
