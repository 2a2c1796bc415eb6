// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Ranks of one model, a process each, that share each batch of a stream and average their gradients
// over gloo. Needs libgloo's headers, which PyPI's libtorch has none of.
#include "loader_support.hpp"
#include "producer_process.hpp"

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>

namespace batchcast::testing {
namespace {

using Parameters = std::vector<at::Tensor>;

constexpr std::uint64_t part = 2;  // samples of a batch that one rank gets
constexpr int epochs = 3;

constexpr const char* ddp_rank = "BATCHCAST_TEST_DDP_RANK";
constexpr const char* ddp_world = "BATCHCAST_TEST_DDP_WORLD";
constexpr const char* ddp_dies_at = "BATCHCAST_TEST_DDP_DIES_AT";

std::string asked_of_rank(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

/// The same small model in every process.
class Model {
 public:
  Model() : network_(seeded()), optimizer_(network_->parameters(), 0.1) {}
  /// The gradients are of the mean over this batch, then of what `average` makes of them.
  template <class Average>
  void step(const torch::data::Example<>& batch, Average&& average) {
    optimizer_.zero_grad();
    const at::Tensor scores = network_->forward(batch.data / 16);
    torch::nn::functional::cross_entropy(scores, batch.target).backward();
    for (const at::Tensor& parameter : network_->parameters()) average(parameter.mutable_grad());
    optimizer_.step();
  }
  [[nodiscard]] Parameters parameters() const { return network_->parameters(); }

 private:
  [[nodiscard]] static torch::nn::Sequential seeded() {
    torch::manual_seed(1);
    return torch::nn::Sequential(torch::nn::Flatten(), torch::nn::Linear(pixels, 8),
                                 torch::nn::Tanh(), torch::nn::Linear(8, 10));
  }

  torch::nn::Sequential network_;
  torch::optim::SGD optimizer_;
};

/// All-reduces between the ranks of a job on this machine.
class Gloo {
 public:
  Gloo(const std::string& file, int rank, int world) : world_(world) {
    auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(20));
    options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
    auto store = c10::make_intrusive<c10d::FileStore>(file, world);
    group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, world, options);
  }
  void average(at::Tensor& tensor) {
    std::vector<at::Tensor> tensors = {tensor};
    group_->allreduce(tensors)->wait();
    tensor.div_(world_);
  }

 private:
  int world_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

/// Of a rank's process: how it ended, and the model that it trained.
class Outcome {
 public:
  explicit Outcome(std::string file) : file_(std::move(file)) {}
  void write(const std::string& how) const { std::ofstream(file_) << how; }
  void write(const Parameters& trained) const {
    torch::save(trained, file_ + ".model");
    write("trained");
  }
  [[nodiscard]] std::string how() const {
    std::ifstream file(file_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] Parameters trained() const {
    Parameters parameters;
    torch::load(parameters, file_ + ".model");
    return parameters;
  }

 private:
  std::string file_;
};

void train_rank(const std::string& file) {
  const int rank = std::atoi(asked_of_rank(ddp_rank).c_str());
  const int world = std::atoi(asked_of_rank(ddp_world).c_str());
  const std::string dies_at = asked_of_rank(ddp_dies_at);
  Gloo gloo(file + ".store", rank, world);
  ConsumerOptions options{.stream = "served", .batch_size = part};
  options.directory = asked_of_rank(role_directory);
  options.group = "auto";
  const auto loader = make_shared_data_loader(options);
  Model model;
  int steps = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (auto& batch : *loader) {
      if (std::to_string(steps++) == dies_at) ::kill(::getpid(), SIGKILL);
      model.step(batch, [&](at::Tensor& gradient) { gloo.average(gradient); });
    }
  }
  Outcome(file + asked_of_rank(ddp_rank)).write(model.parameters());
}

TEST_CASE("Role: a rank of a model", "[.ddp_rank]") {
  if (asked_of_rank(role_directory).empty()) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  at::set_num_threads(1);
  const std::string file = asked_of_rank(role_file);
  const Outcome outcome(file + asked_of_rank(ddp_rank));
  try {
    train_rank(file);
  } catch (const GroupBroken& broken) {
    outcome.write(std::string("GroupBroken: ") + broken.what());
  } catch (const std::exception& other) {
    outcome.write(std::string("gloo: ") + other.what());
  }
}

/// All ranks of one run, started as torchrun would.
class Job {
 public:
  /// The second rank kills itself before that step, unless it is negative.
  Job(const ServedStream& stream, int world, int dies_at = -1) : file_(folder_.path() + "/rank") {
    for (int rank = 0; rank < world; ++rank) {
      const std::string own = std::to_string(rank);
      const std::string all = std::to_string(world);
      const int own_end = rank == 1 ? dies_at : -1;
      ranks_.push_back(std::make_unique<RoleProcess>(
          "[.ddp_rank]",
          std::vector<std::string>{
              std::string(role_directory) + "=" + stream.directory(),
              std::string(role_file) + "=" + file_, std::string(ddp_rank) + "=" + own,
              std::string(ddp_world) + "=" + all,
              std::string(ddp_dies_at) + "=" + std::to_string(own_end), "LOCAL_RANK=" + own,
              "LOCAL_WORLD_SIZE=" + all, "MASTER_ADDR=localhost", "MASTER_PORT=29500",
              "TORCHELASTIC_RUN_ID=none", "OMP_NUM_THREADS=1"}));
    }
  }
  [[nodiscard]] std::vector<int> wait() {
    std::vector<int> statuses;
    for (const auto& rank : ranks_) statuses.push_back(rank->wait());
    return statuses;
  }
  [[nodiscard]] Outcome outcome(int rank) const { return Outcome(file_ + std::to_string(rank)); }

 private:
  StreamFolder folder_;
  std::string file_;
  std::vector<std::unique_ptr<RoleProcess>> ranks_;
};

/// One process over whole batches of the same samples.
Parameters trained_alone(const ServedStream& stream, int world) {
  ConsumerOptions options = stream.options();
  options.batch_size = part * static_cast<std::uint64_t>(world);
  options.tail = world == 2 ? Tail::keep : Tail::drop;  // 10 samples: of 8 + 2, four get none
  const auto loader = make_shared_data_loader(options);
  Model model;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (auto& batch : *loader) model.step(batch, [](at::Tensor&) {});
  }
  return model.parameters();
}

void check_trained(Job& job, int world, const Parameters& alone) {
  CHECK(job.wait() == std::vector<int>(static_cast<std::size_t>(world), 0));
  for (int rank = 0; rank < world; ++rank) {
    INFO("rank " << rank << ": " << job.outcome(rank).how());
    REQUIRE(job.outcome(rank).how() == "trained");
    const Parameters first = job.outcome(0).trained();
    const Parameters own = job.outcome(rank).trained();
    REQUIRE(own.size() == alone.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      CHECK(own[i].equal(first[i]));
      CHECK(own[i].allclose(alone[i], 1e-4, 1e-6));
    }
  }
}

TEST_CASE("Two ranks train what one process trains on the whole batches", "[ddp]") {
  const ServedStream stream;
  const Parameters alone = trained_alone(stream, 2);
  CHECK_FALSE(alone[0].allclose(Model().parameters()[0]));
  Job job(stream, 2);
  check_trained(job, 2, alone);
}

TEST_CASE("A rank that is killed ends the others, and the next start trains", "[ddp]") {
  const ServedStream stream;
  {
    Job job(stream, 4, 2);
    std::vector<int> statuses = job.wait();
    CHECK(WIFSIGNALED(statuses[1]));
    for (const int rank : {0, 2, 3}) {
      const std::string how = job.outcome(rank).how();
      INFO("rank " << rank << ": " << how);
      CHECK(statuses[static_cast<std::size_t>(rank)] == 0);
      CHECK((how.starts_with("GroupBroken: ") || how.starts_with("gloo: ")));
    }
  }
  Job job(stream, 4);
  check_trained(job, 4, trained_alone(stream, 4));
}

}  // namespace
}  // namespace batchcast::testing
