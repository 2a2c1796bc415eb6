# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""`python -m batchcast` is the `batchcast` command."""

from ._command import main

main()
