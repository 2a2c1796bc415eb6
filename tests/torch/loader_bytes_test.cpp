// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// What a trainer sees is what the recipe says, byte for byte.
#include "loader_support.hpp"

#include <batchcast/data/synthetic_maker.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace batchcast::testing {
namespace {

/// The sample at one position, made without a stream, as `batchcast dump` makes it.
std::vector<std::vector<std::byte>> made_alone(SampleWorker& worker, const Schema& schema,
                                               std::uint64_t epoch, std::uint64_t index) {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<FieldSlots> slots;
  for (const FieldSpec& field : schema) {
    bytes.emplace_back(field.byte_count());
    slots.push_back({bytes.back().data(), bytes.back().size()});
  }
  std::uint64_t sample_id = 0;
  worker.make({epoch, index, slots, {&sample_id, 1}});
  const auto* const id = reinterpret_cast<const std::byte*>(&sample_id);
  bytes.emplace_back(id, id + sizeof(sample_id));
  return bytes;
}

TEST_CASE("The tensors of a loader hold the bytes that `batchcast dump` writes", "[loader]") {
  constexpr std::uint64_t samples = 100;
  constexpr std::uint64_t epochs = 2;
  const StreamFolder folder;
  SyntheticRecipe synthetic;
  synthetic.shape = {3, 5, 7};
  synthetic.samples_per_epoch = samples;
  synthetic.seed = 3;
  const SyntheticMaker maker(synthetic);
  ProducerOptions options = producer_options(maker, "made");
  options.memory = 64 << 10;  // less than an epoch
  options.epochs = epochs;
  options.linger_ms = 0;
  options.directory = folder.path();
  Producer producer(options);
  const Feeder feeder(producer, maker, {.workers = 2});

  Schema fields = maker.schema();
  fields.push_back({std::string(sample_id_name), DType::u64, {}});
  const auto worker = maker.worker();
  const auto loader = make_shared_data_loader<std::map<std::string, at::Tensor>>(
      ConsumerOptions{.stream = "made", .batch_size = 16, .directory = folder.path()});
  std::uint64_t position = 0;
  while (loader->has_next_epoch()) {
    for (auto& batch : *loader) {
      REQUIRE(batch.size() == fields.size());
      for (std::int64_t i = 0; i < batch.at("sample_id").size(0); ++i, ++position) {
        const auto expected_bytes =
            made_alone(*worker, maker.schema(), position / samples, position % samples);
        for (std::size_t k = 0; k < fields.size(); ++k) {
          INFO(fields[k].name << " at position " << position);
          const at::Tensor sample = batch.at(fields[k].name)[i].contiguous();
          REQUIRE(sample.nbytes() == expected_bytes[k].size());
          CHECK(std::memcmp(address_of(sample), expected_bytes[k].data(), sample.nbytes()) == 0);
        }
      }
    }
  }
  CHECK(position == samples * epochs);
}

}  // namespace
}  // namespace batchcast::testing
