// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/peek/cache_forecast.hpp"

#include "data/codec/jpeg/kept_writer.hpp"
#include "feeder/one_sample.hpp"
#include "serving/console.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace batchcast::cli {
namespace {

constexpr std::uint64_t samples_max = 400;
constexpr double seconds_max = 3;  // of each way to make them

std::vector<std::uint64_t> spread_over(std::uint64_t samples) {
  const std::uint64_t count = std::min(samples, samples_max);
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t i = 0; i < count; ++i) chosen.push_back(i * samples / count);
  return chosen;
}

/// Makes those samples of the first epoch, one after the other.
class Maker {
 public:
  explicit Maker(const SampleMaker& maker) : sample_(maker) {}

  /// Samples a second; drops from `indices` those for which there was no time.
  double run(std::vector<std::uint64_t>& indices) {
    const std::uint64_t began_ns = now_ns();
    std::size_t made = 0;
    double seconds = 0;
    while (made < indices.size() && seconds < seconds_max) {
      sample_.make(0, indices[made]);
      ++made;
      seconds = seconds_from_ns(now_ns() - began_ns);
    }
    indices.resize(made);
    return seconds > 0 ? static_cast<double>(made) / seconds : 0;
  }

 private:
  detail::OneSample sample_;
};

void note(CacheForecast& forecast, std::uint64_t kept_bytes, std::uint64_t file_bytes,
          std::uint64_t samples_in_all) {
  if (file_bytes != 0) {
    forecast.size_ratio = static_cast<double>(kept_bytes) / static_cast<double>(file_bytes);
  }
  if (forecast.samples != 0) {
    forecast.bytes = static_cast<double>(kept_bytes) / static_cast<double>(forecast.samples) *
                     static_cast<double>(samples_in_all);
  }
}

/// Without a recipe: the images of each sample, as a recipe may decode them.
CacheForecast forecast_images(const Source& source) {
  CacheForecast forecast;
  detail::KeptWriter writer;
  SampleParts parts;
  std::uint64_t kept_bytes = 0;
  std::uint64_t file_bytes = 0;
  const std::uint64_t began_ns = now_ns();
  for (const std::uint64_t sample : spread_over(source.size())) {
    if (seconds_from_ns(now_ns() - began_ns) > seconds_max) break;
    try {
      source.read(sample, parts);
    } catch (const BadSample&) {
      continue;
    }
    ++forecast.samples;
    for (std::size_t part = 0; part < source.parts().size(); ++part) {
      const std::span<const std::byte> bytes = parts[part];
      const bool is_jpeg = source.parts()[part].kind == PartKind::image && bytes.size() > 2 &&
                           bytes[0] == std::byte{0xFF} && bytes[1] == std::byte{0xD8};
      if (!is_jpeg) continue;
      ++forecast.images;
      const auto entry = writer.write(bytes, DecodeStage::Parameters{}.pixels_max);
      if (entry.empty()) {
        ++forecast.unclean;
        continue;
      }
      ++forecast.kept;
      kept_bytes += entry.size();
      file_bytes += bytes.size();
    }
  }
  note(forecast, kept_bytes, file_bytes, source.size());
  return forecast;
}

}  // namespace

CacheForecast forecast_cache(const serving::DatasetOptions& options) {
  std::shared_ptr<const Source> source = open_source(options.source);
  if (!options.recipe) return forecast_images(*source);
  serving::DatasetOptions plain = options;
  plain.on_bad_sample = "substitute";
  serving::DatasetOptions cached = plain;
  cached.cache = "4GiB";
  const LogCallback silent;
  const serving::Dataset from_files(plain, silent, source);
  const serving::Dataset from_entries(cached, silent, source);
  CacheForecast forecast;
  std::vector<std::uint64_t> indices = spread_over(from_files.maker().samples_per_epoch());
  {
    // The files come into the page cache, and memory is there.
    std::vector<std::uint64_t> first = indices;
    static_cast<void>(Maker(from_files.maker()).run(first));
    indices = std::move(first);
  }
  forecast.from_files = Maker(from_files.maker()).run(indices);
  Maker maker(from_entries.maker());
  forecast.while_filling = maker.run(indices);
  forecast.from_entries = maker.run(indices);
  const CacheStats stats = from_entries.cache_stats();
  forecast.samples = indices.size();
  forecast.kept = stats.kept;
  forecast.unclean = stats.unclean;
  forecast.passed_by = stats.passed_by / 2;
  forecast.images = stats.kept + stats.unclean + forecast.passed_by;
  note(forecast, stats.kept_bytes, stats.file_bytes, from_files.maker().samples_per_epoch());
  return forecast;
}

}  // namespace batchcast::cli
