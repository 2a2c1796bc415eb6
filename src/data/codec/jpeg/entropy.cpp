// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/entropy.hpp"

#include <algorithm>

#include "data/codec/jpeg/entropy_engine-inl.hpp"

namespace batchcast::inline v0_1::detail {

namespace {

/// Of a shorter scan, decoding one symbol at a time costs less than a table of pairs.
constexpr std::size_t pairs_worth_bytes = std::size_t{16} << 10;

constexpr auto no_pairs = [] {
  std::array<std::uint64_t, std::size_t{1} << JpegHuffmanTable::pair_bits> all{};
  all.fill(0xFF00);
  return all;
}();

}  // namespace

#if defined(__x86_64__)
/// The same loops with shifts by any register.
struct JpegEntropyDecoder::Bmi {
  [[gnu::target("bmi,bmi2")]] static bool decode(JpegEntropyDecoder& decoder, std::size_t mcus,
                                                 const JpegBlocks* blocks) noexcept {
    return Engine::run<true>(decoder, mcus, blocks);
  }
  [[gnu::target("bmi,bmi2")]] static bool skip(JpegEntropyDecoder& decoder,
                                               std::size_t mcus) noexcept {
    return Engine::run<false>(decoder, mcus, nullptr);
  }
};
#endif

bool JpegEntropyDecoder::start(const JpegHeader& header) {
  const bool is_long = header.scan.size() > pairs_worth_bytes;
  block_count_ = 0;
  for (std::size_t c = 0; c < static_cast<std::size_t>(header.component_count); ++c) {
    const JpegComponent& from = header.components[c];
    Component& component = components_[c];
    component.dc = tables_.find(from.dc_codes, JpegCodeKind::dc);
    component.ac = tables_.find(from.ac_codes, JpegCodeKind::ac, is_long);
    if (component.dc == nullptr || component.ac == nullptr) return false;
    component.pairs = component.ac->has_pairs ? component.ac->pairs.data() : no_pairs.data();
    component.quantizer.fill(0);
    std::copy(from.quantizer.begin(), from.quantizer.end(), component.quantizer.begin());
    component.prediction = 0;
    for (int block = 0; block < from.across * from.down; ++block) {
      component_of_[block_count_++] = &component;
    }
  }
  restart_interval_ = until_restart_ = header.restart_interval;
  restart_index_ = 0;
  next_ = bytes_.open(header.scan);
  Engine::fill_window(*this);
  return true;
}

bool JpegEntropyDecoder::restart() {
  if (!bytes_.restart(next_, static_cast<unsigned>(count_), restart_index_)) return false;
  restart_index_ = (restart_index_ + 1) % 8;
  Engine::fill_window(*this);
  for (Component& component : components_) component.prediction = 0;
  until_restart_ = restart_interval_;
  return true;
}

bool JpegEntropyDecoder::run(std::size_t mcus, const JpegBlocks* blocks) {
#if defined(__x86_64__)
  static const bool has_bmi = __builtin_cpu_supports("bmi2") != 0;
  if (has_bmi) {
    return blocks != nullptr ? Bmi::decode(*this, mcus, blocks) : Bmi::skip(*this, mcus);
  }
#endif
  return blocks != nullptr ? Engine::run<true>(*this, mcus, blocks)
                           : Engine::run<false>(*this, mcus, nullptr);
}

bool JpegEntropyDecoder::skip(std::size_t mcus) {
  if (restart_interval_ == 0) return run(mcus, nullptr);
  while (mcus > 0) {
    if (until_restart_ == 0 && !restart()) return false;
    const std::size_t count = std::min(mcus, until_restart_);
    if (!run(count, nullptr)) return false;
    until_restart_ -= count;
    mcus -= count;
  }
  return true;
}

bool JpegEntropyDecoder::decode(std::size_t mcus,
                                const std::array<JpegBlocks, blocks_max>& blocks) {
  if (restart_interval_ == 0) return run(mcus, blocks.data());
  std::array<JpegBlocks, blocks_max> rest = blocks;
  while (mcus > 0) {
    if (until_restart_ == 0 && !restart()) return false;
    const std::size_t count = std::min(mcus, until_restart_);
    if (!run(count, rest.data())) return false;
    for (JpegBlocks& block : rest) block.first += count * block.step;
    until_restart_ -= count;
    mcus -= count;
  }
  return true;
}

bool JpegEntropyDecoder::pack(std::size_t mcus, const std::array<KeptRow*, blocks_max>& rows) {
  if (restart_interval_ == 0) return Engine::pack(*this, mcus, rows.data());
  while (mcus > 0) {
    if (until_restart_ == 0 && !restart()) return false;
    const std::size_t count = std::min(mcus, until_restart_);
    if (!Engine::pack(*this, count, rows.data())) return false;
    until_restart_ -= count;
    mcus -= count;
  }
  return true;
}

}  // namespace batchcast::inline v0_1::detail
