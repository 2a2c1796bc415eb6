// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/spec/remote_place.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace batchcast::inline v0_1::detail {
namespace {

struct Scheme {
  std::string_view begin;
  std::string_view cure;
};

constexpr std::array schemes = {
    Scheme{"pipe:", "Run the command once and keep what it writes: COMMAND >DIR/shard.tar."},
    Scheme{"file://", "Write the path alone, from its first `/` on."},
    Scheme{"http://", "Download it first: curl --remote-name-all URL."},
    Scheme{"https://", "Download it first: curl --remote-name-all URL."},
    Scheme{"s3://",
           "Download it first: aws s3 sync s3://BUCKET/PATH DIR. Or mount the bucket: mount-s3."},
    Scheme{"gs://",
           "Download it first: gcloud storage rsync -r gs://BUCKET/PATH DIR. Or mount the bucket: "
           "gcsfuse."},
    Scheme{"hf://", "Download it first: hf download NAME --repo-type dataset --local-dir DIR."},
};

// `scheme://`, with any scheme.
bool is_address(std::string_view text) {
  const std::size_t end = text.find("://");
  return end != std::string_view::npos && end > 1 &&
         std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+';
         });
}

[[noreturn]] void refuse_remote(std::string_view spec, std::string_view cure) {
  throw InvalidArgument(
      text("batchcast: `{}` is no file of this machine, and sources read files. {}", spec, cure));
}

void refuse_where_remote(std::string_view spec, std::string_view place) {
  for (const Scheme& scheme : schemes) {
    if (place.starts_with(scheme.begin)) refuse_remote(spec, scheme.cure);
  }
  if (is_address(place)) refuse_remote(spec, "Copy it here first.");
}

}  // namespace

void refuse_remote(std::string_view spec, std::string_view places) {
  for (std::size_t begin = 0;;) {
    refuse_where_remote(spec, places.substr(begin));
    begin = places.find(',', begin);
    if (begin++ == std::string_view::npos) return;
  }
}

}  // namespace batchcast::inline v0_1::detail
