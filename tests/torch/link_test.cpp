// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// The headers and the library that were found are those of one libtorch, and a program may name
// what is in them beside what is in batchcast's.
#include "catch.hpp"

#include <batchcast/torch.hpp>

#include <ATen/Version.h>
#include <torch/torch.h>

#include <string>
#include <type_traits>

namespace {

// What a trainer says that names neither namespace. A name that is in both does not compile.
bool trains_on_a_gpu() {
  using namespace torch;
  using namespace batchcast;
  const nn::Linear layer(2, 1);
  const optim::SGDOptions rate(0.1);
  const data::DataLoaderOptions options(64);
  using Loader = SharedDataLoader<data::Example<>>;
  static_assert(std::is_same_v<Loader::BatchType, data::Example<>>);
  const ConsumerOptions consumer{.stream = "names", .placement = "host"};
  const Tensor sum = layer->weight.detach().to(kFloat) + ones({1, 2}, TensorOptions(kCPU));
  static_cast<void>(serialize::OutputArchive());
  static_cast<void>(rate);
  return cuda::is_available() && consumer.batch_size == options.batch_size() && sum.defined();
}

}  // namespace

TEST_CASE("the headers and the library are of one version of libtorch", "[torch]") {
  const std::string linked = at::show_config();
  CAPTURE(linked);
  CHECK(linked.find("TORCH_VERSION=" TORCH_VERSION) != std::string::npos);
}

TEST_CASE("a program may use both namespaces, torch's and batchcast's", "[torch]") {
  CHECK(trains_on_a_gpu() == torch::cuda::is_available());
}
