// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <sys/un.h>

#include <string>

namespace batchcast::inline v0_1 {

/// Throws InvalidArgument if `path` does not fit into a socket's address.
void check_socket_path(const std::string& path);
[[nodiscard]] sockaddr_un socket_address(const std::string& path);

}  // namespace batchcast::inline v0_1
