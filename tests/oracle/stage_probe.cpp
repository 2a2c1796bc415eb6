// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/stage_support.hpp"
#include "serve.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// Runs stages for the oracles and prints what they did:
//   stage_probe place W H COUNT STAGE        geometry of the samples 0 to COUNT - 1, one a line
//   stage_probe erase C H W COUNT STAGE      boxes of random_erasing; nothing erased: an empty line
//   stage_probe paint W H SAMPLE_ID STAGE    RGB from stdin, changed to stdout, notes to stderr
//   stage_probe serve                        requests from stdin, until its end (serve.hpp)
namespace {

namespace bc = batchcast;
using namespace batchcast::test;

std::int32_t number(const char* text) { return std::atoi(text); }

void place(bc::ImageSize image, std::int32_t count, const std::string& stage_text) {
  const auto stage = stage_as<bc::GeometryStage>(stage_text);
  for (std::int32_t id = 0; id < count; ++id) {
    const bc::Geometry made = placed(*stage, image, static_cast<std::uint64_t>(id));
    std::printf("%d %d %d %d %d %d %d %d %d %d\n", made.box.x, made.box.y, made.box.width,
                made.box.height, made.resized.width, made.resized.height, made.window.x,
                made.window.y, made.window.width, made.window.height);
  }
}

void erase(const std::vector<std::int64_t>& shape, std::int32_t count,
           const std::string& stage_text) {
  const auto stage = stage_as<bc::TensorStage>(stage_text);
  const bc::TensorSpec spec{bc::DType::f32, shape};
  for (std::int32_t id = 0; id < count; ++id) {
    std::vector<bc::Note> notes;
    static_cast<void>(run_tensor(*stage, spec, std::vector<float>(spec.element_count()),
                                 static_cast<std::uint64_t>(id), &notes));
    if (note_of(notes, "erase") == 1) {
      std::printf("%g %g %g %g", note_of(notes, "erase_x"), note_of(notes, "erase_y"),
                  note_of(notes, "erase_w"), note_of(notes, "erase_h"));
    }
    std::printf("\n");
  }
}

int paint(bc::ImageSize size, std::uint64_t sample_id, const std::string& stage_text) {
  const auto stage = stage_as<bc::PixelStage>(stage_text);
  std::vector<std::uint8_t> pixels(
      bc::ImageView{.data = nullptr, .size = size, .channels = 3}.byte_count());
  if (std::fread(pixels.data(), 1, pixels.size(), stdin) != pixels.size()) return 1;
  bc::ImageView image{pixels.data(), size, 3};
  std::vector<bc::Note> notes;
  bc::StageContext context({.seed = 8, .epoch = 0, .sample_id = sample_id}, bc::DrawName{1}, {},
                           &notes);
  stage->run(image, context);
  image.channels = stage->output_channels(3);
  for (const bc::Note& note : notes) {
    std::fprintf(stderr, "%.*s %.17g\n", static_cast<int>(note.key.size()), note.key.data(),
                 note.value);
  }
  return std::fwrite(pixels.data(), 1, image.byte_count(), stdout) == image.byte_count() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "serve" && argc == 2) return batchcast::test::serve_oracle();
  if (mode == "place" && argc == 6) {
    place({number(argv[2]), number(argv[3])}, number(argv[4]), argv[5]);
    return 0;
  }
  if (mode == "erase" && argc == 7) {
    erase({number(argv[2]), number(argv[3]), number(argv[4])}, number(argv[5]), argv[6]);
    return 0;
  }
  if (mode == "paint" && argc == 6) {
    return paint({number(argv[2]), number(argv[3])}, static_cast<std::uint64_t>(number(argv[4])),
                 argv[5]);
  }
  std::fprintf(stderr, "stage_probe: wrong arguments\n");
  return 2;
}
