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

// What a trainer says that names neither namespace. A name that is in both does not compile. (Names
// that libtorch has twice itself, `cuda` and `ones` among them, need its own in any case.)
bool can_be_said() {
  using namespace torch;
  using namespace batchcast;
  const nn::Linear layer(2, 1);
  const optim::SGDOptions rate(0.1);
  const data::DataLoaderOptions options(64);
  const serialize::OutputArchive archive;
  using Loader = SharedDataLoader<data::Example<>>;
  static_assert(std::is_same_v<Loader::BatchType, data::Example<>>);
  const ConsumerOptions consumer{.stream = "names", .placement = "host"};
  const Tensor weight = layer->weight.detach().to(kFloat);
  return weight.defined() && rate.lr() > 0 && consumer.batch_size == options.batch_size();
}

}  // namespace

TEST_CASE("the headers and the library are of one version of libtorch", "[torch]") {
  const std::string linked = at::show_config();
  CAPTURE(linked);
  CHECK(linked.find("TORCH_VERSION=" TORCH_VERSION) != std::string::npos);
}

TEST_CASE("a program has the definitions that libtorch's own CMake package gives", "[torch]") {
#if defined(USE_DISTRIBUTED) && defined(USE_C10D_GLOO)
  SUCCEED();
#else
  FAIL("libtorch's headers leave out what they have for gloo");
#endif
}

TEST_CASE("a program may use both namespaces, torch's and batchcast's", "[torch]") {
  CHECK(can_be_said());
}
