"""From texts to batches of token numbers, alike in length so that little padding is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError, FormatError, import_extra
from citebed.files.input_files import read_lines, read_text
from citebed.retrieval.encoders.loading.folder import ModelFolder, lower_cases, read_json

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

Texts = Sequence[str] | Sequence[tuple[str, str]]

# So many texts are tokenised and sorted by length at a time: enough to find equals in length,
# few enough that a million texts do not have to be held as tokens.
_AT_ONCE = 4096
# Attention takes memory with the square of the length: long texts come in smaller batches. On a
# processor a batch is quickest that its cache holds.
TOKENS_IN_BATCH = {"cpu": 1024, "cuda": 8192}


class Batch(NamedTuple):
    """Some texts as numbers, padded at the end to the longest; ``at`` is where they stood."""

    at: NDArray[np.int64]
    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    types: NDArray[np.int64]


class Tokeniser:
    """A model's tokeniser, with texts cut to ``most`` tokens."""

    def __init__(self, folder: ModelFolder, most: int) -> None:
        self._lower = lower_cases(folder)
        self._tokenizer = load_tokenizer(folder)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(most, strategy="longest_first")
        self._padding = np.int64(int(folder.config.get("pad_token_id") or 0))

    def batches(self, texts: Texts, size: int, tokens: int) -> Iterator[Batch]:
        """Batches of at most ``size`` texts (or pairs) and so many tokens, alike in length.

        Every text is in exactly one batch; the order is that of length, so a result is put where
        the batch's ``at`` says.
        """
        if size < 1:
            raise CitebedError(f"a batch has at least one text, not {size}")
        for start in range(0, len(texts), _AT_ONCE):
            part = [self._clean(text) for text in texts[start : start + _AT_ONCE]]
            encodings = self._tokenizer.encode_batch_fast(part)
            order = sorted(range(len(part)), key=lambda i: -len(encodings[i]))
            for group in _groups(order, encodings, size, tokens):
                yield self._batch(group, encodings, start)

    def _clean(self, text: str | tuple[str, str]) -> Any:
        if isinstance(text, tuple):
            return tuple(self._clean(part) for part in text)
        # A lone surrogate is no character: the tokeniser, written in Rust, cannot take it.
        text = text.encode("utf-8", "replace").decode("utf-8")
        return text.lower() if self._lower else text

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


def _groups(
    order: list[int], encodings: list[Encoding], size: int, tokens: int
) -> Iterator[list[int]]:
    """Runs of ``order``, longest first, that hold few enough texts and tokens."""
    at = 0
    while at < len(order):
        longest = max(len(encodings[order[at]]), 1)
        count = max(1, min(size, tokens // longest))
        yield order[at : at + count]
        at += count


def load_tokenizer(folder: ModelFolder) -> Tokenizer:
    """The tokeniser of a model, as the library has it."""
    tokenizers = import_extra("neural", "tokenizers")
    path = folder.path / "tokenizer.json"
    if not path.is_file():
        return _from_vocabulary(folder)
    try:
        tokenizer: Tokenizer = tokenizers.Tokenizer.from_str(read_text(path))
    except CitebedError:
        raise
    except Exception as error:  # the Rust library raises plain Exception
        raise FormatError(path, None, f"not a tokeniser ({error})") from error
    return tokenizer


def _from_vocabulary(folder: ModelFolder) -> Tokenizer:
    """BERT's tokeniser from ``vocab.txt``, one piece of a word per line."""
    from tokenizers import BertWordPieceTokenizer

    path, kind = folder.path / "vocab.txt", folder.config.get("model_type")
    if kind not in ("bert", "distilbert", None):
        raise CitebedError(
            f"the folder '{folder.path}' has no tokenizer.json; from vocab.txt only tokenisers "
            f"of BERT are made, and the model is '{kind}'"
        )
    vocabulary = _read_vocabulary(path)
    settings = read_json(folder.path / "tokenizer_config.json") or {}
    made = BertWordPieceTokenizer(
        vocabulary,
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True) is not False,
        strip_accents=settings.get("strip_accents"),
        lowercase=settings.get("do_lower_case", True) is not False,
    )
    tokenizer: Tokenizer = made._tokenizer  # the wrapper lacks the fast way to encode
    return tokenizer


def _read_vocabulary(path: Path) -> dict[str, int]:
    vocabulary = {line: number - 1 for number, line in read_lines(path) if line}
    missing = {"[UNK]", "[CLS]", "[SEP]"} - set(vocabulary)
    if missing:
        raise FormatError(path, None, f"the vocabulary lacks {', '.join(sorted(missing))}")
    return vocabulary
