// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// A producer's rings, as the simulation compiles them. None is on a GPU.
#include "producer/served_rings.cpp"

namespace batchcast::inline v0_1 {

void raise_open_files_limit(std::uint64_t) {}

namespace detail {

std::string device_id(Placement) { return {}; }

LateRings::LateRings(std::function<std::string()> who_reads, LogCallback log)
    : who_reads_(std::move(who_reads)), log_(std::move(log)) {}
LateRings::~LateRings() = default;
void LateRings::end() noexcept {}
void LateRings::add(std::string, const std::string&, Make) {}
std::optional<std::string> LateRings::reason_of(std::string_view) const { return std::nullopt; }
std::vector<std::unique_ptr<ServedRing>> LateRings::take() { return {}; }

}  // namespace detail

}  // namespace batchcast::inline v0_1
