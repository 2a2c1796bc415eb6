// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/png_writer.hpp"
#include "data/codec/decoder.hpp"

#include <batchcast/core/error.hpp>

#include "catch.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

using namespace batchcast;

TEST_CASE("a PNG that was written is read as it was") {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("batchcast-png-" + std::to_string(::getpid()) + ".png");
  std::vector<std::uint8_t> pixels(3 * 5 * 4);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 4 + 3);
  detail::write_png(path, {5, 4, pixels});

  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  detail::ImageDecoder decoder;
  const auto info = decoder.open(std::as_bytes(std::span(text)), {.pixels_max = 100});
  CHECK(info.size == ImageSize{5, 4});
  const auto layout = decoder.start({0, 0, 5, 4});
  REQUIRE(layout.byte_count == 15);
  std::vector<std::uint8_t> read(pixels.size());
  std::size_t rows = 0;
  while (rows < 4) rows += decoder.read(read.data() + rows * 15, 15, 4 - rows);
  CHECK(read == pixels);
}

TEST_CASE("a PNG that cannot be written says where") {
  const std::vector<std::uint8_t> pixel(3);
  CHECK_THROWS_WITH(detail::write_png("/nowhere/at/all.png", {1, 1, pixel}),
                    Catch::Contains("/nowhere/at/all.png"));
}
