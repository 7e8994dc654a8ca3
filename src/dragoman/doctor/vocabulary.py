"""Vocabularies that do not fit the corpora: unknown words in dev, entries that nothing uses, too many for the text."""

from collections.abc import Iterator, Sequence

import numpy as np

from dragoman.data.findings import Example, Finding, Severity
from dragoman.text.codec import Codec

TEXTS = 5_000
"""So many texts are enough to judge by."""
UNKNOWN, MANY_UNKNOWN = 0.01, 0.05
"""Shares of unknown tokens in dev that are a note, and a warning."""
LEAST_USES = 20
"""A vocabulary is too large if its entries occur less often than this on average."""
UNUSED = 0.1
"""Share of entries that occur nowhere that is a note."""

NAMES = ("unknown-tokens", "vocabulary-too-large", "unused-entries")
"""Names of all findings about vocabularies."""


def vocabulary_findings(
    codec: Codec, side: str, *, trained: Sequence[str], pairs: int, dev: Sequence[str]
) -> Iterator[Finding]:
    """Judge the vocabulary of a side by the first training texts, of so many `pairs` in all, and by those of dev."""
    known = [text for text in dev[:TEXTS] if text.strip()]
    encoded = [codec.encode(text) for text in known]
    tokens = sum(map(len, encoded))
    unknown = sum(ids.count(codec.special.unk) for ids in encoded)
    if unknown > UNKNOWN * tokens:
        severity: Severity = "warning" if unknown > MANY_UNKNOWN * tokens else "note"
        what = f"does not know {unknown / tokens:.1%} of the tokens of the dev corpora"
        advice = (
            "use subwords (`text.kind: sentencepiece`), raise `text.size`, or write dev as the training data is written"
        )
        examples = [
            Example(None, (text,)) for text, ids in zip(known, encoded, strict=True) if codec.special.unk in ids
        ]
        yield _finding(NAMES[0], severity, side, what=what, advice=advice, count=unknown, examples=tuple(examples[:3]))
    counts = np.zeros(len(codec), np.int64)
    sample = trained[:TEXTS]
    for text in sample:
        np.add.at(counts, codec.encode(text), 1)
    every = int(counts.sum() * max(pairs, 1) / max(len(sample), 1))
    if every < LEAST_USES * len(codec):
        what = f"has {len(codec):,} entries for about {every:,} tokens, {every / len(codec):.1f} for each"
        yield _finding(NAMES[1], "warning", side, what=what, advice="set a smaller `text.size`", count=len(codec))
    counts[list(codec.special.all)] += 1
    unused = int((counts == 0).sum())
    if pairs <= len(sample) and unused > UNUSED * len(codec):
        what = f"has {unused:,} of {len(codec):,} entries that never occur in the training data"
        yield _finding(NAMES[2], "note", side, what=what, advice="set a smaller `text.size`", count=unused)


def _finding(
    name: str, severity: Severity, side: str, *, what: str, advice: str, count: int, examples: tuple[Example, ...] = ()
) -> Finding:
    """Return a finding about the vocabulary of a side."""
    return Finding(name, severity, what, advice, f"the vocabulary of the {side}", count=count, examples=examples)
