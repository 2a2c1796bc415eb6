// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The `key=value&key=value` of a source's spec. Every member throws InvalidArgument, naming kind
/// and key, for a wrong value.
class SourceOptions {
 public:
  /// `kind` names the source in messages; `given` is what follows the `?`, or nothing.
  SourceOptions(std::string_view kind, std::string_view given);

  /// Refuses every key that is not one of `keys`, naming the nearest. Call it first.
  void allow(std::initializer_list<std::string_view> keys) const;

  [[nodiscard]] std::optional<std::string_view> value_of(std::string_view key) const;
  /// Decimal digits only.
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key) const;
  /// true, false, yes, no, 1 or 0.
  [[nodiscard]] bool boolean(std::string_view key, bool otherwise) const;
  /// One of `names`; the first of them where the key is not given.
  [[nodiscard]] std::string_view one_of(std::string_view key,
                                        std::initializer_list<std::string_view> names) const;
  [[noreturn]] void refuse(std::string_view key, const std::string& why) const;

 private:
  std::string kind_;
  std::vector<std::pair<std::string, std::string>> entries_;
};

/// `path` with the user's home for a leading `~/`, which a shell leaves as it is after a colon.
[[nodiscard]] std::string with_home(std::string_view path);

/// Whether a file of that name exists; false if this process may not look.
[[nodiscard]] bool is_there(const std::filesystem::path& path);

/// `a,b,c` as file names, of which none may be empty: throws InvalidArgument, naming `kind`. Each
/// may begin with `~/`.
[[nodiscard]] std::vector<std::string> split_paths(std::string_view kind, std::string_view list);

}  // namespace batchcast::inline v0_1::detail
