// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/field_table.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/torch/ragged.hpp>
#include <batchcast/torch/tensor.hpp>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1 {

/// The label of a token that is not trained: what `cross_entropy` leaves out.
inline constexpr std::int64_t ignored_label = -100;

/// Which fields of a stream have tokens, and 0 where a token is not trained.
struct TextFields {
  std::string tokens = "tokens";
  /// Without a value: `loss_mask`, where the stream has one. Empty: all tokens are trained.
  std::optional<std::string> loss_mask = std::nullopt;
};

/// The texts of a batch, one after the other, as language models take them that need no padding.
/// Empty texts are left out. `input_ids` of tokens that are i64 show the batch's memory, as
/// `tensor_of` does; all else is separate.
struct FlatTexts {
  at::Tensor input_ids;     ///< int64 [1, n]
  at::Tensor labels;        ///< the same, `ignored_label` where masked and at a text's first token
  at::Tensor position_ids;  ///< int64 [1, n], from 0 in each text
  at::Tensor cu_seq_lens;   ///< int32 [texts + 1]: where texts begin, and the end
  std::int64_t max_length = 0;  ///< tokens of the longest text
  at::Tensor seq_idx;           ///< int32 [1, n], the number of each token's text

  /// What each token has to predict: the labels shifted by one.
  [[nodiscard]] at::Tensor targets() const {
    at::Tensor shifted = at::full(labels.sizes(), ignored_label, labels.options());
    const std::int64_t rest = labels.size(1) - 1;
    if (rest > 0) shifted.slice(1, 0, rest).copy_(labels.slice(1, 1));
    return shifted;
  }
};

/// The texts of a batch, each a line that is filled up. All three are copies, int64 [texts, most].
struct PaddedTexts {
  at::Tensor input_ids;
  at::Tensor attention_mask;  ///< 0 where a line is filled up
  at::Tensor labels;          ///< `ignored_label` where masked and where a line is filled up
};

/// The runs of a window, cut through texts.
struct TextRuns {
  at::Tensor input_ids;  ///< int64 [runs, length]
  at::Tensor targets;    ///< int64 [runs, length], the token after each; a copy
};

namespace detail {

[[nodiscard]] inline bool has_field(const FieldTable& fields, std::string_view name) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].spec.name == name) return true;
  }
  return false;
}

/// Tokens and mask of all rows, in their dtypes; no mask where all are trained.
struct TokenRows {
  at::Tensor tokens;
  at::Tensor mask;

  [[nodiscard]] at::Tensor labels() const {
    at::Tensor labels = tokens.to(at::kLong, false, true).contiguous();
    if (mask.defined()) labels.masked_fill_(mask.eq(0), ignored_label);
    return labels;
  }
};

[[nodiscard]] inline TokenRows token_rows_of(const Batch& batch, const TextFields& fields) {
  const FieldTable& table = batch.fields();
  const bool cut = !table.window_axis().empty();
  const std::size_t dimensions = cut ? 2 : 1;
  const std::size_t tokens = table.index_of(fields.tokens);
  if (!cut && table[tokens].axis < 0) table.throw_not_on_axis(tokens);
  const auto rows_of = [&](std::size_t index, const char* what) {
    at::Tensor rows = tensor_of_all(batch, index);
    const bool is_whole = at::isIntegralType(rows.scalar_type(), true);
    if (is_whole && static_cast<std::size_t>(rows.dim()) == dimensions) return rows;
    throw InvalidArgument(
        text("batchcast: field {} is no {}: that is one whole number for each row of an axis. "
             "`TextFields` names other fields.",
             to_text(table[index].spec), what));
  };
  TokenRows rows;
  rows.tokens = rows_of(tokens, "field of tokens");
  const std::string name = fields.loss_mask.value_or("loss_mask");
  if (name.empty() || (!fields.loss_mask && !has_field(table, name))) return rows;
  const std::size_t mask = table.index_of(name);
  if (table[mask].axis != table[tokens].axis) {
    throw InvalidArgument(
        text("batchcast: the loss mask {} does not lie on the axis of the tokens {}: a mask has "
             "one number for each token.",
             to_text(table[mask].spec), to_text(table[tokens].spec)));
  }
  rows.mask = rows_of(mask, "loss mask");
  return rows;
}

}  // namespace detail

/// The texts of a batch without padding. Throws InvalidArgument for a batch that a window cuts, for
/// one without a token, and where the fields are not whole numbers on one axis.
[[nodiscard]] inline FlatTexts flat_texts(const Batch& batch, const TextFields& fields = {}) {
  if (!batch.fields().window_axis().empty()) {
    throw InvalidArgument(
        "batchcast: a window cuts these batches through texts: take text_runs(batch).");
  }
  const detail::TokenRows rows = detail::token_rows_of(batch, fields);
  const auto offsets = batch.rows<std::byte>(batch.fields().index_of(fields.tokens)).offsets();
  std::vector<std::int32_t> begins = {0};
  FlatTexts texts;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    const std::int64_t length = offsets[i] - offsets[i - 1];
    if (length > 0) begins.push_back(static_cast<std::int32_t>(offsets[i]));
    texts.max_length = std::max(texts.max_length, length);
  }
  if (texts.max_length == 0) {
    throw InvalidArgument(text(
        "batchcast: a batch has no token: its {} texts are empty. Leave empty texts out of the "
        "dataset.",
        batch.size()));
  }
  const std::int64_t n = rows.tokens.size(0);
  texts.input_ids = rows.tokens.to(at::kLong).unsqueeze(0);
  texts.labels = rows.labels().unsqueeze(0);
  texts.position_ids = at::empty({1, n}, at::kLong);
  texts.seq_idx = at::empty({1, n}, at::kInt);
  texts.cu_seq_lens = at::empty({static_cast<std::int64_t>(begins.size())}, at::kInt);
  std::copy(begins.begin(), begins.end(), texts.cu_seq_lens.data_ptr<std::int32_t>());
  auto* const labels = texts.labels.data_ptr<std::int64_t>();
  auto* const places = texts.position_ids.data_ptr<std::int64_t>();
  auto* const numbers = texts.seq_idx.data_ptr<std::int32_t>();
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    labels[begins[i]] = ignored_label;
    for (std::int32_t row = begins[i]; row < begins[i + 1]; ++row) {
      places[row] = row - begins[i];
      numbers[row] = static_cast<std::int32_t>(i);
    }
  }
  return texts;
}

/// The texts of a batch, filled up with `pad_token_id` to the longest, rounded up to a multiple of
/// `multiple_of`. A text's first token keeps its label. Throws as `flat_texts`, but for empty
/// texts.
[[nodiscard]] inline PaddedTexts padded_texts(const Batch& batch, std::int64_t pad_token_id,
                                              std::int64_t multiple_of = 1,
                                              const TextFields& fields = {}) {
  if (!batch.fields().window_axis().empty()) {
    throw InvalidArgument(
        "batchcast: a window cuts these batches through texts: take text_runs(batch).");
  }
  const detail::TokenRows rows = detail::token_rows_of(batch, fields);
  RaggedTensor lines = ragged_of(batch, fields.tokens);
  PaddedTexts texts;
  lines.values = rows.tokens.to(at::kLong);
  texts.input_ids = lines.padded(pad_token_id, multiple_of);
  lines.values = rows.labels();
  texts.labels = lines.padded(ignored_label, multiple_of);
  lines.values = at::full(lines.values.sizes(), 1, lines.values.options());
  texts.attention_mask = lines.padded(0, multiple_of);
  return texts;
}

/// The runs of a batch of a window with `extra` = 1, as nanoGPT's `get_batch` gives them: inputs,
/// and the token after each, `ignored_label` where masked. Throws InvalidArgument for a batch
/// without a window, and where the fields are not whole numbers.
[[nodiscard]] inline TextRuns text_runs(const Batch& batch, const TextFields& fields = {}) {
  if (batch.fields().window_axis().empty()) {
    throw InvalidArgument(
        "batchcast: these batches have whole texts: take flat_texts(batch), or attach with a "
        "window and extra = 1.");
  }
  const detail::TokenRows rows = detail::token_rows_of(batch, fields);
  const std::int64_t length = rows.tokens.size(1) - 1;
  return {rows.tokens.slice(1, 0, length).to(at::kLong), rows.labels().slice(1, 1).contiguous()};
}

}  // namespace batchcast::inline v0_1
