// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "gpu/mirror/mirror_seat.hpp"

#include <batchcast/core/error.hpp>

#include <unistd.h>

#include <algorithm>

namespace batchcast::inline v0_1::detail {

MirrorSeat::MirrorSeat(RingWriter& host_writer, const std::string& place, std::uint64_t samples_max)
    : writer_(host_writer), desk_(std::make_shared<Desk>()) {
  AdmitRequest request;
  request.name = text("mirror {}", place);
  request.name.resize(std::min(request.name.size(), limits::consumer_name_bytes_max));
  request.pid = static_cast<std::uint32_t>(::getpid());
  request.batch_size = static_cast<std::uint32_t>(samples_max);
  request.mirrors = true;
  const auto reply = writer_.admit(request, desk_);
  if (const auto* refusal = std::get_if<NotAdmitted>(&reply)) {
    throw InvalidArgument(text("batchcast: the mirror on {} was not let into the host ring: {}.",
                               place, refusal->text));
  }
  admitted_ = std::get<Admitted>(reply);
}

}  // namespace batchcast::inline v0_1::detail
