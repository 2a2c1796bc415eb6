# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A tokenizer of Hugging Face's, and the template of its chats."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import re
import sys
from typing import Any

from ..errors import BadDataset, InvalidArgument

_GENERATION = re.compile(r"\{%-?\s*generation\s*-?%\}")
_VOCABULARY_OF_U16 = 65500  # Megatron-LM's own limit


def needed(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"batchcast: tokenizing needs the package {package}, which {sys.executable} cannot "
            f"import ({error}). Install it: `{sys.executable} -m pip install transformers`; or name "
            "another Python with $BATCHCAST_PYTHON."
        ) from error


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a folder, else of the Hub's cache, else of the Hub after a line that says so."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # each process has one core's work
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    needed("tokenizers")
    transformers = needed("transformers")
    transformers.utils.logging.set_verbosity_error()
    here = os.path.isdir(os.path.expanduser(name))
    path = os.path.expanduser(name)
    if not here and (name.startswith(("/", ".", "~")) or os.path.exists(name)):
        raise BadDataset(
            f"batchcast: {name} is no folder. A tokenizer is a folder with tokenizer.json, as "
            "save_pretrained writes it, or a name on the Hub."
        )
    if here and not os.path.exists(os.path.join(path, "tokenizer.json")):
        raise BadDataset(
            f"batchcast: {name} is no tokenizer's folder: it has no tokenizer.json. Write it with "
            "AutoTokenizer.from_pretrained(…).save_pretrained(DIR)."
        )
    try:
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
        except OSError:
            if here:
                raise
            with contextlib.suppress(OSError, ValueError):
                print(
                    f"batchcast: no folder `{name}` here, nor in the Hub's cache: asking the Hub",
                    file=sys.stderr,
                    flush=True,
                )
            tokenizer = transformers.AutoTokenizer.from_pretrained(name)
    except Exception as error:  # of transformers, the Hub and the files
        raise BadDataset(
            f"batchcast: the tokenizer `{name}` cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if not tokenizer.is_fast:
        raise BadDataset(
            f"batchcast: the tokenizer `{name}` is not one of the library tokenizers, and has no "
            "offsets. Take its fast form, which has a tokenizer.json."
        )
    backend = tokenizer.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    return tokenizer


def versions() -> dict[str, str]:
    return {name: str(needed(name).__version__) for name in ("tokenizers", "transformers")}


def digest_of(tokenizer: Any) -> str:
    told = [tokenizer.backend_tokenizer.to_str(), repr(sorted(tokenizer.special_tokens_map.items()))]
    return hashlib.sha256("\0".join(told).encode(errors="surrogatepass")).hexdigest()


def is_small(tokenizer: Any) -> bool:
    """Whether u16 holds every token, as Megatron-LM decides it."""
    return len(tokenizer) < _VOCABULARY_OF_U16


def marks_assistant(template: str) -> bool:
    return _GENERATION.search(template) is not None


def chat_template(tokenizer: Any, asked: str | None) -> str | None:
    """The template: that of a file, of TRL (`trl`), or the tokenizer's."""
    if asked == "trl":
        return _template_of_trl(tokenizer)
    if asked is not None:
        try:
            with open(os.path.expanduser(asked), encoding="utf-8") as file:
                return file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidArgument(
                f"batchcast: --chat-template: {asked} cannot be read: "
                f"{getattr(error, 'strerror', None) or error}."
            ) from error
    template = tokenizer.chat_template
    if isinstance(template, dict):
        template = template.get("default")
    return template if isinstance(template, str) else None


def _template_of_trl(tokenizer: Any) -> str:
    try:
        templates = importlib.import_module("trl.chat_template_utils")
        make = templates.get_training_chat_template
    except (ImportError, AttributeError) as error:
        raise ImportError(
            f"batchcast: --chat-template trl needs a TRL with training templates ({error}). Install "
            f"it: `{sys.executable} -m pip install -U trl`; or give a template's file."
        ) from error
    try:
        made = make(tokenizer)
    except Exception as error:  # TRL knows only some templates
        raise InvalidArgument(
            f"batchcast: TRL has no training template for this tokenizer: {error}"
        ) from error
    return str(made if made is not None else tokenizer.chat_template)
