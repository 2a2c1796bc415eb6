# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What a row says becomes the tokens of a document, and which of them are trained."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidArgument
from ._rows import BadRow, OtherColumns
from ._tokenizer import chat_template, marks_assistant

_SHAREGPT = {
    "human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant",
    "chatgpt": "assistant", "bing": "assistant", "bard": "assistant", "system": "system",
    "tool": "tool", "observation": "tool",
}  # fmt: skip
Span = tuple[int, int]


@dataclass
class Document:
    """A text, ready to be encoded."""

    text: str
    special: bool  # whether the tokenizer adds its special tokens
    trained: list[Span] | None = None  # of its letters; None: all
    eos: bool = False


def form_of(columns: dict[str, Any], column: str | None) -> str:
    """What kind of row it is: text, messages, conversations, pair or alpaca. Raises BadRow."""
    if column is not None:
        if column not in columns:
            raise OtherColumns(
                f"it has no column `{column}`, which ?column=NAME says, and has {_names(columns)}"
            )
        return "messages" if isinstance(columns[column], list) else "text"
    for name in ("messages", "conversations"):
        if name in columns:
            return name
    if "prompt" in columns and "completion" in columns:
        return "pair"
    if "instruction" in columns and "output" in columns:
        return "alpaca"
    if "text" in columns:
        return "text"
    raise OtherColumns(
        f"it has the columns {_names(columns)}, and none of `messages`, `conversations`, `prompt` and "
        "`completion`, `instruction` and `output`, or `text`. Where another column is the text, name "
        "it: `?column=NAME`"
    )


def _names(columns: dict[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in list(columns)[:12]) or "no column"


def is_chat(form: str) -> bool:
    return form in ("messages", "conversations", "alpaca")


class Documents:
    """Makes documents of rows. The first row of a source decides what all are."""

    def __init__(
        self, tokenizer: Any, column: str | None, train_on: str, eos: bool, template: str | None
    ) -> None:
        self._tokenizer = tokenizer
        self.column = column
        self.train_on = train_on
        self.eos = eos
        self.asked_template = template
        self.template: str | None = None
        self.form = ""

    def settle(self, columns: dict[str, Any]) -> None:
        """Takes the form of the first row. Raises InvalidArgument where it cannot be made."""
        self.form = form_of(columns, self.column)
        uses_template = is_chat(self.form) or (self.form == "pair" and _is_messages(columns))
        if uses_template:
            self._settle_template()
            return
        if self.asked_template is not None:
            raise InvalidArgument(
                f"batchcast: --chat-template is of chats, and the rows have {_names(columns)}."
            )
        if self.form == "text" and self.train_on == "completion":
            raise InvalidArgument(
                "batchcast: --train-on completion is of chats and of `prompt` and `completion`. Plain "
                "text is trained on all of it."
            )
        if self.eos and self._tokenizer.eos_token_id is None:
            raise InvalidArgument(
                "batchcast: the tokenizer has no EOS, which ends each document of plain text. Set it "
                "(tokenizer.eos_token = …, save_pretrained), or leave it out: --no-eos."
            )

    def _settle_template(self) -> None:
        if not self.eos:
            raise InvalidArgument(
                "batchcast: --no-eos is of plain text. How a chat ends, its template says."
            )
        self.template = chat_template(self._tokenizer, self.asked_template)
        if self.template is None:
            raise InvalidArgument(
                "batchcast: the rows are chats, and the tokenizer has no chat template. Give one: "
                "--chat-template FILE."
            )
        if self.train_on == "assistant" and self.form != "pair":
            if not marks_assistant(self.template):
                raise InvalidArgument(
                    "batchcast: the chat template of "
                    f"{self.asked_template or getattr(self._tokenizer, 'name_or_path', 'the tokenizer')} "
                    "cannot mark the assistant's tokens: it has no `{% generation %}`. Give a template "
                    "that has: --chat-template FILE, or --chat-template trl for TRL's training "
                    "templates, where TRL is installed. Or choose --train-on completion (the last "
                    "answer) or --train-on all."
                )

    @property
    def has_mask(self) -> bool:
        return self.train_on != "all" and self.form != "text"

    def of(self, columns: dict[str, Any]) -> Document:
        """Raises BadRow."""
        form = form_of(columns, self.column)
        if form != self.form:
            raise BadRow(f"it is of the form `{form}`, and the first row is of `{self.form}`")
        if form == "text":
            text = columns[self.column or "text"]
            if not isinstance(text, str):
                raise BadRow(f"its column `{self.column or 'text'}` is no text")
            return Document(text, True, None, self.eos)
        if form == "pair":
            return self._of_pair(columns)
        return self._of_chat(_messages_of(columns, form, self.column), columns)

    def _of_pair(self, columns: dict[str, Any]) -> Document:
        prompt, completion = columns["prompt"], columns["completion"]
        if isinstance(prompt, str) and isinstance(completion, str):
            if self.template is not None:
                raise BadRow("its `prompt` is a text, and that of the first row a list of messages")
            whole = prompt + completion
            return Document(whole, True, [(len(prompt), len(whole))], self.eos)
        if not _is_messages(columns):
            raise BadRow("its `prompt` and `completion` are neither texts nor lists of messages")
        if self.template is None:
            raise BadRow("its `prompt` is a list of messages, and that of the first row a text")
        begin = self._rendered(_checked(prompt), columns, prompt=True)[0]
        return self._after(begin, self._rendered(_checked(prompt + completion), columns)[0])

    def _of_chat(self, messages: list[dict[str, Any]], columns: dict[str, Any]) -> Document:
        if self.train_on == "completion":
            if messages[-1].get("role") != "assistant":
                raise BadRow("its last message is not the assistant's, so no token is trained")
            begin = self._rendered(messages[:-1], columns, prompt=True)[0]
            return self._after(begin, self._rendered(messages, columns)[0])
        text, spans = self._rendered(messages, columns, mask=self.train_on == "assistant")
        return Document(text, False, spans if self.train_on == "assistant" else None)

    def _after(self, begin: str, whole: str) -> Document:
        if not whole.startswith(begin):
            raise BadRow(
                "the template writes the prompt otherwise once the answer follows, so that no token "
                "can be marked. Use --train-on assistant or all"
            )
        return Document(whole, False, [(len(begin), len(whole))])

    def _rendered(
        self, messages: list[dict[str, Any]], columns: dict[str, Any], *, prompt: bool = False,
        mask: bool = False,
    ) -> tuple[str, list[Span]]:  # fmt: skip
        from transformers.utils.chat_template_utils import render_jinja_template

        given = columns.get("chat_template_kwargs") or {}
        if isinstance(given, str):
            given = _parsed(given, "chat_template_kwargs")
        if not isinstance(given, dict):
            raise BadRow("its `chat_template_kwargs` is no object")
        tools = columns.get("tools") or None
        if isinstance(tools, str):
            tools = _parsed(tools, "tools")
        if tools is not None and not isinstance(tools, list):
            raise BadRow("its `tools` is no list")
        words = {**self._tokenizer.special_tokens_map, **given}
        try:
            texts, spans = render_jinja_template(
                [messages], tools=tools, chat_template=self.template,
                return_assistant_tokens_mask=mask, add_generation_prompt=prompt, **words,
            )  # fmt: skip
        except Exception as error:  # of the template, above all
            raise BadRow(f"the chat template refuses it: {error}") from None
        return texts[0], list(spans[0]) if mask else []


def _parsed(text: str, column: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadRow(f"its `{column}` is no JSON: {error}") from None


def _is_messages(columns: dict[str, Any]) -> bool:
    return isinstance(columns.get("prompt"), list) and isinstance(columns.get("completion"), list)


def _checked(messages: Any) -> list[dict[str, Any]]:
    if not isinstance(messages, list) or not messages:
        raise BadRow("its messages are no list, or an empty one")
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise BadRow(f"message {number} has no `role`")
    # A column of Arrow's has every key in every message.
    return [{k: v for k, v in message.items() if v is not None} for message in messages]


def _messages_of(
    columns: dict[str, Any], form: str, column: str | None
) -> list[dict[str, Any]]:
    if form == "alpaca":
        return _of_alpaca(columns)
    messages = columns[column or form]
    is_sharegpt = (
        isinstance(messages, list)
        and bool(messages)
        and isinstance(messages[0], dict)
        and "from" in messages[0]
    )
    return _of_sharegpt(messages) if is_sharegpt else _checked(messages)


def _of_sharegpt(turns: list[Any]) -> list[dict[str, Any]]:
    messages = []
    for number, turn in enumerate(turns):
        who = turn.get("from") if isinstance(turn, dict) else None
        if who not in _SHAREGPT or not isinstance(turn.get("value"), str):
            raise BadRow(
                f"turn {number} of its conversation is from `{who}`, which is none of "
                f"{', '.join(_SHAREGPT)}, or has no text in `value`"
            )
        messages.append({"role": _SHAREGPT[who], "content": turn["value"]})
    return messages


def _of_alpaca(columns: dict[str, Any]) -> list[dict[str, Any]]:
    words = [columns.get(name) or "" for name in ("system", "instruction", "input", "output")]
    if not all(isinstance(word, str) for word in words):
        raise BadRow("its `instruction`, `input` or `output` is no text")
    system, instruction, given, output = words
    messages = [{"role": "system", "content": system}] if system else []
    asked = f"{instruction}\n\n{given}" if given else instruction
    return [
        *messages, {"role": "user", "content": asked}, {"role": "assistant", "content": output}
    ]  # fmt: skip


class Encoder:
    """Encodes documents with a tokenizer, several at once."""

    def __init__(self, tokenizer: Any, has_mask: bool) -> None:
        self._backend = tokenizer.backend_tokenizer
        self._eos = tokenizer.eos_token_id
        self._has_mask = has_mask

    def encode(self, documents: list[Document]) -> list[tuple[list[int], bytearray | None]]:
        """Tokens and mask of each."""
        if not documents:
            return []
        special = documents[0].special
        texts = [one.text for one in documents]
        encode = self._backend.encode_batch if self._has_mask else self._fast
        made = encode(texts, add_special_tokens=special)
        return [self._finished(one, encoding) for one, encoding in zip(documents, made)]

    @property
    def _fast(self) -> Any:
        return getattr(self._backend, "encode_batch_fast", self._backend.encode_batch)

    def _finished(self, document: Document, encoding: Any) -> tuple[list[int], bytearray | None]:
        ids: list[int] = encoding.ids
        mask = _mask_of(encoding, document.trained) if self._has_mask else None
        if document.eos and (not ids or ids[-1] != self._eos):
            ids.append(self._eos)
            if mask is not None:
                mask.append(1)
        elif document.eos and mask is not None:
            mask[-1] = 1
        return ids, mask


def _mask_of(encoding: Any, trained: list[Span] | None) -> bytearray:
    """As transformers marks tokens: from that of a span's first letter to that of its last."""
    count = len(encoding.ids)
    if trained is None:
        return bytearray(b"\1" * count)
    mask = bytearray(count)
    for begin, end in trained:
        if begin >= end:
            continue
        first = encoding.char_to_token(begin)
        last = encoding.char_to_token(end - 1)
        while first is None and begin + 1 < end:  # a letter that the normaliser drops
            begin += 1
            first = encoding.char_to_token(begin)
        while last is None and end - 1 > begin:
            end -= 1
            last = encoding.char_to_token(end - 1)
        if first is None or last is None:
            continue
        mask[first : last + 1] = b"\1" * (last + 1 - first)
    return mask
