// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/peek/sample_sheet.hpp"

#include "cli/output.hpp"
#include "cli/recipe/scale_remarks.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace batchcast::cli {
namespace {

constexpr std::uint64_t samples_default = 32;
constexpr std::uint64_t pictures_max = 256;  // a sheet of large ones takes 100 MB

bool is_integer(DType dtype) {
  return dtype != DType::f16 && dtype != DType::bf16 && dtype != DType::f32 && dtype != DType::f64;
}

/// The field that is written below each picture: `label`, or the first integer.
std::optional<std::size_t> label_field(const Schema& schema) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].on_axis() || schema[i].element_count() != 1 || !is_integer(schema[i].dtype))
      continue;
    if (schema[i].name == "label") return i;
    if (!first) first = i;
  }
  return first;
}

std::string integer_text(std::span<const std::byte> bytes, DType dtype) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), bytes.size());
  const bool is_signed =
      dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
  if (!is_signed) return std::to_string(bits);
  const std::size_t shift = 64 - 8 * bytes.size();
  return std::to_string(static_cast<std::int64_t>(bits << shift) >> shift);
}

/// In the upper left corner of a gray one.
Picture padded(const Picture& picture, std::size_t width, std::size_t height) {
  constexpr std::uint8_t gray = 0x60;
  Picture all{width, height, std::vector<std::uint8_t>(3 * width * height, gray), picture.is_ids};
  for (std::size_t y = 0; y < picture.height; ++y) {
    std::copy_n(picture.rgb.begin() + static_cast<std::ptrdiff_t>(3 * y * picture.width),
                3 * picture.width, all.rgb.begin() + static_cast<std::ptrdiff_t>(3 * y * width));
  }
  return all;
}

Batch newest(Consumer& consumer, std::uint64_t count, const std::string& stream, int wait_ms) {
  const std::uint64_t began_ns = now_ns();
  for (;;) {
    if (auto batch = consumer.newest(count)) return std::move(*batch);
    if (seconds_from_ns(now_ns() - began_ns) * 1'000 >= wait_ms) {
      throw Error(
          fmt::format("batchcast: stream `{}` holds no samples yet. Does it wait for "
                      "consumers? `batchcast ls` shows it.",
                      stream));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

SampleSheet::SampleSheet(const SheetChoices& choices, Schema schema, const BoardRecipe& recipe)
    : schema_(std::move(schema)),
      picture_(schema_, recipe, choices.field),
      label_(label_field(schema_)),
      axes_(axes_of(schema_)),
      rows_(axes_.size()) {
  if (choices.view) take_view(*choices.view);
  if (label_ && recipe.is_label(schema_[*label_].name)) class_names_ = recipe.class_names();
}

std::uint64_t SampleSheet::default_count() const {
  return std::clamp<std::uint64_t>(pictures_max / views(), 1, samples_default);
}

void SampleSheet::check_count(std::uint64_t samples) const {
  if (samples * views() <= pictures_max) return;
  const std::uint64_t most = pictures_max / views();
  throw InvalidArgument(fmt::format(
      "batchcast: a sheet takes {} pictures at most, and {} of {} are {}. Take {}one of the "
      "views with --view.",
      pictures_max, counted(samples, "sample"), counted(views(), "view"), samples * views(),
      most > 0 ? text("{} at most, or ", counted(most, "sample")) : ""));
}

void SampleSheet::begin(std::size_t samples) {
  samples_ = samples;
  if (picture_.size_field()) return;  // as large as the largest of them
  sheet_.emplace(samples, views(), picture_.width(), picture_.height());
}

void SampleSheet::take_view(std::uint64_t view) {
  const std::string& field = schema_[picture_.field()].name;
  if (view >= picture_.views()) {
    throw InvalidArgument(fmt::format(
        "batchcast: the field `{}` has no view {}: {}.", field, view,
        picture_.views() == 1 ? "it has one of each sample, which is shown without --view"
                              : fmt::format("its views are 0 to {}", picture_.views() - 1)));
  }
  first_view_ = view;
  one_view_ = true;
}

void SampleSheet::draw_own_sizes() {
  if (!picture_.size_field()) return;
  std::size_t width = 1;
  std::size_t height = 1;
  for (const OwnSize& one : own_sizes_) {
    width = std::max(width, one.picture.width);
    height = std::max(height, one.picture.height);
  }
  sheet_.emplace(samples_, 1, width, height);
  for (const OwnSize& one : own_sizes_) {
    sheet_->add(padded(one.picture, width, height), one.label, one.id);
  }
}

std::string SampleSheet::rows_text(std::span<const std::uint64_t> rows) const {
  std::string all;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (axes_[axis] == schema_[picture_.field()].axis) continue;
    all += fmt::format(" {} {}", axes_[axis], rows[axis]);
  }
  return all;
}

nlohmann::json SampleSheet::rows_json() const {
  nlohmann::json all = nlohmann::json::object();
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) all[axes_[axis]] = rows_[axis];
  return all;
}

std::string SampleSheet::label_text(const FieldSpec& field,
                                    std::span<const std::byte> bytes) const {
  const std::string number = integer_text(bytes, field.dtype);
  for (std::size_t i = 0; i < class_names_.size(); ++i) {
    if (std::to_string(i) == number) return text("{} {}", number, class_names_[i]);
  }
  return text("{} {}", field.name, number);
}

StreamSheet sheet_of_stream(const std::string& stream, const SheetChoices& choices, int wait_ms,
                            const LogCallback& log) {
  Consumer consumer({.stream = stream,
                     .batch_size = 1,
                     .name = "peek",
                     .connect_timeout_ms = wait_ms,
                     .observes = true,
                     .log = log});
  const Schema& schema = consumer.schema();
  const BoardRecipe recipe(consumer.recipe_json());
  SampleSheet sheet(choices, schema, recipe);
  const std::uint64_t count = choices.count.value_or(sheet.default_count());
  sheet.check_count(count);
  const Batch batch = newest(consumer, count, stream, wait_ms);
  sheet.begin(batch.size());
  std::vector<std::uint64_t> rows(axes_of(schema).size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    for (std::size_t field = 0; field < schema.size(); ++field) {
      if (!schema[field].on_axis()) continue;
      rows[static_cast<std::size_t>(axis_index(schema, schema[field].axis))] =
          batch.rows<std::byte>(field).offsets()[i + 1] - batch.rows<std::byte>(field).offsets()[i];
    }
    sheet.add(batch.sample_ids()[i], rows, [&](std::size_t field) -> std::span<const std::byte> {
      if (schema[field].on_axis()) return batch.rows<std::byte>(field)[i].span();
      return batch.field<std::byte>(field)[i];
    });
  }
  sheet.end();
  return {std::move(sheet), batch.position(), scale_remarks(recipe)};
}

}  // namespace batchcast::cli
