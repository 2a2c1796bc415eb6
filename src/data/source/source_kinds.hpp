// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/source.hpp>

#include <memory>
#include <string_view>

#include "data/source/source_options.hpp"

// What open_source chooses from; webdataset's is in its room. `rest` is the text between `KIND:`
// and the options; each throws InvalidArgument for a spec that is wrong and BadDataset for a
// dataset that cannot be read.
namespace batchcast::inline v0_1::detail {

[[nodiscard]] std::unique_ptr<Source> open_imagefolder(std::string_view rest,
                                                       const SourceOptions& options);
[[nodiscard]] std::unique_ptr<Source> open_webdataset(std::string_view rest,
                                                      const SourceOptions& options);
[[nodiscard]] std::unique_ptr<Source> open_idx(std::string_view rest, const SourceOptions& options);
[[nodiscard]] std::unique_ptr<Source> open_cifar10(std::string_view rest,
                                                   const SourceOptions& options);
[[nodiscard]] std::unique_ptr<Source> open_cifar100(std::string_view rest,
                                                    const SourceOptions& options);
[[nodiscard]] std::unique_ptr<Source> open_npy(std::string_view rest, const SourceOptions& options);
[[nodiscard]] std::unique_ptr<Source> open_tokens(std::string_view rest,
                                                  const SourceOptions& options);
[[nodiscard]] std::unique_ptr<Source> open_megatron(std::string_view rest,
                                                    const SourceOptions& options);

}  // namespace batchcast::inline v0_1::detail
