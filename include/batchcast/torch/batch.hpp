// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/consumer.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/field_table.hpp>
#include <batchcast/torch/ragged.hpp>
#include <batchcast/torch/tensor.hpp>

#include <torch/data/example.h>
#include <torch/ordered_dict.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

// How a Batch becomes the trainer's batch type. Fields are looked up and checked once, when a
// loader attaches. A batch then costs only its tensors.
namespace batchcast::inline v0_1 {

/// Which fields an Example<> shows. Empty: the stream's first field is data, its second one target.
struct ExampleFields {
  std::string data = {};
  std::string target = {};
};

namespace detail {

/// The fields of the batches that a consumer will get, `sample_id` last. With a window they are
/// those of its axis, and samples are runs.
[[nodiscard]] inline FieldTable field_table_of(const Consumer& consumer) {
  std::vector<FieldInfo> fields;
  const Window window = consumer.window();
  const auto add = [&](FieldSpec spec) {
    if (window.is_set() && !spec.axis.empty()) {
      if (spec.axis != window.axis) return;
      spec.axis.clear();
      spec.shape.insert(spec.shape.begin(), static_cast<std::int64_t>(window.rows + window.extra));
    } else if (window.is_set() && spec.name != sample_id_name) {
      return;
    }
    fields.push_back({spec, spec.element_count(), spec.byte_count(), spec.byte_count()});
    fields.back().axis = axis_index(consumer.schema(), spec.axis);
  };
  for (const FieldSpec& spec : consumer.schema()) add(spec);
  add({std::string(sample_id_name), DType::u64, {}});
  return FieldTable(std::move(fields), window.axis);
}

/// Returns the index if the field can be a tensor.
[[nodiscard]] inline std::size_t with_torch_twin(const FieldTable& fields, std::size_t index) {
  if (index != fields.sample_id_index()) static_cast<void>(scalar_type(fields[index]));
  return index;
}

/// The same of a field that is to be one tensor.
[[nodiscard]] inline std::size_t of_one_shape(const FieldTable& fields, std::size_t index) {
  if (fields[index].axis >= 0) throw_ragged(fields[index]);
  return with_torch_twin(fields, index);
}

[[nodiscard]] inline std::size_t data_field(const FieldTable& fields, const ExampleFields& wanted) {
  return of_one_shape(fields, wanted.data.empty() ? 0 : fields.index_of(wanted.data));
}

[[nodiscard]] inline std::size_t target_field(const FieldTable& fields,
                                              const ExampleFields& wanted) {
  if (!wanted.target.empty()) return of_one_shape(fields, fields.index_of(wanted.target));
  if (fields.sample_id_index() > 1) return of_one_shape(fields, 1);
  throw InvalidArgument(
      text("batchcast: an Example has data and target, and the stream has only the field {}. Take "
           "TensorExample, whose batches are data alone, or name the target (`sample_id` is one "
           "that every stream has).",
           to_text(fields[0].spec)));
}

inline void refuse_target(const ExampleFields& wanted) {
  if (wanted.target.empty()) return;
  throw InvalidArgument(
      text("batchcast: the target is to be the field `{}`, but the loader's batches are data "
           "alone. Take Example<> for both.",
           wanted.target));
}

inline void refuse_choice(const ExampleFields& wanted, const char* why) {
  if (wanted.data.empty() && wanted.target.empty()) return;
  throw InvalidArgument(text("batchcast: data and target are chosen for an Example; {}", why));
}

/// One tensor for each sample, over one storage. It is unbind() without the bookkeeping of views,
/// which takes four times as long.
[[nodiscard]] inline std::vector<at::Tensor> samples_of(const at::Tensor& all) {
  std::vector<at::Tensor> samples;
  samples.reserve(static_cast<std::size_t>(all.size(0)));
  const at::IntArrayRef sizes = all.sizes().slice(1);
  const at::IntArrayRef strides = all.strides().slice(1);
  for (std::int64_t i = 0; i < all.size(0); ++i) {
    samples.push_back(at::detail::make_tensor<at::TensorImpl>(
        c10::Storage(all.storage()), dispatch_keys_of(all.device()), all.dtype()));
    samples.back().unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, i * all.stride(0));
  }
  return samples;
}

template <class Dictionary>
void put(Dictionary& dictionary, const std::string& name, at::Tensor tensor) {
  dictionary.emplace(name, std::move(tensor));
}
inline void put(torch::OrderedDict<std::string, at::Tensor>& dictionary, const std::string& name,
                at::Tensor tensor) {
  dictionary.insert(name, std::move(tensor));
}

template <class Dictionary>
[[nodiscard]] bool has(const Dictionary& dictionary, const std::string& name) {
  return dictionary.find(name) != dictionary.end();
}
[[nodiscard]] inline bool has(const torch::OrderedDict<std::string, at::Tensor>& dictionary,
                              const std::string& name) {
  return dictionary.contains(name);
}

}  // namespace detail

template <class UserBatch>
concept TensorDictionary = std::same_as<UserBatch, std::map<std::string, at::Tensor>> ||
    std::same_as<UserBatch, std::unordered_map<std::string, at::Tensor>> ||
    std::same_as<UserBatch, torch::OrderedDict<std::string, at::Tensor>>;

template <class UserBatch>
concept BatchView = std::constructible_from<UserBatch, const Batch&>;

/// Makes a UserBatch from each Batch. The constructor gets the stream's fields and throws
/// InvalidArgument where they do not fit. Specialise it for types that cannot have a constructor
/// from `const Batch&`.
template <class UserBatch>
struct BatchMaker {
  static_assert(BatchView<UserBatch>,
                "no way to make this of a batch: take Example<>, TensorExample, at::Tensor, a "
                "std::vector of one of them, a map, unordered_map or OrderedDict of tensors by "
                "name, or give the type a constructor from const batchcast::Batch&");

  BatchMaker(const FieldTable&, const ExampleFields& wanted) {
    detail::refuse_choice(wanted, "a custom batch type names its fields itself.");
  }
  [[nodiscard]] UserBatch operator()(const Batch& batch) const { return UserBatch(batch); }
};

template <>
struct BatchMaker<at::Tensor> {
  BatchMaker(const FieldTable& fields, const ExampleFields& wanted)
      : data(detail::data_field(fields, wanted)) {
    detail::refuse_target(wanted);
  }
  [[nodiscard]] at::Tensor operator()(const Batch& batch) const { return tensor_of(batch, data); }

  std::size_t data;
};

template <>
struct BatchMaker<torch::data::TensorExample> : BatchMaker<at::Tensor> {
  using BatchMaker<at::Tensor>::BatchMaker;
  [[nodiscard]] torch::data::TensorExample operator()(const Batch& batch) const {
    return tensor_of(batch, data);
  }
};

template <>
struct BatchMaker<torch::data::Example<>> {
  BatchMaker(const FieldTable& fields, const ExampleFields& wanted)
      : data(detail::data_field(fields, wanted)), target(detail::target_field(fields, wanted)) {
    if (data != target) return;
    throw InvalidArgument(
        text("batchcast: data and target are both the field `{}`. Name both, or take "
             "TensorExample, whose batches are data alone.",
             fields[data].spec.name));
  }
  [[nodiscard]] torch::data::Example<> operator()(const Batch& batch) const {
    return {tensor_of(batch, data), tensor_of(batch, target)};
  }

  std::size_t data;
  std::size_t target;
};

/// One element for each sample, as torch gives without Stack: views of one tensor per field.
template <>
struct BatchMaker<std::vector<at::Tensor>> : BatchMaker<at::Tensor> {
  using BatchMaker<at::Tensor>::BatchMaker;
  [[nodiscard]] std::vector<at::Tensor> operator()(const Batch& batch) const {
    return detail::samples_of(tensor_of(batch, data));
  }
};

template <>
struct BatchMaker<std::vector<torch::data::TensorExample>> : BatchMaker<at::Tensor> {
  using BatchMaker<at::Tensor>::BatchMaker;
  [[nodiscard]] std::vector<torch::data::TensorExample> operator()(const Batch& batch) const {
    std::vector<torch::data::TensorExample> examples;
    examples.reserve(batch.size());
    for (at::Tensor& sample : detail::samples_of(tensor_of(batch, data))) {
      examples.emplace_back(std::move(sample));
    }
    return examples;
  }
};

template <>
struct BatchMaker<std::vector<torch::data::Example<>>> : BatchMaker<torch::data::Example<>> {
  using BatchMaker<torch::data::Example<>>::BatchMaker;
  [[nodiscard]] std::vector<torch::data::Example<>> operator()(const Batch& batch) const {
    std::vector<at::Tensor> samples = detail::samples_of(tensor_of(batch, data));
    std::vector<at::Tensor> targets = detail::samples_of(tensor_of(batch, target));
    std::vector<torch::data::Example<>> examples;
    examples.reserve(samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      examples.emplace_back(std::move(samples[i]), std::move(targets[i]));
    }
    return examples;
  }
};

/// Every field by its name, with `sample_id`. Of a field on an axis it is the values; the offsets
/// of an axis are there as `AXIS_offsets`. With a window `sample_id` and the offsets are of the
/// samples that its rows are of.
template <TensorDictionary UserBatch>
struct BatchMaker<UserBatch> {
  BatchMaker(const FieldTable& fields, const ExampleFields& wanted) {
    detail::refuse_choice(wanted, "a dictionary has every field by its name.");
    for (std::size_t i = 0; i < fields.size(); ++i) {
      names.push_back(fields[detail::with_torch_twin(fields, i)].spec.name);
    }
  }
  [[nodiscard]] UserBatch operator()(const Batch& batch) const {
    UserBatch dictionary;
    if constexpr (requires { dictionary.reserve(names.size()); }) dictionary.reserve(names.size());
    if (batch.is_window()) {
      detail::put(dictionary, batch.fields().window_axis() + "_offsets", offsets_of(batch));
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (batch.fields()[i].axis < 0) {
        detail::put(dictionary, names[i], tensor_of(batch, i));
        continue;
      }
      RaggedTensor ragged = ragged_of(batch, i);
      detail::put(dictionary, names[i], std::move(ragged.values));
      const std::string offsets = batch.fields()[i].spec.axis + "_offsets";
      if (!detail::has(dictionary, offsets)) {
        detail::put(dictionary, offsets, std::move(ragged.offsets));
      }
    }
    return dictionary;
  }

  std::vector<std::string> names;
};

}  // namespace batchcast::inline v0_1
