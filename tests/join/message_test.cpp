// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "join/producer_messages.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/join/records.hpp>

#include <cstring>
#include <random>

#include "catch.hpp"

using namespace batchcast;
using Catch::Contains;

namespace {

Hello sample_hello() {
  return {.layout_version = 7,
          .name = "lr-0.1",
          .batch_size = 37,
          .pace = Pace::free,
          .join = Join::at,
          .cursor = limits::position_max - 1,
          .between_epochs = BetweenEpochs::let_go,
          .pid = 4711,
          .placement = "GPU-8f6c2a10",
          .group = "pair",
          .rank = 1,
          .world = 2,
          .tail = Tail::drop,
          .window = {"tokens", 2048, 8, 1},
          .cursor_row = 77};
}

Hello resuming_hello() {
  Hello hello = sample_hello();
  hello.rides = true;
  hello.resumes = {.identity = {1, 2, 3},
                   .incarnation = {4, 5},
                   .consumer_id = 6,
                   .kept_from = 7,
                   .valid_from = 8,
                   .claimed = 10,
                   .published = 9,
                   .in_loop = false};
  return hello;
}

const std::string hex = std::string(64, 'a') + std::string(64, '0');

/// What a ring on a GPU offers.
Welcome device_welcome() {
  return {.stream = "demo",
          .name = "n",
          .segment_bytes = {4096, 8192, 4096},
          .segment_kinds = {SegmentKind::cuda_fd, SegmentKind::cuda_ipc, SegmentKind::memfd},
          .segment_handles = {"", hex, ""},
          .placement = "GPU-8f6c2a10"};
}

std::string refusal_text(const std::string& hello, std::uint32_t layout = 7) {
  const auto result = decode_hello(hello, layout);
  const auto* refusal = std::get_if<Refusal>(&result);
  return refusal ? std::string(name_of(refusal->kind)) + ": " + refusal->text : "accepted";
}

/// The datagram with one field of its record set to something else.
template <class Record, class Field>
std::string with(const std::string& datagram, Field Record::*field, const Field& value) {
  Record record{};
  std::memcpy(static_cast<void*>(&record), datagram.data(), sizeof record);
  record.*field = value;
  return {reinterpret_cast<const char*>(&record), sizeof record};
}

/// Cut or lengthened, and saying so.
std::string resized(std::string datagram, std::size_t bytes) {
  datagram.resize(bytes, 'x');
  const std::uint64_t says = bytes;
  std::memcpy(datagram.data() + offsetof(RecordHead, bytes), &says, sizeof says);
  return datagram;
}

template <std::size_t n>
std::array<char, n> text_of(const std::string& text) {
  std::array<char, n> result{};
  std::copy_n(text.begin(), std::min(text.size(), n), result.begin());
  return result;
}
NameText name(const std::string& text) { return text_of<sizeof(NameText)>(text); }

}  // namespace

TEST_CASE("what is said at the door arrives as it was said") {
  const auto hello = std::get<Hello>(decode_hello(encode(sample_hello()), 7));
  CHECK(hello.layout_version == 7);
  CHECK(hello.name == "lr-0.1");
  CHECK(hello.batch_size == 37);
  CHECK(hello.pace == Pace::free);
  CHECK(hello.join == Join::at);
  CHECK(hello.cursor == limits::position_max - 1);
  CHECK(hello.between_epochs == BetweenEpochs::let_go);
  CHECK(hello.pid == 4711);
  CHECK(hello.placement == "GPU-8f6c2a10");
  CHECK(hello.group == "pair");
  CHECK((hello.rank == 1 && hello.world == 2 && hello.tail == Tail::drop));
  CHECK(hello.window == Window{"tokens", 2048, 8, 1});
  CHECK(hello.cursor_row == 77);
  CHECK_FALSE(hello.rides);
  CHECK_FALSE(hello.resumes);

  const auto again = std::get<Hello>(decode_hello(encode(resuming_hello()), 7));
  CHECK(again.rides);
  const Resumes resumes = again.resumes.value();
  CHECK((resumes.identity[2] == 3 && resumes.incarnation[1] == 5 && resumes.consumer_id == 6));
  CHECK((resumes.kept_from == 7 && resumes.valid_from == 8));
  CHECK((resumes.claimed == 10 && resumes.published == 9));
  CHECK_FALSE(resumes.in_loop);

  const Welcome sent{.stream = "demo",
                     .consumer_index = 5,
                     .consumer_id = 99,
                     .name = "lr-0.1-2",
                     .position = 1'000'000'000'000,
                     .epoch = 3,
                     .epoch_start = 999,
                     .samples_to_come = 12,
                     .board_bytes = 4096,
                     .desk_bytes = 8192,
                     .segment_bytes = {1 << 30, 4096},
                     .notes = {"a \"note\"\n", "ü"}};
  const auto welcome = std::get<Welcome>(decode_from_producer(encode(sent)));
  CHECK(welcome.stream == sent.stream);
  CHECK(welcome.consumer_index == 5);
  CHECK(welcome.consumer_id == 99);
  CHECK(welcome.name == sent.name);
  CHECK(welcome.position == sent.position);
  CHECK(welcome.epoch == 3);
  CHECK(welcome.epoch_start == 999);
  CHECK(welcome.samples_to_come == 12);
  CHECK(welcome.board_bytes == 4096);
  CHECK(welcome.desk_bytes == 8192);
  CHECK(welcome.segment_bytes == sent.segment_bytes);
  CHECK(welcome.notes == sent.notes);
  const auto on_device = std::get<Welcome>(decode_from_producer(encode(device_welcome())));
  CHECK(on_device.placement == device_welcome().placement);
  CHECK(on_device.segment_kinds == device_welcome().segment_kinds);
  CHECK(on_device.segment_handles == device_welcome().segment_handles);

  const auto refusal =
      std::get<Refusal>(decode_from_producer(encode(Refusal{RefusalKind::busy, "later"})));
  CHECK(refusal.kind == RefusalKind::busy);
  CHECK(refusal.text == "later");
  CHECK(std::get<Rejoined>(decode_from_producer(encode(Rejoined{1, 2, 3, 4}))).samples_to_come ==
        4);
  CHECK(std::get<Farewell>(decode_from_producer(encode(Farewell{"why"}))).reason == "why");
  const auto rejoin = std::get<Rejoin>(decode_from_consumer(encode(Rejoin{Join::at, {6, 9}})));
  CHECK((rejoin.join == Join::at && rejoin.cursor == RowPlace{6, 9}));
  CHECK(std::holds_alternative<Pause>(decode_from_consumer(encode(Pause{}))));
  CHECK(std::holds_alternative<Bye>(decode_from_consumer(encode(Bye{}))));

  CountBatches question{7, 64, {"tokens", 16'384}, Oversize::drop, 8};
  CHECK(std::get<CountBatches>(decode_from_consumer(encode(question))) == question);
  // As an earlier consumer asks it.
  CHECK(std::get<CountBatches>(decode_from_consumer(
            resized(encode(question), CountBatchesRecord::bytes_min))) == question);
  question.budget = {};
  question.window = {"tokens", 2'048, 8, 1};
  question.tail = Tail::pad;
  CHECK(std::get<CountBatches>(decode_from_consumer(encode(question))) == question);
  const auto count = std::get<BatchCount>(decode_from_producer(encode(BatchCount{12, true})));
  CHECK(count.batches == 12);
  CHECK(count.known);

  const EpochEnd epoch{.epoch = 3,
                       .place = {77, 12},
                       .early = true,
                       .known = false,
                       .count = 5,
                       .hash = ~0ULL,
                       .rows = {40, 90}};
  const auto ended = std::get<EpochEnd>(decode_from_consumer(encode(epoch)));
  CHECK((ended.epoch == 3 && ended.place == RowPlace{77, 12} && ended.early && !ended.known));
  CHECK((ended.count == 5 && ended.hash == ~0ULL));
  CHECK(ended.rows == epoch.rows);
  // As an earlier trainer says it.
  const std::string of_earlier = resized(encode(epoch), EpochEndRecord::bytes_min);
  const auto without_rows = std::get<EpochEnd>(decode_from_consumer(of_earlier));
  CHECK((without_rows.count == 5 && without_rows.rows == RowReceipt{}));
  CHECK(std::get<Forming>(decode_from_producer(encode(Forming{"rank 1"}))).missing == "rank 1");
  const std::string farewell = encode(Farewell{"rank 1 died", true});
  CHECK(std::get<Farewell>(decode_from_producer(farewell)).group_broke);
  CHECK_FALSE(std::get<Farewell>(decode_from_producer(encode(Farewell{"why"}))).group_broke);
  // As an earlier producer says it.
  const std::string shorter = resized(farewell, FarewellRecord::bytes_min);
  CHECK_FALSE(std::get<Farewell>(decode_from_producer(shorter)).group_broke);
}

TEST_CASE("another layout version is refused with both named, whatever else has changed") {
  CHECK_THAT(refusal_text(encode(sample_hello()), 8),
             Contains("layout:") && Contains("version 8") && Contains("version 7"));
  std::string strange = resized(encode(sample_hello()), 100);
  strange.replace(sizeof(RecordHead), std::string::npos, 76, '\xff');
  CHECK_THAT(refusal_text(strange, 8), Contains("layout:") && Contains("version 7"));
  std::string newer = encode(Bye{});
  newer[offsetof(RecordHead, layout_version)] = 9;
  const auto refusal = std::get<Refusal>(decode_from_producer(newer));
  CHECK(refusal.kind == RefusalKind::layout);
  CHECK_THAT(refusal.text, Contains("version 9") && Contains("version 3"));
}

TEST_CASE("a malformed hello is refused with what is wrong") {
  const std::string good = encode(sample_hello());
  CHECK(good.size() <= limits::consumer_record_bytes_max);
  CHECK(refusal_text(good) == "accepted");
  for (const std::string& bad :
       {std::string(), std::string("x"), std::string("null"), std::string("\xff\xfe"),
        encode(Bye{}), good + "x", good.substr(0, good.size() - 1), std::string(good.size(), '\0'),
        std::string(64 * 1024, '[')}) {
    CHECK_THAT(refusal_text(bad), Contains("bad_hello:"));
  }
  using R = HelloRecord;
  CHECK_THAT(refusal_text(with<R>(good, &R::batch_size, std::uint64_t{0})), Contains("batch_size"));
  CHECK_THAT(refusal_text(with<R>(good, &R::batch_size, ~std::uint64_t{0})),
             Contains("batch_size"));
  CHECK_THAT(refusal_text(with<R>(good, &R::pace, 2U)), Contains("pace") && Contains("2"));
  CHECK_THAT(refusal_text(with<R>(good, &R::join, 4U)), Contains("join"));
  CHECK_THAT(refusal_text(with<R>(good, &R::join, 0U)), Contains("cursor"));
  CHECK_THAT(refusal_text(with<R>(good, &R::cursor, std::uint64_t{1} << 63)), Contains("cursor"));
  CHECK_THAT(refusal_text(with<R>(good, &R::between_epochs, 3U)), Contains("between_epochs"));
  CHECK_THAT(refusal_text(with<R>(good, &R::pid, ~0U)), Contains("pid"));
  CHECK_THAT(refusal_text(with<R>(good, &R::observes, 2U)), Contains("observes"));
  CHECK_THAT(refusal_text(with<R>(good, &R::name, name(std::string(64, 'n')))),
             Contains("63 bytes"));
  CHECK_THAT(refusal_text(with<R>(good, &R::name, name("a\nb"))), Contains("printable"));
  CHECK_THAT(refusal_text(with<R>(good, &R::name, name(std::string("a\0b", 3)))),
             Contains("after its end"));
  CHECK_THAT(refusal_text(with<R>(good, &R::placement, name(""))), Contains("placement"));
  CHECK_THAT(refusal_text(with<R>(good, &R::placement, name("GPU\n"))), Contains("printable"));
  CHECK_THAT(refusal_text(with<R>(good, &R::group, name(std::string(64, 'g')))), Contains("group"));
  CHECK_THAT(refusal_text(with<R>(good, &R::rank, 2U)), Contains("rank"));
  CHECK_THAT(refusal_text(with<R>(good, &R::world, 0U)), Contains("rank"));
  CHECK_THAT(refusal_text(with<R>(good, &R::tail, 3U)), Contains("tail"));
  CHECK_THAT(refusal_text(with<R>(good, &R::rides, 2U)), Contains("rides"));
  CHECK_THAT(refusal_text(with<R>(good, &R::resumes, 3U)), Contains("resumes"));
  CHECK_THAT(refusal_text(with<R>(good, &R::resumes, 1U)), Contains("consumer_id"));
  const std::string resumes = encode(resuming_hello());
  CHECK(refusal_text(resumes) == "accepted");
  CHECK_THAT(refusal_text(with<R>(resumes, &R::kept_from, ~std::uint64_t{0})),
             Contains("kept_from"));
  CHECK_THAT(refusal_text(with<R>(resumes, &R::published, std::uint64_t{11})),
             Contains("published"));
}

TEST_CASE("records may be longer than known, and shorter by what may be missing") {
  const std::string hello = encode(sample_hello());
  CHECK(refusal_text(resized(hello, limits::consumer_record_bytes_max)) == "accepted");
  const auto shortest = std::get<Hello>(decode_hello(resized(hello, HelloRecord::bytes_min), 7));
  CHECK(shortest.placement == "GPU-8f6c2a10");
  CHECK(shortest.group.empty());
  CHECK(shortest.world == 0);
  CHECK_THAT(refusal_text(resized(hello, HelloRecord::bytes_min - 1)),
             Contains("bad_hello:") && Contains("192"));

  const std::string welcome =
      encode(Welcome{.stream = "s", .name = "n", .segment_bytes = {1}, .notes = {"a note"}});
  const auto longer = std::get<Welcome>(decode_from_producer(resized(welcome, welcome.size() + 8)));
  CHECK(longer.notes == std::vector<std::string>{"a note"});
  const auto shorter =
      std::get<Welcome>(decode_from_producer(resized(welcome, WelcomeRecord::bytes_min)));
  CHECK(shorter.notes.empty());
  CHECK(shorter.segment_bytes.size() == 1);
  CHECK(std::holds_alternative<BadMessage>(
      decode_from_producer(resized(welcome, WelcomeRecord::bytes_min - 1))));
}

TEST_CASE("malformed messages of either side are told from good ones") {
  const std::string rejoin = encode(Rejoin{Join::at, 6});
  for (const std::string& bad :
       {std::string(), std::string("x"), std::string("{}"), rejoin.substr(0, 32),
        resized(rejoin, 39), encode(sample_hello()), encode(Rejoined{}),
        with<RejoinRecord>(rejoin, &RejoinRecord::join, 4U),
        with<RejoinRecord>(rejoin, &RejoinRecord::cursor, ~std::uint64_t{0}),
        with<EpochEndRecord>(encode(EpochEnd{}), &EpochEndRecord::epoch, ~std::uint64_t{0}),
        with<EpochEndRecord>(encode(EpochEnd{}), &EpochEndRecord::early, 2U),
        encode(CountBatches{.budget = {"tokens", 0}}),
        encode(CountBatches{.budget = {"tokens", 1}, .window = {"tokens", 1}}),
        encode(CountBatches{.window = {"tokens", 5, 0}}),
        with<CountBatchesRecord>(encode(CountBatches{.budget = {"tokens", 1}}),
                                 &CountBatchesRecord::oversize, 4U),
        encode(Forming{"missing"})}) {
    CHECK(std::holds_alternative<BadMessage>(decode_from_consumer(bad)));
  }
  // The text names the part that is wrong.
  const std::string row =
      with<RejoinRecord>(encode(Rejoin{Join::at, {6, 1}}), &RejoinRecord::row, ~std::uint64_t{0});
  CHECK_THAT(std::get<BadMessage>(decode_from_consumer(row)).text, Contains("\"row\""));
  CHECK_THAT(refusal_text(with<HelloRecord>(encode(sample_hello()), &HelloRecord::cursor_row,
                                            ~std::uint64_t{0})),
             Contains("\"cursor_row\""));
  const auto is_bad = [](const std::string& datagram) {
    return std::holds_alternative<BadMessage>(decode_from_producer(datagram));
  };
  Welcome welcome{.stream = "s", .name = "n", .segment_bytes = {1}};
  CHECK_FALSE(is_bad(encode(welcome)));
  welcome.segment_bytes = {};
  CHECK(is_bad(encode(welcome)));
  welcome.segment_bytes.assign(limits::fields_max + 1, 1);
  CHECK(is_bad(encode(welcome)));

  const std::string good = encode(device_welcome());
  using R = WelcomeRecord;
  CHECK_FALSE(is_bad(good));
  R record{};
  std::memcpy(static_cast<void*>(&record), good.data(), sizeof record);
  auto segments = record.segments;
  segments[1].kind = 3;
  CHECK(is_bad(with<R>(good, &R::segments, segments)));
  segments = record.segments;
  segments[2].bytes = 0;
  CHECK(is_bad(with<R>(good, &R::segments, segments)));
  CHECK(is_bad(with<R>(good, &R::consumer_index, std::uint32_t{limits::consumers_max})));
  CHECK(is_bad(with<R>(good, &R::position, ~std::uint64_t{0})));
  CHECK(is_bad(with<R>(good, &R::note_count, std::uint32_t{R::notes_max + 1})));
  CHECK(is_bad(with<R>(good, &R::stream, name(std::string(49, 's')))));
  CHECK(is_bad(with<R>(good, &R::placement, name(""))));

  const std::string refusal = encode(Refusal{RefusalKind::busy, "later"});
  using F = RefusalRecord;
  constexpr auto beyond = static_cast<std::uint32_t>(RefusalKind::group_broke) + 1;
  CHECK(is_bad(with<F>(refusal, &F::kind, beyond)));
  LongText endless;
  endless.fill('x');
  CHECK(is_bad(with<F>(refusal, &F::text, endless)));
  CHECK(is_bad(with<F>(refusal, &F::text, text_of<sizeof endless>("\xff"))));
}

TEST_CASE("whatever text has to be said, it fits into a datagram") {
  const std::string text = "\xff" + std::string(200'000, '\1');
  Welcome welcome{.stream = "s", .name = "n"};
  welcome.segment_bytes.assign(limits::fields_max, limits::position_max - 1);
  welcome.segment_kinds.assign(limits::fields_max, SegmentKind::cuda_ipc);
  welcome.segment_handles.assign(limits::fields_max, std::string(128, 'f'));
  welcome.notes.assign(100, text);
  for (const std::string& message :
       {encode(Refusal{RefusalKind::failed, text}), encode(Farewell{text}), encode(welcome)}) {
    CHECK(message.size() <= limits::producer_record_bytes_max);
    CHECK_FALSE(std::holds_alternative<BadMessage>(decode_from_producer(message)));
  }
}

TEST_CASE("mutated messages are refused or read, and nothing else") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> good = {encode(sample_hello()),
                                         encode(Rejoin{Join::at, 5}),
                                         encode(Welcome{.segment_bytes = {1, 2}}),
                                         encode(device_welcome()),
                                         encode(EpochEnd{.epoch = 1}),
                                         encode(Forming{"rank 1"}),
                                         encode(Farewell{"why", true})};
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good[random() % good.size()];
    for (unsigned n = random() % 4 + 1; n > 0; --n) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    if (random() % 8 == 0) text = resized(text, 24 + random() % text.size());
    static_cast<void>(decode_hello(text, 7));
    static_cast<void>(decode_from_consumer(text));
    static_cast<void>(decode_from_producer(text));
  }
  SUCCEED();
}

TEST_CASE("each refusal is thrown as the exception that says most") {
  CHECK_THROWS_AS(throw_refused({RefusalKind::ring_too_small, "x"}), RingTooSmall);
  CHECK_THROWS_AS(throw_refused({RefusalKind::finished, "x"}), StreamFinished);
  CHECK_THROWS_AS(throw_refused({RefusalKind::stopped, "x"}), Stopped);
  CHECK_THROWS_AS(throw_refused({RefusalKind::failed, "x"}), StreamFailed);
  for (const auto kind :
       {RefusalKind::bad_hello, RefusalKind::layout, RefusalKind::uid, RefusalKind::full,
        RefusalKind::cursor_gone, RefusalKind::placement, RefusalKind::busy, RefusalKind::group}) {
    CHECK_THROWS_AS(throw_refused({kind, "x"}), Refused);
  }
}
