// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "jpeg_source.hpp"

#include "data/cache/cache_watch.hpp"
#include "data/cache/cached_source.hpp"
#include "data/cache/memory_store.hpp"
#include "data/codec/jpeg/kept_blocks.hpp"
#include "data/codec/jpeg/kept_form.hpp"
#include "data/resample/forced_level.hpp"

#include "catch.hpp"

#include <chrono>
#include <cstring>
#include <span>
#include <thread>

using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

using image_test::Bytes;

constexpr CacheOptions plenty{std::uint64_t{64} << 20, {}};
constexpr CacheOptions none{};

/// The first epochs, one after the other.
std::vector<Made> epochs(const Pipeline& pipeline, SampleWorker& worker, std::uint64_t count) {
  std::vector<Made> all;
  for (std::uint64_t epoch = 0; epoch < count; ++epoch) {
    all.push_back(make(pipeline, worker, {epoch, 0, pipeline.samples_per_epoch()}));
  }
  return all;
}

std::vector<Made> epochs(const Pipeline& pipeline, std::uint64_t count) {
  return epochs(pipeline, *pipeline.worker(), count);
}

Bytes cut_short(const Bytes& file) {
  return {file.begin(), file.end() - static_cast<std::ptrdiff_t>(file.size() / 8)};
}

}  // namespace

TEST_CASE("Cache: samples are the same with and without, and the files are read once") {
  const bool has_keys = GENERATE(true, false);
  const bool reads_all = GENERATE(true, false);
  const auto files = some_jpegs(24);
  const std::vector<Made> expected =
      epochs(Pipeline(options_over(std::make_shared<JpegSource>(files), none)), 3);
  const auto source = std::make_shared<JpegSource>(files);
  source->has_keys = has_keys;
  source->reads_all = reads_all;
  const Pipeline pipeline(options_over(source, plenty));
  CHECK(epochs(pipeline, 3) == expected);
  const CacheStats stats = pipeline.cache_stats();
  CHECK(stats.exists);
  CHECK(stats.entries == 24);
  CHECK(stats.kept == 24);
  CHECK(stats.hits == 48);
  CHECK(stats.misses == 24);
  CHECK(stats.unclean == 0);
  CHECK(stats.stopped.empty());
  CHECK(stats.bytes == stats.kept_bytes);
  CHECK(stats.cpu_seconds_saved >= 0);
  const bool reads_once = has_keys && !reads_all;
  CHECK(source->images_read == (reads_once ? 24 : 72));
  CHECK(source->labels_read == (reads_once ? 48 : 0));
}

TEST_CASE("Cache: samples are the same at every SIMD level, kept at another one") {
  const auto files = some_jpegs(8);
  const std::vector<Made> expected =
      epochs(Pipeline(options_over(std::make_shared<JpegSource>(files), none)), 2);
  const Pipeline pipeline(options_over(std::make_shared<JpegSource>(files), plenty));
  for (const std::int64_t level : detail::simd_levels()) {
    const ForcedLevel forced(level);
    CHECK(epochs(pipeline, 2) == expected);
    const Pipeline own(options_over(std::make_shared<JpegSource>(files), plenty));
    CHECK(epochs(own, 2) == expected);
  }
  detail::allow_kept_vbmi(false);
  CHECK(epochs(pipeline, 2) == expected);
  detail::allow_kept_vbmi(true);
}

TEST_CASE("Cache: jumps and single samples, by several workers at a time") {
  const auto files = some_jpegs(40);
  const Pipeline plain(options_over(std::make_shared<JpegSource>(files), none));
  const Pipeline cached(options_over(std::make_shared<JpegSource>(files), plenty));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (unsigned number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      const auto one = plain.worker();
      const auto other = cached.worker();
      image_test::Random random(number);
      for (int turn = 0; turn < 60; ++turn) {
        const std::uint64_t begin = random() % 38;
        const Range range{random() % 3, begin, 1 + random() % (40 - begin)};
        if (make(plain, *one, range) != make(cached, *other, range)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(cached.cache_stats().entries == 40);
  CHECK(cached.cache_stats().hits > 0);
}

TEST_CASE("Cache: what is unclean is not kept, and bad or substituted as without") {
  auto files = some_jpegs(12);
  files[3] = cut_short(files[3]);
  files[7] = Bytes(100, 3);
  image_test::Random random(3);
  files[8] = image_test::encode_png(image_test::noise(random, {60, 50}));
  const auto with = [&](const CacheOptions& cache) {
    PipelineOptions options = options_over(std::make_shared<JpegSource>(files), cache);
    options.on_bad_sample = OnBadSample::substitute;
    return Pipeline(std::move(options));
  };
  const Pipeline plain = with(none);
  const Pipeline cached = with(plenty);
  CHECK(epochs(cached, 4) == epochs(plain, 4));
  CHECK(cached.bad_samples() == plain.bad_samples());
  const CacheStats stats = cached.cache_stats();
  CHECK(stats.entries == 9);
  CHECK(stats.unclean == 1);
  CHECK(stats.misses >= 9 + 4);
}

TEST_CASE("Cache: a file that changed is made from its new bytes") {
  auto files = some_jpegs(6);
  const auto source = std::make_shared<JpegSource>(files);
  const Pipeline pipeline(options_over(source, plenty));
  static_cast<void>(epochs(pipeline, 2));
  files[2] = some_jpegs(1, 99)[0];
  source->replace(2, files[2]);
  source->version = 2;
  const std::vector<Made> expected =
      epochs(Pipeline(options_over(std::make_shared<JpegSource>(files), none)), 3);
  CHECK(epochs(pipeline, 3) == expected);
  CHECK(pipeline.cache_stats().entries == 12);
}

TEST_CASE("Cache: a file that has just changed is not kept yet") {
  const auto source = std::make_shared<JpegSource>(some_jpegs(4));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  source->changed_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  const Pipeline pipeline(options_over(source, plenty));
  static_cast<void>(epochs(pipeline, 1));
  CHECK(pipeline.cache_stats().entries == 0);
  CHECK(pipeline.cache_stats().unclean == 0);
  source->changed_ns -= 2'100'000'000;
  static_cast<void>(epochs(pipeline, 1));
  CHECK(pipeline.cache_stats().entries == 4);
  source->changed_ns += 3'600'000'000'000;  // a clock ahead of ours
  source->version = 2;
  static_cast<void>(epochs(pipeline, 1));
  CHECK(pipeline.cache_stats().entries == 4);
}

TEST_CASE("Cache: a full one keeps what it has and says why it stops") {
  auto files = some_jpegs(8);
  image_test::Random random(1);
  for (Bytes& file : files) {
    file = image_test::encode_jpeg(image_test::noise(random, {900, 700}), {.quality = 95});
  }
  const std::vector<Made> expected =
      epochs(Pipeline(options_over(std::make_shared<JpegSource>(files), none)), 3);
  const Pipeline pipeline(
      options_over(std::make_shared<JpegSource>(files), {std::uint64_t{2} << 20, {}}));
  CHECK(epochs(pipeline, 3) == expected);
  const CacheStats stats = pipeline.cache_stats();
  CHECK(stats.entries > 0);
  CHECK(stats.entries < 8);
  CHECK(stats.bytes <= stats.bytes_max);
  CHECK(stats.hits == 2 * stats.entries);
  CHECK_THAT(stats.stopped, Contains("2.0 MiB"));
}

TEST_CASE("Cache: only images that `fast` decoding scales down pass it by") {
  const std::string fast = jpeg_recipe_with("{ stage = \"decode\", fast = true },");
  // Their crops are scaled down where they are larger than twice what the recipe makes.
  auto files = some_jpegs(8);
  const Pipeline plain(options_over(std::make_shared<JpegSource>(files), none, fast));
  const Pipeline cached(options_over(std::make_shared<JpegSource>(files), plenty, fast));
  constexpr std::uint64_t rounds = 12;
  CHECK(epochs(cached, rounds) == epochs(plain, rounds));
  const CacheStats stats = cached.cache_stats();
  CHECK(stats.passed_by > 0);
  CHECK(stats.entries > 0);
  CHECK(stats.hits > 0);
  CHECK(stats.misses == stats.entries);
  CHECK(stats.hits + stats.misses + stats.passed_by == rounds * files.size());
}

TEST_CASE("Cache: images that are always scaled down have no entries") {
  const std::string fast = jpeg_recipe_with("{ stage = \"decode\", fast = true },");
  image_test::Random random(5);
  std::vector<Bytes> files;
  for (int i = 0; i < 3; ++i) {
    files.push_back(image_test::encode_jpeg(image_test::noise(random, {1600, 1600})));
  }
  const Pipeline cached(options_over(std::make_shared<JpegSource>(files), plenty, fast));
  static_cast<void>(epochs(cached, 2));
  const CacheStats stats = cached.cache_stats();
  CHECK(stats.passed_by == 6);
  CHECK(stats.entries == 0);
  CHECK(stats.hits + stats.misses == 0);
}

TEST_CASE("Cache: gray, oriented and kept images are the same with it") {
  const std::string decode = GENERATE(as<std::string>(), "mode = \"gray\"", "orient = true",
                                      "mode = \"keep\", channels = 3, bits = 8");
  std::string toml = jpeg_recipe_with("{ stage = \"decode\", " + decode + " },");
  if (decode.find("keep") != std::string::npos) {
    toml = "[[field]]\nname = \"image\"\nstages = [{ stage = \"decode\", " + decode +
           " }, { stage = \"center_crop\", size = 33 }, { stage = \"to\", dtype = \"u8\" }]\n"
           "[[field]]\nname = \"label\"\n";
  }
  CAPTURE(toml);
  const auto files = some_jpegs(6);
  const Pipeline plain(options_over(std::make_shared<JpegSource>(files), none, toml));
  const Pipeline cached(options_over(std::make_shared<JpegSource>(files), plenty, toml));
  CHECK(epochs(cached, 2) == epochs(plain, 2));
  CHECK(cached.cache_stats().hits == 6);
}

TEST_CASE("Cache: an entry that is damaged costs time and no sample") {
  const auto files = some_jpegs(6);
  const std::vector<Made> expected =
      epochs(Pipeline(options_over(std::make_shared<JpegSource>(files), none)), 2);
  const auto cache = std::make_shared<detail::SampleCache>(
      plenty, std::vector<detail::CachedPart>{{.is_kept = true, .pixels_max = 1 << 20}, {}});
  // An entry that is none, by a key of the source.
  const std::vector<std::byte> nothing(500);
  const auto source = std::make_shared<JpegSource>(files);
  cache->add(*source->key_of(1, 0), nothing, 1);
  PipelineOptions options = options_over(detail::with_cache(source, cache), none);
  const Pipeline unaware(options);
  CHECK_THROWS_AS(epochs(unaware, 1), BadSample);
  options.source = source;
  options.cache = plenty;
  const Pipeline pipeline(options);
  CHECK(epochs(pipeline, 2) == expected);
}

TEST_CASE("Cache: recipes without a decoded image have none to keep") {
  const Pipeline pipeline(options_over(numbers(10), plenty, "[[field]]\nname = \"values\"\n"));
  static_cast<void>(epochs(pipeline, 2));
  CHECK(pipeline.cache_stats().entries == 0);
  CHECK(pipeline.cache_stats().misses == 0);
}

TEST_CASE("Cache: its size and place are read from a text") {
  CHECK(CacheOptions::parse("8GiB") == CacheOptions{std::uint64_t{8} << 30, {}});
  CHECK(CacheOptions::parse("512MiB:/fast/cache") ==
        CacheOptions{std::uint64_t{512} << 20, "/fast/cache"});
  CHECK(CacheOptions::parse("1g:a:b").directory == "a:b");
  CHECK(CacheOptions::parse("8GiB:/x").to_text() == "8192MiB:/x");
  for (const char* wrong : {"", "lots", "0", "8GiB:", ":/fast", "-1GiB"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(CacheOptions::parse(wrong), InvalidArgument);
  }
}

TEST_CASE("Cache: it stops where its entries cost more than they save") {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  // 10,000 entries of files of 100 kB; 10,000 files are left.
  CacheStats stats;
  stats.exists = stats.is_in_memory = true;
  stats.entries = stats.kept = 10'000;
  stats.file_bytes = 1'000'000'000;
  stats.bytes = 1'550'000'000;
  stats.saved_us = 300;
  stats.wait_us = 900;
  stats.least_wait_us = 20;
  CHECK_THAT(detail::loss_of(stats, gib / 2, 20'000),
             Contains("costs 9 s") && Contains("save 3 s"));
  // The files fit, or would not fit without the cache either.
  CHECK(detail::loss_of(stats, gib, 20'000).empty());
  CHECK(detail::loss_of(stats, gib / 2, 60'000).empty());
  CHECK(detail::loss_of(stats, gib / 2, 10'000).empty());
  // A fast disk.
  stats.wait_us = 200;
  CHECK(detail::loss_of(stats, gib / 2, 20'000).empty());
  stats.wait_us = 900;
  stats.is_in_memory = false;
  CHECK(detail::loss_of(stats, gib / 2, 20'000).empty());
}

TEST_CASE("Cache: what workers wait for files is measured, and filling can be stopped") {
  image_test::Random random(6);
  std::vector<Bytes> files;
  for (int i = 0; i < 96; ++i) {
    files.push_back(image_test::encode_jpeg(image_test::noise(random, {300, 200})));
  }
  const auto source = std::make_shared<JpegSource>(files);
  PipelineOptions options = options_over(source, plenty);
  options.read_ahead_threads = 0;
  const Pipeline pipeline(std::move(options));
  const auto worker = pipeline.worker();
  const auto make_some = [&](std::uint64_t first, std::uint64_t count) {
    static_cast<void>(make(pipeline, *worker, {0, first, count}));
  };
  make_some(0, 32);
  make_some(0, 32);  // from entries
  const CacheStats quick = pipeline.cache_stats();
  CHECK(quick.entries == 32);
  CHECK(quick.saved_us > 0);
  // From now on files are slow, as if entries had taken their place in the page cache.
  source->wait_ms = 10;
  make_some(32, 32);
  const CacheStats slow = pipeline.cache_stats();
  CHECK(slow.entries == 64);
  CHECK(slow.least_wait_us <= quick.wait_us);
  CHECK(slow.wait_us > quick.wait_us + 1'000);
  // A dataset of 20,000 such files, which would fit without the cache.
  constexpr std::uint64_t samples = 20'000;
  const std::uint64_t others_bytes = slow.file_bytes / slow.kept * (samples - slow.entries);
  const std::uint64_t left = others_bytes - slow.bytes / 2;
  const std::string why = detail::loss_of(slow, left, samples);
  CHECK_THAT(why, Contains("push the other files out of the page cache"));
  pipeline.stop_caching(why);
  make_some(64, 32);
  CHECK(pipeline.cache_stats().entries == 64);
  CHECK(pipeline.cache_stats().stopped == why);
  make_some(0, 64);
  CHECK(pipeline.cache_stats().hits == 32 + 64);
}

TEST_CASE("Cache: its index counts with its memory") {
  constexpr std::uint64_t budget = std::uint64_t{1} << 20;
  detail::MemoryStore store(budget);
  const std::vector<std::byte> entry(64);
  std::uint64_t added = 0;
  while (store.add({added, 0}, entry) == detail::Kept::added) ++added;
  // A node of the map has the key, a span and a pointer, and malloc's head.
  constexpr std::uint64_t node = sizeof(Fingerprint) + sizeof(std::span<const std::byte>) + 16;
  CHECK(added * (entry.size() + detail::kept_slack + node) <= budget);
  CHECK(added > budget / 512);
  CHECK_THAT(store.full(), Contains("1.0 MiB"));
}
