// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/consume/token_ledger.hpp"

#include "cli/output.hpp"

#include <batchcast/core/text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace batchcast::cli {
namespace {

constexpr const char* tokens_axis = "tokens";
constexpr const char* mask_name = "loss_mask";

/// Of a whole epoch of all shards, where this consumer gets all of that.
std::optional<std::uint64_t> delivered_of(const Consumer& consumer) {
  const auto recipe = nlohmann::json::parse(consumer.recipe_json(), nullptr, false);
  if (!recipe.is_object() || consumer.group().world != 0) return std::nullopt;
  const auto shard = recipe.value("shard", nlohmann::json::object());
  if (!shard.is_object() || shard.value("count", nlohmann::json()) != 1) return std::nullopt;
  if (consumer.cursors_per_epoch() != consumer.samples_per_epoch()) return std::nullopt;
  const auto tokens = recipe.value("tokens", nlohmann::json::object());
  if (!tokens.is_object()) return std::nullopt;
  const auto delivered = tokens.value("delivered", nlohmann::json());
  if (!delivered.is_number_unsigned()) return std::nullopt;
  return delivered.get<std::uint64_t>();
}

}  // namespace

TokenLedger::TokenLedger(const Consumer& consumer) {
  const auto axes = axes_of(consumer.schema());
  // The rows that a consumer counts are those of the axis that it cuts, or of the first one.
  has_tokens_ = axes.size() == 1 && axes.front() == tokens_axis;
  if (!has_tokens_) return;
  for (const FieldSpec& field : consumer.schema()) {
    has_mask_ = has_mask_ || (field.name == mask_name && field.axis == tokens_axis &&
                              field.dtype == DType::u8 && field.shape.empty());
  }
  per_epoch_ = delivered_of(consumer);
}

void TokenLedger::add(const Batch& batch) {
  if (!has_mask_) return;
  const auto add = [this](const auto& mask) {
    trained_ += static_cast<std::uint64_t>(mask.end() - mask.begin()) -
                static_cast<std::uint64_t>(std::count(mask.begin(), mask.end(), 0));
  };
  if (!batch.is_window()) return add(batch.rows<std::uint8_t>(mask_name).values());
  const auto runs = batch.field<std::uint8_t>(mask_name);
  const auto own = static_cast<std::size_t>(batch.offsets().back()) / batch.size();
  for (std::size_t run = 0; run < batch.size(); ++run) add(runs[run].first(own));
}

std::string TokenLedger::end_epoch(const Consumer& consumer, bool whole) {
  const std::uint64_t counted = consumer.stats().rows.in_all();
  const std::uint64_t came = counted - std::exchange(counted_before_, counted);
  if (!whole || !has_tokens_ || !per_epoch_ || came == *per_epoch_) return {};
  return batchcast::text(
      "batchcast: epoch {} has {} tokens, as the lengths of its source say, and {} came. Do not "
      "trust this epoch; please report this.",
      consumer.epoch() - 1, *per_epoch_, came);
}

nlohmann::json TokenLedger::json(const RowCounts& rows) const {
  nlohmann::json object = {{"delivered", rows.delivered},
                           {"repeated", rows.repeated},
                           {"truncated", rows.truncated},
                           {"left_out", rows.left_out},
                           {"trained", has_mask_ ? trained_ : rows.delivered},
                           {"masked", has_mask_ ? rows.delivered - trained_ : 0}};
  if (per_epoch_) object["per_epoch"] = *per_epoch_;
  return object;
}

std::string TokenLedger::text(const RowCounts& rows) const {
  const std::uint64_t trained = has_mask_ ? trained_ : rows.delivered;
  return fmt::format("{} delivered ({} trained, {} masked, {} repeated), {} truncated, {} left out",
                     counted(rows.delivered, "token"), count_text(trained),
                     count_text(rows.delivered - trained), count_text(rows.repeated),
                     count_text(rows.truncated), count_text(rows.left_out));
}

}  // namespace batchcast::cli
