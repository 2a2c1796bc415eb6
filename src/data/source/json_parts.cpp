// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/json_parts.hpp"

#include <batchcast/core/error.hpp>

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

struct JsonPart {
  std::string name;  ///< PART:/POINTER
  std::size_t from;  ///< the part of the inner source
  Json::json_pointer pointer;
  ValueKind kind = ValueKind::integer;
  ClassLabels labels = {};  ///< where it is a name
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
      parts_.push_back(
          {.name = value.name, .dtype = value.kind == ValueKind::real ? DType::f64 : DType::i64});
    }
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return inner_->size(); }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    return inner_->name_of(sample_id);
  }
  [[nodiscard]] bool in_memory() const noexcept override { return inner_->in_memory(); }
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
    const std::size_t own = inner_->parts().size();
    out.resize(own + values_.size());
    std::optional<Json> document;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const JsonPart& value = values_[i];
      const std::span<std::byte> place = out.make(own + i, sizeof(std::int64_t));
      if (value.kind == ValueKind::name) {
        store(value.labels[sample_id], place);
        continue;
      }
      if (i == 0 || value.from != values_[i - 1].from) document.reset();
      if (!document) document = parse_json(out[value.from], inner_->parts()[value.from].name);
      const Json& found = value_at(*document, value);
      if (value.kind == ValueKind::integer) {
        store(integer_of(found, value), place);
      } else {
        store(real_of(found, value), place);
      }
    }
  }

 private:
  template <class T>
  static void store(T value, std::span<std::byte> place) {
    std::memcpy(place.data(), &value, sizeof value);
  }

  [[nodiscard]] const JsonPart* first_name() const noexcept {
    const auto found = std::find_if(values_.begin(), values_.end(), [](const JsonPart& value) {
      return value.kind == ValueKind::name;
    });
    return found == values_.end() ? nullptr : &*found;
  }

  void learn_kinds() {
    for (JsonPart& value : values_) value.kind = kind_of(value);
  }

  // The first sample decides for all; samples that cannot be read are reported when they are read.
  [[nodiscard]] ValueKind kind_of(const JsonPart& value) const {
    SampleParts sample;
    std::string reason;
    for (std::uint64_t id = 0; id < std::min(size(), samples_tried); ++id) {
      try {
        const Json document = parse(id, value, sample);
        return kind_of(value_at(document, value), value, id);
      } catch (const BadSample& bad) {
        if (reason.empty()) reason = text("{}: {}", name_of(id), as_reason(bad.what()));
      }
    }
    throw BadDataset(text("batchcast: {}. None of the first samples has it.", reason));
  }

  [[nodiscard]] ValueKind kind_of(const Json& found, const JsonPart& value,
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
      for (std::uint64_t id = 0; id < size(); ++id) add_name(id, value, sample);
      value.labels.finish();
    }
  }

  void add_name(std::uint64_t sample_id, JsonPart& value, SampleParts& sample) const {
    try {
      const Json document = parse(sample_id, value, sample);
      const Json& found = value_at(document, value);
      if (found.is_string()) return value.labels.add(found.get_ref<const std::string&>());
    } catch (const BadSample&) {
      // It is a bad sample when it is read.
    }
    value.labels.add_none();
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
    return JsonPart{from, static_cast<std::size_t>(part - parts.begin()),
                    Json::json_pointer(from.substr(colon + 1))};
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
    const bool again = std::any_of(values.begin(), values.end(),
                                   [&](const JsonPart& value) { return value.name == from; });
    if (again) continue;
    std::optional<JsonPart> part = json_part(*source, from, field.where);
    if (part) values.push_back(std::move(*part));
  }
  if (values.empty()) return source;
  return std::make_shared<JsonPartsSource>(std::move(source), std::move(values));
}

}  // namespace batchcast::inline v0_1::detail
