# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Texts that `bc.serve` gets, which become a corpus first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Error, InvalidArgument

if TYPE_CHECKING:
    from .._producer import ServeOptions

_KINDS = ("jsonl:", "text:", "parquet:", "huggingface:")
_EXIT_USAGE = 2


def _corpora() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(cache) if cache.startswith("/") else Path.home() / ".cache"
    return str(base / "batchcast" / "corpora")


def tokenized(source: str, options: ServeOptions) -> str:
    """The source that reads what is made of `source`; that itself where it is no text. Another
    process does the work, so that threads of this one do not matter."""
    if options.tokenizer is None:
        if source.startswith(("jsonl:", "text:")):
            raise InvalidArgument(
                f"batchcast: `{source}` is text, and samples are tokens. Name a tokenizer: "
                "tokenizer=DIR, or its name on the Hub."
            )
        return source
    if not source.startswith(_KINDS):
        raise InvalidArgument(
            "batchcast: tokenizer is of texts (jsonl:FILES, text:FILES, parquet:FILES, "
            f"huggingface:DIR), and `{source}` is none."
        )
    words = [
        sys.executable, "-m", "batchcast._text", source, f"--tokenizer={options.tokenizer}",
        f"--out={options.corpus or _corpora()}", "--under-key", "--json",
    ]  # fmt: skip
    if options.chat_template is not None:
        words.append(f"--chat-template={options.chat_template}")
    if options.train_on is not None:
        words.append(f"--train-on={options.train_on}")
    if options.no_eos:
        words.append("--no-eos")
    path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    run = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    said = []
    try:
        assert run.stderr is not None and run.stdout is not None
        for line in run.stderr:
            said.append(line)
            print(line, end="", file=sys.stderr, flush=True)
        output = run.stdout.read()
        code = run.wait()
    except BaseException:  # Ctrl-C, above all
        run.terminate()
        run.wait()
        raise
    if code != 0:
        why = "".join(said)
        why = why[max(0, why.rfind("batchcast: ")) :].strip()
        raise (InvalidArgument if code == _EXIT_USAGE else Error)(
            why or f"batchcast: `{source}`: the process that tokenised it died."
        )
    split = "?split=test" if "split=test" in source.rpartition("?")[2].split("&") else ""
    return f"megatron:{json.loads(output)['prefix']}{split}"
