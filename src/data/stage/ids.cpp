// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

// Ids of masks by a table: of other ids, or of colours.
namespace batchcast::inline v0_1::detail {
namespace {

using Numbers = std::vector<std::int64_t>;

/// The ids that Cityscapes trains, of those in its files: the first becomes 0.
constexpr std::array<std::int64_t, 19> cityscapes_ids = {7,  8,  11, 12, 13, 17, 19, 20, 21, 22,
                                                         23, 24, 25, 26, 27, 28, 31, 32, 33};

using Color = std::array<std::uint8_t, 3>;

constexpr std::array<Color, 19> cityscapes_colors = {{
    {128, 64, 128},  {244, 35, 232}, {70, 70, 70},  {102, 102, 156}, {190, 153, 153},
    {153, 153, 153}, {250, 170, 30}, {220, 220, 0}, {107, 142, 35},  {152, 251, 152},
    {70, 130, 180},  {220, 20, 60},  {255, 0, 0},   {0, 0, 142},     {0, 0, 70},
    {0, 60, 100},    {0, 80, 100},   {0, 0, 230},   {119, 11, 32},
}};

constexpr std::size_t voc_classes = 21;
constexpr Color voc_border = {224, 224, 192};
constexpr std::int64_t no_class = 255;

/// The colour of a class in VOC's palette, whose bits are spread over the channels from the highest
/// on.
Color voc_color(std::size_t id) {
  Color color{};
  for (unsigned bit = 0; bit < 8; ++bit, id >>= 3) {
    for (std::size_t c = 0; c < 3; ++c) {
      color[c] = static_cast<std::uint8_t>(color[c] | ((id >> c & 1U) << (7U - bit)));
    }
  }
  return color;
}

/// What becomes which id. `From` is an id or a colour.
template <class From>
struct IdTable {
  std::vector<From> from;
  Numbers to;
  std::optional<std::uint8_t> other;  ///< what all else becomes; empty: a bad sample

  /// Call it after the parameters are read, the first of which has the name `key`.
  void settle(StageParameters& given, std::string_view key) {
    if (from.empty()) given.refuse(key, "must have one at least");
    if (to.empty()) {
      if (from.size() > 256) given.refuse(key, "has more than 256: give each an id with `to`");
      for (std::size_t i = 0; i < from.size(); ++i) to.push_back(static_cast<std::int64_t>(i));
    }
    if (to.size() != from.size()) {
      given.refuse("to", text("has {} numbers, and `{}` has {}", to.size(), key, from.size()));
    }
    std::vector<From> sorted = from;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      given.refuse(key, "has one of them twice");
    }
  }
};

/// Where a pixel stands in the image, as x and y.
std::pair<std::size_t, std::size_t> place_of(std::size_t pixel, ImageSize size) {
  const auto width = static_cast<std::size_t>(size.width);
  return {pixel % width, pixel / width};
}

/// A list of ids, or the name of one.
struct IdsOf {
  static constexpr std::array<std::string_view, 1> names = {"cityscapes"};

  [[nodiscard]] bool read(StageParameters& given, std::string_view key,
                          IdTable<std::int64_t>& value) const {
    if (!given.is_text(key)) return Wholes{0, 255}.read(given, key, value.from);
    static_cast<void>(choice(given, key, names, 0));  // refuses any other name
    value.from.assign(cityscapes_ids.begin(), cityscapes_ids.end());
    value.other = static_cast<std::uint8_t>(no_class);
    return true;
  }
  [[nodiscard]] nlohmann::json write(const IdTable<std::int64_t>& value) const {
    return value.from;
  }
};

/// A list of [red, green, blue], or the name of one.
struct ColorsOf {
  static constexpr std::array<std::string_view, 2> names = {"voc", "cityscapes"};

  [[nodiscard]] bool read(StageParameters& given, std::string_view key,
                          IdTable<Color>& value) const {
    if (given.is_text(key)) return read_name(given, key, value);
    const auto lists = given.number_lists(key);
    if (!lists) return false;
    for (const std::vector<double>& list : *lists) {
      Color& color = value.from.emplace_back();
      if (list.size() != color.size()) {
        given.refuse(key,
                     text("has a colour of {} numbers: each is [red, green, blue]", list.size()));
      }
      for (std::size_t c = 0; c < color.size(); ++c) {
        color[c] = static_cast<std::uint8_t>(std::clamp(list[c], 0.0, 255.0));
        if (static_cast<double>(color[c]) != list[c]) {
          given.refuse(key, text("takes whole numbers from 0 to 255, not {}", text_of(list[c])));
        }
      }
    }
    return true;
  }
  [[nodiscard]] nlohmann::json write(const IdTable<Color>& value) const { return value.from; }

 private:
  static bool read_name(StageParameters& given, std::string_view key, IdTable<Color>& value) {
    if (names[choice(given, key, names, 0)] == "voc") {
      for (std::size_t id = 0; id < voc_classes; ++id) value.from.push_back(voc_color(id));
      for (std::size_t id = 0; id < voc_classes; ++id) {
        value.to.push_back(static_cast<std::int64_t>(id));
      }
      value.from.push_back(voc_border);
      value.to.push_back(no_class);
    } else {
      value.from.assign(cityscapes_colors.begin(), cityscapes_colors.end());
      value.other = static_cast<std::uint8_t>(no_class);
    }
    return true;
  }
};

class MapIdsStage final : public TableStage<MapIdsStage, PixelStage> {
 public:
  static constexpr std::string_view stage_name = "map_ids";
  static void rows(auto& self, auto& table) {
    table("ids", self.table_, IdsOf(), {.missing = "the ids that become 0, 1, 2 …"});
    table("to", self.table_.to, Wholes{0, 255});
    table("other", self.table_.other, level);
  }
  void settle(StageParameters& given) {
    table_.settle(given, "ids");
    ids_.fill(static_cast<std::int16_t>(table_.other ? *table_.other : -1));
    for (std::size_t i = 0; i < table_.from.size(); ++i) {
      ids_[static_cast<std::size_t>(table_.from[i])] = static_cast<std::int16_t>(table_.to[i]);
    }
  }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] bool takes_masks() const noexcept override { return true; }
  [[nodiscard]] std::int32_t output_channels(std::int32_t channels) const override {
    if (channels == 1) return 1;
    throw InvalidArgument(
        "it takes ids, which are one channel: decode with mode = \"index\", or take `map_colors` "
        "for masks whose colours are the classes");
  }
  void run(const ImageView& image, StageContext& /*context*/) const override {
    const std::span<std::uint8_t> pixels(image.data, image.byte_count());
    if (!table_.other) check(pixels, image.size);
    for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(ids_[pixel]);
  }

 private:
  void check(std::span<const std::uint8_t> pixels, ImageSize size) const {
    const auto lacking = [&](std::uint8_t id) { return ids_[id] < 0; };
    const auto found = std::find_if(pixels.begin(), pixels.end(), lacking);
    if (found == pixels.end()) return;
    const auto [x, y] = place_of(static_cast<std::size_t>(found - pixels.begin()), size);
    throw BadSample(
        text("it has the id {} at ({}, {}), which `ids` does not have. With `other` it "
             "becomes that id",
             *found, x, y));
  }

  IdTable<std::int64_t> table_;
  std::array<std::int16_t, 256> ids_{};
};

/// The ids of colours, by a hash.
class ColorIds {
 public:
  static constexpr std::int32_t none = -1;

  [[nodiscard]] static std::uint32_t key_of(const std::uint8_t* color) noexcept {
    return std::uint32_t{color[0]} << 16U | std::uint32_t{color[1]} << 8U | color[2];
  }

  void fill(const IdTable<Color>& table) {
    std::size_t size = 64;
    while (size < 4 * table.from.size()) size *= 2;
    slots_.assign(size, {});
    for (std::size_t i = 0; i < table.from.size(); ++i) {
      const std::uint32_t key = key_of(table.from[i].data());
      std::size_t at = first(key);
      while (slots_[at].id != none) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = {key, static_cast<std::int32_t>(table.to[i])};
    }
  }
  [[nodiscard]] std::int32_t operator[](std::uint32_t key) const noexcept {
    std::size_t at = first(key);
    while (slots_[at].id != none && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return slots_[at].id;
  }

 private:
  struct Slot {
    std::uint32_t key = 0;
    std::int32_t id = none;
  };
  // The golden ratio's bits spread keys that differ in any channel.
  [[nodiscard]] std::size_t first(std::uint32_t key) const noexcept {
    return (key * 2654435769U >> 8U) & (slots_.size() - 1);
  }

  std::vector<Slot> slots_;
};

class MapColorsStage final : public TableStage<MapColorsStage, PixelStage> {
 public:
  static constexpr std::string_view stage_name = "map_colors";
  static void rows(auto& self, auto& table) {
    table("colors", self.table_, ColorsOf(),
          {.missing = "the colours that become 0, 1, 2 …, each [red, green, blue]"});
    table("to", self.table_.to, Wholes{0, 255});
    table("other", self.table_.other, level);
  }
  void settle(StageParameters& given) {
    table_.settle(given, "colors");
    ids_.fill(table_);
  }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] bool takes_masks() const noexcept override { return true; }
  [[nodiscard]] std::int32_t output_channels(std::int32_t channels) const override {
    if (channels == 3) return 1;
    throw InvalidArgument(
        "it takes colours, which are three channels: decode with mode = \"rgb\", or take `map_ids` "
        "for masks of ids");
  }
  void run(const ImageView& image, StageContext& /*context*/) const override {
    const std::size_t count = image.byte_count() / 3;
    // Neighbours mostly have one colour.
    std::uint32_t last = ColorIds::key_of(image.data);
    std::uint8_t id = id_of(last, 0, image.size);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t key = ColorIds::key_of(image.data + 3 * i);
      if (key != last) {
        id = id_of(key, i, image.size);
        last = key;
      }
      image.data[i] = id;
    }
  }

 private:
  [[nodiscard]] std::uint8_t id_of(std::uint32_t key, std::size_t pixel, ImageSize size) const {
    const std::int32_t id = ids_[key];
    if (id != ColorIds::none) return static_cast<std::uint8_t>(id);
    if (table_.other) return *table_.other;
    const auto [x, y] = place_of(pixel, size);
    throw BadSample(
        text("it has the colour [{}, {}, {}] at ({}, {}), which `colors` does not "
             "have. With `other` it becomes that id",
             key >> 16U, key >> 8U & 0xffU, key & 0xffU, x, y));
  }

  IdTable<Color> table_;
  ColorIds ids_;
};

}  // namespace

void add_ids(StandardStages& stages) {
  stages.add<MapColorsStage>();
  stages.add<MapIdsStage>();
}

}  // namespace batchcast::inline v0_1::detail
