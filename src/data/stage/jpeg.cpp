// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/recompress.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/text.hpp>

#include <array>
#include <string_view>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::array<std::string_view, 3> sampling_names = {"4:4:4", "4:2:2", "4:2:0"};

/// [min, max], or one number for both: whole numbers from 1 to 100.
struct QualityOf {
  static constexpr const char* wanted = "1 to 100, or [min, max]";

  [[nodiscard]] bool read(StageParameters& given, std::string_view key,
                          std::array<std::int64_t, 2>& value) const {
    std::vector<std::int64_t> numbers;
    if (!Wholes{1, 100}.read(given, key, numbers)) return false;
    if (numbers.empty() || numbers.size() > 2) {
      given.refuse(key, text("must be one number or [min, max], not a list of {}", numbers.size()));
    }
    value = {numbers.front(), numbers.back()};
    if (value[0] > value[1]) {
      given.refuse(key, text("must be [min, max], and {} is above {}", value[0], value[1]));
    }
    return true;
  }
  [[nodiscard]] nlohmann::json write(const std::array<std::int64_t, 2>& value) const {
    return value;
  }
};

class JpegStage final : public TableStage<JpegStage, PixelStage> {
 public:
  static constexpr std::string_view stage_name = "jpeg";
  static void rows(auto& self, auto& table) {
    table("quality", self.quality_, QualityOf(), {.missing = QualityOf::wanted});
    table("sampling", self.sampling_, Choice{sampling_names});
    table("p", self.p_, probability);
  }
  [[nodiscard]] bool is_random() const noexcept override {
    return is_open(p_) || (p_ > 0 && quality_[0] < quality_[1]);
  }
  [[nodiscard]] std::size_t scratch_bytes(ImageSize size, std::int32_t channels) const override {
    return recompress_scratch_bytes(size, channels, sampling_);
  }
  void run(const ImageView& image, StageContext& context) const override {
    if (!happens(p_, context)) return;
    const auto count = static_cast<std::uint64_t>(quality_[1] - quality_[0] + 1);
    const auto above = count == 1 ? 0 : static_cast<int>(context.draws().below(count));
    const int quality = static_cast<int>(quality_[0]) + above;
    context.note("jpeg_quality", quality);
    jpeg_recompress(image, {quality, sampling_}, context.scratch());
  }

 private:
  std::array<std::int64_t, 2> quality_{75, 75};
  JpegSampling sampling_ = JpegSampling::half;
  double p_ = 1;
};

}  // namespace

void add_jpeg(StandardStages& stages) { stages.add<JpegStage>(); }

}  // namespace batchcast::inline v0_1::detail
