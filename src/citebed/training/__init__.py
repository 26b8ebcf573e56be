"""Training: encoders and word vectors learned from who cites what.

``prepare`` turns a collection and contexts of citations into training texts, ``train_static`` and
``train_encoder`` learn from them, ``train_student`` from them and an encoder. PyTorch is needed
here and nowhere else; what runs on a machine with a GPU needs neither polars nor any other part of
citebed that is compiled.
"""

# ruff: isort: skip_file
from __future__ import annotations

from typing import TYPE_CHECKING

from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.training.averaging import average_encoders as average_encoders
    from citebed.training.doors import (
        Trained as Trained,
        train_encoder as train_encoder,
        train_static as train_static,
        train_student as train_student,
    )
    from citebed.training.prepared import fold_of as fold_of
    from citebed.training.prepared import (
        TrainingTexts as TrainingTexts,
        read_prepared as read_prepared,
        write_prepared as write_prepared,
    )
    from citebed.training.preparing import prepare as prepare
    from citebed.training.ranker import train_ranker as train_ranker
    from citebed.training.settings import (
        EncoderSettings as EncoderSettings,
        StaticSettings as StaticSettings,
        StudentSettings as StudentSettings,
    )

__getattr__, __dir__ = names_on_first_use(__name__)
