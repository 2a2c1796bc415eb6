// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "ring/writer/writer.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

namespace batchcast::inline v0_1::detail {

/// A mirror's place among the host ring's consumers; the destructor gives it up. It gates only
/// between `resume` and `rest`. From any thread; the writer must outlive it.
class MirrorSeat {
 public:
  /// `place` is for messages. Throws InvalidArgument where the host ring has no place for it.
  MirrorSeat(RingWriter& host_writer, const std::string& place, std::uint64_t samples_max);
  ~MirrorSeat() { leave(); }
  MirrorSeat(const MirrorSeat&) = delete;
  MirrorSeat& operator=(const MirrorSeat&) = delete;

  [[nodiscard]] const std::shared_ptr<Desk>& desk() const noexcept { return desk_; }
  [[nodiscard]] std::variant<MirrorStart, NotAdmitted> resume(const MirrorRequest& request) {
    return writer_.resume_mirror(admitted_.index, admitted_.consumer_id, request);
  }
  void rest() noexcept { writer_.pause(admitted_.index, admitted_.consumer_id); }
  void leave() noexcept { writer_.remove(admitted_.index, admitted_.consumer_id); }

 private:
  RingWriter& writer_;
  std::shared_ptr<Desk> desk_;
  Admitted admitted_;
};

}  // namespace batchcast::inline v0_1::detail
