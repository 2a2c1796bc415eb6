// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "image_support.hpp"

using namespace image_test;

namespace {

Bytes contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// One line of the manifest: NAME refused, or NAME WIDTH HEIGHT ORIENTATION.
void compare(ImageDecoder& decoder, const std::filesystem::path& folder, const std::string& line,
             Random& random) {
  std::istringstream words(line);
  std::string name;
  bc::ImageSize size;
  int orientation = 0;
  words >> name;
  const Bytes file = contents(folder / name);
  CAPTURE(line);
  if (line == name + " refused") {
    CHECK_THROWS_AS(decode(decoder, as_bytes(file)), bc::BadSample);
    return;
  }
  REQUIRE(words >> size.width >> size.height >> orientation);
  try {
    const bc::detail::ImageInfo info = decoder.open(as_bytes(file), limits);
    CHECK(info.size == size);
    CHECK(info.orientation == orientation);
    const Picture whole{size, 3, contents(folder / (name + ".rgb"))};
    const bool equal = decode(decoder, as_bytes(file)).pixels == whole.pixels;
    CHECK(equal);
    if (equal) check_windows(decoder, file, whole, random, 2);
    const bc::Box all{0, 0, size.width, size.height};
    CHECK((read_one_channel(decoder, file, bc::PixelMode::gray, all) ==
           contents(folder / (name + ".gray"))));
    if (const auto ids = folder / (name + ".ids"); std::filesystem::exists(ids)) {
      CHECK((read_one_channel(decoder, file, bc::PixelMode::index, all) == contents(ids)));
    } else {
      CHECK_THROWS_AS(read_one_channel(decoder, file, bc::PixelMode::index, all), bc::BadSample);
    }
  } catch (const bc::BadSample& error) {
    FAIL_CHECK("refused: " << error.what());
  }
}

}  // namespace

// Hidden: tests/oracle/decode_oracle.py makes the files and runs it.
TEST_CASE("Images are what PIL makes of them", "[.][oracle-decode]") {
  const char* folder = std::getenv("BATCHCAST_ORACLE_DIR");
  REQUIRE(folder != nullptr);
  std::ifstream manifest(std::filesystem::path(folder) / "manifest");
  Random random(1);
  ImageDecoder decoder;
  int files = 0;
  for (std::string line; std::getline(manifest, line); ++files) {
    compare(decoder, folder, line, random);
  }
  CHECK(files > 400);
}
