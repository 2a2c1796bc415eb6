// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <torch/torch.h>

#include <batchcast/torch.hpp>

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// What the trainers of torch_train.cpp do. Each is a process of its own; what is not as it should
// be is thrown.
namespace batchcast::testing {

inline constexpr std::int64_t samples_per_epoch = 8192;
inline constexpr std::uint64_t epochs = 3;
inline constexpr std::int64_t batch_size = 64;
inline constexpr std::int64_t pixels = 28 * 28;
inline constexpr const char* stream_name = "torch-train";

/// One pixel of one sample; small whole numbers, so that every dtype and order of sums is exact.
[[nodiscard]] inline std::int64_t pixel_of(std::int64_t sample, std::int64_t pixel) {
  return (pixel * 7 + sample % 10 * 37) % 64 + (sample * 31 + pixel * 17) % 16;
}
[[nodiscard]] inline std::int64_t label_of(std::int64_t sample) { return sample % 10; }

/// The same, of many samples, on any device.
[[nodiscard]] inline at::Tensor images_of(const at::Tensor& samples) {
  const at::Tensor sample = samples.view({-1, 1});
  const at::Tensor pixel = torch::arange(pixels, samples.options());
  const at::Tensor all = (pixel * 7 + sample.remainder(10) * 37).remainder(64) +
                         (sample * 31 + pixel * 17).remainder(16);
  return all.to(torch::kFloat).view({-1, 1, 28, 28});
}

inline void require(bool good, const std::string& what) {
  if (!good) throw std::runtime_error(what);
}

struct Role {
  std::string name;
  Placement placement;  ///< of the batches
  Placement works_on;   ///< where it computes
  std::string directory;
  bool names_streams = true;  ///< false shows that `side` finds out what happens without
};

/// One trainer: its loader, and what it has found to be wrong so far. That is counted on the GPU,
/// in the order of its stream, and looked at in the end: no check waits for the GPU.
class Trainer {
 public:
  using Example = torch::data::Example<>;

  explicit Trainer(const Role& role)
      : role_(role),
        device_(detail::torch_device(role.works_on)),
        wrong_(torch::zeros({}, on_device(torch::kLong))),
        loader_(attach()) {
    wait_for_gpu();  // whichever stream counts from now on
  }

  /// Calls `step(batch, samples)` for each batch, with the numbers of its samples.
  template <class Step>
  void each_batch(const Step& step) {
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      std::int64_t seen = 0;
      for (Example& batch : *loader_) {
        const auto end = static_cast<std::int64_t>(loader_->cursor());
        const std::int64_t size = batch.data.size(0);
        require(batch.data.is_cuda() == !role_.placement.is_host(),
                "the batch is on " + batch.data.device().str());
        seen += size;
        step(batch,
             torch::arange(end - size, end, on_device(torch::kLong)).remainder(samples_per_epoch));
      }
      require(seen == samples_per_epoch, "an epoch of " + std::to_string(seen) + " samples");
    }
    require(loader_->stats().epochs_mismatched == 0, "an epoch's receipt is not the producer's");
  }

  void expect(const at::Tensor& found, const at::Tensor& expected) {
    wrong_ += found.to(device_).ne(expected).sum();
  }
  void finish() const {
    const auto wrong = wrong_.item<std::int64_t>();
    require(wrong == 0, std::to_string(wrong) + " elements are not what was published");
  }

  [[nodiscard]] at::TensorOptions on_device(at::ScalarType type) const {
    return torch::TensorOptions().dtype(type).device(device_);
  }
  /// Keeps the current stream busy for some milliseconds, so that what follows on it is late.
  void delay() {
    if (device_.is_cpu()) return;
    if (!big_.defined()) big_ = torch::rand({4096, 4096}, on_device(torch::kFloat));
    for (int i = 0; i < 4; ++i) big_ = torch::matmul(big_, big_).clamp_(-1, 1);
  }
  void wait_for_gpu() const {
    if (device_.is_cuda()) torch::cuda::synchronize(device_.index());
  }
  [[nodiscard]] c10::Device device() const noexcept { return device_; }
  /// Whether it was asked to page-lock the ring, and this machine can.
  [[nodiscard]] bool pins() const noexcept { return pins_; }
  [[nodiscard]] const Role& role() const noexcept { return role_; }

 private:
  [[nodiscard]] ConsumerOptions options() const {
    ConsumerOptions options;
    options.stream = stream_name;
    options.batch_size = static_cast<std::uint64_t>(batch_size);
    options.name = role_.name;
    options.placement = role_.placement;
    options.directory = role_.directory;
    if (role_.name == "private") options.access = Access::private_copy;
    return options;
  }
  /// Where the ring cannot be page-locked its copies are ordinary ones, and the others still train.
  [[nodiscard]] std::unique_ptr<SharedDataLoader<Example>> attach() {
    ConsumerOptions wanted = options();
    wanted.pin = pins_ = role_.name == "pin";
    if (pins_) wanted.pin_device = role_.works_on.device();
    try {
      return make_shared_data_loader(wanted);
    } catch (const GpuUnavailable& why) {
      if (!pins_) throw;
      std::fprintf(stderr, "torch_train: `pin` is not tested: %s\n", why.what());
    }
    wanted.pin = pins_ = false;
    return make_shared_data_loader(wanted);
  }

  Role role_;
  c10::Device device_;
  at::Tensor wrong_;
  at::Tensor big_;
  bool pins_ = false;
  std::unique_ptr<SharedDataLoader<Example>> loader_;
};

[[nodiscard]] inline torch::nn::Sequential lenet() {
  namespace nn = torch::nn;
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 6, 5).padding(2)), nn::ReLU(),
                        nn::MaxPool2d(2), nn::Conv2d(6, 16, 5), nn::ReLU(), nn::MaxPool2d(2),
                        nn::Flatten(), nn::Linear(400, 120), nn::ReLU(), nn::Linear(120, 10));
}

/// Trains, and drops each batch before going back through what was made of it.
inline void learn(Trainer& trainer) {
  torch::manual_seed(1);
  torch::nn::Sequential network = lenet();
  network->to(trainer.device());
  torch::optim::SGD optimizer(network->parameters(), 0.05);
  std::vector<at::Tensor> losses;
  trainer.each_batch([&](auto& batch, const at::Tensor& samples) {
    trainer.expect(batch.data, images_of(samples));
    const at::Tensor labels = batch.target.to(trainer.device());
    trainer.expect(labels, samples.remainder(10));
    const at::Tensor scores = network->forward(batch.data.to(trainer.device()) / 40 - 1);
    batch = {at::Tensor(), at::Tensor()};
    at::Tensor loss = torch::nn::functional::cross_entropy(scores, labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.detach());
  });
  const auto first = losses.front().item<float>();
  const auto last = losses.back().item<float>();
  require(std::isfinite(last) && last < first / 2,
          "the loss went from " + std::to_string(first) + " to " + std::to_string(last));
}

/// Writes to its batches: that copies them, or is in place where they are its own. In host memory
/// the pages that a write hits become its own.
inline void write(Trainer& trainer) {
  const bool own = trainer.role().name == "private" || trainer.role().placement.is_host();
  trainer.each_batch([&](auto& batch, const at::Tensor& samples) {
    const void* const place = batch.data.storage().data();
    batch.data.sub_(32).div_(16);
    require((batch.data.storage().data() == place) == own,
            own ? "a write to memory of its own copied it" : "a write went to the ring");
    trainer.expect(batch.data, (images_of(samples) - 32) / 16);
  });
}

[[nodiscard]] inline c10::Stream further_stream(const Trainer& trainer) {
  return c10::impl::VirtualGuardImpl(c10::kCUDA).getStreamFromGlobalPool(trainer.device());
}

/// Uses each batch, late, on another stream than it was delivered for.
inline void use_elsewhere(Trainer& trainer) {
  const c10::Stream side = further_stream(trainer);
  trainer.each_batch([&](auto& batch, const at::Tensor& samples) {
    const at::Tensor expected = images_of(samples);
    trainer.wait_for_gpu();
    if (trainer.role().names_streams) use_on(batch.data, side);
    const c10::StreamGuard guard(side);
    trainer.delay();
    trainer.expect(batch.data, expected);
    use_on(expected, side);
    batch = {at::Tensor(), at::Tensor()};
  });
  trainer.wait_for_gpu();
}

/// All of it on a stream of the pool, which was current when the batches came.
inline void stay_on_a_stream(Trainer& trainer) {
  const c10::StreamGuard guard(further_stream(trainer));
  trainer.each_batch([&](auto& batch, const at::Tensor& samples) {
    trainer.delay();
    trainer.expect(batch.data, images_of(samples));
    batch.data.add_(1);
    trainer.expect(batch.data, images_of(samples) + 1);
  });
  trainer.finish();
}

/// Copies its batches to the GPU itself and drops them before the copy has begun.
inline void copy_from_pinned(Trainer& trainer) {
  trainer.each_batch([&](auto& batch, const at::Tensor& samples) {
    require(batch.data.is_pinned() == trainer.pins(),
            "torch does not take the ring's memory for pinned");
    trainer.delay();
    const at::Tensor copy = batch.data.to(trainer.device(), /*non_blocking=*/true);
    batch = {at::Tensor(), at::Tensor()};
    trainer.expect(copy, images_of(samples));
  });
}

/// Throws what is not as it should be.
inline void play(const Role& role) {
  Trainer trainer(role);
  if (role.name.starts_with("learn")) {
    learn(trainer);
  } else if (role.name == "side") {
    use_elsewhere(trainer);
  } else if (role.name == "stream") {
    stay_on_a_stream(trainer);
  } else if (role.name == "pin") {
    copy_from_pinned(trainer);
  } else {
    write(trainer);
  }
  trainer.finish();
}

}  // namespace batchcast::testing
