// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cli/peek/contact_sheet.hpp"
#include "cli/peek/field_picture.hpp"
#include "cli/recipe/board_recipe.hpp"

#include <batchcast/core/log.hpp>
#include <batchcast/core/schema.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace batchcast::cli {

/// Which pictures a sheet has.
struct SheetChoices {
  std::optional<std::string> field = {};    ///< else the first image
  std::optional<std::uint64_t> view = {};   ///< of several views this one alone
  std::optional<std::uint64_t> count = {};  ///< samples
};

/// Collects samples of one schema on a sheet.
class SampleSheet {
 public:
  static constexpr std::uint64_t samples_max = 64;

  /// Throws InvalidArgument where there is no such field or view.
  SampleSheet(const SheetChoices& choices, Schema schema, const BoardRecipe& recipe);

  /// How many samples there are to be without `count`: fewer where each has many views.
  [[nodiscard]] std::uint64_t default_count() const;
  /// Before samples are made or waited for. Throws InvalidArgument for too many.
  void check_count(std::uint64_t samples) const;
  void begin(std::size_t samples);
  /// `bytes_of(i)`: those of field i, of which `rows` has the number by axis.
  template <class BytesOf>
  void add(std::uint64_t sample_id, std::span<const std::uint64_t> rows, BytesOf bytes_of) {
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) rows_[axis].push_back(rows[axis]);
    if (picture_.size_field()) return add_own_size(sample_id, rows, bytes_of);
    const std::string label =
        label_ ? label_text(schema_[*label_], bytes_of(*label_)) : std::string();
    const auto bytes = bytes_of(picture_.field());
    for (std::size_t view = first_view_; view < first_view_ + views(); ++view) {
      const std::string of_view = picture_.views() > 1 ? fmt::format(" v{}", view) : std::string();
      sheet_->add(picture_.of(bytes, view), label,
                  fmt::format("#{}{}{}", sample_id, of_view, rows_text(rows)));
    }
    labels_.push_back(label);
  }
  /// Once all are there.
  void end() { draw_own_sizes(); }

  [[nodiscard]] const Picture& picture() const noexcept { return sheet_->sheet(); }
  [[nodiscard]] const std::string& field_name() const { return schema_[picture_.field()].name; }
  [[nodiscard]] const std::vector<std::string>& labels() const noexcept { return labels_; }
  /// How many each sample has, by axis.
  [[nodiscard]] nlohmann::json rows_json() const;
  [[nodiscard]] std::size_t samples() const noexcept { return samples_; }
  /// Pictures of each sample.
  [[nodiscard]] std::size_t views() const noexcept { return one_view_ ? 1 : picture_.views(); }
  /// Whether the recipe's `normalize` is undone.
  [[nodiscard]] bool undoes_normalize() const noexcept { return picture_.undoes_normalize(); }

 private:
  void take_view(std::uint64_t view);
  /// An image that waits for the largest one.
  struct OwnSize {
    Picture picture;
    std::string label;
    std::string id;
  };
  template <class BytesOf>
  void add_own_size(std::uint64_t sample_id, std::span<const std::uint64_t> rows,
                    BytesOf bytes_of) {
    const std::string label =
        label_ ? label_text(schema_[*label_], bytes_of(*label_)) : std::string();
    own_sizes_.push_back(
        {picture_.of_size(bytes_of(picture_.field()), bytes_of(*picture_.size_field())), label,
         fmt::format("#{}{}", sample_id, rows_text(rows))});
    labels_.push_back(label);
  }
  void draw_own_sizes();
  /// ` boxes 3`, of axes other than that of the picture.
  [[nodiscard]] std::string rows_text(std::span<const std::uint64_t> rows) const;
  /// `3 cat` where classes have names, else `label 3`.
  [[nodiscard]] std::string label_text(const FieldSpec& field,
                                       std::span<const std::byte> bytes) const;

  Schema schema_;
  FieldPicture picture_;
  std::optional<std::size_t> label_;
  std::vector<std::string> class_names_;
  std::vector<std::string> labels_;
  std::vector<std::string> axes_;
  std::vector<std::vector<std::uint64_t>> rows_;  ///< by axis, of each sample
  std::vector<OwnSize> own_sizes_;
  std::optional<ContactSheet> sheet_;
  std::size_t samples_ = 0;
  std::size_t first_view_ = 0;
  bool one_view_ = false;
};

/// A sheet of the newest samples of a stream that is served.
struct StreamSheet {
  SampleSheet sheet;
  std::uint64_t position = 0;        ///< of the first sample
  std::vector<std::string> remarks;  ///< on the recipe's scales
};
/// Waits that long for the stream and its first samples. The stream does not notice. Throws Error,
/// and InvalidArgument where its samples cannot be drawn.
[[nodiscard]] StreamSheet sheet_of_stream(const std::string& stream, const SheetChoices& choices,
                                          int wait_ms, const LogCallback& log);

}  // namespace batchcast::cli
