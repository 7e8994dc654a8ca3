"""Verify that a model in the form of Hugging Face is the run that it was made from: load both, and compare what they compute."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from dragoman.data.collate import collate
from dragoman.data.corpus import Pair
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import ExportError
from dragoman.inference.translator import Translator
from dragoman.interfaces import Batch
from dragoman.models.seq2seq import Seq2Seq
from dragoman.pretrained.huggingface_weights import Layout
from dragoman.pretrained.proof import quietly
from dragoman.pretrained.tokenizer_json import is_unigram, scores
from dragoman.runs.folder import Run
from dragoman.text.codec import Codec
from dragoman.text.pieces import SentencePiece
from dragoman.text.tags import tag_piece

ROUNDING = 1e-5
"""Maximum difference of a logit, divided by the largest logit."""
TIED = 1e-3
"""Two segmentations of a sentence whose log-probabilities differ by no more are equally probable up to float32."""
WRITTEN = 100
"""Maximum tokens of a translation that is compared."""
ROWS = 16
"""Sentences in a batch."""


@dataclass(frozen=True)
class Proof:
    """How far an export agrees with its run."""

    library: str
    """Name and version of what read the export."""
    sentences: int
    """Number of sentences with the same tokens, and the same greedy translation; 0 if only logits were compared."""
    difference: float
    """Largest difference of a logit, divided by the largest logit."""


@dataclass(frozen=True)
class Loaded:
    """An export as `transformers` reads it."""

    tokenizer: Any
    model: Any
    layout: Layout

    def logits(self, batch: Batch) -> Float[Tensor, "batch target vocab"]:
        """Return the logits of the target's tokens."""
        given = {
            "input_ids": batch.source.ids,
            "attention_mask": batch.source.mask.long(),
            "decoder_input_ids": batch.inputs + self.layout.offset,
        }
        logits: Tensor = self.model(**given).logits
        return logits[..., self.layout.offset :]

    def greedy(self, batch: Batch) -> list[list[int]]:
        """Return the target ids of greedy translations, up to </s> or WRITTEN tokens."""
        given = {"input_ids": batch.source.ids, "attention_mask": batch.source.mask.long()}
        written = self.model.generate(**given, num_beams=1, do_sample=False, max_new_tokens=WRITTEN)
        end = self.model.generation_config.eos_token_id
        rows: list[list[int]] = written[:, 1:].tolist()
        return [[one - self.layout.offset for one in (row[: row.index(end)] if end in row else row)] for row in rows]


def can_be_proved() -> bool:
    """Tell whether the library that reads such exports is installed."""
    return find_spec("transformers") is not None


def prove(run: Run, folder: Path, layout: Layout, *, pairs: Sequence[Pair]) -> Proof:
    """Compare an export with its run on sentences: their tokens, the logits of their targets, and greedy translations.

    Raises ExportError where they differ by more than rounding.
    """
    with _loading(folder, layout) as other:
        import transformers

        for pair in pairs:
            _require_tokens(run, other, pair)
        model = run.load_model(torch.device("cpu"))
        batches = [_batch(run, pairs[first : first + ROWS]) for first in range(0, len(pairs), ROWS)]
        _require_translations(run, other, pairs, model=model, batches=batches)
        difference = largest_difference(model, other, batches)
        if difference > ROUNDING:  # a deep model adds up rounding, which float64 tells from a mistake
            other.model.double()
            difference = largest_difference(model.double(), other, batches)
        if not difference <= ROUNDING:
            raise _refusal(f"logits differ by {difference:.1g} of the largest one")
        return Proof(f"transformers {transformers.__version__}", len(pairs), difference)


@torch.no_grad()
def largest_difference(model: Seq2Seq, other: Loaded, batches: Sequence[Batch]) -> float:
    """Return the largest difference between logits of both models, divided by the largest logit."""
    difference = largest = 0.0
    for batch in batches:
        own = model(batch.source, batch.inputs).logits[batch.real]
        difference = max(difference, (own - other.logits(batch)[batch.real]).abs().max().item())
        largest = max(largest, own.abs().max().item())
    return difference / largest


@contextmanager
def _loading(folder: Path, layout: Layout) -> Iterator[Loaded]:
    """Read an export with `transformers`, which reports nothing meanwhile."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    with quietly():
        place: dict[str, Any] = {"pretrained_model_name_or_path": str(folder), "local_files_only": True}
        model = AutoModelForSeq2SeqLM.from_pretrained(**place)
        yield Loaded(AutoTokenizer.from_pretrained(**place), model.eval(), layout)


def _batch(run: Run, pairs: Sequence[Pair]) -> Batch:
    """Return pairs as a batch."""
    ids = [(run.source.tag(pair.to) + run.source.encode(pair.source), run.target.encode(pair.target)) for pair in pairs]
    return collate(ids, special=run.target.special)


def _require_tokens(run: Run, other: Loaded, pair: Pair) -> None:
    """Refuse an export that cuts a source otherwise, or joins a target otherwise."""
    tag = "" if pair.to is None else f"{tag_piece(pair.to)} "
    wanted = [*run.source.tag(pair.to), *run.source.encode(pair.source), run.source.special.eos]
    found = other.tokenizer(tag + pair.source).input_ids
    if found != wanted and not _equally_probable(run.source, found, wanted):
        raise _refusal(f"`{pair.source}` has the tokens {found} instead of {wanted}")
    target = [index for index in run.target.encode(pair.target) if index != run.target.special.unk]
    shifted = [index + other.layout.offset for index in target]
    if other.tokenizer.decode(shifted, skip_special_tokens=True) != run.target.decode(target):
        raise _refusal(f"the tokens of `{pair.target}` become another text")


def _equally_probable(codec: Codec, found: Sequence[int], wanted: Sequence[int]) -> bool:
    """Tell whether a unigram model prefers neither of two segmentations of the same text."""
    if not is_unigram(codec):
        return False
    assert isinstance(codec.tokenizer, SentencePiece)
    values = scores(codec.tokenizer)
    texts = ["".join(codec.pieces(ids)) for ids in (found, wanted)]
    return texts[0] == texts[1] and abs(sum(values[i] for i in found) - sum(values[i] for i in wanted)) < TIED


def _require_translations(
    run: Run, other: Loaded, pairs: Sequence[Pair], *, model: Seq2Seq, batches: Sequence[Batch]
) -> None:
    """Refuse an export that translates otherwise with greedy search, unless two tokens are equally probable."""
    settings = run.recipe.decoding
    search = DecodingSettings(
        method="greedy",
        maximum_ratio=0.0,
        maximum_extra=WRITTEN,
        minimum_length=min(settings.minimum_length, WRITTEN),
        no_repeat_ngram=settings.no_repeat_ngram,
    )
    own = Translator.load(run.folder, device="cpu", settings=search)
    wanted = own.translate([pair.source for pair in pairs], to=[pair.to for pair in pairs])
    found = [ids for batch in batches for ids in other.greedy(batch)]
    for pair, one, ids in zip(pairs, wanted, found, strict=True):
        if list(one.ids) != ids and not _tied(run, model, pair, own=one.ids, other=ids):
            theirs = other.tokenizer.decode([index + other.layout.offset for index in ids], skip_special_tokens=True)
            raise _refusal(f"`{pair.source}` becomes `{theirs}` instead of `{one.text}`")


@torch.no_grad()
def _tied(run: Run, model: Seq2Seq, pair: Pair, *, own: Sequence[int], other: Sequence[int]) -> bool:
    """Tell whether the first tokens in which two translations differ are equally probable up to rounding."""
    special = run.target.special
    both = zip_longest([*own, special.eos], [*other, special.eos])
    place, tokens = next((place, pair) for place, pair in enumerate(both) if pair[0] != pair[1])
    source = run.source.tag(pair.to) + run.source.encode(pair.source)
    batch = collate([(source, own[:place])], special=special)
    logits = model(batch.source, batch.inputs).logits[0, -1]
    return bool((logits[tokens[0]] - logits[tokens[1]]).abs() <= 2 * ROUNDING * logits.abs().max())


def _refusal(what: str) -> ExportError:
    """Return the error for an export that is not the run."""
    return ExportError(f"the export was not kept, because {what}; this is a bug, please report it")
