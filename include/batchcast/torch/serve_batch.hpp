// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/text.hpp>
#include <batchcast/torch/serve_columns.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// The batch types that a torch::data loader can have, as columns. They are recognised by their
// shape: torch::data, which takes long to compile, is not included here.
namespace batchcast::inline v0_1::detail {

template <class T>
concept TorchTensor = std::same_as<std::remove_cvref_t<T>, at::Tensor>;

/// torch::data::Example, with or without a target.
template <class T>
concept TorchExample = requires(const T& example) {
  requires TorchTensor<decltype(example.data)>;
};
template <class T>
concept TorchTarget = requires(const T& example) {
  requires TorchTensor<decltype(example.target)>;
};
template <class T>
concept AnyTarget = requires(const T& example) {
  example.target;
};

/// std::map, std::unordered_map.
template <class T>
concept TensorMap = requires {
  typename T::key_type;
  requires std::convertible_to<typename T::key_type, std::string>;
  requires TorchTensor<typename T::mapped_type>;
};

/// torch::OrderedDict.
template <class T>
concept TensorDict = requires(const T& dict) {
  { dict.begin()->key() } -> std::convertible_to<std::string>;
  requires TorchTensor<decltype(dict.begin()->value())>;
};

/// std::vector of examples that were not stacked.
template <class T>
concept ExampleList = requires {
  typename T::value_type;
  requires std::same_as<T, std::vector<typename T::value_type>>;
};

/// What the tensors of an example are called.
struct ExampleNames {
  const std::string& data;
  const std::string& target;
};

/// Calls `visit(name, tensor)` for each tensor, in the schema's order.
template <class One, class Visit>
void visit_tensors(const One& one, const ExampleNames& names, Visit&& visit) {
  if constexpr (TorchTensor<One>) {
    visit(names.data, one);
  } else if constexpr (TorchExample<One>) {
    static_assert(TorchTarget<One> || !AnyTarget<One>,
                  "batchcast::serve: the target of an Example must be a torch::Tensor");
    visit(names.data, one.data);
    if constexpr (TorchTarget<One>) visit(names.target, one.target);
  } else if constexpr (TensorMap<One>) {
    std::vector<const typename One::value_type*> sorted;
    for (const auto& item : one) sorted.push_back(&item);
    // The order of an unordered map may differ from run to run.
    std::sort(sorted.begin(), sorted.end(),
              [](const auto* a, const auto* b) { return a->first < b->first; });
    for (const auto* item : sorted) visit(std::string(item->first), item->second);
  } else {
    static_assert(TensorDict<One>,
                  "batchcast::serve takes batches of torch::Tensor, torch::data::Example of "
                  "tensors, std::map, std::unordered_map or torch::OrderedDict of tensors by "
                  "name, or a std::vector of these");
    for (const auto& item : one) visit(std::string(item.key()), item.value());
  }
}

/// Adds one more example of a batch that is a list.
class TorchColumnBuilder {
 public:
  explicit TorchColumnBuilder(TorchColumns& batch) : batch_(batch) {}

  void begin_example() noexcept { next_ = 0; }
  void add(const std::string& name, const at::Tensor& tensor) {
    if (batch_.samples == 0) batch_.columns.push_back({name, {}, true});
    if (next_ == batch_.columns.size() || batch_.columns[next_].name != name) {
      throw InvalidArgument(
          text("batchcast: an example of the batch has `{}` and the first one has not. All have "
               "the same fields.",
               name));
    }
    batch_.columns[next_++].tensors.push_back(tensor);
  }
  void end_example() {
    if (next_ != batch_.columns.size()) {
      throw InvalidArgument(
          text("batchcast: an example of the batch lacks `{}`. All have the same fields.",
               batch_.columns[next_].name));
    }
    ++batch_.samples;
  }

 private:
  TorchColumns& batch_;
  std::size_t next_ = 0;
};

/// The columns share the batch's tensors.
template <class Batch>
[[nodiscard]] TorchColumns columns_of(const Batch& batch, const ExampleNames& names) {
  TorchColumns result;
  if constexpr (ExampleList<Batch>) {
    TorchColumnBuilder builder(result);
    for (const auto& example : batch) {
      builder.begin_example();
      visit_tensors(example, names, [&](const std::string& name, const at::Tensor& tensor) {
        builder.add(name, tensor);
      });
      builder.end_example();
    }
  } else {
    visit_tensors(batch, names, [&](const std::string& name, const at::Tensor& tensor) {
      result.columns.push_back({name, {tensor}, false});
    });
    if (!result.columns.empty()) {
      static_cast<void>(spec_of(result.columns.front()));  // it has a first dimension
      result.samples = result.columns.front().samples();
    }
  }
  return result;
}

}  // namespace batchcast::inline v0_1::detail
