// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/json_parts.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/fingerprint_builder.hpp"
#include "data/read_sample.hpp"
#include "data/reason.hpp"
#include "data/refuse_at.hpp"
#include "data/source/class_labels.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

// How many samples are tried to find a value's type: a dataset's first sample may be broken.
constexpr std::uint64_t samples_tried = 100;

enum class ValueKind : std::uint8_t { integer, real, name };

using Shape = std::vector<std::int64_t>;

struct JsonPart {
  std::string name;  ///< PART:/POINTER
  std::size_t from;  ///< the part of the inner source
  Json::json_pointer pointer;
  bool is_list = false;  ///< of any number of values, as bytes of i64
  ValueKind kind = ValueKind::integer;
  Shape shape = {};         ///< of an array
  ClassLabels labels = {};  ///< where it is names: those of all samples
  std::vector<std::uint64_t> firsts =
      {};  ///< where it is a list of names: each sample's first label

  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t product = 1;
    for (const std::int64_t extent : shape) product *= static_cast<std::uint64_t>(extent);
    return product;
  }
};

Json parse_json(std::span<const std::byte> bytes, const std::string& part) {
  const auto* const begin = reinterpret_cast<const char*>(bytes.data());
  Json document = Json::parse(begin, begin + bytes.size(), nullptr, false);
  if (document.is_discarded()) throw BadSample(text("`{}` is no valid JSON", part));
  return document;
}

const Json& value_at(const Json& document, const JsonPart& part) {
  try {
    return document.at(part.pointer);
  } catch (const Json::exception&) {
    throw BadSample(text("it has no `{}`", part.name));
  }
}

std::int64_t integer_of(const Json& value, const JsonPart& part) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_number_integer()) {
    const std::string what = value.is_number() ? value.dump() : value.type_name();
    throw BadSample(text("`{}` is {}, and not an integer as in the first sample", part.name, what));
  }
  const bool too_large =
      value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (too_large) throw BadSample(text("`{}` is larger than an i64 can be", part.name));
  return value.get<std::int64_t>();
}

/// The shape of nested arrays of one length each. Throws BadSample where lengths differ.
Shape shape_of(const Json& value, const std::string& name) {
  Shape shape;
  if (!value.is_array()) return shape;
  shape.push_back(static_cast<std::int64_t>(value.size()));
  for (const Json& item : value) {
    Shape inner = shape_of(item, name);
    if (&item == &value.front()) shape.insert(shape.end(), inner.begin(), inner.end());
    if (Shape(shape.begin() + 1, shape.end()) == inner) continue;
    throw BadSample(text("`{}` holds arrays of different lengths", name));
  }
  return shape;
}

std::string text_of(const Shape& shape) {
  return shape.empty() ? "no array" : text("an array of the shape {}", Json(shape).dump());
}

/// Calls `take` for the value, or for all that stand in arrays.
template <class Take>
void for_each_value(const Json& value, const Take& take) {
  if (!value.is_array()) return take(value);
  for (const Json& item : value) for_each_value(item, take);
}

const Json* first_value(const Json& value) {
  if (!value.is_array()) return &value;
  for (const Json& item : value) {
    if (const Json* const found = first_value(item)) return found;
  }
  return nullptr;
}

double real_of(const Json& value, const JsonPart& part) {
  if (!value.is_number()) throw BadSample(text("`{}` is not a number", part.name));
  return value.get<double>();
}

/// The source inside, with the JSON parts' values after its parts.
class JsonPartsSource final : public Source {
 public:
  JsonPartsSource(std::shared_ptr<const Source> inner, std::vector<JsonPart> values)
      : inner_(std::move(inner)), values_(std::move(values)), parts_(inner_->parts()) {
    // Sorted, so that each document is parsed once for any order of fields.
    std::stable_sort(values_.begin(), values_.end(),
                     [](const JsonPart& a, const JsonPart& b) { return a.from < b.from; });
    learn_kinds();
    read_names();
    for (const JsonPart& value : values_) {
      parts_.push_back({.name = value.name,
                        .kind = value.is_list ? PartKind::bytes : PartKind::tensor,
                        .dtype = value.is_list                   ? DType::u8
                                 : value.kind == ValueKind::real ? DType::f64
                                                                 : DType::i64,
                        .shape = value.shape});
    }
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return inner_->size(); }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    return inner_->name_of(sample_id);
  }
  [[nodiscard]] std::string plain_name_of(std::uint64_t sample_id) const override {
    return inner_->plain_name_of(sample_id);
  }
  [[nodiscard]] bool in_memory() const noexcept override { return inner_->in_memory(); }
  [[nodiscard]] std::shared_ptr<const RowLengths> lengths(std::string_view axis) const override {
    return inner_->lengths(axis);
  }
  [[nodiscard]] bool labels_are_names() const noexcept override {
    return inner_->labels_are_names();
  }
  [[nodiscard]] std::span<const std::string> remarks() const noexcept override {
    return inner_->remarks();
  }
  [[nodiscard]] std::span<const std::string> class_names() const noexcept override {
    if (!inner_->class_names().empty()) return inner_->class_names();
    const JsonPart* const named = first_name();
    return named == nullptr ? std::span<const std::string>{} : named->labels.names();
  }
  [[nodiscard]] Fingerprint fingerprint() const override {
    if (first_name() == nullptr) return inner_->fingerprint();
    FingerprintBuilder builder;
    builder.add("json names");
    builder.add(inner_->fingerprint().to_hex());
    for (const JsonPart& value : values_) {
      if (value.kind != ValueKind::name) continue;
      builder.add(value.name);
      builder.add(std::uint64_t{value.labels.names().size()});
      for (const std::string& name : value.labels.names()) builder.add(name);
    }
    return builder.finish();
  }

  void read(std::uint64_t sample_id, SampleParts& out) const override {
    inner_->read(sample_id, out);
    read_values(sample_id, out);
  }
  void read_wanted(std::uint64_t sample_id, std::span<const std::uint8_t> wanted,
                   SampleParts& out) const override {
    std::vector<std::uint8_t> needed(
        wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(inner_->parts().size()));
    for (const JsonPart& value : values_) needed[value.from] = 1;
    inner_->read_wanted(sample_id, needed, out);
    read_values(sample_id, out);
  }
  [[nodiscard]] std::optional<PartKey> key_of(std::uint64_t sample_id,
                                              std::size_t part) const noexcept override {
    return part < inner_->parts().size() ? inner_->key_of(sample_id, part) : std::nullopt;
  }

 private:
  void read_values(std::uint64_t sample_id, SampleParts& out) const {
    const std::size_t own = inner_->parts().size();
    out.resize(own + values_.size());
    std::optional<Json> document;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const JsonPart& value = values_[i];
      if (value.kind == ValueKind::name) {
        read_labels(value, sample_id, own + i, out);
        continue;
      }
      if (i == 0 || value.from != values_[i - 1].from) document.reset();
      if (!document) document = parse_json(out[value.from], inner_->parts()[value.from].name);
      read_numbers(value, value_at(*document, value), own + i, out);
    }
  }

  template <class T>
  static void store(T value, std::span<std::byte>& place) {
    std::memcpy(place.data(), &value, sizeof value);
    place = place.subspan(sizeof value);
  }

  static void read_labels(const JsonPart& value, std::uint64_t sample_id, std::size_t part,
                          SampleParts& out) {
    const std::uint64_t begin = value.is_list ? value.firsts[sample_id] : sample_id * value.count();
    const std::uint64_t end =
        value.is_list ? value.firsts[sample_id + 1] : (sample_id + 1) * value.count();
    std::span<std::byte> place = out.make(part, (end - begin) * sizeof(std::int64_t));
    for (std::uint64_t label = begin; label < end; ++label) store(value.labels[label], place);
  }

  static void read_numbers(const JsonPart& value, const Json& found, std::size_t part,
                           SampleParts& out) {
    std::size_t count = 0;
    for_each_value(found, [&](const Json& /*one*/) { ++count; });
    if (!value.is_list) check_shape(value, found);
    std::span<std::byte> place = out.make(part, count * sizeof(std::int64_t));
    for_each_value(found, [&](const Json& one) {
      if (value.kind == ValueKind::integer) {
        store(integer_of(one, value), place);
      } else {
        store(real_of(one, value), place);
      }
    });
  }

  static void check_shape(const JsonPart& value, const Json& found) {
    const Shape shape = shape_of(found, value.name);
    if (shape == value.shape) return;
    throw BadSample(
        text("`{}` is {}, and in the first sample it is {}. Lists of ids that differ "
             "in length become one shape with { stage = \"multi_hot\" }",
             value.name, text_of(shape), text_of(value.shape)));
  }

  [[nodiscard]] const JsonPart* first_name() const noexcept {
    const auto found = std::find_if(values_.begin(), values_.end(), [](const JsonPart& value) {
      return value.kind == ValueKind::name;
    });
    return found == values_.end() ? nullptr : &*found;
  }

  void learn_kinds() {
    for (JsonPart& value : values_) learn_kind(value);
  }

  // The first sample decides for all; samples that cannot be read are reported when they are read.
  void learn_kind(JsonPart& value) const {
    SampleParts sample;
    std::string reason;
    bool has_empty = false;
    for (std::uint64_t id = 0; id < std::min(size(), samples_tried); ++id) {
      try {
        const Json document = parse(id, value, sample);
        const Json& found = value_at(document, value);
        if (first_value(found) == nullptr) {
          if (!value.is_list) refuse_empty(value, id);
          has_empty = true;
          continue;
        }
        value.kind = kind_of(found, value, id);
        if (!value.is_list) value.shape = shape_of(found, value.name);
        return check_rank(value);
      } catch (const BadSample& bad) {
        if (reason.empty()) reason = text("{}: {}", name_of(id), as_reason(bad.what()));
      }
    }
    if (!has_empty) {
      throw BadDataset(text("batchcast: {}. None of the first samples has it.", reason));
    }
    value.kind = labels_are_names() ? ValueKind::name : ValueKind::integer;
  }

  [[noreturn]] void refuse_empty(const JsonPart& value, std::uint64_t sample_id) const {
    throw InvalidArgument(text(
        "batchcast: {}: `{}` is an empty array, and a field has one shape. Lists of ids of any "
        "length become one shape with { stage = \"multi_hot\" }.",
        name_of(sample_id), value.name));
  }

  // Where one of an array's numbers is no integer, none is.
  [[nodiscard]] ValueKind kind_of(const Json& found, const JsonPart& value,
                                  std::uint64_t sample_id) const {
    std::optional<ValueKind> kind;
    for_each_value(found, [&](const Json& one) {
      const ValueKind other = kind_of_one(one, value, sample_id);
      if (kind && (*kind == ValueKind::name) != (other == ValueKind::name)) {
        throw InvalidArgument(text("batchcast: {}: `{}` has numbers and texts in one array.",
                                   name_of(sample_id), value.name));
      }
      if (!kind || other == ValueKind::real) kind = other;
    });
    if (value.is_list && *kind == ValueKind::real) {
      throw InvalidArgument(
          text("batchcast: {}: `{}` has numbers that are no integers, and "
               "`multi_hot` takes ids.",
               name_of(sample_id), value.name));
    }
    return *kind;
  }

  void check_rank(const JsonPart& value) const {
    if (value.shape.size() <= limits::dimensions_max) return;
    throw InvalidArgument(text("batchcast: `{}` has {} arrays in arrays, and at most {} can be.",
                               value.name, value.shape.size(), limits::dimensions_max));
  }

  [[nodiscard]] ValueKind kind_of_one(const Json& found, const JsonPart& value,
                                      std::uint64_t sample_id) const {
    if (found.is_number_integer() || found.is_boolean()) return ValueKind::integer;
    if (found.is_number()) return ValueKind::real;
    if (found.is_string() && labels_are_names()) return ValueKind::name;
    std::string why = text(" is {}, not a number.", found.type_name());
    if (found.is_string()) {
      why =
          " is a text. With `labels=names` after the source, texts become labels: "
          "`webdataset:…?labels=names`.";
    }
    throw InvalidArgument(text("batchcast: {}: `{}`{}", name_of(sample_id), value.name, why));
  }

  void read_names() {
    SampleParts sample;
    for (JsonPart& value : values_) {
      if (value.kind != ValueKind::name) continue;
      for (std::uint64_t id = 0; id < size(); ++id) add_names(id, value, sample);
      if (value.is_list) value.firsts.push_back(value.labels.size());
      value.labels.finish();
    }
  }

  // A sample that has none, or an array of another shape, is a bad sample when it is read.
  void add_names(std::uint64_t sample_id, JsonPart& value, SampleParts& sample) const {
    if (value.is_list) value.firsts.push_back(value.labels.size());
    try {
      const Json document = parse(sample_id, value, sample);
      const Json& found = value_at(document, value);
      if (value.is_list || shape_of(found, value.name) == value.shape) {
        return for_each_value(found, [&](const Json& one) {
          if (one.is_string()) return value.labels.add(one.get_ref<const std::string&>());
          value.labels.add_none();
        });
      }
    } catch (const BadSample&) {
      // As said above.
    }
    for (std::uint64_t i = 0; i < (value.is_list ? 1 : value.count()); ++i) value.labels.add_none();
  }

  [[nodiscard]] Json parse(std::uint64_t sample_id, const JsonPart& value,
                           SampleParts& sample) const {
    read_sample([&] { inner_->read_part(sample_id, value.from, sample); });
    return parse_json(sample[value.from], inner_->parts()[value.from].name);
  }

  std::shared_ptr<const Source> inner_;
  std::vector<JsonPart> values_;
  std::vector<PartSpec> parts_;
};

bool is_part(const Source& source, std::string_view name) {
  return std::any_of(source.parts().begin(), source.parts().end(),
                     [&](const PartSpec& part) { return part.name == name; });
}

// Nothing where `from` is no pointer into an existing part: then it is no part.
std::optional<JsonPart> json_part(const Source& source, const std::string& from,
                                  const std::string& where) {
  const std::size_t colon = from.find(":/");
  if (colon == std::string::npos || is_part(source, from)) return std::nullopt;
  const auto& parts = source.parts();
  const auto part = std::find_if(parts.begin(), parts.end(), [&](const PartSpec& other) {
    return other.name == std::string_view(from).substr(0, colon);
  });
  if (part == parts.end()) return std::nullopt;
  if (part->kind != PartKind::bytes) {
    refuse_at(where, text("`{}`: the part `{}` holds no JSON. Pointers lead into parts such as "
                          "`json` of webdataset.",
                          from, part->name));
  }
  try {
    return JsonPart{.name = from,
                    .from = static_cast<std::size_t>(part - parts.begin()),
                    .pointer = Json::json_pointer(from.substr(colon + 1))};
  } catch (const Json::exception&) {
    refuse_at(where, text("`{}`: after the colon comes a JSON pointer, such as `json:/label` or "
                          "`json:/objects/0/id`; `~` is written `~0` and `/` in a name `~1`.",
                          from));
  }
}

}  // namespace

std::shared_ptr<const Source> with_json_parts(std::shared_ptr<const Source> source,
                                              std::span<const FieldRecipe> fields) {
  if (!source) return source;
  std::vector<JsonPart> values;
  for (const FieldRecipe& field : fields) {
    const std::string& from = field.from.empty() ? field.name : field.from;
    const bool is_list = !field.stages.empty() && field.stages.front().get() != nullptr &&
                         field.stages.front()->name() == "multi_hot";
    const auto again = std::find_if(values.begin(), values.end(),
                                    [&](const JsonPart& value) { return value.name == from; });
    if (again != values.end()) {
      if (again->is_list == is_list) continue;
      refuse_at(field.where, text("two fields are made from `{}`, and one alone begins with "
                                  "`multi_hot`. Let both, or leave one out.",
                                  from));
    }
    std::optional<JsonPart> part = json_part(*source, from, field.where);
    if (!part) continue;
    part->is_list = is_list;
    values.push_back(std::move(*part));
  }
  if (values.empty()) return source;
  return std::make_shared<JsonPartsSource>(std::move(source), std::move(values));
}

}  // namespace batchcast::inline v0_1::detail
