"""Compare a run with what the library `transformers` computes of the same model, where that library is installed."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dragoman.errors import ImportModelError
from dragoman.interfaces import Batch, Padded
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.runs.folder import Run
from dragoman.special_ids import SpecialIds

ROUNDING = 1e-5
"""Maximum difference in a logit, as a share of the largest logit."""
SENTENCES = 16
"""Number of random sentences on which both must agree."""
LONGEST = 24
"""Maximum number of tokens of a random sentence."""
TEXTS = (
    "A dog runs across the street.",
    "  Two  spaces,\ttabs and 3.14 %",
    "Nguyễn Văn An sống ở Hà Nội.",
    "cafe\u0301 and café, ﬁne “quotes” … — naïve",
    "日本語 العربية हिन्दी Ελληνικά",
    "🙂👍🏽 \u200bzero\u200dwidth\ufeffmark",
    "a" * 200,
    "",
)
"""Sentences whose pieces are compared; none ends in white space, which Dragoman drops on purpose."""


@dataclass(frozen=True)
class Proof:
    """How far a run and the same model in the form of Hugging Face agree."""

    reader: str
    """Name and version of the library that read the other."""
    logits: float
    """Largest difference in a logit, as a share of the largest logit."""
    sentences: int
    """Number of sentences whose tokens were compared."""
    tokens: float | None
    """Share of these that have the same tokens; None if the other tokeniser could not be loaded."""
    greedy: float | None = None
    """Share of these whose greedy translations are the same; None if nothing was translated."""

    @property
    def holds(self) -> bool:
        """Tell whether the logits are equal up to rounding; those that are no numbers are not."""
        return self.logits <= ROUNDING

    def __str__(self) -> str:
        """Say what is the same.

        >>> str(Proof("transformers 5", 2.5e-7, 8, 0.875))
        'logits differ by at most 2.5e-07 of the largest one; 88% of 8 sentences have the same tokens'
        """
        said = f"logits differ by at most {self.logits:.1e} of the largest one"
        said += "" if self.tokens is None else f"; {self.tokens:.0%} of {self.sentences} sentences have the same tokens"
        return said + ("" if self.greedy is None else f", {self.greedy:.0%} the same translation")


def can_prove() -> bool:
    """Tell whether the library is installed."""
    return find_spec("transformers") is not None


def reader_name() -> str:
    """Return the name and the version of the library."""
    import transformers

    return f"transformers {transformers.__version__}"


@contextmanager
def quietly() -> Iterator[None]:
    """Let the library report nothing meanwhile, neither its progress nor what else could be installed."""
    from transformers.utils import logging

    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()


class Reader:
    """A model in the form of Hugging Face, as `transformers` reads it: its model and its tokeniser when they are first needed."""

    def __init__(self, folder: Path, offset: int = 0) -> None:
        """Read the model in `folder`, whose target tokens have ids that are higher by `offset`."""
        self.place: dict[str, Any] = {"pretrained_model_name_or_path": str(folder), "local_files_only": True}
        self.offset = offset

    @cached_property
    def model(self) -> Any:
        """The model, in float32 at first. Raises ImportModelError if the library cannot load it."""
        from transformers import AutoModelForSeq2SeqLM

        try:  # all versions know the old name of `dtype`
            return AutoModelForSeq2SeqLM.from_pretrained(**self.place, torch_dtype=torch.float32).eval()
        except Exception as error:  # whatever the library makes of a configuration
            reason = str(error).strip().split("\n")[0].rstrip(".")
            folder = self.place["pretrained_model_name_or_path"]
            raise ImportModelError(
                f"{reader_name()}, with which an import is compared, cannot load {folder} ({reason}); correct its config.json"
            ) from None

    @cached_property
    def tokenizer(self) -> Any:
        """The tokeniser."""
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(**self.place)

    def logits(self, batch: Batch, dtype: torch.dtype) -> Float[Tensor, "tokens vocab"]:
        """Return the logits of the target's tokens, computed in a type."""
        found: Tensor = self.model.to(dtype)(
            input_ids=batch.source.ids,
            attention_mask=batch.source.mask.long(),
            decoder_input_ids=batch.inputs + self.offset,
            use_cache=False,
        ).logits
        return found[..., self.offset :][batch.real]


def prove(run: Run, folder: Path) -> Proof:
    """Compare a run with the model in `folder`, from which it was imported or as which it was written."""
    with quietly():
        reader = Reader(folder)
        difference = largest_difference(run, reader, [random_batch(run)])
        return Proof(reader_name(), difference, len(TEXTS), _same_tokens(run, reader))


@torch.no_grad()
def largest_difference(run: Run, reader: Reader, batches: Sequence[Batch]) -> float:
    """Return the largest difference in a logit, as a share of the largest logit of its batch.

    If that is more than rounding, both compute in float64: deep models add up rounding, which tells it from a mistake.
    """
    difference = torch.inf
    for dtype in (torch.float32, torch.float64):
        model = run.load_model(torch.device("cpu")).to(dtype)
        own = [model(batch.source, batch.inputs).logits[batch.real] for batch in batches]
        del model  # so that one of the two is in memory at a time
        other = (reader.logits(batch, dtype) for batch in batches)
        difference = float(torch.stack([share_of_largest(*both) for both in zip(own, other, strict=True)]).max())
        if difference <= ROUNDING:
            break
    return difference


def share_of_largest(own: Float[Tensor, "*batch vocab"], other: Float[Tensor, "*batch vocab"]) -> Float[Tensor, ""]:
    """Return the largest difference of logits, as a share of the largest; what `other` never predicts is left out."""
    kept = other != -torch.inf
    return (own[kept] - other[kept]).abs().max() / other[kept].abs().max()


def random_batch(run: Run) -> Batch:
    """Return random sentences in the form in which the model reads them, of different lengths."""
    settings = run.recipe.model
    assert isinstance(settings, TransformerSettings)
    generator = torch.Generator().manual_seed(run.recipe.seed)
    longest = min(LONGEST, settings.bound or LONGEST)
    lengths = torch.linspace(2, longest, SENTENCES).long()
    special = run.target.special
    sides = []
    for codec, counts in ((run.source, lengths), (run.target, lengths.flip(0))):
        silent = set(codec.special.all)
        usable = torch.tensor([index for index in range(len(codec)) if index not in silent])
        ids = usable[torch.randint(len(usable), (SENTENCES, longest), generator=generator)]
        sides.append(_ended(ids, counts, codec.special))
    return Batch(sides[0], _begun(sides[1], special.bos))


def _ended(ids: Int[Tensor, "batch time"], lengths: Int[Tensor, " batch"], special: SpecialIds) -> Padded:
    """Return sentences of some lengths that end with EOS."""
    places = torch.arange(ids.shape[1])
    ids = ids.where(places < lengths[:, None] - 1, special.eos)
    mask = places < lengths[:, None]
    return Padded(ids.where(mask, special.pad), mask)


def _begun(padded: Padded, begin: int) -> Padded:
    """Put a token in front of every sentence."""
    return Padded(
        torch.nn.functional.pad(padded.ids, (1, 0), value=begin),
        torch.nn.functional.pad(padded.mask, (1, 0), value=True),
    )


def _same_tokens(run: Run, reader: Reader) -> float | None:
    """Return the share of TEXTS whose pieces are those of the other tokeniser."""
    try:
        found = [reader.tokenizer(text, add_special_tokens=False).input_ids for text in TEXTS]
    except (OSError, ValueError, ImportError, AttributeError, KeyError, TypeError):
        return None
    return sum(run.source.encode(text) == ids for text, ids in zip(TEXTS, found, strict=True)) / len(TEXTS)
