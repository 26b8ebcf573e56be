"""Batches of token numbers, from texts of similar length so that they need little padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError, FormatError, import_extra
from citebed.files.input_files import read_lines, read_text
from citebed.retrieval.encoders.model_folder import ModelFolder, read_json

if TYPE_CHECKING:
    from tokenizers import Encoding

Texts = Sequence[str] | Sequence[tuple[str, str]]

_CHUNK = 4096
"""Texts that are tokenised and sorted by length at a time: enough to find similar lengths, few
enough that citebed need not hold the tokens of a million texts."""
TOKENS_IN_BATCH = {"cpu": 1024, "cuda": 8192}
"""The memory of attention grows with the square of the length, so long texts come in smaller
batches. A CPU is fastest with a batch that fits into its cache."""


class Batch(NamedTuple):
    """Some texts as numbers, padded at the end; ``at`` holds their places in the input."""

    at: NDArray[np.int64]
    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    types: NDArray[np.int64]


class Tokeniser:
    """A model's tokeniser, which truncates texts to ``max_tokens``."""

    def __init__(self, folder: ModelFolder, max_tokens: int) -> None:
        self._is_lower = folder.is_lower_case
        self._tokenizer = load_tokenizer(folder)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens, strategy="longest_first")
        self._padding = np.int64(int(folder.config.get("pad_token_id") or 0))

    def batches(self, texts: Texts, size: int, tokens: int) -> Iterator[Batch]:
        """Yield batches of at most ``size`` texts (or pairs) and ``tokens`` tokens.

        Each text is in exactly one batch. The batches are ordered by length, longest first.
        """
        if size < 1:
            raise CitebedError(f"a batch needs at least one text, not {size}")
        for start in range(0, len(texts), _CHUNK):
            part = [self._clean(text) for text in texts[start : start + _CHUNK]]
            encodings = self._tokenizer.encode_batch_fast(part)
            order = sorted(range(len(part)), key=lambda i: -len(encodings[i]))
            at = 0
            while at < len(order):
                longest = max(len(encodings[order[at]]), 1)
                group = order[at : at + max(1, min(size, tokens // longest))]
                yield self._batch(group, encodings, start)
                at += len(group)

    def _clean(self, text: str | tuple[str, str]) -> Any:
        if isinstance(text, tuple):
            return tuple(self._clean(part) for part in text)
        # A lone surrogate is not a character, and the tokeniser, written in Rust, rejects it.
        text = text.encode("utf-8", "replace").decode("utf-8")
        return text.lower() if self._is_lower else text

    def _batch(self, group: list[int], encodings: list[Encoding], start: int) -> Batch:
        longest = max(len(encodings[i]) for i in group)
        ids = np.full((len(group), longest), self._padding, np.int64)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, i in enumerate(group):
            length = len(encodings[i])
            ids[row, :length] = encodings[i].ids
            types[row, :length] = encodings[i].type_ids
            mask[row, :length] = 1
        return Batch(np.array(group) + start, ids, mask, types)


def load_tokenizer(folder: ModelFolder) -> Any:
    """Load a model's tokeniser from ``tokenizer.json``, or BERT's from ``vocab.txt``."""
    tokenizers = import_extra("neural", "tokenizers")
    path = folder.path / "tokenizer.json"
    if path.is_file():
        try:
            return tokenizers.Tokenizer.from_str(read_text(path))
        except CitebedError:
            raise
        except Exception as error:  # the Rust library raises plain Exception
            raise FormatError(path, None, f"not a tokeniser ({error})") from error
    path, kind = folder.path / "vocab.txt", folder.config.get("model_type")
    if kind not in ("bert", "distilbert", None):
        raise CitebedError(
            f"the folder '{folder.path}' has no tokenizer.json; citebed reads vocab.txt only for "
            f"BERT, and the model is '{kind}'"
        )
    vocabulary = {line: number - 1 for number, line in read_lines(path) if line}
    if missing := {"[UNK]", "[CLS]", "[SEP]"} - set(vocabulary):
        raise FormatError(path, None, f"the vocabulary lacks {', '.join(sorted(missing))}")
    settings = read_json(folder.path / "tokenizer_config.json") or {}
    tokenizer = tokenizers.BertWordPieceTokenizer(
        vocabulary,
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True) is not False,
        strip_accents=settings.get("strip_accents"),
        lowercase=settings.get("do_lower_case", True) is not False,
    )
    return tokenizer._tokenizer  # the wrapper has no encode_batch_fast
