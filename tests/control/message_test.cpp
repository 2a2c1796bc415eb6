// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/join/message.hpp>

#include <random>

#include "catch.hpp"

using namespace batchcast;
using Catch::Matchers::Contains;

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
          .placement = "GPU-8f6c2a10"};
}

/// What a ring on a GPU offers.
Welcome device_welcome() {
  return {.stream = "demo",
          .name = "n",
          .segment_bytes = {4096, 8192, 4096},
          .segment_kinds = {SegmentKind::cuda_fd, SegmentKind::cuda_ipc, SegmentKind::memfd},
          .segment_handles = {"", "00ff", ""},
          .placement = "GPU-8f6c2a10"};
}

std::string refusal_text(const std::string& hello, std::uint32_t layout = 7) {
  const auto result = decode_hello(hello, layout);
  const auto* refusal = std::get_if<Refusal>(&result);
  return refusal ? std::string(name_of(refusal->kind)) + ": " + refusal->text : "accepted";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

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

  const Welcome sent{.stream = "demo",
                     .consumer_index = 5,
                     .tenant = 99,
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
  CHECK(welcome.tenant == 99);
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
  const auto rejoin = std::get<Rejoin>(decode_from_consumer(encode(Rejoin{Join::at, 6})));
  CHECK((rejoin.join == Join::at && rejoin.cursor == 6));
  CHECK(std::holds_alternative<Pause>(decode_from_consumer(encode(Pause{}))));
  CHECK(std::holds_alternative<Bye>(decode_from_consumer(encode(Bye{}))));
}

TEST_CASE("another layout version is refused with both named, whatever else has changed") {
  CHECK_THAT(refusal_text(encode(sample_hello()), 8),
             Contains("layout:") && Contains("version 8") && Contains("version 7"));
  CHECK_THAT(refusal_text(R"({"type":"hello","layout":9,"strange":[]})"), Contains("version 9"));
}

TEST_CASE("a malformed hello is refused with what is wrong") {
  const std::string good = encode(sample_hello());
  CHECK(refusal_text(good) == "accepted");
  CHECK(refusal_text(replaced(good, "{", R"({"added_later":1,)")) == "accepted");
  for (const char* bad : {"", "x", "null", "[]", "7", "{", "{}", R"({"type":7})", "\xff\xfe",
                          R"({"type":"bye"})", R"({"type":"hello"})"}) {
    CHECK_THAT(refusal_text(bad), Contains("bad_hello:"));
  }
  CHECK_THAT(refusal_text(replaced(good, ":37", ":0")), Contains("batch_size"));
  CHECK_THAT(refusal_text(replaced(good, ":37", ":-1")), Contains("batch_size"));
  CHECK_THAT(refusal_text(replaced(good, ":37", ":1e3")), Contains("batch_size"));
  CHECK_THAT(refusal_text(replaced(good, ":37", ":\"1\"")), Contains("batch_size"));
  CHECK_THAT(refusal_text(replaced(good, "free", "fast")), Contains("pace") && Contains("fast"));
  CHECK_THAT(refusal_text(replaced(good, "9223372036854775807", "9223372036854775808")),
             Contains("cursor"));
  CHECK_THAT(refusal_text(replaced(good, "lr-0.1", std::string(64, 'n'))), Contains("64 bytes"));
  CHECK_THAT(refusal_text(replaced(good, "lr-0.1", "a\\nb")), Contains("printable"));
  CHECK_THAT(refusal_text(std::string(limits::message_bytes_max + 1, ' ')), Contains("bytes"));
  CHECK_THAT(refusal_text(std::string(limits::message_bytes_max, '[')), Contains("bad_hello:"));
}

TEST_CASE("malformed messages of either side are told from good ones") {
  for (const char* bad : {"", "x", "{}", R"({"type":"rejoin"})", R"({"type":"rejoin","join":"?"})",
                          R"({"type":"rejoin","join":"at"})", R"({"type":"hello"})"}) {
    CHECK(std::holds_alternative<BadMessage>(decode_from_consumer(bad)));
  }
  Welcome welcome{.stream = "s", .name = "n", .segment_bytes = {1}};
  CHECK(std::holds_alternative<Welcome>(decode_from_producer(encode(welcome))));
  welcome.segment_bytes = {};
  CHECK(std::holds_alternative<BadMessage>(decode_from_producer(encode(welcome))));
  welcome.segment_bytes.assign(limits::fields_max + 1, 1);
  CHECK(std::holds_alternative<BadMessage>(decode_from_producer(encode(welcome))));
  CHECK(std::holds_alternative<BadMessage>(decode_from_producer(R"({"type":"refusal"})")));
}

TEST_CASE("who says nothing of GPUs means host memory") {
  Hello hello = sample_hello();
  hello.placement = "host";
  CHECK(encode(hello).find("placement") == std::string::npos);
  CHECK(std::get<Hello>(decode_hello(encode(hello), 7)).placement == "host");
  const Welcome sent{.stream = "s", .name = "n", .segment_bytes = {1}};
  for (const char* key : {"placement", "segment_kinds", "segment_handles"}) {
    CHECK(encode(sent).find(key) == std::string::npos);
  }
  const auto welcome = std::get<Welcome>(decode_from_producer(encode(sent)));
  CHECK(welcome.placement == "host");
  CHECK(welcome.segment_kinds.empty());
  CHECK(welcome.segment_handles.empty());
}

TEST_CASE("placements and kinds of segments are read strictly") {
  const std::string hello = encode(sample_hello());
  CHECK_THAT(refusal_text(replaced(hello, "\"GPU-8f6c2a10\"", "3")), Contains("placement"));
  CHECK_THAT(refusal_text(replaced(hello, "GPU-8f6c2a10", "")), Contains("placement"));
  CHECK_THAT(refusal_text(replaced(hello, "GPU-8f6c2a10", std::string(64, 'G'))),
             Contains("64 bytes"));
  CHECK_THAT(refusal_text(replaced(hello, "GPU-8f6c2a10", "GPU\\n")), Contains("printable"));
  const auto is_bad = [](const std::string& text) {
    return std::holds_alternative<BadMessage>(decode_from_producer(text));
  };
  const std::string good = encode(device_welcome());
  CHECK_FALSE(is_bad(good));
  CHECK(is_bad(replaced(good, "cuda_fd", "floppy")));
  CHECK(is_bad(replaced(good, "\"cuda_fd\",", "")));
  CHECK(is_bad(replaced(good, "\"cuda_fd\"", "0")));
  CHECK(is_bad(replaced(good, "00ff", "00f")));
  CHECK(is_bad(replaced(good, "00ff", "00fg")));
  CHECK(is_bad(replaced(good, "00ff", "")));
  CHECK(is_bad(replaced(good, "00ff", std::string(258, '0'))));
  CHECK(is_bad(replaced(good, "\"\",\"00ff\"", "\"00ff\",\"00ff\"")));
  CHECK(is_bad(replaced(good, "\"00ff\",", "")));
  CHECK(is_bad(replaced(good, "\"GPU-8f6c2a10\"", "[]")));
}

TEST_CASE("whatever text has to be said, it fits into a datagram") {
  std::string text(200'000, '\1');
  text += "\xff";
  Welcome welcome{.stream = "s", .name = "n"};
  welcome.segment_bytes.assign(limits::fields_max, limits::position_max - 1);
  welcome.segment_kinds.assign(limits::fields_max, SegmentKind::cuda_ipc);
  welcome.segment_handles.assign(limits::fields_max, std::string(128, 'f'));
  welcome.notes.assign(100, text);
  for (const std::string& message :
       {encode(Refusal{RefusalKind::failed, text}), encode(Farewell{text}), encode(welcome)}) {
    CHECK(message.size() <= limits::message_bytes_max);
    CHECK_FALSE(std::holds_alternative<BadMessage>(decode_from_producer(message)));
  }
}

TEST_CASE("mutated messages are refused or read, and nothing else") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> good = {encode(sample_hello()), encode(Rejoin{Join::at, 5}),
                                         encode(Welcome{.segment_bytes = {1, 2}}),
                                         encode(device_welcome())};
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good[random() % good.size()];
    for (unsigned n = random() % 4 + 1; n > 0; --n) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    if (random() % 8 == 0) text.resize(random() % text.size());
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
        RefusalKind::cursor_gone, RefusalKind::placement, RefusalKind::busy}) {
    CHECK_THROWS_AS(throw_refused({kind, "x"}), Refused);
  }
}
