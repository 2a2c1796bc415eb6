// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// The environments of launchers.
#include <batchcast/launcher/launched_group.ipp>
#include <batchcast/launcher/launcher.ipp>
