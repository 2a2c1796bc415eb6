// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/stage_support.hpp"
#include "data/stage/table_rows.hpp"

#include "catch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// How what stages draw is distributed, against what torchvision.transforms.v2 draws, of which
// tests/oracle/v2_draws.py has made draws.jsonl.
using namespace batchcast;
using namespace batchcast::test;

namespace {

constexpr std::uint64_t runs = 2000;

/// What a stage draws for a sample.
struct Sample {
  std::vector<Note> notes;
  std::optional<Geometry> geometry;
  std::vector<std::size_t> chosen;  ///< by a container

  [[nodiscard]] std::optional<Note> note(std::string_view key) const {
    const auto found =
        std::ranges::find_if(notes, [key](const Note& note) { return note.key == key; });
    return found == notes.end() ? std::nullopt : std::optional(*found);
  }
};

Sample draw(const Stage& stage, ImageSize size, std::uint64_t sample_id) {
  Sample sample;
  if (const GeometryStage* places = stage.as_geometry()) {
    sample.geometry = placed(*places, size, sample_id, &sample.notes);
  } else if (const ContainerStage* container = stage.as_container()) {
    StageContext context({.seed = 5, .epoch = 1, .sample_id = sample_id}, DrawName{2}, {}, nullptr);
    container->choose(sample.chosen, context);
  } else if (const TensorStage* tensor = stage.as_tensor()) {
    const TensorSpec spec{DType::f32, {3, size.height, size.width}};
    static_cast<void>(run_tensor(*tensor, spec, std::vector<float>(spec.element_count()), sample_id,
                                 &sample.notes));
  } else {
    const auto count = static_cast<std::size_t>(size.width * size.height) * 3;
    const std::vector<std::uint8_t> pixels(count, 99);
    if (const WarpStage* warp = stage.as_warp()) {
      static_cast<void>(run_warp(*warp, pixels, size, 3, false, sample_id, &sample.notes));
    } else {
      static_cast<void>(run_pixels(*stage.as_pixel(), pixels, size, 3, sample_id, &sample.notes));
    }
  }
  return sample;
}

std::string formatted(const char* format, double number) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, number);
  return text.data();
}

/// How often each of the words came, or a number up to each edge (the last: beyond them all).
struct DrawnRow {
  std::string key;
  std::vector<std::string> words;
  std::vector<double> edges;
  std::vector<int> counts;

  explicit DrawnRow(const nlohmann::json& row)
      : key(row["key"]),
        words(row.value("words", std::vector<std::string>())),
        edges(row.value("edges", std::vector<double>())),
        counts(row["counts"]) {}
};

/// Counts of the bins of a row.
class Counts {
 public:
  explicit Counts(const nlohmann::json& row) : row_(row), found_(row_.counts.size()) {}

  [[nodiscard]] const std::string& key() const noexcept { return row_.key; }

  void add(const Sample& sample) {
    const std::string& key = row_.key;
    if (key.ends_with('?')) return add(happened(sample, key) ? "yes" : "no");
    if (key == "chosen") return add(chosen(sample));
    if (const auto side = side_of(sample, key)) return add(*side);
    if (key == "operations") {
      return add(std::to_string(std::ranges::count(sample.notes, "operation", &Note::key)));
    }
    std::string_view operation;
    for (const Note& note : sample.notes) {
      if (note.key == "operation") operation = note.text;
      if (note.key == "magnitude" && key == operation) add(note.value);
      if (note.key == "magnitude" && key == "operation, magnitude") {
        add(std::string(operation) + formatted(" %.4f", note.value + 0.0));
      }
      if (note.key == key) add(note);
    }
  }

  /// By how many standard deviations both samples' chi-square is above what is expected; bins that
  /// are rarely met are counted together.
  [[nodiscard]] double deviation() const {
    const double ours = sum(found_);
    const double theirs = sum(row_.counts);
    std::vector<std::pair<double, double>> bins;  // found, expected
    std::pair<double, double> rare;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const double expected = row_.counts[i] * ours / theirs;
      auto& bin = expected < 8 ? rare : bins.emplace_back();
      bin.first += found_[i];
      bin.second += expected;
    }
    if (rare.second > 0) bins.push_back(rare);
    double square = 0;
    for (const auto& [count, expected] : bins) square += std::pow(count - expected, 2) / expected;
    square /= 1 + ours / theirs;
    // Wilson's and Hilferty's approximation.
    const double part = 2 / (9 * (static_cast<double>(bins.size()) - 1));
    return (std::cbrt(square * 4.5 * part) - (1 - part)) / std::sqrt(part);
  }

 private:
  static double sum(const std::vector<int>& counts) {
    double all = 0;
    for (const int count : counts) all += count;
    return all;
  }

  static bool happened(const Sample& sample, const std::string& key) {
    if (key == "flip?") return sample.geometry.value().flip_x;
    if (key == "vertical_flip?") return sample.geometry.value().flip_y;
    const auto note = sample.note(key.substr(0, key.size() - 1));
    return note && note->value != 0;
  }

  static std::string chosen(const Sample& sample) {
    std::string places;
    for (const std::size_t place : sample.chosen) places += " " + std::to_string(place);
    return places.empty() ? "none" : places.substr(1);
  }

  static std::optional<double> side_of(const Sample& sample, const std::string& key) {
    if (key != "x" && key != "y" && key != "width" && key != "height") return std::nullopt;
    if (!sample.geometry) {
      const auto note = sample.note("erase_" + key.substr(0, 1));
      return note ? std::optional(note->value) : std::nullopt;
    }
    const Box& box = sample.geometry->resizes() ? sample.geometry->box : sample.geometry->window;
    const std::int32_t side = key == "x"       ? box.x
                              : key == "y"     ? box.y
                              : key == "width" ? box.width
                                               : box.height;
    return side;
  }

  void add(const Note& note) {
    if (row_.words.empty()) return add(note.value);
    add(note.text.empty() ? formatted("%.0f", note.value) : std::string(note.text));
  }
  void add(double number) {
    const auto at = std::ranges::lower_bound(row_.edges, number) - row_.edges.begin();
    ++found_.at(static_cast<std::size_t>(at));
  }
  void add(const std::string& word) {
    const auto at = std::ranges::find(row_.words, word) - row_.words.begin();
    if (static_cast<std::size_t>(at) == row_.words.size()) {
      throw std::logic_error("torchvision does not draw " + word);
    }
    ++found_.at(static_cast<std::size_t>(at));
  }

  DrawnRow row_;
  std::vector<int> found_;
};

}  // namespace

TEST_CASE("stages draw what torchvision draws, as often", "[statistics]") {
  const auto stages = table_rows("draws.jsonl", "stage");
  CHECK(stages.size() == 39);
  for (const nlohmann::json& drawn : stages) {
    const std::string text = drawn["stage"];
    INFO(text);
    const auto stage = stage_of(text);
    const ImageSize size{drawn["size"][0], drawn["size"][1]};
    std::vector<Counts> counts(drawn["rows"].begin(), drawn["rows"].end());
    for (std::uint64_t id = 0; id < runs; ++id) {
      const Sample sample = draw(*stage, size, id);
      for (Counts& count : counts) count.add(sample);
    }
    for (const Counts& count : counts) {
      INFO(count.key());
      CHECK(count.deviation() < 4);
    }
  }
}
