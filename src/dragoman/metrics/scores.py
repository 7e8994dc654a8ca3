"""BLEU, chrF and TER by sacreBLEU, each with its signature."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

from dragoman.errors import InputError
from dragoman.settings import nearest
from dragoman.text.glossary import UNSPACED_LETTERS

TOKENIZERS = ("13a", "char", "intl", "none", "zh")
"""BLEU tokenisers that need neither a download nor another package."""

_LETTERS_ALONE = re.compile(f"[{UNSPACED_LETTERS}]")
_NOT_HAN = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff]")
MOSTLY_HAN = 0.1
"""Text is Chinese if no larger share of such letters is of another script, as it is in Japanese."""


@dataclass(frozen=True)
class Score:
    """A corpus score from 0 to 100 (TER may be higher) and its sacreBLEU signature."""

    name: str
    score: float
    signature: str


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: str | None = None,
    lowercase: bool = False,
) -> Score:
    """Compute corpus BLEU. `references` holds one sequence per reference set, each as long as `hypotheses`.

    Without `tokenize`, the tokeniser is that of `tokenizer_for` the references.

    >>> round(bleu(["the cat sat on the mat"], [["the cat sat on the rug"]]).score, 1)
    76.0
    """
    chosen = tokenize or tokenizer_for(chain.from_iterable(references))
    return scored(bleu_metric(tokenize=chosen, lowercase=lowercase), hypotheses, references)


def tokenizer_for(texts: Iterable[str]) -> str:
    """Return the tokeniser with which BLEU of such texts counts words: 13a, which is for words between spaces.

    Where most letters are of scripts without spaces (Chinese, Japanese, Thai, Lao, Burmese, Khmer), it would take a sentence
    for a word. There it is `zh` for Chinese, as in sacreBLEU, and `char` for the others.

    >>> [tokenizer_for([text]) for text in ("Tôi yêu mèo.", "我喜欢猫。", "猫が好きです。", "ฉันรักแมว")]
    ['13a', 'zh', 'char', 'char']
    """
    text = "".join(texts)
    alone = len(_LETTERS_ALONE.findall(text))
    if 2 * alone <= sum(map(str.isalpha, text)):
        return "13a"
    return "zh" if len(_NOT_HAN.findall(text)) <= MOSTLY_HAN * alone else "char"


def chrf(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, word_order: int = 0, lowercase: bool = False
) -> Score:
    """Compute corpus chrF2, or chrF2++ with `word_order` 2."""
    return scored(chrf_metric(word_order=word_order, lowercase=lowercase), hypotheses, references)


def ter(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """Compute the corpus translation edit rate; lower is better. Chinese and Japanese are cut by sacreBLEU's `asian`."""
    return scored(ter_metric(references), hypotheses, references)


def sentence_bleu(hypothesis: str, reference: str) -> float:
    """Compute the BLEU of one sentence, which can rank its translations but does not measure a system.

    Orders longer than the sentence are skipped, and those without a match are smoothed (sacreBLEU's `exp`). The tokeniser is
    that of `tokenizer_for` the reference.

    >>> sentence_bleu("the cat sat on the mat", "the cat sat on the mat") > sentence_bleu("a cat sat", "the cat sat")
    True
    """
    return float(_sentence_metric(tokenizer_for([reference])).sentence_score(hypothesis, [reference]).score)


def bleu_statistics(hypothesis: str, references: Sequence[str], *, tokenize: str = "13a") -> list[int]:
    """Return what corpus BLEU adds up over sentences: matching n-grams of each order, all n-grams, and both lengths.

    `tokenize` is that of all sentences, as `tokenizer_for` says.
    """
    found = _sentence_metric(tokenize).sentence_score(hypothesis, list(references))
    return [*found.counts, *found.totals, found.sys_len, found.ref_len]


def bleu_of_statistics(summed: Sequence[int]) -> float:
    """Return corpus BLEU, as `bleu` does, from the sums of `bleu_statistics`.

    >>> round(bleu_of_statistics(bleu_statistics("the cat sat on the mat", ["the cat sat on the rug"])), 1)
    76.0
    """
    orders = (len(summed) - 2) // 2
    correct, total, (written, expected) = summed[:orders], summed[orders : 2 * orders], summed[2 * orders :]
    return float(
        _sentence_metric("13a").compute_bleu(list(correct), list(total), written, expected, smooth_method="exp").score
    )


def sentence_chrf(hypothesis: str, reference: str) -> float:
    """Compute the chrF2 of one sentence, from 0 to 100.

    >>> sentence_chrf("the cat", "the cat")
    100.0
    """
    return float(_sentence_chrf_metric().sentence_score(hypothesis, [reference]).score)


@cache
def _sentence_metric(tokenize: str) -> Any:
    """Return sacreBLEU's metric behind `sentence_bleu` and `bleu_statistics`, which counts as that behind `bleu` does."""
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=tokenize, effective_order=True)


@cache
def _sentence_chrf_metric() -> Any:
    """Return sacreBLEU's metric behind `sentence_chrf`."""
    return chrf_metric()


def bleu_metric(*, tokenize: str = "13a", lowercase: bool = False) -> Any:
    """Return sacreBLEU's metric behind `bleu`, without its warnings. InputError for an unknown tokeniser."""
    if tokenize not in TOKENIZERS:
        raise InputError(f"BLEU has no tokeniser `{tokenize}`{nearest(tokenize, TOKENIZERS)}")
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)


def chrf_metric(*, word_order: int = 0, lowercase: bool = False) -> Any:
    """Return sacreBLEU's metric behind `chrf`."""
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(word_order=word_order, lowercase=lowercase)


def ter_metric(references: Sequence[Sequence[str]]) -> Any:
    """Return sacreBLEU's metric behind `ter`, which cuts text without spaces between words where it knows the script."""
    from sacrebleu.metrics.ter import TER

    alone = tokenizer_for(chain.from_iterable(references)) != "13a"
    return TER(normalized=alone, asian_support=alone)


def scored(metric: Any, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """Apply a sacreBLEU metric to whole corpora."""
    check_counts(hypotheses, references)
    result = metric.corpus_score(list(hypotheses), [list(reference) for reference in references])
    return Score(result.name, float(result.score), str(metric.get_signature()))


def check_counts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Raise InputError for corpora that are empty or not parallel."""
    if not references:
        raise InputError("there is nothing to compare the translations with; give at least one reference")
    if not hypotheses:
        raise InputError("there are no translations to score; the file is empty")
    for number, reference in enumerate(references, 1):
        if len(reference) != len(hypotheses):
            raise InputError(
                f"there are {len(hypotheses)} translations but reference {number} has {len(reference)} lines; "
                "they must match line by line"
            )
