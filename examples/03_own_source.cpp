// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// A dataset of your own and a stage of your own, served without touching the library: sine waves
// that are made when they are asked for, and noise on top of them, the same in every run.
// `example_03_own_source [STREAM]` serves, `example_03_own_source STREAM look` beside it looks.
#include <batchcast/batchcast.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace bc = batchcast;

namespace {

constexpr std::size_t length = 256;
constexpr std::size_t waves = 1000;

// [snippet source]
class Waves final : public bc::Source {
 public:
  std::uint64_t size() const noexcept override { return waves; }
  const std::vector<bc::PartSpec>& parts() const noexcept override { return parts_; }

  void read(std::uint64_t sample_id, bc::SampleParts& parts) const override {
    parts.resize(2);
    auto* wave = reinterpret_cast<float*>(parts.make(0, length * sizeof(float)).data());
    const auto periods = static_cast<std::int64_t>(1 + sample_id % 10);
    for (std::size_t i = 0; i < length; ++i) {
      wave[i] = std::sin(0.0245437F * static_cast<float>(periods * static_cast<std::int64_t>(i)));
    }
    std::memcpy(parts.make(1, sizeof periods).data(), &periods, sizeof periods);
  }

  std::string name_of(std::uint64_t sample_id) const override {
    return "wave " + std::to_string(sample_id);
  }
  bc::Fingerprint fingerprint() const override { return bc::fingerprint_of("waves, version 1"); }

 private:
  std::vector<bc::PartSpec> parts_ = {{"wave", bc::PartKind::tensor, bc::DType::f32, {length}},
                                      {"periods", bc::PartKind::tensor, bc::DType::i64, {}}};
};
// [snippet end]

// [snippet stage]
class Noise final : public bc::TensorStage {
 public:
  explicit Noise(double amount) : amount_(static_cast<float>(amount)) {}
  std::string_view name() const noexcept override { return "noise"; }
  std::string parameters_json() const override {
    return R"({"amount":)" + std::to_string(amount_) + "}";
  }
  bool in_place() const noexcept override { return true; }

  bc::TensorSpec output(const bc::TensorSpec& in) const override {
    if (in.dtype != bc::DType::f32) throw bc::InvalidArgument("noise takes f32");
    return in;
  }
  void run(std::span<const std::byte>, std::span<std::byte> out,
           bc::StageContext& context) const override {
    for (std::size_t at = 0; at < out.size(); at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, out.data() + at, sizeof value);
      value += amount_ * (context.draws().unit_f32() - 0.5F);
      std::memcpy(out.data() + at, &value, sizeof value);
    }
  }

 private:
  float amount_;
};
// [snippet end]

constexpr const char* recipe_text = R"(
[[field]]
name = "wave"
stages = [{ stage = "noise", amount = 0.1 }]

[[field]]
name = "periods"
)";

// [snippet serve]
void serve(const std::string& name) {
  bc::StageCatalog catalog = bc::StageCatalog::standard();
  catalog.add("noise", [](bc::StageParameters& parameters) {
    return std::make_shared<Noise>(parameters.number("amount").value_or(0.05));
  });
  const bc::Pipeline pipeline({.source = std::make_shared<Waves>(),
                               .location = "waves",
                               .recipe = bc::Recipe::from_toml(recipe_text, "waves.toml", catalog),
                               .seed = 1});
  bc::ProducerOptions options = bc::producer_options(pipeline, name);
  options.epochs = 2;
  bc::Producer producer(options);
  bc::Feeder feeder(producer, pipeline);
  feeder.wait();
  producer.finish();
}
// [snippet end]

void look(const std::string& name) {
  bc::Consumer consumer({.stream = name, .batch_size = 64, .name = "look"});
  double sum = 0;
  while (consumer.has_next_epoch()) {
    for (const bc::Batch& batch : consumer) {
      for (const float value : batch.field<float>("wave").span()) sum += value;
    }
  }
  std::printf("%lu waves, %lu epochs with matching receipts, mean value %.4f\n",
              consumer.stats().samples, consumer.stats().epochs_matched,
              sum / static_cast<double>(length * consumer.stats().samples));
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string name = argc > 1 ? argv[1] : "waves";
  if (argc > 2) {
    look(name);
  } else {
    serve(name);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
