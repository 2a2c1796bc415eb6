# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""`batchcast tokenize`: rows of text become Megatron-LM's indexed dataset, once."""
