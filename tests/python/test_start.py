# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: numpy
"""What `bc.Start` says of its arguments: as Python calls them, not as the command does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import batchcast as bc
import examples


SOURCE = "synthetic:3x64x64"


def refused(error: type[bc.Error], **options: Any) -> str:
    with pytest.raises(error) as raised:
        bc.Consumer("s", 8, start=bc.Start(SOURCE, **{"idle_exit": 0.1, **options}))
    return str(raised.value)


def test_what_start_says_itself_is_called_as_there(directory: Path) -> None:
    assert refused(bc.InvalidArgument, idle_exit=0).startswith("batchcast: idle_exit: `0` must be")
    assert 'Give it more: memory="56KiB".' in refused(bc.StartFailed, memory=1)
    assert "Give the stream less (memory)." in refused(bc.StartFailed, memory="200TiB")
    twice = refused(bc.InvalidArgument, arguments=["--memory", "3MiB"])
    assert "is memory, which is set in Start" in twice
    no_answer = refused(bc.StartFailed, command="/bin/true")
    assert "(command= and BATCHCAST_COMMAND name another)" in no_answer


def test_an_option_of_serve_alone_is_named_as_a_word_of_arguments() -> None:
    with pytest.raises(TypeError, match=r"no argument `workers`. .*arguments=\(\"--workers\", \"2\"\)"):
        bc.Start("idx:x", workers=2)  # type: ignore[call-arg]


def test_further_arguments_and_commands_are_called_as_a_shell_has_them(directory: Path) -> None:
    text = refused(bc.StartFailed, memory="1MiB", arguments=["--max-bad", "3"])
    assert "batchcast: --max-bad does not go with" in text
    assert "--memory=1048576" in text


def test_words_that_the_command_refuses_are_all_that_is_said(directory: Path) -> None:
    text = refused(bc.StartFailed, arguments=("--worker", "2"))
    assert text.startswith("batchcast: the command that starts stream `s` refused its words: `")
    assert "there is no option `--worker`. Did you mean `--workers`?" in text
    assert "not known" not in text and "another program" not in text


def test_a_ring_that_is_too_small_for_a_batch(directory: Path) -> None:
    start = bc.Start(SOURCE, memory="4MiB")
    with examples.started(directory):
        with bc.Consumer("s", 8, start=start) as starts, bc.Consumer("s", 8) as comes:
            advices = ((starts, 'It would take memory="47MiB".'), (comes, "--memory 47MiB"))
            for consumer, advice in advices:
                with pytest.raises(bc.RingTooSmall) as raised:
                    consumer.batch_size = 1000
                assert advice in str(raised.value)


def test_batches_that_are_held_leave_no_room(directory: Path) -> None:
    start = bc.Start(SOURCE, memory="4MiB")
    with examples.started(directory), bc.Consumer("s", 40, start=start) as consumer:
        held = []
        with pytest.raises(bc.RingTooSmall) as raised:
            for _ in range(20):
                held.append(consumer.next())
        del held
    assert "give the stream more memory (memory)" in str(raised.value)


@pytest.mark.parametrize("seed", [None, 0, 7])
def test_a_seed_is_said_where_one_is_given(directory: Path, tmp_path: Path, seed: int | None) -> None:
    words = tmp_path / "words"
    command = tmp_path / "command"
    command.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >'{words}'\nexit 1\n")
    command.chmod(0o700)
    start = bc.Start("synthetic:8", seed=seed, command=str(command))
    assert start.seed == seed
    with pytest.raises(bc.Error):
        bc.Consumer("s", 1, start=start)
    said = words.read_text().split("\n")
    assert said[:3] == ["ensure", "s", "synthetic:8"]
    if seed is None:
        assert "--seed" not in said
    else:
        assert said[said.index("--seed") + 1] == str(seed)


def test_a_start_without_a_seed_takes_the_usual_one(directory: Path) -> None:
    start: dict[str, Any] = {"arguments": ("--samples", "10"), "idle_exit": 1.0}
    with bc.Consumer("s", 1, start=bc.Start("synthetic:8", **start)) as first:
        with bc.Consumer("s", 1, start=bc.Start("synthetic:8", seed=0, **start)) as other:
            assert first.identity == other.identity
        with pytest.raises(bc.RecipeMismatch, match="seed: the stream has 0, asked for 1"):
            bc.Consumer("s", 1, start=bc.Start("synthetic:8", seed=1, **start))
