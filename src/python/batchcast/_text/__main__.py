# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""`python -m batchcast._text` is what the command `batchcast tokenize` becomes."""

from ._command import main

main()
