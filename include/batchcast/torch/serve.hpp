// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/feeder.hpp>
#include <batchcast/producer.hpp>
#include <batchcast/torch/serve_batch.hpp>
#include <batchcast/torch/serve_dataset.hpp>
#include <batchcast/torch/serve_stream.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {

/// What the fields of a torch loader's batches are called, and how a torch dataset is read.
struct ServeOptions {
  /// Names of the fields that an Example's `data` and `target` become.
  std::string data = "data";
  std::string target = "target";
  /// For datasets that are only asked for a number of samples: this many at a time.
  std::size_t batch_size = 64;
  /// For datasets with indices: threads that call get_batch(). One thread uses the dataset itself;
  /// of several each has a copy, as with torch's loader. 0: as many as it takes.
  unsigned workers = 1;
  /// For datasets with indices: the order of an epoch.
  OrderMode order = OrderMode::reshuffle;
  std::uint64_t seed = 0;
};

namespace detail {

template <class T>
concept TorchLoader = requires(T& loader) {
  loader.begin() != loader.end();
  *loader.begin();
};

/// For torch::data::datasets: get_batch takes indices or a number of samples.
template <class T>
concept TorchDataset = requires(T& dataset) {
  typename T::BatchType;
  typename T::BatchRequestType;
  requires std::same_as<decltype(dataset.get_batch(std::declval<typename T::BatchRequestType>())),
                        typename T::BatchType>;
};
template <class T>
concept IndexedDataset =
    TorchDataset<T> && !T::is_stateful &&
    std::is_constructible_v<typename T::BatchRequestType, const std::vector<std::size_t>&>;
template <class T>
concept StatefulTorchDataset = TorchDataset<T> && T::is_stateful;

/// Calls `make_epoch(stream)` for each epoch. It returns false once the stream was stopped.
template <class MakeEpoch>
ProducerStats serve_epochs(TorchStream& stream, MakeEpoch&& make_epoch) {
  try {
    while (stream.wants_epoch()) {
      if (!make_epoch()) return stream.stats();
      stream.end_epoch();
    }
  } catch (...) {
    stream.fail(std::current_exception());
    throw;
  }
  return stream.finish();
}

template <class Loader>
ProducerStats serve_loader(Loader& loader, ProducerOptions options, const ExampleNames& names) {
  TorchStream stream(std::move(options), "torch::data loader");
  return serve_epochs(stream, [&] {
    for (auto&& batch : loader) {
      if (!stream.append(columns_of(batch, names))) return false;
    }
    return true;
  });
}

template <class Dataset>
ProducerStats serve_stateful(Dataset& dataset, ProducerOptions options, const ExampleNames& names,
                             std::size_t batch_size) {
  TorchStream stream(std::move(options), "stateful torch::data dataset");
  return serve_epochs(stream, [&] {
    dataset.reset();
    while (auto batch = dataset.get_batch(typename Dataset::BatchRequestType(batch_size))) {
      if (!stream.append(columns_of(*batch, names))) return false;
    }
    return true;
  });
}

template <class Dataset>
ProducerStats serve_counted(Dataset& dataset, ProducerOptions options, const ExampleNames& names,
                            std::size_t batch_size) {
  const auto size = dataset.size();
  if (!size) {
    throw InvalidArgument(
        "batchcast: the dataset has no size(), so nothing says where an epoch ends. Serve a "
        "torch::data::make_data_loader of it with a StreamSampler instead.");
  }
  TorchStream stream(std::move(options), "torch::data stream dataset");
  return serve_epochs(stream, [&] {
    for (std::size_t done = 0; done < *size;) {
      const std::size_t wanted = std::min(batch_size, *size - done);
      const TorchColumns batch =
          columns_of(dataset.get_batch(typename Dataset::BatchRequestType(wanted)), names);
      if (batch.samples == 0) return true;
      if (!stream.append(batch)) return false;
      done += batch.samples;
    }
    return true;
  });
}

template <class Dataset>
ProducerStats serve_indexed(Dataset& dataset, ProducerOptions options, const ServeOptions& how) {
  const std::string what = "torch::data dataset";
  const auto size = dataset.size();
  if (!size || *size == 0) {
    throw InvalidArgument(
        size ? "batchcast: the dataset has no samples. There is nothing to serve."
             : "batchcast: the dataset has indices and no size(), so nothing says where an epoch "
               "ends. Serve a torch::data::make_data_loader of it with a sampler instead.");
  }
  options = torch_producer_options(std::move(options), what);
  const TorchDatasetMaker<Dataset> maker(
      dataset,
      {{.samples_per_epoch = *size, .seed = how.seed, .mode = how.order},
       {how.data, how.target},
       how.workers != 1},
      options.recipe_json);
  options.schema = maker.schema();
  options.samples_per_epoch = maker.samples_per_epoch();
  log_what_is_served(options, options.schema, what);
  Producer producer(options);
  Feeder feeder(producer, maker, {how.workers});
  try {
    feeder.wait();
  } catch (const std::exception& failure) {
    fail_stream(producer, text_for_consumers(std::current_exception()), options);
    std::rethrow_if_nested(failure);  // what the dataset threw, without the name of its sample
    throw;
  } catch (...) {
    fail_stream(producer, text_for_consumers(std::current_exception()), options);
    throw;
  }
  if (producer.stats().state == StreamState::stopped) return producer.stats();
  return finish_stream(producer);
}

}  // namespace detail

/// Serves what a torch::data loader makes as a stream. Each pass over it is an epoch, whose length
/// need not be known. Instead of a loader it can be anything else that a `for` can pass over again
/// and again, or a dataset. A dataset is a StatefulDataset, a stream dataset with a size(), or has
/// get(index) or get_batch(indices). In the last case `sample_id` is the index.
///
///     bc::serve(*loader, {.stream = "mine", .epochs = 3});
///
/// Batches may be Examples of tensors with or without a target, tensors, or maps or OrderedDicts of
/// tensors by name. They may also be vectors of these, which need not be stacked. In `options`
/// leave out `schema`, `samples_per_epoch` and `pure`: the first batch tells them. Tensors are
/// copied into the ring once, from the device that they are on. `sample_id` is the index within the
/// epoch, unless a map has a `sample_id` (i64).
///
/// The stream is not pure: a `free` consumer that was too slow cannot make a sample again, and no
/// second producer makes the same.
///
/// Returns when the epochs are made and consumers have drained them (`linger_ms`), or when the
/// stream was stopped; `state` says which. Any thread may call it: it works on this one, a
/// dataset's `workers` on theirs. What the loader throws fails the stream with that text for every
/// consumer, and is thrown on. So is a batch that cannot be served (InvalidArgument). That is an
/// undefined, sparse or complex tensor, one without dimensions, and one whose shape, dtype or name
/// is not in the first batch. The stream exists from the first batch on; only this call reports
/// what is wrong before. A loader with workers that was stopped in mid-epoch begins no other: torch
/// decides that.
template <class Source>
ProducerStats serve(Source&& source, ProducerOptions options, const ServeOptions& how = {}) {
  using Plain = std::remove_reference_t<Source>;
  const detail::ExampleNames names{how.data, how.target};
  if constexpr (detail::IndexedDataset<Plain>) {
    return detail::serve_indexed(source, std::move(options), how);
  } else if constexpr (detail::StatefulTorchDataset<Plain>) {
    return detail::serve_stateful(source, std::move(options), names, how.batch_size);
  } else if constexpr (detail::TorchDataset<Plain>) {
    return detail::serve_counted(source, std::move(options), names, how.batch_size);
  } else {
    static_assert(detail::TorchLoader<Plain>,
                  "batchcast::serve takes a torch::data loader (*loader, not the pointer) or "
                  "dataset");
    return detail::serve_loader(source, std::move(options), names);
  }
}

}  // namespace batchcast::inline v0_1
