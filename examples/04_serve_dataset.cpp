// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Serves a dataset from disk: `example_04_serve_dataset SOURCE RECIPE STREAM [EPOCHS]`, for example
// `example_04_serve_dataset imagefolder:train imagenet-train imagenet`. It does what
// `batchcast serve` does, in your program.
#include <batchcast/batchcast.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace bc = batchcast;

namespace {

void serve(const std::string& source, const std::string& recipe, const std::string& stream,
           std::uint64_t epochs) {
  // [snippet serve]
  const bc::Pipeline pipeline({.source = bc::open_source(source),  // imagefolder:train
                               .location = source,
                               .recipe = bc::Recipe::load(recipe)});  // imagenet-train
  bc::ProducerOptions options = bc::producer_options(pipeline, stream);
  options.epochs = epochs;
  bc::Producer producer(options);
  bc::Feeder feeder(producer, pipeline);  // as many threads as it takes
  feeder.wait();
  producer.finish();
  // [snippet end]
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s SOURCE RECIPE STREAM [EPOCHS]\n", argv[0]);
    return 2;
  }
  serve(argv[1], argv[2], argv[3], argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1);
} catch (const bc::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
