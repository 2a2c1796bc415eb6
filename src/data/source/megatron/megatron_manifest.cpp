// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/megatron/megatron_manifest.hpp"

#include <batchcast/core/error.hpp>

#include <nlohmann/json.hpp>
#include <string_view>

#include "data/source/mapped_file.hpp"
#include "data/source/source_options.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

// As `batchcast tokenize` decides it. A manifest that does not say so speaks of no mask.
bool has_mask(const nlohmann::json& json) {
  const auto form = json.find("form");
  const auto train_on = json.find("train_on");
  if (form == json.end() || train_on == json.end()) return false;
  return form->is_string() && train_on->is_string() && *form != "text" && *train_on != "all";
}

}  // namespace

std::optional<MegatronManifest> read_megatron_manifest(const std::string& prefix) {
  const std::string path = prefix + ".json";
  if (!is_there(path)) return std::nullopt;
  const MappedFile file(path);
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()),
                               file.bytes().size());
  const auto json = nlohmann::json::parse(bytes, nullptr, false);
  if (json.is_discarded() && bytes.find("batchcast_corpus") != std::string_view::npos) {
    throw BadDataset(
        text("batchcast: {} is broken: it is no JSON. Make the dataset again with `batchcast "
             "tokenize`.",
             path));
  }
  if (!json.is_object() || !json.contains("batchcast_corpus")) return std::nullopt;
  const auto key = json.find("key");
  const auto documents = json.find("documents");
  const auto tokens = json.find("tokens");
  if (key == json.end() || !key->is_string() || documents == json.end() ||
      !documents->is_number_unsigned() || tokens == json.end() || !tokens->is_number_unsigned()) {
    throw BadDataset(
        text("batchcast: {} is broken: its `key`, `documents` or `tokens` is missing. Make the "
             "dataset again with `batchcast tokenize`.",
             path));
  }
  return MegatronManifest{*key, *documents, *tokens, has_mask(json)};
}

}  // namespace batchcast::inline v0_1::detail
