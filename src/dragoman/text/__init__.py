"""Text and its tokens: normalisation, tokenisers, vocabularies, and the codec that joins them."""

from dragoman.text.codec import Codec, learn_codecs
from dragoman.text.normalize import normalize
from dragoman.text.settings import CharactersSettings, SentencePieceSettings, TextSettings, WordsSettings

__all__ = [
    "CharactersSettings",
    "Codec",
    "SentencePieceSettings",
    "TextSettings",
    "WordsSettings",
    "learn_codecs",
    "normalize",
]
