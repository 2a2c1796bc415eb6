# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A small tokenizer, trained here, and rows for it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

TEMPLATE = (
    "{{ bos_token }}"
    "{% if tools %}<|im_start|>tools\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% if shout %}{{ shout }}{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.role == 'assistant' %}"
    "{% generation %}{{ message.content }}<|im_end|>{% endgeneration %}\n"
    "{% elif message.role == 'nobody' %}{{ raise_exception('there is no such role') }}"
    "{% else %}{{ message.content }}<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PLAIN_TEMPLATE = TEMPLATE.replace("{% generation %}", "").replace("{% endgeneration %}", "")


def words(number: int, seed: int) -> str:
    draw = random.Random(seed)
    letters = "abcdefghijklmnopé"
    return " ".join(
        "".join(draw.choice(letters) for _ in range(draw.randint(2, 8))) for _ in range(number)
    )


def save_tokenizer(
    folder: Path, *, template: str | None = TEMPLATE, eos: bool = True, bos: bool = True
) -> Any:
    """A byte-level BPE which puts a BOS before each text, as Llama's does."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "</s>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([words(100, seed) for seed in range(10)], trainer)
    if bos:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", 0)]
        )
    told = {"bos_token": "<s>"} | ({"eos_token": "</s>"} if eos else {})
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **told)
    made.chat_template = template
    made.save_pretrained(folder)
    return made


def chat(seed: int, turns: int = 1, letters: int = 8) -> dict[str, Any]:
    messages = []
    for turn in range(turns):
        messages.append({"role": "user", "content": words(letters, 100 * seed + turn)})
        messages.append({"role": "assistant", "content": words(letters, 100 * seed + 50 + turn)})
    return {"messages": messages}


def write_rows(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return f"jsonl:{path}"
