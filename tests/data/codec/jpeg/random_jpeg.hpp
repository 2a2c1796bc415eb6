// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "data/codec/image_support.hpp"

// JPEG files of every kind that encoders write, and windows of them.
namespace image_test {

using Sampling = std::vector<std::pair<int, int>>;

inline const std::vector<Sampling>& samplings() {
  static const std::vector<Sampling> all = {
      {},
      {{2, 2}, {1, 1}, {1, 1}},
      {{2, 1}, {1, 1}, {1, 1}},
      {{1, 2}, {1, 1}, {1, 1}},
      {{1, 1}, {1, 1}, {1, 1}},
      {{2, 2}, {1, 2}, {1, 2}},
      {{4, 1}, {1, 1}, {1, 1}},
  };
  return all;
}

/// Sends each bit of each coefficient once, in some order that a progressive file may have.
inline std::vector<jpeg_scan_info> random_scans(Random& random, int components) {
  std::vector<jpeg_scan_info> scans;
  std::vector<jpeg_scan_info> waiting;  // refinements, and bands of AC coefficients
  const auto send = [&](jpeg_scan_info scan) {
    for (scan.Al = between(random, 0, 2); scan.Al >= 0; --scan.Al) {
      (scan.Ss == 0 && scan.Ah == 0 ? scans : waiting).push_back(scan);
      scan.Ah = scan.Al;
    }
  };
  if (random() % 2 == 0) {
    send({components, {0, 1, 2}, 0, 0, 0, 0});
  } else {
    for (int i = 0; i < components; ++i) send({1, {i}, 0, 0, 0, 0});
  }
  for (int i = 0; i < components; ++i) {
    for (int first = 1, last = 0; last < 63; first = last + 1) {
      last = random() % 3 == 0 ? 63 : between(random, first, 63);
      send({1, {i}, first, last, 0, 0});
    }
  }
  // Any order but for what one coefficient's bits have.
  std::shuffle(waiting.begin(), waiting.end(), random);
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const auto& one, const auto& other) { return one.Al > other.Al; });
  scans.insert(scans.end(), waiting.begin(), waiting.end());
  return scans;
}

struct Made {
  bc::ImageSize size;
  Bytes file;
};

enum class Way { one_scan, progressive, either };

inline Made random_file(Random& random, int side, Way way = Way::either) {
  JpegOptions options;
  Made made;
  made.size = {between(random, 1, side), between(random, 1, side)};
  options.quality = between(random, 0, 3) == 0 ? 100 : between(random, 1, 100);
  options.own_codes = random() % 2 == 0;
  if (random() % 3 == 0) {
    options.restart_interval = static_cast<unsigned>(between(random, 1, 30));
  }
  const bool gray = random() % 6 == 0;
  if (gray) {
    options.in = options.stored = JCS_GRAYSCALE;
    const int factor = between(random, 1, 2);
    options.sampling = {{factor, factor}};
  } else {
    options.sampling = samplings()[random() % samplings().size()];
  }
  if (way == Way::either) way = random() % 2 == 0 ? Way::one_scan : Way::progressive;
  if (way == Way::progressive) {
    options.progressive = random() % 2 == 0;
    if (!options.progressive) options.scans = random_scans(random, gray ? 1 : 3);
    options.own_codes = true;
  }
  CAPTURE(made.size.width, made.size.height, options.quality, options.own_codes,
          options.restart_interval, gray, options.progressive, options.scans.size());
  made.file = encode_jpeg(noise(random, made.size, gray ? 1 : 3), options);
  return made;
}

inline bc::Box some_window(Random& random, const bc::ImageSize& size, int choice) {
  bc::Box window = random_window(random, size);
  if (choice % 4 == 0) window = {0, 0, size.width, size.height};
  if (choice % 8 == 1) window.x = window.y = 0;
  if (choice % 8 == 2) window.x = size.width - window.width;
  if (choice % 8 == 3) window.width = window.height = 1;
  return window;
}

}  // namespace image_test
