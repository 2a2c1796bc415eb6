// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Trainers with libtorch, in processes of their own, over one ring on a GPU. For a machine with a
// GPU and a libtorch with CUDA; exits with 1 and says what was not as it should be.
//   torch_train                 on cuda:0
//   torch_train --gpu cuda:1    on another one
//   torch_train --host          without a GPU, the roles that need none
//   torch_train --unnamed       one trainer does not name its stream, and is to fail
#include "torch_roles.hpp"

#include <batchcast/producer.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

extern char** environ;

namespace batchcast::testing {
namespace {

constexpr unsigned patience_s = 300;
constexpr std::uint64_t ring_bytes = std::uint64_t{8} << 20;
// Large beside what a process takes on a GPU for itself, which differs by a few MiB.
constexpr std::uint64_t large_ring_bytes = std::uint64_t{512} << 20;
constexpr std::uint64_t growth_bytes_max = std::uint64_t{64} << 20;
constexpr int holders = 3;

/// This program again, as a trainer. Ends it with the object.
class Child {
 public:
  Child(const Role& role, const char* what) : name_(role.name) {
    int to_child[2];
    int from_child[2];
    require(::pipe2(to_child, O_CLOEXEC) == 0 && ::pipe2(from_child, O_CLOEXEC) == 0, "pipe2");
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, to_child[0], 0);
    ::posix_spawn_file_actions_adddup2(&files, from_child[1], 1);
    std::vector<std::string> words = {"/proc/self/exe",
                                      what,
                                      role.name,
                                      role.placement.text(),
                                      role.works_on.text(),
                                      role.directory,
                                      role.names_streams ? "named" : "unnamed"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int failed =
        ::posix_spawn(&pid_, "/proc/self/exe", &files, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&files);
    ::close(to_child[0]);
    ::close(from_child[1]);
    input_ = to_child[1];
    output_ = from_child[0];
    require(failed == 0, "posix_spawn");
  }
  ~Child() {
    ::close(input_);
    ::close(output_);
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Until it has said something, which is that it is there; false if it ended instead.
  [[nodiscard]] bool wait_for_word() const {
    char word = 0;
    return ::read(output_, &word, 1) == 1;
  }
  /// Its exit status, or that of a program killed; nothing while it runs.
  [[nodiscard]] std::optional<int> status(bool wait) {
    if (pid_ > 0 && ::waitpid(pid_, &status_, wait ? 0 : WNOHANG) == pid_) pid_ = -1;
    if (pid_ > 0) return {};
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128;
  }

 private:
  std::string name_;
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  int status_ = 0;
};

[[nodiscard]] Producer make_producer(const Role& like, std::uint64_t memory,
                                     std::uint32_t trainers) {
  ProducerOptions options;
  options.stream = stream_name;
  options.schema = {{"image", DType::f32, {1, 28, 28}}, {"label", DType::i64, {}}};
  options.memory = memory;
  if (!like.works_on.is_host()) options.places = {like.works_on};
  options.samples_per_epoch = static_cast<std::uint64_t>(samples_per_epoch);
  options.epochs = epochs;
  options.wait_for = trainers;
  options.directory = like.directory;
  return Producer(std::move(options));
}

void fill(const Loan& loan) {
  const auto images = loan.field<float>("image");
  const auto labels = loan.field<std::int64_t>("label");
  for (std::size_t i = 0; i < loan.size(); ++i) {
    const auto sample = static_cast<std::int64_t>(loan.index_in_epoch() + i);
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      images[i][static_cast<std::size_t>(pixel)] = static_cast<float>(pixel_of(sample, pixel));
    }
    labels[i][0] = label_of(sample);
  }
}

/// All roles at once over one small ring. Whether all ended well.
bool train_together(const Role& like, bool names_streams) {
  std::vector<Role> roles;
  const auto add = [&](const char* name, Placement placement) {
    roles.push_back({name, placement, like.works_on, like.directory, true});
  };
  for (const char* name : {"learn", "learn-too", "write", "private"}) add(name, like.works_on);
  if (!like.works_on.is_host()) {
    for (const char* name : {"side", "stream"}) add(name, like.works_on);
    for (const char* name : {"pin", "learn-from-host"}) add(name, Placement());
  }
  Producer producer = make_producer(like, ring_bytes, static_cast<std::uint32_t>(roles.size()));
  std::vector<std::unique_ptr<Child>> children;
  for (Role& role : roles) {
    role.names_streams = names_streams || role.name != "side";
    children.push_back(std::make_unique<Child>(role, "train"));
  }
  bool good = true;
  while (good && !producer.over()) {
    constexpr int look_ms = 200;
    if (auto loan = producer.try_loan(256, look_ms)) {
      fill(*loan);
      loan->publish();
    }
    for (const auto& child : children) good = good && child->status(false).value_or(0) == 0;
  }
  if (!good) producer.stop("a trainer failed");
  for (const auto& child : children) {
    const int status = *child->status(true);
    if (status == 0) continue;
    std::fprintf(stderr, "torch_train: `%s` ended with %d\n", child->name().c_str(), status);
    good = false;
  }
  if (good) std::printf("%zu trainers over one ring: every element as published\n", roles.size());
  return good;
}

/// Free bytes of the GPU, as the driver tells it to this process, which takes its place there.
class FreeMemory {
 public:
  explicit FreeMemory(Placement gpu) : takes_place_(torch::zeros({1}, on(gpu))) {
    void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (driver != nullptr) ask_ = reinterpret_cast<Ask>(::dlsym(driver, "cuMemGetInfo_v2"));
    require(ask_ != nullptr, "libcuda.so.1 has no cuMemGetInfo_v2");
  }
  [[nodiscard]] std::int64_t bytes() const {
    std::size_t free = 0;
    std::size_t total = 0;
    require(ask_(&free, &total) == 0, "cuMemGetInfo");
    return static_cast<std::int64_t>(free);
  }

 private:
  [[nodiscard]] static at::TensorOptions on(Placement gpu) {
    return torch::TensorOptions().device(detail::torch_device(gpu));
  }

  using Ask = int (*)(std::size_t* free, std::size_t* total);
  at::Tensor takes_place_;
  Ask ask_ = nullptr;
};

/// Attaches, keeps a batch, says so and stays until its input ends. As "alone" it does all but
/// attach.
void hold(const Role& role) {
  const at::Tensor place =
      torch::zeros({1}, torch::TensorOptions().device(detail::torch_device(role.works_on)));
  std::optional<Consumer> consumer;
  at::Tensor image;
  if (role.name != "alone") {
    consumer.emplace(ConsumerOptions{.stream = stream_name,
                                     .batch_size = static_cast<std::uint64_t>(batch_size),
                                     .placement = role.placement,
                                     .directory = role.directory});
    image = tensor_of(consumer->next().value(), "image");
    require(image.is_cuda() && image[0].sum().item<float>() > 0, "no batch on the GPU");
  }
  std::puts("here");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}

/// What further trainers take on the GPU beside what any process that uses it does.
bool measure_growth(const Role& like) {
  const FreeMemory memory(like.works_on);
  const auto taken_by = [&](Child& child, std::int64_t before) {
    require(child.wait_for_word(), "`" + child.name() + "` ended early");
    return before - memory.bytes();
  };
  std::int64_t alone = 0;
  {
    const std::int64_t before = memory.bytes();
    Child child({"alone", like.works_on, like.works_on, like.directory}, "hold");
    alone = taken_by(child, before);
  }
  Producer producer = make_producer(like, large_ring_bytes, 0);
  for (int i = 0; i < 8; ++i) {
    Loan loan = producer.loan(256).value();
    fill(loan);
    loan.publish();
  }
  std::vector<std::unique_ptr<Child>> children;
  bool good = true;
  for (int i = 0; i < holders; ++i) {
    const std::int64_t before = memory.bytes();
    children.push_back(std::make_unique<Child>(
        Role{"holder-" + std::to_string(i), like.works_on, like.works_on, like.directory}, "hold"));
    const std::int64_t taken = taken_by(*children.back(), before) - alone;
    std::printf(
        "trainer %d takes %lld MiB of the GPU more than a process without batches; "
        "the ring has %llu\n",
        i + 1, static_cast<long long>(taken >> 20),
        static_cast<unsigned long long>(large_ring_bytes >> 20));
    good = good && taken < static_cast<std::int64_t>(growth_bytes_max);
  }
  children.clear();
  producer.stop("measured");
  if (!good) std::fprintf(stderr, "torch_train: trainers take memory of their own on the GPU\n");
  return good;
}

/// A folder for the stream, gone with the object.
struct Folder {
  Folder() {
    std::string name = "/tmp/bc-torch-XXXXXX";
    require(::mkdtemp(name.data()) != nullptr, "mkdtemp");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

int run(const std::vector<std::string>& words) {
  if (words.size() == 6 && (words[0] == "train" || words[0] == "hold")) {
    ::alarm(patience_s);
    torch::set_num_threads(1);  // the processor is for all of them
    const Role role = {words[1], words[2], words[3], words[4], words[5] == "named"};
    try {
      words[0] == "train" ? play(role) : hold(role);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "torch_train: `%s`: %s\n", role.name.c_str(), error.what());
      return 1;
    }
    return 0;
  }
  ::alarm(2 * patience_s);
  const Folder folder;
  Role like = {"", {}, "cuda:0", folder.path};
  bool names_streams = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--host") {
      like.works_on = Placement();
    } else if (words[i] == "--unnamed") {
      names_streams = false;
    } else if (words[i] == "--gpu" && i + 1 < words.size()) {
      like.works_on = Placement(words[++i]);
    } else {
      std::fprintf(stderr, "usage: torch_train [--gpu cuda:N | --host] [--unnamed]\n");
      return 2;
    }
  }
  bool good = train_together(like, names_streams);
  if (good && !like.works_on.is_host()) good = measure_growth(like);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace batchcast::testing

int main(int argc, char** argv) try {
  return batchcast::testing::run({argv + 1, argv + argc});
} catch (const std::exception& error) {
  std::fprintf(stderr, "torch_train: %s\n", error.what());
  return 1;
}
