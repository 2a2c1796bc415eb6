// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "serve.hpp"

#include "data/pixels/operations.hpp"
#include "data/stage/stage_support.hpp"

#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace batchcast::test {
namespace {

using namespace detail;
using Numbers = std::vector<double>;

constexpr DrawName stage_name{1};

constexpr SampleKey key_of(std::uint64_t sample_id) {
  return {.seed = 8, .epoch = 0, .sample_id = sample_id};
}

/// An image and another of its size.
struct Images {
  ImageView in;
  ImageView out;
  std::vector<std::uint8_t> in_bytes;
  std::vector<std::uint8_t> out_bytes;
};

bool read_images(std::istream& line, Images& images) {
  ImageView view;
  line >> view.size.width >> view.size.height >> view.channels;
  images.in_bytes.resize(view.byte_count());
  images.out_bytes.assign(view.byte_count(), 77);
  images.in = images.out = view;
  images.in.data = images.in_bytes.data();
  images.out.data = images.out_bytes.data();
  return std::fread(images.in.data, 1, images.in_bytes.size(), stdin) == images.in_bytes.size();
}

/// In place; false if it is none of these.
bool change(const std::string& name, const ImageView& image, const Numbers& numbers) {
  const auto whole = [&](std::size_t i) { return static_cast<int>(numbers.at(i)); };
  if (name == "brightness") {
    adjust_brightness(image, numbers.at(0));
  } else if (name == "contrast") {
    adjust_contrast(image, numbers.at(0));
  } else if (name == "color") {
    adjust_saturation(image, numbers.at(0));
  } else if (name == "posterize") {
    posterize(image, whole(0));
  } else if (name == "solarize") {
    solarize(image, numbers.at(0));
  } else if (name == "solarize_add") {
    solarize_add(image, whole(0), whole(1));
  } else if (name == "autocontrast") {
    autocontrast(image);
  } else if (name == "equalize") {
    equalize(image);
  } else if (name == "invert") {
    invert(image);
  } else if (name == "sharpness") {
    std::vector<std::byte> scratch(sharpness_scratch_bytes(image.size, image.channels));
    adjust_sharpness(image, numbers.at(0), scratch);
  } else {
    return false;
  }
  return true;
}

WarpOptions options_of(const Numbers& numbers) {
  const auto fill = [&](std::size_t i) { return static_cast<std::uint8_t>(numbers.at(i)); };
  return {static_cast<Interpolation>(static_cast<int>(numbers.at(0))), {fill(1), fill(2), fill(3)}};
}

/// Interpolation and fill are the first four numbers.
bool move(const std::string& name, const Images& images, const Numbers& numbers) {
  const WarpOptions options = options_of(numbers);
  const auto at = [&](std::size_t i) { return numbers.at(4 + i); };
  const bool has_center = numbers.size() > 6;
  if (name == "affine") {
    warp_affine(images.in, images.out, {at(0), at(1), at(2), at(3), at(4), at(5)}, options);
  } else if (name == "perspective") {
    warp_perspective(images.in, images.out,
                     {at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)}, options);
  } else if (name == "rotate") {
    rotate(images.in, images.out, at(0),
           has_center ? std::optional(Point{at(1), at(2)}) : std::nullopt, options);
  } else if (name == "shear_x") {
    shear_x(images.in, images.out, at(0), options);
  } else if (name == "shear_y") {
    shear_y(images.in, images.out, at(0), options);
  } else if (name == "translate_x") {
    translate_x(images.in, images.out, at(0), options);
  } else if (name == "translate_y") {
    translate_y(images.in, images.out, at(0), options);
  } else {
    return false;
  }
  return true;
}

bool answer(const ImageView& image, const std::vector<Note>& notes) {
  std::printf("%zu", image.byte_count());
  for (const Note& note : notes) {
    std::printf(" %.*s %.17g", static_cast<int>(note.key.size()), note.key.data(), note.value);
  }
  std::printf("\n");
  const bool written = std::fwrite(image.data, 1, image.byte_count(), stdout) == image.byte_count();
  return std::fflush(stdout) == 0 && written;
}

bool run_operation(std::istream& line) {
  std::string name;
  line >> name;
  Images images;
  if (!read_images(line, images)) return false;
  Numbers numbers;
  for (double number = 0; line >> number;) numbers.push_back(number);
  if (change(name, images.in, numbers)) return answer(images.in, {});
  return move(name, images, numbers) && answer(images.out, {});
}

bool run_stage(std::istream& line) {
  Images images;
  if (!read_images(line, images)) return false;
  bool is_mask = false;
  std::uint64_t sample_id = 0;
  line >> is_mask >> sample_id;
  std::string text;
  std::getline(line, text);
  std::vector<Note> notes;
  const auto run = [&](std::size_t scratch_bytes, auto with) {
    StageScratch scratch(scratch_bytes);
    StageContext context(key_of(sample_id), stage_name, scratch.span(), &notes);
    with(context);
  };
  const auto stage = stage_of(text);
  ImageView result = images.in;
  if (const PixelStage* pixels = stage->as_pixel()) {
    run(pixels->scratch_bytes(result.size, result.channels),
        [&](StageContext& context) { pixels->run(images.in, context); });
    result.channels = pixels->output_channels(result.channels);
  } else {
    const WarpStage& warp = *stage->as_warp();
    run(warp.scratch_bytes(result.size, result.channels), [&](StageContext& context) {
      if (warp.run(images.in, images.out, is_mask, context)) result = images.out;
    });
  }
  return answer(result, notes);
}

bool run_draws(std::istream& line) {
  std::uint64_t sample_id = 0;
  std::size_t count = 0;
  line >> sample_id >> count;
  Draws draws(key_of(sample_id), stage_name);
  std::vector<float> made(count);
  for (float& number : made) number = draws.unit_f32();
  std::printf("%zu\n", count * sizeof(float));
  const bool written = std::fwrite(made.data(), sizeof(float), count, stdout) == count;
  return std::fflush(stdout) == 0 && written;
}

bool read_line(std::string& line) {
  line.clear();
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    if (c == '\n') return true;
    line.push_back(static_cast<char>(c));
  }
  return false;
}

}  // namespace

int serve_oracle() {
  std::string text;
  while (read_line(text)) {
    std::istringstream line(text);
    std::string what;
    line >> what;
    const bool done = what == "operation" ? run_operation(line)
                      : what == "draws"   ? run_draws(line)
                                          : run_stage(line);
    if (!done) {
      std::fprintf(stderr, "stage_probe: cannot do: %s\n", text.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace batchcast::test
