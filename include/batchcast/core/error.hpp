// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/text.hpp>

#include <stdexcept>
#include <string>
#include <system_error>

// The failures that the environment or a peer can cause, by type. The text of each says what
// happened, where, and what to do; `text`, which comes with this header, makes it. Expected
// outcomes (time-out, end of epoch, ring full) are values instead.
namespace batchcast::inline v0_1 {

/// Base of everything that this library throws on purpose.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The caller asked for something impossible: an empty schema, a batch of zero, a bad name.
struct InvalidArgument : Error {
  using Error::Error;
};

/// A system call failed; `code()` is its errno.
struct SystemError : Error {
  SystemError(const std::string& what, int error_number)
      : Error(text("{}: {}", what, std::generic_category().message(error_number))),
        code_(error_number) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

/// The memory asked for does not exist on this machine or in this cgroup.
struct OutOfMemory : Error {
  using Error::Error;
};

/// There is no usable GPU: no driver, no such device, or a build without CUDA; the text says which.
struct GpuUnavailable : Error {
  using Error::Error;
};

/// A call of the CUDA driver failed; the text names it, the device and the driver's reason.
struct GpuError : Error {
  using Error::Error;
};

/// No producer of that name came up within the connect time-out.
struct StreamNotFound : Error {
  using Error::Error;
};

/// A trainer could not start `batchcast serve`: there is no such command, or the command failed.
/// The text has what it printed.
struct StartFailed : Error {
  using Error::Error;
};

/// The stream is served with another recipe than the one asked for; the text shows what differs.
struct RecipeMismatch : Error {
  using Error::Error;
};

/// Another producer already serves that name.
struct StreamTaken : Error {
  using Error::Error;
};

/// The producer did not admit the consumer; the producer wrote the text.
struct Refused : Error {
  using Error::Error;
};

/// A batch does not fit into the ring, or the leases held leave no room for the next one.
struct RingTooSmall : Error {
  using Error::Error;
};

/// The producer evicted this consumer. The samples of its last batch may have been overwritten.
struct Revoked : Error {
  using Error::Error;
};

/// A rank of this consumer's group left or died, so the group gets no further batch; the text says
/// which rank, and why. The samples of the last batch may have been overwritten.
struct GroupBroken : Error {
  using Error::Error;
};

/// A consumer at `free` pace missed samples, and its options say on_miss = error.
struct Missed : Error {
  using Error::Error;
};

/// A sample cannot be made: its file is broken, gone, or not what the recipe takes.
struct BadSample : Error {
  using Error::Error;
};

/// A dataset cannot be served: it is empty, or its index contradicts its files.
struct BadDataset : Error {
  using Error::Error;
};

/// This process is a fork()ed child of the one that attached.
struct Forked : Error {
  using Error::Error;
};

/// An epoch that was delivered whole is not what the producer published.
struct ReceiptMismatch : Error {
  using Error::Error;
};

/// Base of the ways in which a stream can be over.
struct StreamOver : Error {
  using Error::Error;
};
/// Every epoch was made and delivered; there is no next one.
struct StreamFinished : StreamOver {
  using StreamOver::StreamOver;
};
/// The producer was stopped in mid-stream.
struct Stopped : StreamOver {
  using StreamOver::StreamOver;
};
/// The producer gave up; the producer wrote the text.
struct StreamFailed : StreamOver {
  using StreamOver::StreamOver;
};
/// The producer's process is dead.
struct ProducerGone : StreamOver {
  using StreamOver::StreamOver;
};

}  // namespace batchcast::inline v0_1
