"""Train encoders, word vectors and rankers on citations.

``prepare`` turns a collection and citation contexts into training texts. ``train_static`` and
``train_encoder`` learn from these texts; ``train_student`` learns from them and an encoder. All
three need PyTorch. On a machine with a GPU they need no other compiled part of citebed, such as
polars.
"""

# ruff: isort: skip_file
from __future__ import annotations

from typing import TYPE_CHECKING

from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.training.api import (
        TrainingResult as TrainingResult,
        average_encoders as average_encoders,
        train_encoder as train_encoder,
        train_static as train_static,
        train_student as train_student,
    )
    from citebed.training.preparation import prepare as prepare
    from citebed.training.ranker import train_ranker as train_ranker
    from citebed.training.settings import (
        EncoderSettings as EncoderSettings,
        StaticSettings as StaticSettings,
        StudentSettings as StudentSettings,
    )
    from citebed.training.texts import (
        TrainingTexts as TrainingTexts,
        assign_fold as assign_fold,
        read_prepared as read_prepared,
        write_prepared as write_prepared,
    )

__getattr__, __dir__ = names_on_first_use(__name__)
