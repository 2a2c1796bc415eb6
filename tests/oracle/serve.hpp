// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

namespace batchcast::test {

/// One process for all cases of an oracle. A request is a line and then the image's bytes:
///   operation NAME W H C NUMBERS...    an operation of data/pixels/operations.hpp
///   stage W H C IS_MASK SAMPLE_ID STAGE    a pixel stage or a warp, as it stands in a recipe
///   draws SAMPLE_ID COUNT    what a stage's unit_f32() gives for that sample, as f32
/// The answer is a line, the number of bytes that came out and the notes (KEY VALUE ...), and then
/// the bytes. Returns the exit code.
int serve_oracle();

}  // namespace batchcast::test
