// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>

// What tests in the same process ask of the fake driver, beyond CUDA's own calls. Whoever links it
// (target batchcast_fake_cuda) may call these; dlopen("libcuda.so.1") then finds the same library.
//
// Settings are words of the form name=value, with spaces or commas between them, in the
// environment variable BATCHCAST_FAKE_CUDA or given to batchcast_fake_cuda_configure. A name that
// is not known ends the process. Sizes may end in K, M or G. Counts are of one process.
//
//   devices=1             0: cuInit finds none; up to 8. CUDA_VISIBLE_DEVICES is honoured.
//   init=CODE             cuInit fails with this CUresult
//   version=13000         of the driver
//   memory=16G            of each device, used by all processes of the same session together
//   granularity=2M        of cuMemCreate
//   vmm=1 export=1        0: no virtual memory management; no descriptors of it
//   legacy_ipc=1          0: cuIpc… is not supported
//   read_only_map=1       0: cuMemSetAccess cannot map for reading only
//   read_only_register=0  1: cuMemHostRegister takes mappings that are read-only, if told so. The
//                         drivers of today's GPUs do not
//   host_page_tables=0    1: the GPU uses the host's page tables, and such mappings need no telling
//   mig=0                 1: each device is a part of one, and has no legacy IPC
//   alloc_fails=N         the N-th allocation of device memory finds none; alloc_limit=SIZE: those
//                         above it; reserve_fails=N, map_fails=N: of address ranges
//   register_fails=N      the N-th cuMemHostRegister is refused; host_alloc_fails=N: the N-th
//                         cuMemHostAlloc finds no memory
//   copy_refused=N        the N-th copy's call fails, and nothing else
//   copy_fails=N          the N-th copy's execution fails, and its context with it
//   launch_fails=N        the same of a kernel
//   module_fails=1        cuModuleLoadData takes no image
//   lost_after=N          device lost_device=0 is lost once N copies, sets and kernels have been
//                         enqueued: this and all later calls return lost_code=46
//   lost=DEVICE           this one is lost from the beginning
//   delay_us=200          each operation waits for a random time up to this, drawn from
//                         BATCHCAST_FAKE_CUDA_SEED, before it runs; copy_us=0 is added to copies
//   hold=PATH             streams make no progress while this file exists
//
// Graphs can be captured. The reference does not list the calls that a capture forbids to other
// threads: here they are all that wait, ask for progress, make or end memory, or load a module, and
// copies of pageable memory. What waits for a stream that was forked into a capture and never came
// back is not looked for. Settings end a capture that is under way.
//
// BATCHCAST_FAKE_CUDA_SESSION names the session whose memory is counted together. A process that
// loads the driver without it begins one of its own and sets it, so that its children are of it.
extern "C" {

/// Replaces all settings, as if the counts began now. nullptr: those of the environment. Devices
/// that were lost and contexts that failed work again; what is held is released.
void batchcast_fake_cuda_configure(const char* settings);

/// Whether these settings can be had. Over a real driver (gpu/real_control.cpp) most cannot, and
/// granularity and delays are hints.
bool batchcast_fake_cuda_can(const char* settings);
/// Whether this is the fake driver, which counts and looks.
bool batchcast_fake_cuda_is_fake();

/// `stream` (CUstream; nullptr: all there are and will be) makes no progress until released. Of
/// what is running, the end is awaited.
void batchcast_fake_cuda_hold(void* stream);
void batchcast_fake_cuda_release(void* stream);

/// From now on cuEventRecord, cuEventQuery and cuStreamSynchronize do nothing but return `code` (a
/// CUresult). 0, or any settings: they are themselves again.
void batchcast_fake_cuda_answer(int code);

/// From now on all calls that concern this device return `code` (a CUresult).
void batchcast_fake_cuda_lose(int device, int code);

/// Bytes of this device's memory that any process of the session has, exported or imported.
std::uint64_t batchcast_fake_cuda_used_bytes(int device);

/// Where the host may look at device memory; nullptr where `bytes` are not mapped there. Device
/// addresses themselves cannot be read by the host.
void* batchcast_fake_cuda_look(unsigned long long device_address, std::size_t bytes);

struct batchcast_fake_cuda_counters {
  // Since the process began.
  std::uint64_t allocations, copies, copied_bytes, pageable_copies, row_copies, launches;
  // Now.
  std::uint64_t live_allocations;  // handles and mappings of cuMemCreate's, cuMemAlloc's
  std::uint64_t live_ranges;       // of addresses
  std::uint64_t registered_pieces, registered_bytes;
  std::uint64_t streams, events, contexts;
  std::uint64_t high_priority_streams;
};
batchcast_fake_cuda_counters batchcast_fake_cuda_count();

}  // extern "C"
