// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "control.hpp"

#include "world.hpp"

#include <set>

using namespace batchcast::fake_cuda;

extern "C" {

void batchcast_fake_cuda_configure(const char* settings) {
  World& world = World::get();
  const Lock lock(world.mutex);
  world.settings = settings == nullptr ? Settings::of_environment() : Settings::parse(settings);
  world.since = {};
  world.reservations = world.maps = world.registrations = world.host_allocations = 0;
  end_captures(world);
  world.answer = CUDA_SUCCESS;
  world.all_held = false;
  for (const auto& [handle, stream] : world.streams) stream->held = false;
  for (Context& context : world.contexts) {
    context.error = CUDA_SUCCESS;
    context.lost = false;
  }
  if (world.process != 0) world.see_devices();
  world.changed.notify_all();
}

bool batchcast_fake_cuda_can(const char*) { return true; }
bool batchcast_fake_cuda_is_fake() { return true; }

void batchcast_fake_cuda_hold(void* handle) {
  World& world = World::get();
  Lock lock(world.mutex);
  if (handle == nullptr) {
    world.all_held = true;
    for (const auto& [number, stream] : world.streams) {
      const auto kept = stream;
      while (kept->busy) world.changed.wait(lock);
    }
    return;
  }
  const auto at = world.streams.find(number_of(handle));
  if (at == world.streams.end()) return;
  const auto kept = at->second;
  kept->held = true;
  while (kept->busy) world.changed.wait(lock);
}

void batchcast_fake_cuda_release(void* handle) {
  World& world = World::get();
  const Lock lock(world.mutex);
  if (handle == nullptr) {
    world.all_held = false;
  } else if (const auto at = world.streams.find(number_of(handle)); at != world.streams.end()) {
    at->second->held = false;
  }
  world.changed.notify_all();
}

void batchcast_fake_cuda_answer(int code) {
  World& world = World::get();
  const Lock lock(world.mutex);
  world.answer = static_cast<CUresult>(code);
}

void batchcast_fake_cuda_lose(int device, int code) {
  World& world = World::get();
  const Lock lock(world.mutex);
  Context& context = world.contexts.at(static_cast<std::size_t>(device));
  context.error = static_cast<CUresult>(code);
  context.lost = true;
  world.changed.notify_all();
}

std::uint64_t batchcast_fake_cuda_used_bytes(int device) {
  World& world = World::get();
  const Lock lock(world.mutex);
  const auto number = static_cast<std::size_t>(device);
  return used_bytes(number < world.visible.size() ? world.visible[number] : device);
}

void* batchcast_fake_cuda_look(unsigned long long device_address, std::size_t bytes) {
  World& world = World::get();
  const Lock lock(world.mutex);
  const auto place = world.ranges.look(device_address, bytes, Access::read);
  return place.found == DeviceRanges::Found::yes ? place.alias : nullptr;
}

batchcast_fake_cuda_counters batchcast_fake_cuda_count() {
  World& world = World::get();
  const Lock lock(world.mutex);
  batchcast_fake_cuda_counters result = world.counters;
  std::set<const Memory*> memories;
  for (const auto& [handle, memory] : world.allocations) memories.insert(memory.get());
  for (const auto& [base, range] : world.ranges.all()) {
    for (const auto& [offset, mapping] : range.mapped) memories.insert(mapping.memory.get());
  }
  result.live_allocations = memories.size();
  result.live_ranges = world.ranges.all().size();
  result.registered_pieces = world.registered.size();
  for (const auto& [address, piece] : world.registered) result.registered_bytes += piece.bytes;
  result.streams = world.streams.size();
  for (const auto& [handle, stream] : world.streams) {
    result.high_priority_streams += stream->priority < 0 ? 1 : 0;
  }
  result.events = world.events.size();
  return result;
}

}  // extern "C"
