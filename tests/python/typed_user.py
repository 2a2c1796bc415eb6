# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What type checkers see of a user's program. It is checked, and never run."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import batchcast as bc


def train(stream: str) -> int:
    start = bc.Start("imagefolder:/data/train", recipe="imagenet-train", memory="4GiB")
    seen = 0
    with bc.Consumer(stream, batch_size=256, pace="free", start=start) as consumer:
        assert_type(consumer.cursor, int)
        assert_type(consumer.group, bc.Group | None)
        assert_type(consumer.schema, tuple[bc.FieldSpec, ...])
        assert_type(consumer.stats, bc.ConsumerStats)
        while consumer.has_next_epoch():
            for batch in consumer:
                assert_type(batch, bc.Batch)
                assert_type(batch.sample_ids, npt.NDArray[np.uint64])
                assert_type(batch.field("image"), bc.Field)
                assert_type(batch["image"], Any)
                seen += batch.size
        assert_type(consumer.next(timeout=1.5), bc.Batch | None)
        saved = consumer.checkpoint()
        bc.check_same_samples(saved, saved)
    return seen


def waits(stream: str) -> str:
    try:
        bc.Consumer(stream, connect_timeout=None)
    except bc.Timeout as timeout:
        return str(timeout)
    except (bc.StreamNotFound, bc.Revoked, bc.errors.StreamOver) as error:
        return f"{bc.__version__}: {error}"
    return ""


def wrong(consumer: bc.Consumer) -> None:
    consumer.next(timeout="1")  # type: ignore[arg-type]
    bc.Consumer("s", pace="fast")  # type: ignore[arg-type]
    consumer.cursor = 3  # type: ignore[misc]
    bc.no_such_name  # type: ignore[attr-defined]
