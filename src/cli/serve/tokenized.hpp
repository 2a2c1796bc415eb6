// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "serving/dataset.hpp"

#include <array>
#include <string>

namespace batchcast::cli {

/// Options that are over once there is a corpus.
inline constexpr std::array tokenizer_options = {"tokenizer", "chat-template", "train-on", "no-eos",
                                                 "corpus"};

/// Whether the source is text that becomes a corpus first.
[[nodiscard]] bool takes_tokenizer(const serving::DatasetOptions& options) noexcept;

/// Makes the corpus where it is not there yet, and returns the source that reads it. A process of
/// Python's does so, which dies with this one. Its progress goes to stderr. Throws InvalidArgument
/// and Error, with what the process said.
[[nodiscard]] std::string tokenized_source(const serving::DatasetOptions& options);

}  // namespace batchcast::cli
