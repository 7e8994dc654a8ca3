"""Vocabularies that grow: characters that they lack and codes of new languages get ids after all others, which stay as before."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dragoman.errors import TextError
from dragoman.text.codec import Codec
from dragoman.text.frames import Between, Frame, Frames
from dragoman.text.imported import Imported, Table
from dragoman.text.pieces import SentencePiece
from dragoman.text.sentencepiece_models import with_pieces
from dragoman.text.tags import language_of, tag_piece
from dragoman.text.vocabulary import SPECIAL, Vocabulary
from dragoman.text.words import Characters, Words


def unknown_characters(codec: Codec, text: str) -> list[str]:
    """Return the characters of `text` that a vocabulary does not have, or only spells in bytes; none if its tokens are words."""
    tokenizer = codec.tokenizer
    if isinstance(tokenizer, Words):
        return []
    pieces, ids = codec.ordered(codec.split(text)), codec.ordered(codec.encode(text))
    rows = zip(pieces, ids, tokenizer.surfaces(pieces), strict=True)
    odd = (surface for piece, index, surface in rows if index == codec.special.unk or piece in _byte_pieces(codec))
    return [one for surface in odd for one in surface if not one.isspace() and not _has(codec, one)]


def grow(
    codecs: tuple[Codec, Codec], characters: tuple[Sequence[str], Sequence[str]], languages: Sequence[str] = ()
) -> tuple[Codec, Codec]:
    """Return the codecs of source and target with new characters for each, and codes of new languages.

    Vocabularies that both sides share stay the same. Raises TextError for a language that is there already, and where sources
    begin with no codes of languages, or the tokens are words.
    """
    source, target = codecs
    for language in languages:
        if tag_piece(language) in source.tokenizer.vocabulary.tags:
            raise TextError(f"the vocabulary has the language `{language}` already; remove it")
    if languages and not _languages(source):
        raise TextError(
            "the sources of this model begin with no codes of languages, because it translates from one language to another; "
            "train a run of several languages, with `data.languages`, or adapt one that was imported as it is, with "
            "`--set data.target=...`"
        )
    if source.shares(target):
        both = list(dict.fromkeys([*characters[0], *characters[1]]))
        characters = (both, both)
    return _grown(source, characters[0], languages), _grown(target, characters[1], languages)


def origins(before: Codec, after: Codec) -> list[list[int]]:
    """Return for each new id of `after`, which has grown from `before`, the old ids whose rows its row begins as the mean of.

    A language begins as the mean of the other languages, a character that was spelled in bytes as the mean of these. Any other
    was `<unk>`, which says nothing of it, so it begins as the mean of all tokens of text: by Jensen's inequality it then takes
    no more of the probability than these take on average (Hewitt 2021, "Initializing new word embeddings for pretrained
    language models"), so that old text is translated as before.
    """
    special, tokenizer = before.special, before.tokenizer
    silent = tokenizer.table.silent if isinstance(tokenizer, Imported) else frozenset[int]()
    text = [index for index in range(len(before)) if index not in {*special.all, *silent}]
    languages, found = list(_languages(before).values()), list[list[int]]()
    for index in range(len(before), len(after)):
        piece = after.tokenizer.vocabulary.piece(index)
        rows = zip(before.split(piece), before.encode(piece), strict=True)
        spelled = [one for byte, one in rows if byte in _byte_pieces(before)]
        found.append(languages if index in after.special.tags else spelled or text)
    return found


def _languages(codec: Codec) -> dict[str, int]:
    """Return the ids of the codes of languages."""
    tags = codec.tokenizer.vocabulary.tags
    return {name: index for piece, index in tags.items() if (name := language_of(piece)) is not None}


def _byte_pieces(codec: Codec) -> Mapping[str, int]:
    """Return the pieces that stand for bytes."""
    return codec.tokenizer.byte_pieces if isinstance(codec.tokenizer, Imported) else {}


def _has(codec: Codec, character: str) -> bool:
    """Tell whether a character has an id, and is found in text."""
    tokenizer = codec.tokenizer
    known = tokenizer.vocabulary.id(character) != codec.special.unk
    return known and (not isinstance(tokenizer, Imported) or tokenizer.finds(character))


def _grown(codec: Codec, characters: Sequence[str], languages: Sequence[str]) -> Codec:
    """Return one codec with what is new; languages go only where there are some."""
    tokenizer, old = codec.tokenizer, codec.tokenizer.vocabulary
    new = [one for one in characters if old.id(one) == codec.special.unk]
    tags = [tag_piece(language) for language in languages] if _languages(codec) else []
    grown: Imported | SentencePiece | Characters | Words
    match tokenizer:
        case Imported():
            found = [one for one in characters if not tokenizer.finds(one)]
            grown = Imported(with_pieces(tokenizer.model, found), _larger(tokenizer.table, new, languages))
        case SentencePiece():
            model = with_pieces(tokenizer.model, new, tags)
            grown = SentencePiece(model, tokenizer.algorithm, inline_casing=tokenizer.inline_casing)
        case Characters():
            grown = Characters(Vocabulary([*list(old)[len(SPECIAL) :], *new, *tags]))
        case Words():
            if new:
                raise TextError("the tokens of this vocabulary are words, so it cannot grow by characters")
            grown = Words(Vocabulary([*list(old)[len(SPECIAL) :], *tags]))
        case _:
            raise TextError("this vocabulary cannot grow")
    return Codec(grown, lower=codec.lower, right_to_left=codec.right_to_left)


def _larger(table: Table, characters: Sequence[str], languages: Sequence[str]) -> Table:
    """Return a table with more rows; a new language is spelled, and used in frames, as one that is there."""
    pieces, tags, silent = [*table.pieces, *characters], dict(table.tags), set(table.silent)
    frames, starts = table.frames, table.starts
    known = {name: index for piece, index in table.tags.items() if (name := language_of(piece)) is not None}
    for language in languages if known else ():
        name, index = next(iter(known.items()))
        piece = table.pieces[index].replace(name, language)
        if piece in pieces:
            raise TextError(f"the vocabulary has the token `{piece}` already; choose another code")
        tags[tag_piece(language)] = len(pieces)
        silent.add(len(pieces))
        frames, starts = (_with_language(one, known, language, index=len(pieces)) for one in (frames, starts))
        pieces.append(piece)
    return replace(table, pieces=tuple(pieces), tags=tags, silent=frozenset(silent), frames=frames, starts=starts)


def _with_language(frames: Frames, known: Mapping[str, int], language: str, *, index: int) -> Frames:
    """Return frames with those of a new language, which are those of the first with its own code in them; the same if none is."""
    for rule, frame in frames.rules.items():
        name = next((one for one in rule if one is not None and one in known), None)
        if name is not None and known[name] in (*frame.before, *frame.after):
            own = Between._make(language if one == name else one for one in rule)
            ids = (tuple(index if one == known[name] else one for one in part) for part in frame)
            return Frames({**frames.rules, own: Frame._make(ids)})
    return frames
