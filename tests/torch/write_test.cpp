// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// A batch's tensor is to behave like any other, whoever writes to it.
#include "catch.hpp"

#include <batchcast/torch.hpp>

#include <torch/torch.h>

#include "filled_stream.hpp"
#include "ring/child.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace batchcast {
namespace {

using testing::address_of;
using testing::FilledStream;
namespace nn = torch::nn::functional;

/// What trainers do with a batch `x` of images; the result is compared with the same on a clone.
struct Operation {
  const char* name;
  std::function<at::Tensor(at::Tensor x)> run;
};

at::Tensor fixed(at::IntArrayRef sizes) {
  return torch::arange(c10::multiply_integers(sizes), torch::kFloat).view(sizes).remainder(7) - 3;
}

const std::vector<Operation>& writes() {
  static const std::vector<Operation> all = {
      {"sub_ and div_", [](at::Tensor x) { return x.sub_(0.5).div_(0.25); }},
      {"mul_ by a tensor",
       [](at::Tensor x) {
         return x.mul_(fixed({1, 3, 1, 1}));
       }},
      {"zero_ of a row", [](at::Tensor x) { return x[0].zero_(), x; }},
      {"a slice is filled", [](at::Tensor x) { return x.slice(2, 1, 3).fill_(9), x; }},
      {"index_put_",
       [](at::Tensor x) {
         return x.index_put_({torch::tensor({1, 3})}, torch::tensor(5.0F));
       }},
      {"masked_fill_", [](at::Tensor x) { return x.masked_fill_(x > 0, -1); }},
      {"relu_", [](at::Tensor x) { return x.relu_(); }},
      {"clamp_", [](at::Tensor x) { return x.clamp_(-2, 2); }},
      {"copy_ into it", [](at::Tensor x) { return x.copy_(fixed(x.sizes())); }},
      {"add_out", [](at::Tensor x) { return torch::add_out(x, x, fixed({8})); }},
      {"detach, then add_", [](at::Tensor x) { return x.detach().add_(1), x; }},
      {"a view, then add_", [](at::Tensor x) { return x.view({-1}).add_(1), x; }},
      {"dropout in place",
       [](at::Tensor x) {
         torch::manual_seed(3);
         return nn::dropout(x, nn::DropoutFuncOptions().p(0.5).training(true).inplace(true));
       }},
      {"scatter_",
       [](at::Tensor x) { return x.scatter_(3, torch::zeros_like(x, torch::kLong), 4); }},
      {"resize_ to more",
       [](at::Tensor x) {
         return x.resize_({64, 3, 8, 8}).slice(0, 0, 16);
       }},
      {"a raw pointer", [](at::Tensor x) { return x.data_ptr<float>()[0] = 4, x; }},
  };
  return all;
}

const std::vector<Operation>& reads() {
  static const std::vector<Operation> all = {
      {"conv2d",
       [](at::Tensor x) {
         return torch::conv2d(x, fixed({4, 3, 3, 3}));
       }},
      {"linear",
       [](at::Tensor x) {
         return torch::linear(x.flatten(1), fixed({5, 192}));
       }},
      {"batch_norm",
       [](at::Tensor x) {
         return nn::batch_norm(x, {}, {}, nn::BatchNormFuncOptions().training(true));
       }},
      {"layer_norm",
       [](at::Tensor x) {
         return torch::layer_norm(x, {8, 8});
       }},
      {"max_pool2d", [](at::Tensor x) { return torch::max_pool2d(x, 2); }},
      {"interpolate",
       [](at::Tensor x) {
         return nn::interpolate(x, nn::InterpolateFuncOptions()
                                       .size(std::vector<std::int64_t>{5, 5})
                                       .mode(torch::kBilinear)
                                       .align_corners(false));
       }},
      {"softmax", [](at::Tensor x) { return torch::softmax(x.flatten(1), 1); }},
      {"reductions",
       [](at::Tensor x) {
         return torch::stack({x.sum(), x.mean(), x.max()});
       }},
      {"arithmetic", [](at::Tensor x) { return (x - 2) * x / 3; }},
      {"clone", [](at::Tensor x) { return x.clone(); }},
      {"to double", [](at::Tensor x) { return x.to(torch::kDouble); }},
      {"cat and stack",
       [](at::Tensor x) {
         return torch::cat({x, x}).sum() + torch::stack({x});
       }},
      {"indexing",
       [](at::Tensor x) {
         return x.index({torch::tensor({2, 0, 5})});
       }},
      {"select, permute, reshape",
       [](at::Tensor x) {
         return x.select(1, 0).permute({0, 2, 1}).reshape({-1});
       }},
      {"matmul",
       [](at::Tensor x) {
         return torch::matmul(x, fixed({8, 4}));
       }},
      {"einsum",
       [](at::Tensor x) {
         return torch::einsum("bchw,bchv->bwv", {x, x});
       }},
      {"sort", [](at::Tensor x) { return std::get<0>(x.sort(3)); }},
      {"dropout", [](at::Tensor x) { return torch::manual_seed(3), torch::dropout(x, 0.5, true); }},
      {"mse loss", [](at::Tensor x) { return torch::mse_loss(x, fixed(x.sizes())); }},
      {"cross entropy",
       [](at::Tensor x) {
         return torch::cross_entropy_loss(x.flatten(1), torch::arange(x.size(0)));
       }},
      {"save",
       [](at::Tensor x) {
         std::ostringstream out;
         torch::save(x, out);
         std::istringstream in(out.str());
         at::Tensor back;
         torch::load(back, in);
         return back;
       }},
      {"backward through it",
       [](at::Tensor x) {
         at::Tensor weight = fixed({4, 3, 3, 3}).requires_grad_();
         torch::conv2d(x, weight).square().mean().backward();
         return weight.grad();
       }},
  };
  return all;
}

/// Runs it on one batch's tensor and returns whether that was copied by it.
bool copied_by(const Operation& operation, const Batch& batch) {
  const at::Tensor tensor = tensor_of(batch, "image");
  const void* const place = address_of(tensor);
  const at::Tensor expected = operation.run(tensor.clone());
  const at::Tensor result = operation.run(tensor);
  CHECK(torch::equal(result, expected));
  return address_of(tensor) != place;
}

TEST_CASE("Whatever only reads a batch does not copy it") {
  FilledStream stream(testing::image_schema(), 64);
  Consumer consumer = stream.consumer(16);
  const Batch batch = *consumer.next();
  for (const Operation& operation : reads()) {
    INFO(operation.name);
    CHECK_FALSE(copied_by(operation, batch));
  }
}

TEST_CASE("Reading through a pointer that could write copies nothing") {
  FilledStream stream(testing::image_schema(), 64);
  Consumer consumer = stream.consumer(16);
  const Batch batch = *consumer.next();
  const at::Tensor tensor = tensor_of(batch, "image");
  const auto* const place = batch.field<float>("image").data();
  CHECK(tensor.data_ptr<float>() == place);
  CHECK(tensor.accessor<float, 4>()[0][0][0][0] == place[0]);
  CHECK_FALSE(consumer.next()->writable());
}

TEST_CASE("Whatever writes works in place, and is seen in its batch and by nobody else") {
  FilledStream stream(testing::image_schema(), 64);
  ConsumerOptions options = stream.options(16);
  options.log = [](LogLevel, std::string_view) {};
  for (const Operation& operation : writes()) {
    INFO(operation.name);
    Consumer consumer(options);
    const Batch batch = *consumer.next();
    const at::Tensor tensor = tensor_of(batch, "image");
    const at::Tensor before = tensor.clone();
    const at::Tensor expected = before.clone();
    static_cast<void>(operation.run(expected));
    const bool grows = std::string(operation.name).starts_with("resize_");
    CHECK(copied_by(operation, batch) == grows);
    if (!grows) CHECK(torch::equal(tensor, expected));
    CHECK(consumer.next()->writable() == !grows);
    Consumer other(stream.options(16));
    CHECK(torch::equal(tensor_of(*other.next(), "image"), before));
  }
}

TEST_CASE("Whatever writes works on the consumer's own copy, in place") {
  FilledStream stream(testing::image_schema(), 64);
  ConsumerOptions options = stream.options(2);
  options.access = Access::private_copy;
  for (const Operation& operation : writes()) {
    INFO(operation.name);
    Consumer consumer(stream.options(16));
    options.batch_size = 16;
    Consumer own(options);
    const Batch mine = *own.next();
    const at::Tensor before = tensor_of(*consumer.next(), "image").clone();
    const bool grows = std::string(operation.name).starts_with("resize_");
    CHECK(copied_by(operation, mine) == grows);
    // Another of the stream's trainers.
    Consumer other(stream.options(16));
    CHECK(torch::equal(tensor_of(*other.next(), "image"), before));
  }
}

#if TORCH_VERSION_MAJOR >= 2

// Where nothing makes the ring's own pages private, libtorch's copy-on-write is what keeps writes
// off them.

ConsumerOptions without_handler(const FilledStream& stream) {
  ConsumerOptions options = stream.options(16);
  options.explain_faults = false;
  return options;
}

TEST_CASE("Without a handler, whatever writes gets a copy, made once, and the ring stays") {
  REQUIRE(detail::copies_on_write());
  FilledStream stream(testing::image_schema(), 64);
  Consumer consumer(without_handler(stream));
  for (const Operation& operation : reads()) {
    INFO(operation.name);
    CHECK_FALSE(copied_by(operation, *Consumer(without_handler(stream)).next()));
  }
  const Batch batch = *consumer.next();
  const at::Tensor before = tensor_of(batch, "image").clone();
  for (const Operation& operation : writes()) {
    INFO(operation.name);
    CHECK(copied_by(operation, batch));
    CHECK(torch::equal(tensor_of(batch, "image"), before));
  }
  at::Tensor twice = tensor_of(batch, "image");
  twice.add_(1);
  const void* const copy = address_of(twice);
  twice.add_(1);
  CHECK(address_of(twice) == copy);
  CHECK(torch::equal(twice, before + 2));
}

TEST_CASE("A view and its base stay one tensor when either is written") {
  FilledStream stream(testing::image_schema(), 64);
  Consumer consumer(without_handler(stream));
  const Batch batch = *consumer.next();
  const at::Tensor base = tensor_of(batch, "image");
  const at::Tensor row = base[3];
  row.fill_(1);
  CHECK(torch::equal(base[3], torch::ones({3, 8, 8})));
  base.fill_(2);
  CHECK(torch::equal(row, torch::full({3, 8, 8}, 2.0F)));
}

TEST_CASE("A lazy clone alone keeps the lease, and a write to it does not reach the ring") {
  FilledStream stream(testing::image_schema(), 64);
  Consumer consumer(without_handler(stream));
  at::Tensor clone;
  at::Tensor before;
  {
    const Batch batch = *consumer.next();
    at::Tensor tensor = tensor_of(batch, "image");
    before = tensor.clone();
    clone = at::_lazy_clone(tensor);
    CHECK(address_of(clone) == address_of(tensor));
  }
  CHECK(consumer.stats().leases_held == 1);
  CHECK(torch::equal(clone, before));

  SECTION("it goes, and the lease with the next batch") { clone = at::Tensor(); }
  SECTION("it is written") {
    const void* const place = address_of(clone);
    clone.add_(1);
    CHECK(address_of(clone) != place);
    CHECK(torch::equal(clone, before + 1));
  }
  Consumer other = stream.consumer(16);
  CHECK(torch::equal(tensor_of(*other.next(), "image"), before));
  { const at::Tensor next = tensor_of(*consumer.next(), "image"); }
  CHECK(consumer.stats().leases_held == 0);
}

TEST_CASE("Threads that write to and drop tensors and lazy clones of one batch do not meet") {
  constexpr int rounds = 300;
  FilledStream stream(testing::image_schema(), 64);
  Consumer consumer(without_handler(stream));
  Batch batch = *consumer.next();
  const at::Tensor before = tensor_of(batch, "image").clone();
  for (int round = 0; round < rounds; ++round) {
    at::Tensor tensor = tensor_of(batch, "image");
    at::Tensor clone = at::_lazy_clone(tensor);
    std::thread dropping([last = std::move(tensor)]() mutable { last = at::Tensor(); });
    std::thread writing([&clone, &batch] {
      clone.add_(1);
      tensor_of(batch, "image").mul_(0);
    });
    dropping.join();
    writing.join();
    REQUIRE(torch::equal(clone, before + 1));
    REQUIRE(torch::equal(tensor_of(batch, "image"), before));
  }
  { const at::Tensor sweeps = tensor_of(batch, "image"); }
  batch = Batch();
  CHECK(consumer.stats().leases_held == 0);
}

#else

/// Where and what the test below is to write; it runs as a program of its own, which it ends.
constexpr const char* folder_variable = "BATCHCAST_TEST_FOLDER";
constexpr const char* operation_variable = "BATCHCAST_TEST_OPERATION";

TEST_CASE("writes to the ring", "[.]") {
  const char* const folder = std::getenv(folder_variable);
  const char* const operation = std::getenv(operation_variable);
  REQUIRE((folder != nullptr && operation != nullptr));
  REQUIRE(testing::without_system_call(SYS_mremap, EPERM));
  Consumer consumer({.stream = "filled", .batch_size = 16, .directory = folder});
  writes().at(std::stoul(operation)).run(tensor_of(consumer.next().value(), "image"));
}

/// What that program says, and how it ended as waitpid has it.
std::pair<std::string, int> write_elsewhere(const std::string& folder, std::size_t operation) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = std::string(folder_variable) + "='" + folder + "' " +
                              operation_variable + "=" + std::to_string(operation) + " '" +
                              program + "' 'writes to the ring' 2>&1";
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string said;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) said.push_back(static_cast<char>(c));
  return {said, ::pclose(pipe)};
}

TEST_CASE("Where pages cannot become private, whatever writes is told whose they are, and dies") {
  FilledStream stream(testing::image_schema(), 64);
  const at::Tensor before = tensor_of(stream.consumer(64).next().value(), "image").clone();
  for (const std::size_t operation : {std::size_t{0}, std::size_t{2}, std::size_t{7}}) {
    INFO(writes()[operation].name);
    const auto [said, status] = write_elsewhere(stream.options(16).directory, operation);
    INFO(said);
    CHECK(status != 0);
    CHECK(said.find("batchcast") != std::string::npos);
    CHECK(said.find("`filled`") != std::string::npos);
    CHECK(said.find("clone()") != std::string::npos);
    CHECK(said.find("access = private") != std::string::npos);
  }
  CHECK(torch::equal(tensor_of(stream.consumer(64).next().value(), "image"), before));
}

#endif

}  // namespace
}  // namespace batchcast
