// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/cache/cached_source.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace {

PartKey key_of_bytes(std::span<const std::byte> bytes) noexcept {
  return {fingerprint_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}), 0};
}

class CachedSource final : public Source {
 public:
  CachedSource(std::shared_ptr<const Source> inner, std::shared_ptr<SampleCache> cache)
      : inner_(std::move(inner)), cache_(std::move(cache)) {
    others_.assign(inner_->parts().size(), 1);
    for (std::size_t part = 0; part < cache_->parts().size(); ++part) {
      const CachedPart& described = cache_->parts()[part];
      if (!described.is_kept || images_.size() == images_max) continue;
      images_.push_back(part);
      others_[part] = 0;
    }
    has_others_ = images_.size() < others_.size();
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return inner_->size(); }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override {
    return inner_->parts();
  }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    return inner_->name_of(sample_id);
  }
  [[nodiscard]] std::string plain_name_of(std::uint64_t sample_id) const override {
    return inner_->plain_name_of(sample_id);
  }
  [[nodiscard]] Fingerprint fingerprint() const override { return inner_->fingerprint(); }
  [[nodiscard]] std::span<const std::string> class_names() const noexcept override {
    return inner_->class_names();
  }
  [[nodiscard]] bool labels_are_names() const noexcept override {
    return inner_->labels_are_names();
  }
  [[nodiscard]] bool in_memory() const noexcept override { return inner_->in_memory(); }
  [[nodiscard]] std::shared_ptr<const RowLengths> lengths(std::string_view axis) const override {
    return inner_->lengths(axis);
  }
  [[nodiscard]] std::span<const std::string> remarks() const noexcept override {
    return inner_->remarks();
  }
  [[nodiscard]] std::optional<PartKey> key_of(std::uint64_t sample_id,
                                              std::size_t part) const noexcept override {
    return inner_->key_of(sample_id, part);
  }
  void read_part(std::uint64_t sample_id, std::size_t part, SampleParts& out) const override {
    inner_->read_part(sample_id, part, out);
  }
  void read_wanted(std::uint64_t sample_id, std::span<const std::uint8_t> wanted,
                   SampleParts& out) const override {
    inner_->read_wanted(sample_id, wanted, out);
  }

  void read(std::uint64_t sample_id, SampleParts& out) const override {
    out.resize(others_.size());
    std::array<std::optional<PartKey>, images_max> keys;
    bool has_all = !images_.empty();
    for (std::size_t i = 0; i < images_.size(); ++i) {
      keys[i] = inner_->key_of(sample_id, images_[i]);
      has_all = has_all && keys[i] && cache_->find(*keys[i], images_[i], out);
    }
    if (!has_all) {
      inner_->read(sample_id, out);
    } else if (has_others_) {
      inner_->read_wanted(sample_id, others_, out);
    }
    for (std::size_t i = 0; i < images_.size(); ++i) {
      const std::size_t part = images_[i];
      if (!keys[i]) keys[i] = key_of_bytes(out[part]);
      // A source may have read all of its parts.
      if (out.is_kept(part) || cache_->find(*keys[i], part, out)) {
        cache_->note_hit();
      } else {
        out.mark_missed(part, *keys[i]);
      }
    }
  }

 private:
  static constexpr std::size_t images_max = 8;  // of a sample; more are not kept

  std::shared_ptr<const Source> inner_;
  std::shared_ptr<SampleCache> cache_;
  std::vector<std::size_t> images_;   // the parts that are kept
  std::vector<std::uint8_t> others_;  // by part: 1 where it is none of these
  bool has_others_ = false;
};

}  // namespace

std::shared_ptr<const Source> with_cache(std::shared_ptr<const Source> source,
                                         std::shared_ptr<SampleCache> cache) {
  return std::make_shared<CachedSource>(std::move(source), std::move(cache));
}

}  // namespace batchcast::inline v0_1::detail
