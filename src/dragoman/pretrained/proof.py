"""Prove that an imported model computes what the library that it comes from computes, where that library is installed."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dragoman.errors import ImportModelError
from dragoman.interfaces import Batch, Padded
from dragoman.models.seq2seq import Seq2Seq
from dragoman.runs.folder import Run
from dragoman.special_ids import SpecialIds

ROUNDING = 1e-5
"""Maximum difference in a logit in float32, as a share of the largest logit."""
SENTENCES = 16
"""Number of random sentences on which both must agree."""
LONGEST = 24
"""Maximum number of tokens of a random sentence."""
TEXTS = (
    "A dog runs across the street.",
    "  Two  spaces,\ttabs and 3.14 %  ",
    "Nguyễn Văn An sống ở Hà Nội.",
    "cafe\u0301 and café, ﬁne “quotes” … — naïve",
    "日本語 العربية हिन्दी Ελληνικά",
    "🙂👍🏽 \u200bzero\u200dwidth\ufeff",
    "a" * 200,
    "",
)
"""Sentences that both must cut into the same pieces."""


@dataclass(frozen=True)
class Proof:
    """How closely an imported model follows the original."""

    logits: float
    """Largest difference in a logit, as a share of the largest logit."""
    greedy: float
    """Share of positions at which both find the same token the likeliest."""
    texts: float | None
    """Share of sentences that both cut into the same pieces; None if the original tokeniser could not be loaded."""
    version: str
    """Version of the library."""

    def table(self) -> dict[str, Any]:
        """Return the numbers for a manifest."""
        return asdict(self)


def can_prove() -> bool:
    """Tell whether the library is installed."""
    return find_spec("transformers") is not None


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


def prove(run: Run, folder: Path) -> Proof:
    """Compare a run with the model in `folder` that it was imported from. Raises ImportModelError if logits differ.

    Reads both models into memory.
    """
    import transformers

    model = run.load_model(torch.device("cpu"))
    batch = random_batch(run, model)
    with torch.no_grad(), quietly():
        own = model(batch.source, batch.inputs).logits
        del model
        original = transformers.AutoModelForSeq2SeqLM.from_pretrained(
            folder, local_files_only=True, dtype=torch.float32
        ).eval()
        other = original(
            input_ids=batch.source.ids,
            attention_mask=batch.source.mask.long(),
            decoder_input_ids=batch.inputs,
            use_cache=False,
        ).logits
    real = batch.real
    difference = share_of_largest(own[real], other[real])
    if difference > ROUNDING:
        raise ImportModelError(
            f"{folder} was not imported: logits differ by {difference:.2g} of the largest from those of transformers "
            f"{transformers.__version__}, more than {ROUNDING:g}; this is a bug, please report it with the name of the model"
        )
    same = (own[real].argmax(-1) == other[real].argmax(-1)).float().mean().item()
    return Proof(difference, same, _same_texts(run, folder), transformers.__version__)


def share_of_largest(own: Float[Tensor, "*batch vocab"], other: Float[Tensor, "*batch vocab"]) -> float:
    """Return the largest difference of two tensors of logits, as a share of the largest finite logit."""
    kept = other.isfinite()
    return float((own[kept] - other[kept]).abs().max() / other[kept].abs().max())


def random_batch(run: Run, model: Seq2Seq) -> Batch:
    """Return random sentences in the form in which the model reads them, of different lengths."""
    generator = torch.Generator().manual_seed(run.recipe.seed)
    longest = min(LONGEST, model.source_positions or LONGEST, model.target_positions or LONGEST)
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


def _same_texts(run: Run, folder: Path, texts: Sequence[str] = TEXTS) -> float | None:
    """Return the share of sentences whose pieces are the original tokeniser's."""
    import transformers

    with quietly():
        try:
            original: Any = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError, ImportError, AttributeError, KeyError, TypeError):
            return None
        found = [original(text, add_special_tokens=False).input_ids for text in texts]
    return sum(run.source.encode(text) == ids for text, ids in zip(texts, found, strict=True)) / len(texts)
