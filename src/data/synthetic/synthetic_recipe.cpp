// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/utf8.hpp>
#include <batchcast/data/synthetic.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>

namespace batchcast::inline v0_1 {
namespace {

using Json = nlohmann::json;

constexpr std::string_view prefix = "synthetic:";
constexpr std::uint64_t recipe_version = 1;
constexpr std::string_view example = "Write a shape such as synthetic:3x224x224.";

[[noreturn]] void fail(const std::string& what) {
  throw InvalidArgument(text("batchcast: {}", what));
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t shown_max = 80;
  // Half a character would keep the error's text out of JSON.
  const std::string_view shown = detail::utf8_prefix(text, shown_max);
  std::string result = "`";
  result += shown;
  result += shown.size() < text.size() ? "…`" : "`";
  return result;
}

std::int64_t parse_extent(std::string_view digits, std::string_view source) {
  std::int64_t extent = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), extent);
  if (digits.empty()) {
    fail(text("an extent is missing in {}. {}", in_quotes(source), example));
  }
  if (error == std::errc::result_out_of_range) {
    fail(text("the extent {} in {} is too large. {}", in_quotes(digits), in_quotes(source),
              example));
  }
  if (error != std::errc() || end != digits.data() + digits.size()) {
    fail(
        text("{} in {} is not an extent. After `synthetic:` comes only the shape, numbers joined "
             "by x; dtype, number of samples and seed are separate options. {}",
             in_quotes(digits), in_quotes(source), example));
  }
  return extent;
}

void check_shape(const std::vector<std::int64_t>& shape, DType dtype) {
  if (shape.empty()) fail(text("a synthetic source needs a shape. {}", example));
  if (shape.size() > limits::dimensions_max) {
    fail(text("a synthetic shape of {} dimensions is too deep. Give at most {}.", shape.size(),
              limits::dimensions_max));
  }
  auto bytes_left =
      static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / size_of(dtype);
  for (const std::int64_t extent : shape) {
    if (extent < 1) {
      fail(text("a synthetic shape has the extent {}. Every extent must be 1 or more.", extent));
    }
    bytes_left /= static_cast<std::uint64_t>(extent);
    if (bytes_left == 0)
      fail("one synthetic sample of that shape exceeds 2^63 bytes. Give a smaller shape.");
  }
}

class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  const Json& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) fail(text("the synthetic recipe lacks `{}`.", key));
    return *found;
  }

  std::uint64_t number(const char* key) const { return number(at(key), key); }

  std::string word(const char* key) const {
    const Json& value = at(key);
    if (!value.is_string()) wrong(key, "a text", value);
    return value.get<std::string>();
  }

  std::vector<std::int64_t> shape(const char* key) const {
    const Json& value = at(key);
    if (!value.is_array()) wrong(key, "a list of extents", value);
    std::vector<std::int64_t> result;
    for (const Json& extent : value) {
      const std::uint64_t count = number(extent, key);
      if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        wrong(key, "extents below 2^63", extent);
      }
      result.push_back(static_cast<std::int64_t>(count));
    }
    return result;
  }

  bool has(const char* key) const { return object_.contains(key); }

  template <std::size_t Count>
  void refuse_unknown(const std::array<std::string_view, Count>& known) const {
    for (const auto& item : object_.items()) {
      if (std::find(known.begin(), known.end(), item.key()) == known.end()) {
        fail(text("the synthetic recipe has an unknown key {}.", in_quotes(item.key())));
      }
    }
  }

 private:
  [[noreturn]] static void wrong(const char* key, std::string_view wanted, const Json& value) {
    // Writing a value out recurses into it, and a recipe may nest it to any depth.
    const std::string found =
        value.is_structured()
            ? std::string(value.is_array() ? "a list" : "an object")
            : in_quotes(value.dump(-1, ' ', false, Json::error_handler_t::replace));
    fail(text("`{}` of the synthetic recipe must be {}, not {}.", key, wanted, found));
  }
  static std::uint64_t number(const Json& value, const char* key) {
    if (!value.is_number_unsigned()) wrong(key, "a whole number from 0", value);
    return value.get<std::uint64_t>();
  }

  const Json& object_;
};

struct Place {
  std::uint64_t epoch;
  std::uint64_t sample_id;
};

Order order_of(const SyntheticRecipe& recipe) {
  return Order(
      {.samples_per_epoch = recipe.samples_per_epoch, .seed = recipe.seed, .mode = recipe.order});
}

Place place_of(const SyntheticRecipe& recipe, std::uint64_t position) {
  const Order order = order_of(recipe);
  const std::uint64_t epoch = position / recipe.samples_per_epoch;
  return {epoch, order.sample_id_at(epoch, position % recipe.samples_per_epoch)};
}

}  // namespace

SyntheticRecipe SyntheticRecipe::parse(std::string_view source) {
  if (!source.starts_with(prefix)) {
    fail(text("{} is not a synthetic source. {}", in_quotes(source), example));
  }
  SyntheticRecipe recipe;
  std::string_view rest = source.substr(prefix.size());
  if (rest.empty()) fail(text("{} has no shape. {}", in_quotes(source), example));
  while (true) {
    const std::size_t end = rest.find('x');
    recipe.shape.push_back(parse_extent(rest.substr(0, end), source));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  recipe.check();
  return recipe;
}

std::string SyntheticRecipe::to_json() const {
  Json object = {{"source", "synthetic"},
                 {"version", recipe_version},
                 {"shape", shape},
                 {"dtype", name_of(dtype)},
                 {"samples_per_epoch", samples_per_epoch},
                 {"seed", seed},
                 {"order", name_of(order)}};
  if (epochs) object["epochs"] = *epochs;
  return object.dump();
}

Fingerprint SyntheticRecipe::identity() const {
  SyntheticRecipe endless = *this;
  endless.epochs.reset();  // the number of epochs changes no sample
  return fingerprint_of(endless.to_json());
}

SyntheticRecipe SyntheticRecipe::from_json(std::string_view json) {
  Json object;
  try {
    object = Json::parse(json);
  } catch (const Json::exception& error) {
    fail(text("the stream's recipe is not JSON ({}).", error.what()));
  }
  if (!object.is_object() || !object.contains("source") || object["source"] != "synthetic") {
    fail(
        text("the stream's recipe is not a synthetic one, so its bytes cannot be computed here: {}",
             in_quotes(json)));
  }
  const Reader reader(object);
  if (const std::uint64_t version = reader.number("version"); version != recipe_version) {
    fail(
        text("the synthetic recipe has version {} and this library reads {}. Use the same "
             "batchcast on both sides.",
             version, recipe_version));
  }
  reader.refuse_unknown(std::array<std::string_view, 8>{
      "source", "version", "shape", "dtype", "samples_per_epoch", "seed", "order", "epochs"});

  SyntheticRecipe recipe;
  recipe.shape = reader.shape("shape");
  recipe.samples_per_epoch = reader.number("samples_per_epoch");
  recipe.seed = reader.number("seed");
  const std::string dtype_name = reader.word("dtype");
  const auto parsed_dtype = parse_dtype(dtype_name);
  if (!parsed_dtype)
    fail(text("the synthetic recipe has an unknown dtype {}.", in_quotes(dtype_name)));
  recipe.dtype = *parsed_dtype;
  const std::string order_name = reader.word("order");
  const auto parsed_order = parse_order_mode(order_name);
  if (!parsed_order)
    fail(text("the synthetic recipe has an unknown order {}.", in_quotes(order_name)));
  recipe.order = *parsed_order;
  if (reader.has("epochs")) recipe.epochs = reader.number("epochs");
  recipe.check();
  return recipe;
}

void SyntheticRecipe::check() const {
  check_shape(shape, dtype);
  static_cast<void>(order_of(*this));
  if (epochs && (*epochs == 0 || *epochs > limits::position_max / samples_per_epoch)) {
    fail(
        text("a synthetic stream of {} epochs cannot be. Give at least 1, and fewer than 2^63 "
             "samples in all; without a number it is endless.",
             *epochs));
  }
}

Schema SyntheticRecipe::schema() const {
  return {{"image", dtype, shape}, {"label", DType::i64, {}}};
}

std::uint64_t SyntheticRecipe::sample_id_at(std::uint64_t position) const {
  return place_of(*this, position).sample_id;
}

std::optional<std::uint64_t> SyntheticRecipe::position_of(std::uint64_t epoch,
                                                          std::uint64_t sample_id) const {
  if (sample_id >= samples_per_epoch) return std::nullopt;
  return epoch * samples_per_epoch + *order_of(*this).offset_of(epoch, sample_id);
}

std::size_t SyntheticRecipe::byte_count(std::size_t field) const {
  switch (field) {
    case image_field: {
      std::size_t bytes = size_of(dtype);
      for (const std::int64_t extent : shape) bytes *= static_cast<std::size_t>(extent);
      return bytes;
    }
    case label_field:
    case sample_id_field:
      return 8;
    default:
      fail(
          text("a synthetic sample has no field {}; it has image (0), label (1) and sample_id (2).",
               field));
  }
}

void SyntheticRecipe::fill(std::uint64_t position, std::size_t field,
                           std::span<std::byte> out) const {
  if (out.size() != byte_count(field)) {
    fail(text("field {} of a synthetic sample takes {} bytes, and {} were given.", field,
              byte_count(field), out.size()));
  }
  const auto [epoch, sample_id] = place_of(*this, position);
  if (field == image_field) {
    fill_synthetic({seed, epoch, sample_id}, dtype, out);
  } else if (field == label_field) {
    const std::int64_t label = synthetic_label(seed, sample_id);
    std::memcpy(out.data(), &label, sizeof label);
  } else {
    std::memcpy(out.data(), &sample_id, sizeof sample_id);
  }
}

bool SyntheticRecipe::check(std::uint64_t position, std::size_t field,
                            std::span<const std::byte> bytes) const {
  if (bytes.size() != byte_count(field)) return false;
  if (field == image_field) {
    const auto [epoch, sample_id] = place_of(*this, position);
    return check_synthetic({seed, epoch, sample_id}, dtype, bytes);
  }
  std::array<std::byte, 8> expected;
  fill(position, field, expected);
  return std::memcmp(bytes.data(), expected.data(), expected.size()) == 0;
}

}  // namespace batchcast::inline v0_1
