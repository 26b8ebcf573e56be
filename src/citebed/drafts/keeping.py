"""A draft that was read, as text to keep: what was found in files need not be found again."""

from __future__ import annotations

import json
from dataclasses import asdict

from citebed.drafts.records import Draft
from citebed.errors import CitebedError


def draft_to_json(draft: Draft) -> str:
    """A draft as JSON, with all that it is."""
    return json.dumps(asdict(draft), ensure_ascii=False)


def draft_from_json(text: str) -> Draft:
    """The draft that was kept; raises ``CitebedError`` for what is none."""
    from pydantic import TypeAdapter

    try:
        draft: Draft = TypeAdapter(Draft).validate_json(text, strict=True)
        for each in draft.passages:
            sizes = {len(each.sentences), len(each.sentence_cites), len(each.places)} - {0}
            if len(sizes) > 1 or not set(each.wanted) <= set(range(len(each.sentences))):
                raise ValueError(f"passage {each.number} does not fit its sentences")
    except ValueError as error:
        first = str(error).splitlines()[1:3] or [str(error)]  # pydantic's first line is a count
        raise CitebedError(f"this is no draft that was kept: {' '.join(first)}") from error
    return draft
