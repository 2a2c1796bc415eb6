// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "data/image/exif.hpp"
#include "data/image/jpeg/bitstream.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr int dimension_max = 65500;  // libjpeg's

namespace marker {
enum : std::uint8_t {
  baseline = 0xC0,
  extended = 0xC1,
  huffman_tables = 0xC4,
  start = 0xD8,
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

class HeaderReader {
 public:
  explicit HeaderReader(JpegHeader& header) noexcept : header_(header) {}

  bool read(Bytes file) {
    if (file.size() < 2 || file[0] != 0xFF || file[1] != marker::start) return false;
    file = file.subspan(2);
    for (;;) {
      if (file.empty() || file[0] != 0xFF) return false;
      while (!file.empty() && file[0] == 0xFF) file = file.subspan(1);
      if (file.size() < 3) return false;
      const std::uint8_t kind = file[0];
      const auto length = static_cast<std::size_t>(number_at(file, 1));
      if (length < 2 || length > file.size() - 1) return false;
      const Bytes content = file.subspan(3, length - 2);
      file = file.subspan(1 + length);
      if (kind == marker::scan) {
        header_.scan = file;
        return read_scan(content) && is_usual();
      }
      if (!read_segment(kind, content)) return false;
    }
  }

 private:
  bool read_segment(std::uint8_t kind, Bytes content) {
    switch (kind) {
      case marker::baseline:
      case marker::extended:
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

  bool read_scan(Bytes content) {
    const auto count = static_cast<std::size_t>(header_.component_count);
    if (count == 0 || content.size() != 4 + 2 * count || content[0] != count) return false;
    for (std::size_t i = 0; i < count; ++i) {
      JpegComponent& component = header_.components[i];
      const std::size_t dc = content[2 + 2 * i] >> 4U;
      const std::size_t ac = content[2 + 2 * i] & 15U;
      if (content[1 + 2 * i] != component.id || dc >= 4 || ac >= 4) return false;
      const auto& quantizer = quantizers_[quantizer_of_[i]];
      if (!quantizer || dc_codes_[dc].empty() || ac_codes_[ac].empty()) return false;
      component.quantizer = *quantizer;
      component.dc_codes = dc_codes_[dc];
      component.ac_codes = ac_codes_[ac];
    }
    const Bytes spectrum = content.last(3);
    return spectrum[0] == 0 && spectrum[1] == 63 && spectrum[2] == 0;
  }

  [[nodiscard]] bool is_usual() {
    auto& [luma, blue, red] = header_.components;
    if (luma.across < 1 || luma.across > 2 || luma.down < 1 || luma.down > 2) return false;
    // A gray one of 2 x 2 would have to be read in steps of 16 rows, as libjpeg does.
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

}  // namespace batchcast::inline v0_1::detail
