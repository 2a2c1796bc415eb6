// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/screen.hpp"
#include "observe/keys.hpp"

#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::observe;
using Catch::Contains;

namespace {

Trainer trainer(std::uint64_t id, const std::string& name, std::uint64_t samples) {
  Trainer made;
  made.id = id;
  made.name = name;
  made.placement = "cuda:0";
  made.state = "running";
  made.pid = 4242;
  made.batch_size = 64;
  made.lag = 100 * id;
  made.samples = samples;
  made.wait_seconds = 5;
  return made;
}

SeenStream seen(const std::string& name, std::vector<Trainer> trainers) {
  SeenStream stream;
  stream.name = name;
  stream.directory = "/run/" + name;
  stream.state = "running";
  stream.answers = true;
  stream.now.name = name;
  stream.now.pid = 1;
  stream.now.state = "running";
  stream.now.uptime_seconds = 10;
  stream.now.capacity = 1000;
  stream.now.samples = 10'000;
  stream.now.delivered = 30'000;
  stream.now.processors = 8;
  stream.now.samples_per_epoch = 50'000;
  stream.now.rings.push_back(
      {"host", "host", 1000, 1 << 20, 10'000, 660, "running", {{"tokens", 100, 40}}});
  stream.now.trainers = std::move(trainers);
  Making making;
  making.workers = 4;
  making.making_seconds = 30;
  making.decoding_seconds = 20;
  making.cpu_seconds = 36;
  making.each = {{1, 2, 3, 4}, {1, 2, 3, 4}};
  stream.now.making = making;
  stream.limit = limit_of({}, stream.now, 2);
  stream.history = {1, 5, 3, std::numeric_limits<double>::quiet_NaN(), 8};
  return stream;
}

Overview two_streams() {
  Overview overview;
  overview.clock = "13:10:59";
  overview.idle_processors = 2.1;
  overview.pressure = 0.25;
  overview.processors = 8;
  overview.streams.push_back(
      seen("imagenet", {trainer(1, "lr-0.1", 9'000), trainer(2, "lr-0.2", 10'000)}));
  overview.streams.push_back(seen("text", {trainer(1, "gpt", 500)}));
  SeenStream dead;
  dead.name = "old";
  dead.state = "dead";
  overview.streams.push_back(dead);
  return overview;
}

/// Names as no user would choose them, though a process may.
Overview hostile() {
  Overview overview;
  const std::vector<std::string> names = {"\xff\xfe",
                                          std::string(300, 'x'),
                                          "\xe2\x80\xae"
                                          "abc",
                                          "e\xcc\x81\xcc\x81\xcc\x81",
                                          "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97",
                                          "\x1b[2J",
                                          "%s%n%d",
                                          "",
                                          "{}{}{9}"};
  std::vector<Trainer> trainers;
  for (const std::string& name : names) trainers.push_back(trainer(trainers.size(), name, 1));
  Trainer huge = trainer(99, "huge", ~std::uint64_t{0});
  huge.lag = huge.pid = huge.batch_size = ~std::uint64_t{0};
  huge.wait_seconds = huge.waited_for_seconds = 1e300;
  huge.state = std::string(200, 'z');
  huge.placement = std::string(200, 'p');
  trainers.push_back(huge);
  overview.streams.push_back(seen(std::string(48, 'w'), trainers));
  overview.streams.back().owner = "\x1b]0;x\x07";
  overview.streams.back().limit.text = std::string(500, '`');
  overview.streams.back().now.rings[0].capacity = 0;
  overview.streams.back().now.rings[0].used = ~std::uint64_t{0};
  overview.streams.back().now.uptime_seconds = 1e300;
  overview.idle_processors = 1e300;
  return overview;
}

std::string text_of(const observe::Grid& grid) {
  std::string text;
  for (std::size_t row = 0; row < grid.height(); ++row) text += grid.line(row) + "\n";
  return text;
}

bool is_clean(const std::string& text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7f) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a screen of any size is drawn, with any names and in any mode", "[observe]") {
  const Overview usual = two_streams();
  const Overview odd = hostile();
  const Overview none;
  std::size_t screens = 0;
  for (std::size_t width = 1; width <= 250; ++width) {
    for (std::size_t height = 1; height <= 80; ++height) {
      const Overview& overview = width % 3 == 0 ? usual : width % 3 == 1 ? odd : none;
      Choices choices;
      choices.mode = static_cast<Mode>((width + height) % 6);
      choices.selected = height;
      choices.top = width;
      choices.question = "Stop? [y/N]";
      const observe::Grid grid = draw(overview, choices, width, height, height % 2 == 0);
      for (std::size_t row = 0; row < height; ++row) {
        const std::string line = grid.line(row);
        if (columns_of(line) > width || !is_clean(line)) FAIL(width << " x " << height);
      }
      ++screens;
    }
  }
  CHECK(screens == 20'000);
}

TEST_CASE("a usual screen has streams, trainers, rings and the limit", "[observe]") {
  Choices choices;
  const std::string text = text_of(draw(two_streams(), choices, 120, 30, true));
  INFO(text);
  CHECK_THAT(text, Contains("3 streams, 3 trainers") &&
                       Contains("2.1 of 8 processors idle  pressure 25%"));
  CHECK_THAT(text, Contains("imagenet  running  epoch 0"));
  CHECK_THAT(text, Contains("ring host [#######   ] 66%  tokens 40%"));
  CHECK_THAT(text, Contains("decoding limits; 2 of 8 processors are idle: `batchcast set "
                            "imagenet workers=6`"));
  CHECK_THAT(text, Contains("lr-0.1") && Contains("cuda:0") && Contains("50%"));
  CHECK_THAT(text, Contains("old  dead"));
  CHECK_THAT(text, Contains("F10 quit"));
  CHECK_THAT(text, Contains("saved"));
}

TEST_CASE("a narrow screen keeps what matters most", "[observe]") {
  Choices choices;
  const std::string text = text_of(draw(two_streams(), choices, 40, 30, true));
  INFO(text);
  CHECK_THAT(text, Contains("lr-0.1") && Contains("SAMPLES/S") && Contains("LAG"));
  CHECK_THAT(text, !Contains("PID") && !Contains("BATCH"));
}

TEST_CASE("the list follows what is selected", "[observe]") {
  const Overview overview = two_streams();
  Choices choices;
  choices.selected = 4;  // gpt
  const std::string text = text_of(draw(overview, choices, 80, 5, true));
  INFO(text);
  CHECK_THAT(text, Contains("gpt") && !Contains("lr-0.1"));
}

TEST_CASE("a trainer stays selected while the order changes", "[observe]") {
  Overview overview = two_streams();
  Choices choices;
  choices.sort = SortKey::lag;
  static_cast<void>(press('/', overview, choices, 20));
  for (const char c : std::string("0.2")) {
    static_cast<void>(press(static_cast<unsigned char>(c), overview, choices, 20));
  }
  static_cast<void>(press(key_enter, overview, choices, 20));
  const std::size_t before = choices.selected;
  overview.streams[0].now.trainers[0].lag = 1'000;
  static_cast<void>(draw(overview, choices, 80, 30, true));
  CHECK(choices.selected != before);
  overview.streams[0].now.trainers[0].lag = 0;
  static_cast<void>(press(key_f9, overview, choices, 20));
  CHECK(choices.question == "Evict `lr-0.2` from stream `imagenet`? [y/N]");
  static_cast<void>(press('n', overview, choices, 20));
  static_cast<void>(press('I', overview, choices, 20));
  static_cast<void>(press(key_f9, overview, choices, 20));
  CHECK(choices.question == "Evict `lr-0.2` from stream `imagenet`? [y/N]");
}

TEST_CASE("keys choose, sort and filter, and what is kept is saved", "[observe]") {
  const Overview overview = two_streams();
  Choices choices;
  const auto type = [&](std::uint32_t key) { return press(key, overview, choices, 20).what; };
  CHECK(type(key_down) == observe::Order::What::nothing);
  CHECK(choices.selected == 1);
  CHECK(type('P') == observe::Order::What::save);
  CHECK(choices.sort == SortKey::rate);
  CHECK(entries_of(overview, choices)[1].trainer == "lr-0.2");
  CHECK(type('I') == observe::Order::What::save);
  CHECK(entries_of(overview, choices)[1].trainer == "lr-0.1");
  CHECK(type(key_f6) == observe::Order::What::save);
  CHECK(choices.sort == SortKey::lag);
  CHECK(type(key_f4) == observe::Order::What::nothing);
  for (const char c : std::string("gp"))
    CHECK(type(static_cast<unsigned char>(c)) == observe::Order::What::nothing);
  CHECK(type(key_enter) == observe::Order::What::save);
  CHECK(choices.filter == "gp");
  CHECK(entries_of(overview, choices).size() == 4);  // three streams, one trainer
  CHECK(type('\\') == observe::Order::What::nothing);
  CHECK(type(key_escape) == observe::Order::What::save);
  CHECK(choices.filter.empty());
  CHECK(type(key_end) == observe::Order::What::nothing);
  CHECK(choices.selected == 5);
  CHECK(type('/') == observe::Order::What::nothing);
  for (const char c : std::string("gpt")) static_cast<void>(type(static_cast<unsigned char>(c)));
  CHECK(entries_of(overview, choices)[choices.selected].trainer == "gpt");
  CHECK(type(key_escape) == observe::Order::What::nothing);
  CHECK(type(' ') == observe::Order::What::nothing);
  CHECK(choices.frozen);
  CHECK(type('?') == observe::Order::What::nothing);
  CHECK(choices.mode == Mode::help);
  CHECK(type(key_escape) == observe::Order::What::nothing);
  CHECK(choices.mode == Mode::list);
  for (const std::uint32_t key : {std::uint32_t{'q'}, std::uint32_t{key_f10}, std::uint32_t{3}}) {
    CHECK(type(key) == observe::Order::What::quit);
  }
  CHECK(type(key_ctrl_l) == observe::Order::What::redraw);
}

TEST_CASE("a trainer is evicted and a stream stopped once the user says y", "[observe]") {
  Overview overview = two_streams();
  Choices choices;
  choices.selected = 1;
  CHECK(press(key_f9, overview, choices, 20).what == observe::Order::What::nothing);
  CHECK(choices.mode == Mode::asks);
  CHECK(choices.question == "Evict `lr-0.1` from stream `imagenet`? [y/N]");
  CHECK(press('n', overview, choices, 20).what == observe::Order::What::nothing);
  CHECK(choices.mode == Mode::list);

  CHECK(press('k', overview, choices, 20).what == observe::Order::What::nothing);
  // While it asks, another stream comes before this one, and its trainers change.
  overview.streams.insert(overview.streams.begin(), seen("first", {}));
  overview.streams[1].now.trainers.erase(overview.streams[1].now.trainers.begin());
  const observe::Order order = press('y', overview, choices, 20);
  CHECK(order.what == observe::Order::What::evict);
  CHECK(order.target.stream == 1);
  CHECK(order.target.trainer == "lr-0.1");

  choices.selected = 0;
  CHECK(press('k', overview, choices, 20).what == observe::Order::What::nothing);
  CHECK_THAT(choices.question, Contains("Stop stream `first`"));
  overview.streams.erase(overview.streams.begin());
  CHECK(press('y', overview, choices, 20).what == observe::Order::What::nothing);
  CHECK_THAT(choices.note, Contains("is gone"));
}

TEST_CASE("plain text has the same, a line for each trainer", "[observe]") {
  const std::string text = plain_text(two_streams(), SortKey::name, false, "");
  INFO(text);
  CHECK_THAT(text, Contains("imagenet  running  epoch 0"));
  CHECK_THAT(text, Contains("  lr-0.1  cuda:0  running"));
  CHECK_THAT(text, Contains("660 of 1,000 samples wait for trainers, 40 of 100 rows of tokens"));
  CHECK_THAT(text, Contains("old  dead"));
  CHECK(plain_text({}, SortKey::name, false, "") == "no streams\n");
}

TEST_CASE("numbers are short and bars as long as asked", "[observe]") {
  CHECK(short_count(9'999) == "9999");
  CHECK(short_count(12'345) == "12.3k");
  CHECK(short_count(999'999) == "1.0M");
  CHECK(short_count(-1) == "-");
  CHECK(short_count(1e300) == "-");
  CHECK(grouped(1'234'567) == "1,234,567");
  CHECK(time_text(12.34) == "12.3 s");
  CHECK(time_text(7'500) == "2 h 05");
  CHECK(percent_text(0.345) == "35%");
  CHECK(bar(0.5, 10, true) == "[####    ]");
  CHECK(bar(7, 4, true) == "[##]");
  CHECK(spark_line({0, 4, 8}, 16, true) == "_=#");
  CHECK(columns_of("\xe6\xbc\xa2") == 2);
}
