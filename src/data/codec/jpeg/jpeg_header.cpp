// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "data/codec/exif.hpp"
#include "data/codec/jpeg/bitstream.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr int dimension_max = 65500;  // libjpeg's
// libjpeg writes 10 by default. Each scan, however short, is a walk through the whole image.
constexpr std::size_t clean_scans_max = 64;

namespace marker {
enum : std::uint8_t {
  baseline = 0xC0,
  extended = 0xC1,
  progressive = 0xC2,
  huffman_tables = 0xC4,
  first_restart = 0xD0,
  last_restart = 0xD7,
  start = 0xD8,
  end = 0xD9,
  scan = 0xDA,
  quantizers = 0xDB,
  restart_interval = 0xDD,
  app0 = 0xE0,
  app1 = 0xE1,
  app14 = 0xEE,
  app15 = 0xEF,
  comment = 0xFE,
};
}  // namespace marker

int number_at(Bytes bytes, std::size_t at) noexcept { return bytes[at] << 8 | bytes[at + 1]; }

bool begins_with(Bytes bytes, std::string_view prefix) noexcept {
  return bytes.size() >= prefix.size() &&
         std::memcmp(bytes.data(), prefix.data(), prefix.size()) == 0;
}

/// Which bits of a component's coefficients have come.
class Progress {
 public:
  Progress() noexcept { lowest_bits_.fill(none); }

  bool take(const JpegScan& scan) noexcept {
    if (scan.first > 0 && lowest_bits_[0] == none) return false;
    for (std::size_t at = scan.first; at <= scan.last; ++at) {
      if (lowest_bits_[at] != (scan.refines ? scan.lowest_bit + 1 : none)) return false;
      lowest_bits_[at] = scan.lowest_bit;
    }
    return true;
  }
  [[nodiscard]] bool is_complete() const noexcept {
    return std::all_of(lowest_bits_.begin(), lowest_bits_.end(), [](auto bit) { return bit == 0; });
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::array<std::uint32_t, 64> lowest_bits_;
};

class HeaderReader {
 public:
  explicit HeaderReader(JpegHeader& header) noexcept : header_(header) {}

  bool read(Bytes file) {
    if (file.size() < 2 || file[0] != 0xFF || file[1] != marker::start) return false;
    rest_ = file.subspan(2);
    while (next_segment()) {
      if (kind_ == marker::scan) {
        header_.scan = rest_;
        return (header_.is_progressive ? read_first_scan() : read_only_scan()) && is_usual();
      }
      if (!read_segment(kind_, content_)) return false;
    }
    return false;
  }

  /// Call it after `read`.
  bool read_scans(std::vector<JpegScan>& scans) {
    std::array<Progress, 3> progress;
    scans.clear();
    if (!header_.is_progressive) return false;
    do {
      if (kind_ == marker::scan) {
        if (scans.size() == clean_scans_max || !read_scan(scans.emplace_back())) return false;
        const JpegScan& scan = scans.back();
        for (std::size_t i = 0; i < scan.component_count; ++i) {
          if (!progress[scan.components[i]].take(scan)) return false;
        }
        pass_scan();
      } else if (!may_follow_scan(kind_) || !read_segment(kind_, content_)) {
        return false;
      }
      if (rest_.size() >= 2 && rest_[0] == 0xFF && rest_[1] == marker::end) {
        return std::all_of(progress.begin(), progress.begin() + header_.component_count,
                           [](const Progress& one) { return one.is_complete(); });
      }
    } while (next_segment());
    return false;
  }

 private:
  /// Goes to the next marker, with its data.
  bool next_segment() noexcept {
    if (rest_.empty() || rest_[0] != 0xFF) return false;
    while (!rest_.empty() && rest_[0] == 0xFF) rest_ = rest_.subspan(1);
    if (rest_.size() < 3) return false;
    kind_ = rest_[0];
    const auto length = static_cast<std::size_t>(number_at(rest_, 1));
    if (length < 2 || length > rest_.size() - 1) return false;
    content_ = rest_.subspan(3, length - 2);
    rest_ = rest_.subspan(1 + length);
    return true;
  }

  /// Skips the scan, to the marker that ends it.
  void pass_scan() noexcept {
    const auto is_of_scan = [](std::uint8_t after) {
      return after == 0 || (after >= marker::first_restart && after <= marker::last_restart);
    };
    for (;;) {
      const void* const found =
          rest_.empty() ? nullptr : std::memchr(rest_.data(), 0xFF, rest_.size());
      if (found == nullptr) {
        rest_ = {};
        return;
      }
      rest_ = rest_.subspan(
          static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - rest_.data()));
      if (rest_.size() < 2 || !is_of_scan(rest_[1])) return;
      rest_ = rest_.subspan(2);
    }
  }

  static bool may_follow_scan(std::uint8_t kind) noexcept {
    return kind == marker::huffman_tables || kind == marker::restart_interval ||
           kind == marker::comment ||
           (kind > marker::app1 && kind <= marker::app15 && kind != marker::app14);
  }

  bool read_segment(std::uint8_t kind, Bytes content) {
    switch (kind) {
      case marker::baseline:
      case marker::extended:
      case marker::progressive:
        header_.is_progressive = kind == marker::progressive;
        return read_frame(content);
      case marker::huffman_tables:
        return read_codes(content);
      case marker::quantizers:
        return read_quantizers(content);
      case marker::restart_interval:
        if (content.size() != 2) return false;
        header_.restart_interval = static_cast<std::uint32_t>(number_at(content, 0));
        return true;
      case marker::app0:
        if (content.size() >= 14 && begins_with(content, {"JFIF\0", 5})) is_jfif_ = true;
        return true;
      case marker::app1:
        read_exif(content);
        return true;
      case marker::app14:
        if (content.size() >= 12 && begins_with(content, "Adobe")) adobe_transform_ = content[11];
        return true;
      default:
        return kind == marker::comment || (kind > marker::app1 && kind <= marker::app15);
    }
  }

  void read_exif(Bytes content) {
    if (exif_seen_) return;
    if (const auto exif = exif_of_app1(std::as_bytes(content))) {
      exif_seen_ = true;
      header_.orientation = exif_orientation(*exif);
    }
  }

  bool read_frame(Bytes content) {
    if (header_.component_count != 0 || content.size() < 6 || content[0] != 8) return false;
    header_.size = {number_at(content, 3), number_at(content, 1)};
    const std::size_t count = content[5];
    if ((count != 1 && count != 3) || content.size() != 6 + 3 * count) return false;
    if (header_.size.width < 1 || header_.size.width > dimension_max) return false;
    if (header_.size.height < 1 || header_.size.height > dimension_max) return false;
    header_.component_count = static_cast<int>(count);
    for (std::size_t i = 0; i < count; ++i) {
      const Bytes from = content.subspan(6 + 3 * i, 3);
      JpegComponent& component = header_.components[i];
      component.id = from[0];
      component.across = from[1] >> 4;
      component.down = from[1] & 15;
      if (from[2] >= quantizers_.size()) return false;
      quantizer_of_[i] = from[2];
    }
    return true;
  }

  bool read_quantizers(Bytes content) {
    while (!content.empty()) {
      const std::size_t index = content[0] & 15U;
      const std::size_t wide = content[0] >> 4U;
      content = content.subspan(1);
      if (index >= quantizers_.size() || wide > 1 || content.size() < 64 * (1 + wide)) {
        return false;
      }
      auto& quantizer = quantizers_[index].emplace();
      for (std::size_t i = 0; i < 64; ++i) {
        quantizer[i] = static_cast<std::uint16_t>(wide ? number_at(content, 2 * i) : content[i]);
        // libjpeg's transform depends on which coefficients are zero before they are multiplied.
        if (quantizer[i] == 0) return false;
      }
      content = content.subspan(64 * (1 + wide));
    }
    return true;
  }

  bool read_codes(Bytes content) {
    while (!content.empty()) {
      const std::size_t index = content[0] & 15U;
      const std::size_t kind = content[0] >> 4U;
      content = content.subspan(1);
      if (index >= dc_codes_.size() || kind > 1 || content.size() < 16) return false;
      std::size_t size = 16;
      for (std::size_t i = 0; i < 16; ++i) size += content[i];
      if (size > 16 + 256 || size > content.size()) return false;
      (kind == 0 ? dc_codes_ : ac_codes_)[index] = content.first(size);
      content = content.subspan(size);
    }
    return true;
  }

  /// For a baseline file.
  bool read_only_scan() {
    const auto count = static_cast<std::size_t>(header_.component_count);
    if (count == 0 || content_.size() != 4 + 2 * count || content_[0] != count) return false;
    for (std::size_t i = 0; i < count; ++i) {
      JpegComponent& component = header_.components[i];
      const std::size_t dc = content_[2 + 2 * i] >> 4U;
      const std::size_t ac = content_[2 + 2 * i] & 15U;
      if (content_[1 + 2 * i] != component.id || dc >= 4 || ac >= 4) return false;
      if (!take_quantizer(i) || dc_codes_[dc].empty() || ac_codes_[ac].empty()) return false;
      component.dc_codes = dc_codes_[dc];
      component.ac_codes = ac_codes_[ac];
    }
    const Bytes spectrum = content_.last(3);
    return spectrum[0] == 0 && spectrum[1] == 63 && spectrum[2] == 0;
  }

  bool take_quantizer(std::size_t component) {
    const auto& quantizer = quantizers_[quantizer_of_[component]];
    if (quantizer) header_.components[component].quantizer = *quantizer;
    return quantizer.has_value();
  }

  /// For a progressive file: libjpeg takes the first scan for a part of the header.
  bool read_first_scan() {
    for (std::size_t i = 0; i < static_cast<std::size_t>(header_.component_count); ++i) {
      if (!take_quantizer(i)) return false;
    }
    JpegScan scan;
    return read_scan(scan);
  }

  bool read_scan(JpegScan& scan) {
    if (content_.empty() || content_[0] < 1 || content_[0] > header_.component_count) return false;
    scan.component_count = content_[0];
    if (content_.size() != 4 + 2 * scan.component_count) return false;
    const Bytes spectrum = content_.last(3);
    scan.first = spectrum[0];
    scan.last = spectrum[1];
    scan.lowest_bit = spectrum[2] & 15U;
    const std::uint32_t before = spectrum[2] >> 4U;
    scan.refines = before != 0;
    scan.restart_interval = header_.restart_interval;
    scan.bytes = rest_;
    if (scan.first > scan.last || scan.last > 63 || scan.lowest_bit > 13) return false;
    if (scan.first == 0 ? scan.last != 0 : scan.component_count != 1) return false;
    if (scan.refines && before != scan.lowest_bit + 1) return false;
    std::size_t component = 0;
    for (std::size_t i = 0; i < scan.component_count; ++i, ++component) {
      if (!read_component(scan, i, component)) return false;
    }
    return true;
  }

  /// Reads the scan's `i`th component, which is one of the frame's from `component` on.
  bool read_component(JpegScan& scan, std::size_t i, std::size_t& component) {
    const std::uint8_t id = content_[1 + 2 * i];
    const auto count = static_cast<std::size_t>(header_.component_count);
    while (component < count && header_.components[component].id != id) ++component;
    if (component == count) return false;
    scan.components[i] = component;
    const std::size_t dc = content_[2 + 2 * i] >> 4U;
    const std::size_t ac = content_[2 + 2 * i] & 15U;
    if (dc >= 4 || ac >= 4) return false;
    scan.dc_codes[i] = dc_codes_[dc];
    scan.ac_codes = ac_codes_[ac];
    if (scan.first > 0) return !scan.ac_codes.empty();
    return scan.refines || !scan.dc_codes[i].empty();
  }

  [[nodiscard]] bool is_usual() {
    auto& [luma, blue, red] = header_.components;
    if (luma.across < 1 || luma.across > 2 || luma.down < 1 || luma.down > 2) return false;
    // A gray image of 2 x 2 would have to be read in steps of 16 rows, as libjpeg does.
    if (header_.component_count == 1) return luma.across == 1 && luma.down == 1;
    if (blue.across != 1 || blue.down != 1 || red.across != 1 || red.down != 1) return false;
    // Where chroma is one or two samples wide, libjpeg upsamples in another way.
    if (luma.across == 2 && header_.size.width <= 4) return false;
    const bool usual_ids = luma.id == 1 && blue.id == 2 && red.id == 3;
    const bool distinct_ids = luma.id != blue.id && luma.id != red.id && blue.id != red.id;
    if (is_jfif_) return distinct_ids;
    return adobe_transform_ ? adobe_transform_ == 1 && distinct_ids : usual_ids;
  }

  JpegHeader& header_;
  Bytes rest_;  // of the file
  std::uint8_t kind_ = 0;
  Bytes content_;
  std::array<std::optional<std::array<std::uint16_t, 64>>, 4> quantizers_;
  std::array<std::size_t, 3> quantizer_of_{};
  std::array<Bytes, 4> dc_codes_;
  std::array<Bytes, 4> ac_codes_;
  std::optional<std::uint8_t> adobe_transform_;
  bool is_jfif_ = false;
  bool exif_seen_ = false;
};

}  // namespace

bool read_jpeg_header(std::span<const std::byte> file, JpegHeader& header) {
  header = {};
  return HeaderReader(header).read(
      {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
}

bool read_jpeg_scans(std::span<const std::byte> file, std::vector<JpegScan>& scans) {
  JpegHeader header;
  HeaderReader reader(header);
  return reader.read({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}) &&
         reader.read_scans(scans);
}

}  // namespace batchcast::inline v0_1::detail
