// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "heap_ring.hpp"

#include <batchcast/core/error.hpp>

#include <atomic>
#include <optional>
#include <random>

using namespace batchcast;
using namespace batchcast::testing;

// Whatever consumers write on their desks and say at the door, in whatever order: no assertion of
// the writer is theirs to reach, and a consumer that keeps to the rules gets its samples.
namespace {

struct Rogue {
  Admitted admitted;
  std::shared_ptr<Desk> desk;
};

class Storm {
 public:
  /// Without an honest consumer nobody keeps the stream from being moved to where the others say.
  Storm(std::uint64_t seed, RingWriter::Options options, bool with_honest)
      : random_(seed), ring_(16, std::move(options)) {
    if (with_honest) honest_.emplace(ring_, honest_request());
    AdmitRequest request;
    request.mirrors = true;
    mirror_.desk = std::make_shared<Desk>();
    mirror_.admitted = std::get<Admitted>(ring_.writer().admit(request, mirror_.desk));
  }

  void step() {
    switch (random_() % 10) {
      case 0:
        return come();
      case 1:
        return go();
      case 2:
        return pause_or_resume();
      case 3:
        return use_mirror();
      case 4:
        static_cast<void>(ring_.writer().status());
        static_cast<void>(ring_.writer().wait_drained(0));
        return;
      case 5:
        return end_epoch();
      case 6:
        take();
        return end_of_rank();
      default:
        scribble();
        static_cast<void>(ring_.produce(1 + random_() % 16));
    }
  }
  /// Everybody else goes: what is made then comes, in epochs as they were published.
  void check_honest() {
    for (const Rogue& rogue : rogues_) {
      ring_.writer().remove(rogue.admitted.index, rogue.admitted.consumer_id);
    }
    ring_.writer().remove(mirror_.admitted.index, mirror_.admitted.consumer_id);
    if (!honest_) {
      honest_.emplace(ring_, honest_request());
    } else {
      CHECK(honest_->reader->status().samples > 100);
    }
    if (honest_->refused() == NotAdmitted::Reason::finished) return;  // they went to its end
    REQUIRE_FALSE(honest_->refused());
    const std::uint64_t before = honest_->reader->status().samples;
    for (int i = 0; i < 100; ++i) {
      static_cast<void>(ring_.produce(16));
      take();
      end_epoch();
    }
    CHECK(honest_->reader->status().samples > before);
    CHECK(honest_->reader->status().epochs_mismatched == 0);
    CHECK_NOTHROW(honest_->reader->check());
  }

 private:
  static AdmitRequest honest_request() {
    AdmitRequest request = joining(Join::rewind);
    request.name = "honest";
    return request;
  }
  [[nodiscard]] std::uint64_t any_number() {
    const std::uint64_t published = ring_.writer().status().published;
    const std::uint64_t near = random_() % 64;
    const std::uint64_t numbers[] = {near,
                                     published + near,
                                     published - near,
                                     limits::cursor_limit + near,
                                     limits::cursor_limit - near,
                                     limits::position_max - near,
                                     limits::position_max + near,
                                     ~near,
                                     random_()};
    return numbers[random_() % std::size(numbers)];
  }
  [[nodiscard]] Join any_join() { return static_cast<Join>(random_() % 4); }
  [[nodiscard]] Rogue* any_rogue() {
    return rogues_.empty() ? nullptr : &rogues_[random_() % rogues_.size()];
  }

  void come() {
    AdmitRequest request;
    request.name = "rogue";
    request.pace = random_() % 2 == 0 ? Pace::free : Pace::lockstep;
    request.join = any_join();
    request.cursor = any_number();
    request.between_epochs = random_() % 2 == 0 ? BetweenEpochs::hold : BetweenEpochs::let_go;
    request.observes = random_() % 8 == 0;
    if (random_() % 2 == 0) request.group = {"g", static_cast<std::uint32_t>(random_() % 2), 2};
    if (const Rogue* first = any_rogue(); first != nullptr && random_() % 4 == 0) {
      request.place = StartPoint{first->admitted.position, first->admitted.skipping};
    }
    auto desk = std::make_shared<Desk>();
    const auto reply = ring_.writer().admit(request, desk);
    if (const auto* admitted = std::get_if<Admitted>(&reply)) rogues_.push_back({*admitted, desk});
  }
  void go() {
    if (rogues_.empty()) return;
    const std::size_t who = random_() % rogues_.size();
    ring_.writer().remove(rogues_[who].admitted.index, rogues_[who].admitted.consumer_id);
    rogues_.erase(rogues_.begin() + static_cast<std::ptrdiff_t>(who));
  }
  void pause_or_resume() {
    const Rogue* rogue = any_rogue();
    if (rogue == nullptr) return;
    const auto [index, consumer_id] = std::pair(rogue->admitted.index, rogue->admitted.consumer_id);
    if (random_() % 2 == 0) return ring_.writer().pause(index, consumer_id);
    static_cast<void>(ring_.writer().resume(index, consumer_id, any_join(), any_number()));
  }
  void end_of_rank() {
    const Rogue* rogue = any_rogue();
    if (rogue == nullptr) return;
    const auto [index, consumer_id] = std::pair(rogue->admitted.index, rogue->admitted.consumer_id);
    const GroupNews news{.lost = GroupNews::Lost{{1, 2, detail::RankLoss::died}, any_number()},
                         .met = GroupNews::Met{any_number(), GroupReceipt::matched},
                         .ends = GroupNews::Ends{any_number(), any_number()}};
    static_cast<void>(ring_.writer().tell_rank(index, consumer_id, news));
    ring_.writer().rank_ended(index, consumer_id, any_number());
    static_cast<void>(ring_.writer().receipt_of(any_number()));
  }
  void use_mirror() {
    const auto [index, consumer_id] =
        std::pair(mirror_.admitted.index, mirror_.admitted.consumer_id);
    ring_.writer().pause(index, consumer_id);
    if (random_() % 2 == 0) return;
    const std::uint64_t next = random_() % (ring_.writer().status().published + 1);
    const std::uint64_t oldest = next - std::min<std::uint64_t>(next, random_() % 32);
    const auto reply =
        ring_.writer().resume_mirror(index, consumer_id, {any_join(), any_number(), oldest, next});
    const auto* start = std::get_if<MirrorStart>(&reply);
    if (start == nullptr) return;
    REQUIRE(start->epoch_start <= start->position);
    REQUIRE(start->position >= next);
    ring_.writer().pause(index, consumer_id);
  }
  void scribble() {
    Rogue* rogue = any_rogue();
    if (rogue == nullptr) return;
    const std::uint64_t number = any_number();
    switch (random_() % 3) {
      case 0:
        rogue->desk->released = number;
        break;
      case 1:
        rogue->desk->skipping = number;
        break;
      default:
        reinterpret_cast<std::atomic<std::uint64_t>*>(
            rogue->desk.get())[random_() % (sizeof(Desk) / 8)] = number;
    }
  }
  void end_epoch() {
    if (random_() % 4 != 0) return;
    try {
      ring_.writer().end_epoch();
    } catch (const InvalidArgument&) {
      // Its length is known, or it has no sample.
    }
  }
  void take() {
    Run run;
    if (honest_ && honest_->reader->next(1 + random_() % 8, 0, run) == Next::batch) {
      honest_->reader->give_back(run.lease);
    }
  }

  std::mt19937_64 random_;
  HeapRing ring_;
  std::optional<HeapConsumer> honest_;
  Rogue mirror_;
  std::vector<Rogue> rogues_;
};

}  // namespace

TEST_CASE("nothing that consumers say or write reaches an assertion") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{5}, std::uint64_t{1} << 40}) {
    for (int round = 0; round < 8; ++round) {
      auto options = epochs_of(length, length > 5 && round % 2 == 0 ? 1 << 20 : 0);
      std::uint64_t evicted = 0;
      options.on_evicted = [&](std::uint64_t, const std::string&) { ++evicted; };
      Storm storm(random(), options, round % 4 < 2);
      for (int i = 0; i < 20'000; ++i) storm.step();
      storm.check_honest();
      CHECK(evicted > 100);
    }
  }
}

TEST_CASE("a reader of free pace comes back, whatever a board says that it missed") {
  const std::uint64_t samples_per_epoch = GENERATE(0U, 1U, 5U);
  const std::uint64_t beyond = GENERATE(0U, 1U, 100U);
  const std::uint64_t kept_from = limits::position_max + beyond;
  RingWriter::Options options = epochs_of(samples_per_epoch);
  options.free_running = true;
  HeapRing ring(16, std::move(options));
  AdmitRequest request = joining(Join::rewind);
  request.pace = Pace::free;
  HeapConsumer consumer(ring, request);
  for (int i = 0; i < 4; ++i) REQUIRE(ring.produce(1) == 1);
  Run run;
  REQUIRE(consumer.reader->next(1, 0, run) == Next::batch);
  auto& progress = const_cast<BoardProgress&>(ring.board().progress());
  ordered::claim(progress, ordered::load_claimed(progress), kept_from);
  for (int call = 0; call < 20; ++call) {
    const Next next = consumer.reader->next(1, 0, run);
    CHECK(next != Next::batch);
    static_cast<void>(consumer.reader->peek(1, 0, run));
  }
}
