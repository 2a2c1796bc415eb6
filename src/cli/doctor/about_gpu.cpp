// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/cuda/device.hpp>
#include <batchcast/join/trust.hpp>
#include "cli/doctor/doctor.hpp"
#include "cli/output.hpp"
#include "cuda/finish_kernel.hpp"
#include "cuda/probe.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <sstream>

// The driver, its devices, and what may prevent a ring on them.
namespace batchcast::cli {
namespace {

using detail::cuda::DeviceInfo;

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// "580.65.06" of the kernel's module; empty without one.
std::string kernel_module() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word, line;
  std::getline(file, line);
  std::istringstream words(line);
  while (words >> word) {
    if (word.front() >= '0' && word.front() <= '9' && word.find('.') != std::string::npos) {
      return word;
    }
  }
  return {};
}

Finding of_driver() {
  const std::string module = kernel_module();
  const std::string why_not = detail::cuda::why_no_driver();
  const int number = detail::cuda::driver_version();
  Finding finding;
  finding.subject = "NVIDIA driver";
  finding.value =
      number == 0 ? "none" : fmt::format("CUDA {}.{}", number / 1000, number % 1000 / 10);
  if (!module.empty()) finding.value += text(", kernel module {}", module);
  if (why_not.empty()) {
    finding.meaning = "Rings can lie on the GPUs that follow (serve --place).";
    return finding;
  }
  // A driver's library may well lie in an image that is run where there is no GPU.
  const bool no_device = why_not.find("CUDA_ERROR_NO_DEVICE") != std::string::npos;
  const bool should_work =
      !module.empty() || exists("/dev/nvidiactl") || (number != 0 && !no_device);
  finding.mark = should_work ? Mark::problem : Mark::note;
  finding.meaning =
      text("No ring can lie on a GPU; streams in host memory need none: {}.", why_not);
  return finding;
}

const char* sharing_of(const DeviceInfo& info) {
  if (info.exports_descriptors) return "descriptor";
  return info.legacy_ipc ? "legacy_ipc" : "no";
}

Finding sharing(const std::string& device, const DeviceInfo& info) {
  Finding finding;
  finding.subject = text("{} ring", device);
  if (info.exports_descriptors) {
    finding.value = fmt::format("virtual memory, shared as file descriptors, granularity {}",
                                bytes_text(info.granularity));
    finding.meaning =
        "Each batch is contiguous and read in place by any number of trainers; the memory goes "
        "with the last process that uses it, however it ends.";
  } else if (info.legacy_ipc) {
    finding.mark = Mark::note;
    finding.value =
        text("{}, shared by legacy IPC",
             info.virtual_memory ? "virtual memory without descriptors" : "no virtual memory");
    finding.meaning =
        "Batches that cross the ring's end are copied, the ring dies with its producer, and "
        "containers must share their process ids (--pid) and IPC (--ipc).";
  } else {
    finding.mark = Mark::problem;
    finding.value = "cannot be shared";
    finding.meaning =
        "No ring can lie on this GPU: its trainers attach to the ring in host memory, and may pin "
        "it.";
  }
  return finding;
}

Finding pinning(const std::string& device, const DeviceInfo& info) {
  Finding finding;
  finding.subject = text("{} pinning", device);
  const bool in_place = detail::cuda::pins_read_only(info);
  finding.value = in_place ? "read-only mappings too" : "writable mappings only";
  finding.meaning =
      "Trainers can page-lock the host ring that they read (pin), so that their own copies to the "
      "GPU run at full speed beside the training.";
  if (!in_place) {
    finding.mark = Mark::note;
    finding.meaning =
        "Trainers cannot page-lock the host ring, which they may only read: with pin their batches "
        "are private copies in page-locked memory, at the cost of one copy on the host; rings "
        "on the GPU are not concerned.";
  }
  return finding;
}

Finding of_trial(const std::string& device, const detail::cuda::Trial& trial,
                 const DeviceInfo& info) {
  Finding finding;
  finding.subject = text("{} tried", device);
  std::string wrong = trial.open;
  if (wrong.empty()) wrong = trial.share;
  if (wrong.empty()) wrong = trial.pin;
  if (wrong.empty() && detail::cuda::pins_read_only(info)) wrong = trial.pin_read;
  if (!wrong.empty()) {
    finding.mark = Mark::problem;
    finding.value = "failed";
    finding.meaning = text("Streams with rings on this GPU will fail in the same way: {}.", wrong);
    return finding;
  }
  finding.value =
      fmt::format("{} free; a ring shared{}, host memory page-locked", bytes_text(trial.free_bytes),
                  trial.read_only ? " and mapped read-only" : "");
  finding.meaning = "A device ring takes its --device-memory out of what is free, once for all.";
  if (!trial.read_only) {
    finding.mark = Mark::note;
    finding.meaning += " Trainers could write into it: this driver cannot keep them from it.";
  }
  return finding;
}

nlohmann::json json_of(const DeviceInfo& info) {
  return {{"placement", "cuda:" + std::to_string(info.number)},
          {"name", info.name},
          {"uuid", info.uuid},
          {"memory_bytes", info.memory_bytes},
          {"capability", fmt::format("{}.{}", info.capability_major, info.capability_minor)},
          {"virtual_memory", info.virtual_memory},
          {"exports_descriptors", info.exports_descriptors},
          {"legacy_ipc", info.legacy_ipc},
          {"registers_read_only", info.registers_read_only},
          {"host_page_tables", info.host_page_tables},
          {"mig", info.mig},
          {"granularity", info.granularity},
          {"shares", sharing_of(info)}};
}

void examine_device(Findings& findings, const DeviceInfo& info) {
  const std::string device = "cuda:" + std::to_string(info.number);
  Finding finding;
  finding.subject = device;
  finding.value =
      fmt::format("{}, {}, {}, compute capability {}.{}", info.name, info.uuid,
                  bytes_text(info.memory_bytes), info.capability_major, info.capability_minor);
  finding.meaning =
      "Producers and trainers agree on a GPU by this UUID, also where CUDA_VISIBLE_DEVICES gives "
      "it another number in each of them.";
  if (info.mig) {
    finding.mark = Mark::note;
    finding.value += ", part of a GPU (MIG)";
    finding.meaning =
        "A ring here is for trainers on this same part of the GPU: the memory of one part cannot "
        "be reached from another.";
  }
  findings.add(finding);
  findings.add(sharing(device, info));
  findings.add(pinning(device, info));
}

void examine_mps(Findings& findings) {
  const std::string named = environment("CUDA_MPS_PIPE_DIRECTORY");
  const std::string pipes = named.empty() ? "/tmp/nvidia-mps" : named;
  if (exists(pipes + "/control")) {
    findings.add(
        {Mark::note, "MPS", text("its control pipe is in {}", pipes),
         "Kernels and copies of several processes run side by side. A fault is all of "
         "theirs: an illegal address in one of them ends the producer and every trainer on "
         "that GPU."});
  } else if (!named.empty()) {
    findings.add({Mark::note, "MPS", text("CUDA_MPS_PIPE_DIRECTORY is {}, where none runs", named),
                  "Processes take turns on the GPU, or may not find it at all: start "
                  "nvidia-cuda-mps-control, or unset the variable."});
  } else {
    findings.add(
        {Mark::ok, "MPS", "not in use",
         "Processes take turns on a GPU, a slice of time each: a mirror waits for its turn "
         "while trainers keep the GPU busy. A fault in one of them leaves the others "
         "alone."});
  }
}

nlohmann::json examined_device(Findings& findings, unsigned number, const GpuExamination& how) {
  const std::string device = "cuda:" + std::to_string(number);
  try {
    const DeviceInfo info = detail::cuda::look_at_device(number);
    examine_device(findings, info);
    nlohmann::json row = json_of(info);
    if (!how.try_out) return row;
    const detail::cuda::Trial trial = detail::cuda::try_device(number);
    findings.add(of_trial(device, trial, info));
    if (!trial.open.empty() || !trial.share.empty()) row["shares"] = "no";
    row["free_bytes"] = trial.free_bytes;
    return row;
  } catch (const Error& error) {
    findings.add({Mark::problem, device, "cannot be asked",
                  text("It is lost, or the driver is at odds with it: no ring can lie there "
                       "(`nvidia-smi`, and lines with NVRM in the kernel's log): {}.",
                       error.what())});
    return {{"placement", device}, {"shares", "no"}, {"error", error.what()}};
  }
}

nlohmann::json examine_devices(Findings& findings, const GpuExamination& how) {
  nlohmann::json rows = nlohmann::json::array();
  const unsigned count = detail::cuda::count_devices();
  for (unsigned number = 0; number < count; ++number) {
    rows.push_back(examined_device(findings, number, how));
  }
  return rows;
}

void examine_visible(Findings& findings) {
  const char* const listed = std::getenv("CUDA_VISIBLE_DEVICES");
  if (listed == nullptr) return;
  if (*listed == '\0') {
    findings.add({Mark::note, "visible GPUs", "CUDA_VISIBLE_DEVICES is set, and empty",
                  "It hides every GPU from this process and those that inherit it: unset it, or "
                  "name GPUs (CUDA_VISIBLE_DEVICES=0)."});
  } else {
    findings.add({Mark::ok, "visible GPUs", std::string("CUDA_VISIBLE_DEVICES=") + listed,
                  "cuda:0 is the first of these, in this process and those that inherit it."});
  }
}

Finding of_kernels() {
  if (!detail::cuda::finish_kernel_image().empty()) {
    return {Mark::ok, "CUDA kernels", "built in", "A GPU can finish images (--finish-on-gpu)."};
  }
  return {Mark::note, "CUDA kernels", "none",
          "The CPU finishes images: this batchcast was built without nvcc, or with "
          "BATCHCAST_CUDA=OFF. Rings on GPUs do not need them."};
}

}  // namespace

nlohmann::json examine_gpus(Findings& findings, const GpuExamination& how) {
  nlohmann::json devices = nlohmann::json::array();
  findings.add(of_driver());
  findings.add(of_kernels());
  try {
    devices = examine_devices(findings, how);
  } catch (const std::exception& error) {
    findings.add(
        {Mark::problem, "GPUs", "cannot be listed",
         text("No ring can lie on a GPU; streams in host memory need none: {}.", error.what())});
  }
  examine_visible(findings);
  if (!devices.empty() || !environment("CUDA_MPS_PIPE_DIRECTORY").empty()) examine_mps(findings);
  return devices;
}

}  // namespace batchcast::cli
