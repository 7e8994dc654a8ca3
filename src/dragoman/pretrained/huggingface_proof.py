"""Verify that a model in the form of Hugging Face is the run that it was made from: load both, and compare what they compute."""

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import torch

from dragoman.data.collate import collate
from dragoman.data.corpus import Pair
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import ExportError
from dragoman.inference.translator import Translator
from dragoman.interfaces import Batch
from dragoman.models.seq2seq import Seq2Seq
from dragoman.pretrained.huggingface_weights import Layout
from dragoman.pretrained.proof import ROUNDING, Proof, Reader, largest_difference, quietly, reader_name
from dragoman.pretrained.tokenizer_json import is_unigram, scores
from dragoman.runs.folder import Run
from dragoman.text.codec import Codec
from dragoman.text.pieces import SentencePiece
from dragoman.text.tags import tag_piece

TIED = 1e-3
"""Two segmentations of a sentence whose log-probabilities differ by no more are equally probable up to float32."""
WRITTEN = 100
"""Maximum tokens of a translation that is compared."""
ROWS = 16
"""Sentences in a batch."""


def prove_export(run: Run, folder: Path, layout: Layout, *, pairs: Sequence[Pair]) -> Proof:
    """Compare an export with its run on sentences: their tokens, the logits of their targets, and greedy translations.

    Raises ExportError where they differ by more than rounding.
    """
    with quietly():
        reader = Reader(folder, layout.offset)
        for pair in pairs:
            _require_tokens(run, reader, pair)
        batches = [_batch(run, pairs[first : first + ROWS]) for first in range(0, len(pairs), ROWS)]
        _require_translations(run, reader, pairs, batches=batches)
        proof = Proof(reader_name(), largest_difference(run, reader, batches), len(pairs), 1.0, 1.0)
    require(proof)
    return proof


def require(proof: Proof) -> None:
    """Raise ExportError for logits that differ by more than rounding."""
    if not proof.holds:
        raise _refusal(f"logits differ by {proof.logits:.1g} of the largest one")


def _batch(run: Run, pairs: Sequence[Pair]) -> Batch:
    """Return pairs as a batch."""
    ids = [(run.source.tag(pair.to) + run.source.encode(pair.source), run.target.encode(pair.target)) for pair in pairs]
    return collate(ids, special=run.target.special)


def _require_tokens(run: Run, other: Reader, pair: Pair) -> None:
    """Refuse an export that cuts a source otherwise, or joins a target otherwise."""
    tag = "" if pair.to is None else f"{tag_piece(pair.to)} "
    wanted = [*run.source.tag(pair.to), *run.source.encode(pair.source), run.source.special.eos]
    found = other.tokenizer(tag + pair.source).input_ids
    if found != wanted and not _equally_probable(run.source, found, wanted):
        raise _refusal(f"`{pair.source}` has the tokens {found} instead of {wanted}")
    target = [index for index in run.target.encode(pair.target) if index != run.target.special.unk]
    shifted = [index + other.offset for index in target]
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


def _require_translations(run: Run, other: Reader, pairs: Sequence[Pair], *, batches: Sequence[Batch]) -> None:
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
    (model,) = own.models
    wanted = own.translate([pair.source for pair in pairs], to=[pair.to for pair in pairs])
    found = [ids for batch in batches for ids in greedy(other, batch)]
    for pair, one, ids in zip(pairs, wanted, found, strict=True):
        if list(one.ids) != ids and not _tied(run, model, pair, own=one.ids, other=ids):
            theirs = other.tokenizer.decode([index + other.offset for index in ids], skip_special_tokens=True)
            raise _refusal(f"`{pair.source}` becomes `{theirs}` instead of `{one.text}`")


def greedy(other: Reader, batch: Batch) -> list[list[int]]:
    """Return the target ids of greedy translations, up to </s> or WRITTEN tokens."""
    given = {"input_ids": batch.source.ids, "attention_mask": batch.source.mask.long()}
    written = other.model.generate(**given, num_beams=1, do_sample=False, max_new_tokens=WRITTEN)
    end = other.model.generation_config.eos_token_id
    rows: list[list[int]] = written[:, 1:].tolist()
    return [[one - other.offset for one in (row[: row.index(end)] if end in row else row)] for row in rows]


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
