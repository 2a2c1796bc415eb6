// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// torch::save and torch::load of a SharedDataset.
#include "loader_support.hpp"
#include "producer_process.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace batchcast::testing {
namespace {

using Catch::Contains;

constexpr const char* recipe = R"({"seed":1,"size":224})";

std::string saved(const SharedDataset<>& dataset) {
  std::ostringstream out;
  torch::save(dataset, out);
  return out.str();
}

void load(SharedDataset<>& dataset, const std::string& checkpoint) {
  std::istringstream in(checkpoint);
  torch::load(dataset, in);
}

/// The rest of the epoch that the dataset is in, as a loader walks it.
std::vector<Seen> loop(const SharedDataset<>& dataset, std::size_t batch_size) {
  std::vector<Seen> seen;
  const auto loader = torch::data::make_data_loader(dataset, batch_size);
  for (auto& batch : *loader) seen.push_back(see(batch));
  return seen;
}

TEST_CASE("A checkpoint goes on after the last batch, in the middle of an epoch", "[dataset]") {
  const ServedStream stream({.recipe_json = recipe});
  SharedDataset<> first(stream.options());
  static_cast<void>(loop(first, 4));
  first.reset();
  static_cast<void>(first.get_batch(3));
  const std::string checkpoint = saved(first);
  CHECK(first.cursor() == 13);
  static_cast<void>(first.get_batch(1));
  SharedDataset<> second(stream.options());
  SECTION("while the ring has the position") {
    SharedDataset<> holds_it(stream.options());
    load(holds_it, saved(first));
    load(second, saved(holds_it));
    CHECK(loop(second, 4) == std::vector<Seen>{expected(4, 4), expected(8, 2)});
    CHECK(loop(second, 5) == std::vector<Seen>{expected(0, 5), expected(5, 5)});
  }
  SECTION("when it does not any more, and no other consumer is there") {
    for (int epoch = 0; epoch < 100; ++epoch) static_cast<void>(loop(first, 10));
    first.leave();
    load(second, checkpoint);
    CHECK(second.cursor() == 13);
    CHECK(loop(second, 4) == std::vector<Seen>{expected(3, 4), expected(7, 3)});
    CHECK(loop(second, 10) == std::vector<Seen>{expected(0, 10)});
  }
  SECTION("when it does not any more, and somebody reads on") {
    for (int epoch = 0; epoch < 100; ++epoch) static_cast<void>(loop(first, 10));
    CHECK_THROWS_AS(load(second, checkpoint), Refused);
    CHECK_THROWS_WITH(load(second, checkpoint), Contains("position 13 is no longer in the ring"));
    const std::uint64_t place = first.cursor();
    CHECK_THROWS_AS(load(first, checkpoint), Refused);
    CHECK(first.cursor() == place);
    CHECK(loop(first, 10) == std::vector<Seen>{expected(0, 10)});  // it stands where it stood
    CHECK(first.cursor() == place + 10);
    CHECK(loop(second, 4).at(0) == expected(0, 4));  // as one that was never to go there
  }
}

TEST_CASE("A dataset that lets go of the stream between loops stands where it was loaded",
          "[dataset]") {
  const ServedStream stream({.recipe_json = recipe});
  ConsumerOptions options = stream.options();
  options.between_epochs = BetweenEpochs::let_go;
  SharedDataset<> first(options);
  static_cast<void>(first.get_batch(4));
  SharedDataset<> second(options);
  load(second, saved(first));
  CHECK(second.cursor() == 4);
  SharedDataset<> third(options);
  load(third, saved(second));
  CHECK(loop(third, 4) == std::vector<Seen>{expected(4, 4), expected(8, 2)});
  CHECK(third.cursor() == 10);
}

TEST_CASE("A trainer that begins where it was ended", "[dataset]") {
  const StreamFolder folder;
  const std::string file = folder.path() + "/data.pt";
  const ServedStream stream({.recipe_json = recipe}, folder.path());
  const ConsumerOptions options = stream.options();
  std::vector<Seen> seen;
  const Consumer slower(options);  // so that the ring keeps what the other one had
  struct Killed {};
  const auto train = [&](const torch::data::Example<>& batch) {
    seen.push_back(see(batch));
    if (seen.size() == 2) throw Killed();
  };
  const auto trainer = [&] {
    namespace bc = batchcast;
    // [snippet checkpoint]
    bc::SharedDataset<> dataset(options);  // of the stream "imagenet"; keep it to save it
    if (std::filesystem::exists(file)) torch::load(dataset, file);
    auto loader = torch::data::make_data_loader(dataset, torch::data::DataLoaderOptions(4));
    for (auto& batch : *loader) {
      train(batch);
      torch::save(dataset, file);  // beside the model, every so often
    }
    // [snippet end]
  };
  CHECK_THROWS_AS(trainer(), Killed);
  trainer();
  CHECK(seen == std::vector<Seen>{expected(0, 4), expected(4, 4), expected(4, 4), expected(8, 2)});
}

TEST_CASE("A checkpoint at an epoch's end goes on with the next one", "[dataset]") {
  const ServedStream stream({.recipe_json = recipe});
  SharedDataset<> first(stream.options());
  static_cast<void>(loop(first, 4));
  SharedDataset<> second(stream.options());
  load(second, saved(first));
  CHECK(second.cursor() == 10);
  CHECK(loop(second, 10) == std::vector<Seen>{expected(0, 10)});
  CHECK(second.cursor() == 20);
}

TEST_CASE("A checkpoint is good for a producer that was started again", "[dataset]") {
  const StreamFolder folder;
  std::optional<ServedStream> stream(std::in_place, Serving{.recipe_json = recipe}, folder.path());
  const ConsumerOptions options = stream->options();
  SharedDataset<> dataset(options);
  for (int epoch = 0; epoch < 100; ++epoch) static_cast<void>(loop(dataset, 10));
  dataset.reset();
  static_cast<void>(dataset.get_batch(4));
  stream.reset();
  CHECK_THROWS_AS(
      [&] {
        for (;;) static_cast<void>(loop(dataset, 10));
      }(),
      Stopped);
  const std::uint64_t cursor = dataset.cursor();
  const std::string checkpoint = saved(dataset);
  CHECK(cursor >= 1004);
  stream.emplace(Serving{.recipe_json = recipe, .stream = "served"}, folder.path());
  load(dataset, checkpoint);
  CHECK(dataset.cursor() == cursor);
  CHECK(loop(dataset, 10) == std::vector<Seen>{expected(cursor % 10, 10 - cursor % 10)});
}

TEST_CASE("A checkpoint is good for another process", "[dataset]") {
  const StreamFolder folder;
  const std::string file = folder.path() + "/checkpoint";
  const ServedStream stream({.recipe_json = recipe}, folder.path());
  const Consumer slower(stream.options());  // so that the ring keeps what the other one had
  {
    SharedDataset<> dataset(stream.options());
    static_cast<void>(dataset.get_batch(7));
    torch::save(dataset, file);
  }
  RoleProcess trainer("[.resumes]", {std::string(role_directory) + "=" + folder.path(),
                                     std::string(role_file) + "=" + file});
  CHECK(trainer.wait() == 0);
}

TEST_CASE("Saving waits for no batch", "[dataset]") {
  const StreamFolder folder;
  Producer producer({.stream = "slow",
                     .schema = served_schema(),
                     .samples_per_epoch = 10,
                     .linger_ms = 0,
                     .directory = folder.path(),
                     .log = [](LogLevel, std::string_view) {}});
  SharedDataset<> dataset(ConsumerOptions{.stream = "slow", .directory = folder.path()});
  CHECK(dataset.cursor() == 0);
  std::thread worker([dataset]() mutable { CHECK_THROWS_AS(dataset.get_batch(4), Stopped); });
  while (producer.stats().consumers.at(0).batch_size != 4) std::this_thread::yield();
  CHECK_FALSE(saved(dataset).empty());
  producer.stop("seen");
  worker.join();
}

std::string refusal(const std::function<void()>& attempt) {
  try {
    attempt();
  } catch (const RecipeMismatch& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_CASE("A checkpoint of other samples is refused, with what differs", "[dataset]") {
  const StreamFolder folder;
  const auto serve = [&](const Serving& serving) {
    return std::make_unique<ServedStream>(serving, folder.path());
  };
  const auto a = serve({.recipe_json = recipe, .stream = "a"});
  SharedDataset<> of_a(a->options());
  static_cast<void>(of_a.get_batch(4));
  const std::string checkpoint = saved(of_a);

  const auto same = serve({.recipe_json = recipe, .stream = "same"});
  SharedDataset<> of_same(same->options());
  load(of_same, checkpoint);
  CHECK(of_same.cursor() == 4);

  const auto other = serve({.recipe_json = R"({"seed":1,"size":192})", .stream = "other"});
  SharedDataset<> of_other(other->options());
  static_cast<void>(of_other.get_batch(2));
  CHECK_THAT(refusal([&] { load(of_other, checkpoint); }),
             Contains("checkpoint is of stream `a`, position 4") && Contains("`other`") &&
                 Contains("They differ in `size` (224 then, 192 now)"));
  {
    const Consumer now(other->options()), then(a->options());
    CHECK(now.identity().size() == 32);
    CHECK_THAT(refusal([&] { load(of_other, checkpoint); }),
               Contains("its identity is " + now.identity()) &&
                   Contains("the checkpoint's is " + then.identity()));
  }
  CHECK(see(*of_other.get_batch(3)) == expected(2, 3));  // it stands where it stood

  const auto bare = serve({.stream = "bare"});
  SharedDataset<> of_bare(bare->options());
  CHECK_THAT(refusal([&] { load(of_bare, checkpoint); }), Contains("is served now is not"));
  static_cast<void>(of_bare.get_batch(2));
  const std::string bare_checkpoint = saved(of_bare);
  load(of_bare, bare_checkpoint);
  CHECK(of_bare.cursor() == 2);
  const auto bare_too = serve({.samples_per_epoch = 11, .stream = "bare-too"});
  SharedDataset<> of_bare_too(bare_too->options());
  CHECK_THAT(refusal([&] { load(of_bare_too, bare_checkpoint); }),
             Contains("`bare` with 10 samples") && Contains("`bare-too` with 11 samples"));
}

TEST_CASE("A recipe that does not determine the samples tells no streams apart", "[dataset]") {
  const StreamFolder folder;
  const auto serve = [&](const std::string& stream) {
    Producer producer({.stream = stream,
                       .schema = served_schema(),
                       .linger_ms = 0,
                       .recipe_json = recipe,
                       .directory = folder.path(),
                       .log = [](LogLevel, std::string_view) {}});
    Loan loan = producer.loan(4).value();
    ServedStream::fill(loan, producer.schema());
    loan.publish();
    return producer;
  };
  const Producer a = serve("a");
  const Producer b = serve("b");
  SharedDataset<> of_a(ConsumerOptions{.stream = "a", .directory = folder.path()});
  static_cast<void>(of_a.get_batch(4));
  SharedDataset<> of_b(ConsumerOptions{.stream = "b", .directory = folder.path()});
  const std::string checkpoint = saved(of_a);
  CHECK_NOTHROW(load(of_a, checkpoint));
  CHECK_THAT(refusal([&] { load(of_b, checkpoint); }), Contains("is pure"));
}

TEST_CASE("A checkpoint of a version that kept no identity still loads", "[dataset]") {
  const ServedStream stream({.recipe_json = recipe});
  SharedDataset<> dataset(stream.options());
  static_cast<void>(dataset.get_batch(4));
  torch::serialize::OutputArchive out;
  out.write("batchcast_checkpoint", c10::IValue(std::int64_t{1}));
  out.write("cursor", c10::IValue(std::int64_t{4}));
  out.write("stream", c10::IValue(std::string("then")));
  out.write("recipe_json", c10::IValue(std::string(recipe)));
  out.write("schema_json", c10::IValue(std::string()));
  out.write("samples_per_epoch", c10::IValue(std::int64_t{10}));
  std::stringstream bytes;
  out.save_to(bytes);
  torch::serialize::InputArchive in;
  in.load_from(bytes);
  dataset.load(in);
  CHECK(dataset.cursor() == 4);
}

TEST_CASE("What is no checkpoint of a dataset is refused", "[dataset]") {
  const ServedStream stream;
  SharedDataset<> dataset(stream.options());
  std::ostringstream out;
  torch::save(torch::ones({3}), out);
  CHECK_THROWS_AS(load(dataset, out.str()), InvalidArgument);
  CHECK_THROWS_WITH(load(dataset, out.str()), Contains("no checkpoint of a SharedDataset"));
  const std::string whole = saved(dataset);
  CHECK_THROWS_AS(load(dataset, whole.substr(0, whole.size() / 2)), c10::Error);
  CHECK(see(*dataset.get_batch(4)) == expected(0, 4));
}

}  // namespace
}  // namespace batchcast::testing
