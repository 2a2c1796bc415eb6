// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// What stands in for a bad sample stays the same over the lives of a stream's producers.
#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <batchcast/data/pipeline.hpp>
#include <batchcast/feeder.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

constexpr std::uint64_t source_samples = 200;
constexpr std::uint64_t batch_size = 100;

/// A sample is bad as long as a file of its number lies in a folder.
class Mended final : public Source {
 public:
  Mended(std::string folder, std::uint64_t stands_at)
      : folder_(std::move(folder)), stands_at_(stands_at) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return source_samples; }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t sample_id, SampleParts& parts) const override {
    if (std::filesystem::exists(folder_ + "/" + std::to_string(sample_id))) {
      throw BadSample("it is bad");
    }
    if (sample_id == stands_at_) {
      say("stands");
      ::pause();
    }
    parts.resize(1);
    std::memcpy(parts.make(0, sizeof sample_id).data(), &sample_id, sizeof sample_id);
  }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    return std::to_string(sample_id);
  }
  [[nodiscard]] Fingerprint fingerprint() const override { return fingerprint_of("mended"); }

 private:
  const std::string folder_;
  const std::uint64_t stands_at_;
  const std::vector<PartSpec> parts_ = {{.name = "x", .dtype = DType::i64}};
};

/// Serves until it hears a line. It comes to no sample from `stands_at` on.
int mender(const Words& words) {
  const auto stands_at = static_cast<std::uint64_t>(words.number("stands_at", source_samples));
  const Pipeline pipeline({.source = std::make_shared<Mended>(words.text("folder"), stands_at),
                           .recipe = {.order = OrderMode::sequential},
                           .on_bad_sample = OnBadSample::substitute});
  ProducerOptions options = producer_options(pipeline, "s");
  options.memory = std::uint64_t{1} << 20;
  options.wait_for = static_cast<std::uint32_t>(words.number("wait_for", 1));
  options.log = [](LogLevel, std::string_view) {};
  Producer producer(std::move(options));
  say("serves");  // before it stands
  const Feeder feeder(producer, pipeline, {.workers = 1});
  static_cast<void>(hear());
  producer.stop("told so");
  return 0;
}

/// A trainer that says of each epoch which ids it had, in order.
int teller(const Words& words) {
  ConsumerOptions options = consumer_options(words);
  options.log = [](LogLevel, std::string_view) {};
  Consumer consumer(options);
  say("attached");
  std::string digests;
  std::string over = "left";
  try {
    while (!is_told()) {
      std::uint64_t digest = 1;
      for (const Batch& batch : consumer) {
        for (const std::uint64_t id : batch.sample_ids()) {
          digest = (digest ^ id) * 0x9E37'79B9'7F4A'7C15;
        }
        pause_us(static_cast<std::uint64_t>(words.number("pause_us")));
      }
      digests += "," + std::to_string(digest);
    }
  } catch (const Error& error) {
    over = kind_of(error) + " (" + error.what() + ")";
  }
  say("done over=" + over + " digests=" + digests);
  return 0;
}

const RoleRegistration mender_role("mender", mender);
const RoleRegistration teller_role("teller", teller);

}  // namespace

TEST_CASE("what stands in for a bad sample does so with the next producer too", "[ride][short]") {
  const OwnDirectory directory;
  const TemporaryFolder bad;
  std::ofstream(bad / "10") << "";
  const auto serve = [&](const std::string& stands_at) {
    Process producer("mender", {"folder=" + bad.path(), "stands_at=" + stands_at});
    static_cast<void>(producer.expect("serves"));
    return producer;
  };
  Process producer = serve("50");
  ConsumerOptions options = quiet(batch_size);
  Consumer consumer(options);
  const auto wait_until_it_stands = [&] {
    for (int tries = 0; tries < 200; ++tries) {
      CHECK(consumer.try_next(100).outcome == Outcome::timed_out);
      if (producer.line(1) == "stands") return;
    }
    FAIL("it never stood");
  };
  wait_until_it_stands();
  std::filesystem::remove(bad / "10");  // it can be read again
  const int deaths = GENERATE(1, 2);
  for (int death = 0; death < deaths; ++death) {
    producer.kill();
    static_cast<void>(producer.wait());
    const bool is_last = death + 1 == deaths;
    producer = serve(is_last ? "200" : "60");
    if (is_last) break;
    wait_until_it_stands();
  }
  const auto id_at = [&](std::size_t index) {
    const Batch batch = consumer.next().value();
    CHECK(batch.size() == batch_size);
    CHECK(batch.sample_ids()[index - 1] == index - 1);
    return batch.sample_ids()[index];
  };
  CHECK(id_at(10) == 11);  // and not 10
  CHECK(consumer.next());
  CHECK(consumer.try_next(20'000).outcome == Outcome::end_of_epoch);
  CHECK(id_at(10) == 10);  // it is tried again in each epoch
  producer.tell("stop");
  static_cast<void>(producer.wait());
}

/// Files are mended one after the other while producers die: all trainers get the same samples.
TEST_CASE("a storm of deaths among bad samples", "[ride-storm]") {
  std::mt19937_64 random(test_seed("storm among bad samples"));
  const std::uint64_t kills = scaled(12, 4);
  const OwnDirectory directory;
  const TemporaryFolder bad;
  std::vector<std::uint64_t> left(source_samples);
  std::iota(left.begin(), left.end(), 0);
  std::shuffle(left.begin(), left.end(), random);
  left.resize(source_samples * 3 / 4);
  for (const std::uint64_t id : left) std::ofstream(bad / std::to_string(id)) << "";
  const auto serve = [&] {
    Process producer("mender", {"folder=" + bad.path(), "wait_for=4"});
    static_cast<void>(producer.expect("serves"));
    return producer;
  };
  Process producer = serve();
  std::vector<Process> trainers;
  for (const std::uint64_t size : {37, 64, 7, 150}) {
    trainers.emplace_back("teller",
                          std::vector<std::string>{"batch=" + std::to_string(size),
                                                   "pause_us=" + std::to_string(1'500 * size)});
    static_cast<void>(trainers.back().expect("attached"));
  }
  for (std::uint64_t kill = 0; kill < kills; ++kill) {
    const std::uint64_t mended = 1 + random() % 8;
    for (std::uint64_t i = 0; i < mended && !left.empty(); ++i) {
      pause_us(random() % 60'000);
      std::filesystem::remove(bad / std::to_string(left.back()));
      left.pop_back();
    }
    producer.kill();
    static_cast<void>(producer.wait());
    producer = serve();
  }
  for (Process& trainer : trainers) trainer.tell("enough");
  std::vector<std::string> told;
  for (Process& trainer : trainers) {
    const Words words = trainer.expect("done", 60'000);
    INFO(words.line() << "\n" << trainer.errors());
    CHECK(words.text("over") == "left");
    told.push_back(words.text("digests") + ",");
  }
  const auto shortest = std::min_element(
      told.begin(), told.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  for (const std::string& digests : told) CHECK(digests.starts_with(*shortest));
  producer.tell("stop");
  static_cast<void>(producer.wait());
}
