"""Subwords by SentencePiece: byte pair encoding or a unigram language model."""

import io
import random
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any, Literal

from dragoman.errors import TextError
from dragoman.text.casing import CAPITAL, lowered, marked, marked_by_counts, restored
from dragoman.text.sampling import BpeDropout, CutWord, UnigramSampler
from dragoman.text.settings import SentencePieceSettings
from dragoman.text.vocabulary import SPECIAL, UNK, Vocabulary

SPACE = "▁"
"""A space, at the start of a token; `normalize` leaves none in text."""

LARGEST_SAMPLE = 2_000_000
"""Maximum number of sentences that a vocabulary is learned from, sampled at random to limit memory."""

LONGEST_SENTENCE = 1 << 16
"""Bytes of the longest sentence that a vocabulary is learned from."""


Algorithm = Literal["bpe", "unigram"]
"""Segmentation algorithm of SentencePiece."""


class SentencePiece:
    """A SentencePiece model whose first four tokens are the special ones; TextError if `model` is not such a model.

    With `inline_casing` it segments text in which capitals at the starts of sentences are tokens.
    """

    def __init__(self, model: bytes, algorithm: Algorithm, *, inline_casing: bool = False) -> None:
        self.model = model
        self.algorithm = algorithm
        self.inline_casing = inline_casing
        self._processor = _processor(model)
        size = len(self._processor)
        pieces = [self._processor.id_to_piece(index) for index in range(size)]
        if tuple(pieces[:4]) != SPECIAL:
            raise TextError(f"the SentencePiece model starts with the tokens {pieces[:4]}, not with {list(SPECIAL)}")
        self.vocabulary = Vocabulary(pieces[4:])
        self.dropout = BpeDropout(self.vocabulary) if algorithm == "bpe" else None
        """What segments words at random; None for a unigram model, which does so by probabilities."""
        self._cut_word: CutWord = self.dropout or UnigramSampler(
            self.vocabulary, [self._processor.get_score(index) for index in range(size)]
        )

        self._usually_lower = lru_cache(maxsize=1 << 16)(self._is_usually_lower)

    def __reduce__(self) -> tuple[Callable[..., "SentencePiece"], tuple[bytes, Algorithm]]:
        made = partial(SentencePiece, inline_casing=True) if self.inline_casing else SentencePiece
        return made, (self.model, self.algorithm)

    def written(self, text: str) -> str:
        """Return normalised `text` as it is segmented."""
        return marked(text, self._usually_lower) if self.inline_casing else text

    def encode(self, text: str) -> list[int]:
        """Return the token ids of normalised `text`."""
        return self.encode_inside(self.written(text))

    def encode_inside(self, text: str) -> list[int]:
        """Return the token ids of normalised `text` inside a sentence, where no word is marked."""
        return self._processor.encode(text)

    def split(self, text: str) -> list[str]:
        """Return the tokens of normalised `text`, unknown ones as text."""
        return self._processor.encode(self.written(text), out_type=str)

    def sample(self, text: str, rng: random.Random, rate: float) -> list[int]:
        """Segment each word of normalised `text` at random; a rate of 0 gives `encode(text)`."""
        if rate == 0:
            return self.encode(text)
        return [piece for word in self.written(text).split() for piece in self._cut_word(SPACE + word, rng, rate)]

    def surfaces(self, pieces: Sequence[str]) -> list[str]:
        """Return the text of each token, including spaces."""
        return restored(pieces, SPACE) if self.inline_casing else [piece.replace(SPACE, " ") for piece in pieces]

    def _is_usually_lower(self, word: str) -> bool:
        """Tell whether a word has fewer tokens without its capital, unknown ones above all, or as many that are more frequent."""
        return self._rarity(lowered(word) or word) <= self._rarity(word)

    def _rarity(self, word: str) -> list[int]:
        """Return how many tokens of a word are unknown, how many there are, and how far down the vocabulary they stand.

        A vocabulary begins with the most frequent tokens.
        """
        ids = self._processor.encode(word)
        return [ids.count(UNK), len(ids), sum(ids)]


def learn_pieces(texts: Iterable[str], settings: SentencePieceSettings, tags: Sequence[str] = ()) -> SentencePiece:
    """Learn a vocabulary from normalised texts, with `tags` reserved; the same texts give the same model.

    The `tags` are control symbols of the model, which SentencePiece never finds in text; they count as tokens.
    Raises TextError if the texts are empty or their vocabulary cannot have the requested size.
    """
    from sentencepiece import SentencePieceTrainer

    model, broken = io.BytesIO(), list[BaseException]()
    written, needed = (marked_by_counts(texts), CAPITAL) if settings.inline_casing else (texts, "")
    try:
        with _ended_by_signals():
            SentencePieceTrainer.train(
                sentence_iterator=_noting(_separate_special_names(written), broken),
                model_writer=model,
                model_type=settings.algorithm,
                vocab_size=settings.size,
                character_coverage=settings.character_coverage,
                normalization_rule_name="identity",
                remove_extra_whitespaces=False,
                input_sentence_size=LARGEST_SAMPLE,
                max_sentence_length=LONGEST_SENTENCE,
                num_threads=4,
                minloglevel=2,
                pad_id=0,
                bos_id=1,
                eos_id=2,
                unk_id=3,
                pad_piece=SPECIAL[0],
                bos_piece=SPECIAL[1],
                eos_piece=SPECIAL[2],
                unk_piece=SPECIAL[3],
                control_symbols=list(tags),
                required_chars=needed,
            )
    except (RuntimeError, OSError) as error:
        if broken:
            raise broken[0] from None
        raise _problem(str(error), settings) from None
    return SentencePiece(model.getvalue(), settings.algorithm, inline_casing=settings.inline_casing)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the process at once: the trainer, which may take minutes, lets no handler of Python run."""
    names = ("SIGTERM", "SIGHUP") if threading.current_thread() is threading.main_thread() else ()
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    handled = {number: handler for number, handler in before.items() if callable(handler)}
    for number in handled:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)


def _separate_special_names(texts: Iterable[str]) -> Iterator[str]:
    """Break up "</s>" and the like inside text: SentencePiece would leave their characters out of the vocabulary."""
    name = re.compile("|".join(SPECIAL))
    for text in texts:
        yield name.sub(lambda match: " ".join(match.group()), text) if "<" in text else text


def _noting(texts: Iterable[str], broken: list[BaseException]) -> Iterator[str]:
    """Pass texts on, and note what ends their reading: the trainer would make a RuntimeError of it."""
    try:
        yield from texts
    except (Exception, KeyboardInterrupt) as error:
        broken.append(error)
        raise


def _processor(model: bytes) -> Any:
    """Read a serialised model."""
    from sentencepiece import SentencePieceProcessor

    try:
        processor = SentencePieceProcessor(model_proto=model)
        if len(processor) >= len(SPECIAL):
            return processor
    except RuntimeError:
        pass
    raise TextError("this is not a SentencePiece model")


class TooLargeError(TextError):
    """A vocabulary that is larger than the text allows."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(
            f"text.size is {size}, but this text allows a vocabulary of at most {most} tokens; set text.size to {most} or less"
        )
        self.most = most
        """The largest size of a vocabulary of the text."""


def _problem(error: str, settings: SentencePieceSettings) -> TextError:
    """Turn the trainer's error into one sentence."""
    if too_large := re.search(r"set it to a value <= (\d+)", error):
        return TooLargeError(settings.size, int(too_large[1]))
    return TextError(_sentence(error, settings))


def _sentence(error: str, settings: SentencePieceSettings) -> str:
    """Describe a problem of the trainer in one sentence."""
    if too_small := re.search(r"smaller than required_chars\. \d+ vs (\d+)", error):
        return (
            f"text.size is {settings.size}, but the characters of this text and the special tokens alone are "
            f"{too_small[1]}; set text.size to {too_small[1]} or more, or lower text.character_coverage"
        )
    if "sentences_.empty()" in error:
        return "there is no text to learn a vocabulary from; are the training files empty?"
    return f"SentencePiece cannot learn a vocabulary of {settings.size} tokens from this text ({error})"
