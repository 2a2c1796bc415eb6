// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <string>

namespace batchcast::cli {

/// What `serve --keep-alive` does: it runs the same command without that option, the *worker*, and
/// runs it again whenever a signal killed it. The wait before that grows from a tenth of a second
/// to ten. A worker that ends with an exit code is not run again: the keeper ends with that code.
/// SIGINT, SIGTERM and SIGHUP reach the worker, and end the keeper too. If the keeper is killed,
/// its worker goes on. A file at `keeper_path` says, while it is locked, that the stream has a
/// keeper; it is locked for this process alone. `base`: above the stream's directory. After
/// `give_up_after` deaths in a row that got no further, 0: never, it gives the stream up, while
/// trainers wait for it. `replaces`: another keeper may have the lock. The worker, with
/// `--replace`, kills that one as it takes the stream; this one has the lock then. Returns the exit
/// code. Throws SystemError, and else StreamTaken where another keeper has the lock.
[[nodiscard]] int keep_alive(const std::string& stream, const std::string& base,
                             std::uint32_t give_up_after, bool replaces);

}  // namespace batchcast::cli
