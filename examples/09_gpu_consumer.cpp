// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Takes a stream's batches on a GPU, or copies them there itself: `example_09_gpu_consumer
// [STREAM [pin]]`. It has no kernels and needs no header of CUDA's: a CUstream or a cudaStream_t is
// a pointer here, nullptr the legacy default stream.
#include <batchcast/consumer.hpp>
#include <batchcast/gpu.hpp>

#include <cstdio>
#include <string>

namespace bc = batchcast;

namespace {

std::size_t samples = 0;

/// Where your kernels are launched.
void step(void* /*cuda_stream*/, bc::FieldView<const float> images) { samples += images.size(); }
void copy_and_step(void* cuda_stream, bc::FieldView<const float> images) {
  step(cuda_stream, images);
}

void on_the_gpu(const char* name, void* compute_stream, void* metrics_stream) {
  // [snippet consumer]
  bc::Consumer consumer({.stream = name, .batch_size = 256, .placement = "cuda:0"});
  consumer.set_cuda_stream(compute_stream);
  for (const bc::Batch& batch : consumer) {
    step(compute_stream, batch.device_field<float>("image"));  // addresses on the GPU
    batch.use(metrics_stream);  // this stream reads the batch as well
    step(metrics_stream, batch.device_field<float>("image"));
  }  // the batch is released once both streams have read it; this thread does not wait
  // [snippet end]
}

void from_host_memory(const char* name, void* copy_stream) {
  // [snippet pin]
  bc::Consumer consumer({.stream = name, .batch_size = 256, .pin = true});
  consumer.set_cuda_stream(copy_stream);
  for (const bc::Batch& batch : consumer)
    copy_and_step(copy_stream, batch.field<float>("image"));  // cudaMemcpyAsync runs at full speed
  // [snippet end]
}

}  // namespace

int main(int argc, char** argv) try {
  const char* name = argc > 1 ? argv[1] : "demo";
  if (argc > 2 && std::string(argv[2]) == "pin") {
    from_host_memory(name, nullptr);
  } else {
    on_the_gpu(name, nullptr, nullptr);
  }
  std::printf("%zu samples\n", samples);
} catch (const bc::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
