// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "catch.hpp"
#include "temporary_folder.hpp"

#include "producer/producer_core.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace batchcast;
using Catch::Contains;

namespace {

using Directory = batchcast::testing::TemporaryFolder;

/// A device ring that the tests fill themselves. Its mirror rests for ever.
class FakeRing final : public detail::ServedRing {
 public:
  static constexpr std::uint64_t samples = 100;

  explicit FakeRing(const detail::DeviceRingParts& parts)
      : placement_(parts.placement),
        id_("GPU-" + std::to_string(parts.placement.device())),
        board_(Segment::create_small("board", bytes)),
        mapping_(board_, MapMode::read_write),
        writer_(board(parts.options), writer_options(parts)) {}

  [[nodiscard]] Placement placement() const noexcept override { return placement_; }
  [[nodiscard]] const std::string& id() const noexcept override { return id_; }
  [[nodiscard]] std::uint64_t capacity() const noexcept override { return samples; }
  [[nodiscard]] std::uint64_t memory() const noexcept override { return 12'345; }
  [[nodiscard]] std::string memory_option_for(std::uint64_t wanted) const override {
    return "--device-memory " + memory_argument(wanted * 1'000);
  }
  [[nodiscard]] RingWriter& writer() noexcept override { return writer_; }
  [[nodiscard]] const Segment& board_segment() const noexcept override { return board_; }
  void offer(Welcome& welcome, std::vector<int>& descriptors) override {
    welcome.placement = id_;
    welcome.segment_bytes = {64};
    welcome.segment_kinds = {SegmentKind::cuda_fd};
    descriptors.push_back(board_.fd());
  }
  [[nodiscard]] std::variant<Admitted, NotAdmitted> admit(const AdmitRequest& request,
                                                          std::shared_ptr<Desk> desk) override {
    return writer_.admit(request, std::move(desk));
  }
  [[nodiscard]] std::variant<std::uint64_t, NotAdmitted> resume(std::uint32_t index,
                                                                std::uint64_t consumer_id,
                                                                Join join,
                                                                std::uint64_t cursor) override {
    ++resumed;
    return writer_.resume(index, consumer_id, join, cursor);
  }
  ~FakeRing() override {
    if (evicts_at_end) evicts_at_end(1, "its mirror failed");
  }
  void look_for_demand() override { asked = writer_.has_demand(); }
  [[nodiscard]] bool rests() override { return !writer_.has_demand(); }
  [[nodiscard]] bool wait_drained(int timeout_ms) override {
    return writer_.wait_drained(timeout_ms);
  }

  std::function<void(std::uint64_t, const std::string&)> evicts_at_end;
  std::atomic<int> resumed{0};
  std::atomic<bool> asked{false};

 private:
  static constexpr std::size_t bytes = 1 << 20;

  [[nodiscard]] Board board(const ProducerOptions& options) {
    const std::vector<FieldEntry> fields(2, FieldEntry{samples, 8, 8, 4096, 0, 0, {}, {}, 0, {}});
    BoardSpec spec;
    spec.fields = fields;
    spec.capacity = samples;
    spec.samples_per_epoch = options.samples_per_epoch;
    spec.epochs = options.epochs;
    spec.consumers_max = options.max_consumers;
    format_board({mapping_.data(), bytes}, spec);
    return Board(mapping_.data());
  }
  static RingWriter::Options writer_options(const detail::DeviceRingParts& parts) {
    RingWriter::Options options;
    options.samples_per_epoch = parts.options.samples_per_epoch;
    options.epochs = parts.options.epochs;
    options.first_consumer_id = parts.first_consumer_id;
    options.on_evicted = parts.on_evicted;
    return options;
  }

  Placement placement_;
  std::string id_;
  Segment board_;
  Mapping mapping_;
  RingWriter writer_;
};

detail::DeviceRingOutlook look_at_nothing(const ProducerOptions&, Placement) { return {}; }

/// A producer on the host and on two GPUs that are none. What its door asks, tests ask too.
struct Scene {
  Directory directory;
  std::vector<FakeRing*> rings;
  detail::ProducerCore core;

  explicit Scene(ProducerOptions options = {.stream = "served"})
      : core(completed(std::move(options), directory.path()),
             {look_at_nothing, [this](const detail::DeviceRingParts& parts) {
                auto ring = std::make_unique<FakeRing>(parts);
                rings.push_back(ring.get());
                return ring;
              }}) {}

  static ProducerOptions completed(ProducerOptions options, const std::string& directory) {
    options.schema = {{"value", DType::u64}};
    options.memory = 64 << 10;
    options.places = {"cuda:0", "cuda:3"};
    options.samples_per_epoch = 50;
    options.directory = directory;
    options.log = [](LogLevel, std::string_view) {};
    return options;
  }

  [[nodiscard]] AdmissionReply hello(const std::string& placement, const std::string& name,
                                     std::uint64_t batch_size = 8, bool observes = false) {
    Hello said;
    said.name = name;
    said.batch_size = batch_size;
    said.placement = placement;
    said.observes = observes;
    return core.reception().admit(said, PeerIdentity{});
  }
  [[nodiscard]] Admission come(const std::string& placement, const std::string& name,
                               bool observes = false) {
    auto reply = hello(placement, name, 8, observes);
    REQUIRE(std::holds_alternative<Admission>(reply));
    return std::move(std::get<Admission>(reply));
  }
  [[nodiscard]] Refusal refused(const std::string& placement, std::uint64_t batch_size = 8) {
    auto reply = hello(placement, "refused", batch_size);
    REQUIRE(std::holds_alternative<Refusal>(reply));
    return std::get<Refusal>(reply);
  }
  void produce() {
    while (const auto loan = core.loan(64, 0)) core.rings().host().publish(*loan);
  }
  static void fill(RingWriter& writer) {
    Ticket ticket;
    while (writer.claim(64, 0, ticket) == Claim::granted) writer.publish(ticket, {});
  }
};

/// The ranks of groups that come to a reception of which this thread is the door's.
struct Ranks {
  explicit Ranks(ProducerOptions options = {.stream = "served"}) : scene(std::move(options)) {}

  Scene scene;
  detail::SampleRate rate;
  std::vector<std::string> lines;
  detail::Reception reception{
      {scene.core.options(), scene.core.rings(), rate,
       [this](LogLevel, std::string_view line) { lines.emplace_back(line); }}};

  [[nodiscard]] AdmissionReply come(const std::string& group, std::uint32_t rank) {
    Hello said;
    said.name = group + ":" + std::to_string(rank);
    said.batch_size = 4;
    said.group = group;
    said.rank = rank;
    said.world = 2;
    said.placement = "host";
    return reception.admit(said, PeerIdentity{});
  }
  /// The keys of those that have got their places by now.
  [[nodiscard]] std::vector<ConsumerKey> welcomed() {
    std::vector<ConsumerKey> keys;
    for (const RankNews& news : reception.take_news()) {
      if (const auto* it = std::get_if<Admission>(&news.said)) keys.push_back(it->key);
    }
    return keys;
  }
};

std::string why_refused(ProducerOptions options) {
  options.schema = {{"image", DType::u8, {4}}, {"label", DType::i64}};
  try {
    static_cast<void>(detail::checked(std::move(options)));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("places that cannot be served are refused before anything is made") {
  CHECK_THAT(why_refused({.stream = "served", .places = {"host"}}),
             Contains("always served in host memory"));
  CHECK_THAT(why_refused({.stream = "served", .places = {"cuda:1", "cuda:0", "cuda:1"}}),
             Contains("cuda:1 is named"));
  CHECK_THAT(why_refused({.stream = "served", .places = {"cuda:0"}, .host_fields = {"lable"}}),
             Contains("`lable`") && Contains("Did you mean `label`?"));
  CHECK(why_refused(
            {.stream = "served", .places = {"cuda:0"}, .host_fields = {"label", "sample_id"}}) ==
        "accepted");
  CHECK_THAT(why_refused({.stream = "served", .places = {"cuda:0"}, .max_consumers = 1024}),
             Contains("1 and 1023"));
}

TEST_CASE("a producer that cannot be asked takes its mirrors down") {
  const Directory directory;
  ProducerOptions options = Scene::completed({.stream = "served"}, directory.path());
  options.places = {"cuda:0"};
  int evicted = 0;
  const auto make_ring = [&](const detail::DeviceRingParts& parts) {
    // In the place of the control socket, which the directory is there for by now.
    std::filesystem::create_directories(stream_paths(directory.path(), "served").control + "/x");
    auto ring = std::make_unique<FakeRing>(parts);
    ring->evicts_at_end = [&, tell = parts.on_evicted](std::uint64_t key, const std::string& why) {
      ++evicted;
      tell(key, why);
    };
    return ring;
  };
  CHECK_THROWS(detail::ProducerCore(std::move(options), {look_at_nothing, make_ring}));
  CHECK(evicted == 1);
}

TEST_CASE("a consumer gets the ring that it names, and of a GPU without one is told where to go") {
  Scene scene;
  const Admission host = scene.come("host", "h");
  const Admission device = scene.come("GPU-3", "d");
  CHECK(host.welcome.placement == "host");
  CHECK(device.welcome.placement == "GPU-3");
  CHECK(device.welcome.segment_kinds == std::vector{SegmentKind::cuda_fd});
  CHECK(device.welcome.board_bytes == scene.rings[1]->board_segment().bytes());
  REQUIRE(device.descriptors.size() == 4);
  CHECK(device.descriptors[0] == scene.rings[1]->board_segment().fd());
  CHECK(device.descriptors[1] >= 0);
  CHECK(device.key >> 48 == 2);
  CHECK(host.key >> 48 == 0);

  const Refusal refusal = scene.refused("GPU-7");
  CHECK(refusal.kind == RefusalKind::placement);
  CHECK_THAT(refusal.text, Contains("GPU-7") && Contains("--place") &&
                               Contains("in host memory, on cuda:0 (GPU-0) and on cuda:3 (GPU-3)"));
  const Refusal large = scene.refused("GPU-0", 101);
  CHECK(large.kind == RefusalKind::ring_too_small);
  CHECK_THAT(large.text, Contains("on cuda:0") && Contains("--device-memory 99KiB or more"));
  CHECK_THAT(scene.refused("host", 1'000'000).text, Contains("--memory"));
}

TEST_CASE("names differ on all rings, and a name is evicted where it is") {
  Scene scene;
  static_cast<void>(scene.come("host", "t"));
  CHECK(scene.come("GPU-0", "t").welcome.name == "t-2");
  CHECK(scene.come("GPU-3", "t").welcome.name == "t-3");
  CHECK(scene.come("GPU-3", "t").welcome.name == "t-4");
  CHECK(scene.core.evict("t-3", "a test said so"));
  CHECK_FALSE(scene.core.evict("t-3", "a test said so"));
  CHECK(scene.rings[0]->writer().status().consumers.size() == 1);
  REQUIRE(scene.rings[1]->writer().status().consumers.size() == 1);
  CHECK(scene.rings[1]->writer().status().consumers[0].name == "t-4");
}

TEST_CASE("no hello and no command is too much for a producer") {
  Scene scene;
  constexpr std::uint64_t most = limits::position_max - 1;
  for (const char* place : {"host", "GPU-0"}) {
    for (const std::uint64_t size : {most, most / 2 + 2, std::uint64_t{1} << 33}) {
      CHECK(scene.refused(place, size).kind == RefusalKind::ring_too_small);
    }
    for (const Join join : {Join::rewind, Join::next_epoch, Join::now, Join::at}) {
      for (const BetweenEpochs between : {BetweenEpochs::hold, BetweenEpochs::let_go}) {
        Hello hello;
        hello.name = std::string(limits::consumer_name_bytes_max, 'x');
        hello.placement = place;
        hello.join = join;
        hello.cursor = most;
        hello.between_epochs = between;
        const auto reply = scene.core.reception().admit(hello, PeerIdentity{});
        const bool refused = join == Join::at && between == BetweenEpochs::hold;
        CHECK(std::holds_alternative<Refusal>(reply) == refused);
        if (refused) continue;
        const ConsumerKey key = std::get<Admission>(reply).key;
        CHECK(std::get<Admission>(reply).welcome.name.size() == limits::consumer_name_bytes_max);
        scene.core.reception().paused(key);
        CHECK(
            std::holds_alternative<Refusal>(scene.core.reception().rejoin(key, {Join::at, most})));
        CHECK(std::holds_alternative<Rejoined>(scene.core.reception().rejoin(key, {Join::now, 0})));
      }
    }
  }
  scene.produce();
  const auto answer = [&](const std::string& command) {
    return ask_control(scene.core.directory().paths().control, command, 5'000).value_or("");
  };
  for (const char* time : {"1e300", "18446744073709551615", "-1", "\"soon\"", "null", "[]"}) {
    INFO(time);
    const std::string set = std::string(R"({"command":"set","stall_timeout_s":)") + time + "}";
    CHECK_THAT(answer(set), Contains("error"));
  }
  CHECK_THAT(answer(R"({"command":"set","stall_timeout_s":1e6,"on_stall":"evict"})"),
             Contains("ok"));
  for (const char* command : {R"({"command":"evict","consumer":7})", R"({"command":"evict"})",
                              R"({"command":[]})", R"({"command":"stop","reason":{}})"}) {
    CHECK_THAT(answer(command), Contains("error"));
  }
  CHECK_THAT(answer(R"({"command":"stats"})"), Contains("running"));
}

TEST_CASE("a rank that completes its group comes in where as many wait as there are places") {
  Ranks ranks({.stream = "served", .max_consumers = 2});
  CHECK(std::holds_alternative<Waiting>(ranks.come("a", 0)));
  CHECK(std::holds_alternative<Waiting>(ranks.come("b", 1)));
  const auto third = ranks.come("c", 0);
  REQUIRE(std::holds_alternative<Refusal>(third));
  CHECK(std::get<Refusal>(third).kind == RefusalKind::full);
  CHECK_THAT(std::get<Refusal>(third).text, Contains("places for consumers (2)"));
  CHECK(std::holds_alternative<Waiting>(ranks.come("a", 1)));
  CHECK(ranks.welcomed().size() == 2);
}

TEST_CASE("a rank that has ended an epoch that has not begun is evicted, and its group ends") {
  Ranks ranks;
  for (const std::uint64_t epoch : {std::uint64_t{1'000}, ~std::uint64_t{0}}) {
    for (const bool early : {false, true}) {
      INFO(epoch);
      static_cast<void>(ranks.come("g", 0));
      static_cast<void>(ranks.come("g", 1));
      const std::vector<ConsumerKey> keys = ranks.welcomed();
      REQUIRE(keys.size() == 2);
      ranks.lines.clear();
      ranks.reception.epoch_ended(keys[1], EpochEnd{.epoch = epoch, .early = early});
      const std::vector<RankNews> news = ranks.reception.take_news();
      REQUIRE(news.size() == 1);
      CHECK(news[0].key == keys[1]);
      REQUIRE(std::holds_alternative<Farewell>(news[0].said));
      CHECK_THAT(std::get<Farewell>(news[0].said).reason,
                 Contains(std::to_string(epoch) + ", which has not begun"));
      ranks.reception.left(keys[1], Leaving::evicted);
      REQUIRE(!ranks.lines.empty());
      CHECK_THAT(ranks.lines.back(), Contains("goes no further than its beginning: rank 1"));
      ranks.reception.left(keys[0], Leaving::bye);
    }
  }
}

TEST_CASE("the rows of all ranks of a group have to be those that each of them saw go by") {
  const auto verdict = [](const RowReceipt& first, const RowReceipt& second) {
    Ranks ranks;
    static_cast<void>(ranks.come("g", 0));
    static_cast<void>(ranks.come("g", 1));
    const std::vector<ConsumerKey> keys = ranks.welcomed();
    REQUIRE(keys.size() == 2);
    ranks.scene.produce();
    detail::ServedRing& host = ranks.scene.core.rings().host();
    const auto published = host.writer().receipt_of(0);
    REQUIRE(published);
    EpochEnd end{.known = true, .count = published->count, .hash = published->hash, .rows = first};
    ranks.reception.epoch_ended(keys[0], end);
    end.count = end.hash = 0;
    end.rows = second;
    ranks.reception.epoch_ended(keys[1], end);
    const Mapping board(host.board_segment(), MapMode::read_only);
    return static_cast<GroupReceipt>(
        ordered::get(BoardView(board.data()).consumer(0).group_receipt));
  };
  CHECK(verdict({300, 700}, {400, 700}) == GroupReceipt::matched);
  CHECK(verdict({300, 700}, {399, 700}) == GroupReceipt::mismatched);
  CHECK(verdict({300, 700}, {401, 700}) == GroupReceipt::mismatched);
  CHECK(verdict({300, 700}, {400, 699}) == GroupReceipt::mismatched);
  // A stream without axes, or a rank that does not know.
  CHECK(verdict({}, {}) == GroupReceipt::matched);
  CHECK(verdict({300, 700}, {}) == GroupReceipt::matched);
}

TEST_CASE("wait_for counts trainers on every ring, and no observer") {
  Scene scene({.stream = "served", .wait_for = 2});
  static_cast<void>(scene.come("host", "h"));
  static_cast<void>(scene.come("GPU-0", "looks", true));
  scene.produce();
  CHECK(scene.core.stats().published == 0);
  static_cast<void>(scene.come("GPU-0", "d"));
  CHECK(scene.core.stats().published > 0);
}

TEST_CASE("a stream that is read on a GPU only is attended") {
  Scene scene;
  const Admission device = scene.come("GPU-0", "d");
  CHECK_FALSE(scene.core.stop_if_unattended(0, "nobody"));
  scene.core.reception().left(device.key, Leaving::died);
  CHECK(scene.core.stop_if_unattended(0, "nobody"));
  const Refusal late = scene.refused("GPU-0");
  CHECK(late.kind == RefusalKind::stopped);
  CHECK(scene.rings[0]->writer().status().consumers.empty());
}

TEST_CASE("a consumer leaves, pauses and begins a loop at its own ring") {
  Scene scene;
  const Admission first = scene.come("GPU-0", "a");
  const Admission second = scene.come("GPU-3", "b");
  scene.rings[0]->look_for_demand();
  CHECK(scene.rings[0]->asked);
  scene.core.reception().paused(first.key);
  CHECK_FALSE(scene.rings[0]->asked);
  CHECK(std::holds_alternative<Rejoined>(scene.core.reception().rejoin(first.key, {Join::now, 0})));
  CHECK(scene.rings[0]->resumed == 1);
  CHECK(scene.rings[1]->resumed == 0);
  scene.core.reception().left(second.key, Leaving::bye);
  CHECK(scene.rings[1]->writer().status().consumers.empty());
  CHECK(scene.rings[0]->writer().status().consumers.size() == 1);
}

TEST_CASE("the stream's end waits for every ring that is read") {
  Scene scene({.stream = "served", .epochs = 1, .linger_ms = 0});
  const Admission device = scene.come("GPU-3", "d");
  scene.produce();
  Scene::fill(scene.rings[1]->writer());
  Scene::fill(scene.rings[0]->writer());  // which no trainer reads
  CHECK_FALSE(scene.core.finish(0));
  CHECK(scene.core.stats().state == StreamState::draining);
  SECTION("until it was read") {
    std::thread leaves([&] { scene.core.reception().left(device.key, Leaving::bye); });
    CHECK(scene.core.finish(-1));
    leaves.join();
    CHECK(scene.core.stats().state == StreamState::finished);
  }
  SECTION("but not for one that failed") {
    scene.rings[1]->writer().fail("too late to fail");
    CHECK_FALSE(scene.core.finish(0));  // it was whole by then
  }
  SECTION("until it is stopped") {
    scene.core.stop("enough");
    CHECK_FALSE(scene.core.finish(-1));
    CHECK(scene.core.stats().state == StreamState::stopped);
  }
}

TEST_CASE("the stream's end does not wait for a ring that failed") {
  Scene scene({.stream = "served", .epochs = 1, .linger_ms = 0});
  static_cast<void>(scene.come("GPU-3", "d"));
  scene.produce();
  scene.rings[1]->writer().fail("its GPU is lost");
  CHECK(scene.core.finish(0));
}

TEST_CASE("statistics say where each consumer is, and what each ring holds") {
  Scene scene;
  static_cast<void>(scene.come("host", "h"));
  static_cast<void>(scene.come("GPU-3", "d"));
  Scene::fill(scene.rings[1]->writer());
  const auto text =
      ask_control(scene.core.directory().paths().control, R"({"command":"list"})", 5'000);
  REQUIRE(text);
  const auto stats = nlohmann::json::parse(*text);
  REQUIRE(stats["consumers"].size() == 2);
  CHECK(stats["consumers"][0]["placement"] == "host");
  CHECK(stats["consumers"][1]["placement"] == "cuda:3");
  REQUIRE(stats["rings"].size() == 3);
  CHECK(stats["rings"][0]["placement"] == "host");
  CHECK(stats["rings"][0]["memory"] == stats["memory"]);
  CHECK(stats["rings"][1]["state"] == "resting");
  const auto& ring = stats["rings"][2];
  CHECK(ring["placement"] == "cuda:3");
  CHECK(ring["id"] == "GPU-3");
  CHECK(ring["capacity"] == FakeRing::samples);
  CHECK(ring["memory"] == 12'345);
  CHECK(ring["published"] == FakeRing::samples);
  CHECK(ring["state"] == "running");
}
