"""The words of the phrasebook, read once from the tables `words_*.tsv` beside this file.

In the tables "." stands for the regular form, "-" for none, "=" for an adjective that never changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from dragoman.data.phrasebook.morphology import (
    english_gerund,
    english_past,
    english_plural,
    english_third,
    french_plural,
    french_present,
)
from dragoman.data.phrasebook.tokens import Token

Number = Literal["singular", "plural"]
IMPERFECT = {
    "être": ("étais", "étais", "était", "étions", "étaient"),
    "avoir": ("avais", "avais", "avait", "avions", "avaient"),
}
"""French imperfect of the two verbs that describe states; person as in `French.present`."""

MOVING = frozenset(("aller", "arriver", "partir", "venir", "revenir", "rester", "tomber"))
"""French verbs whose past is made with être, so that the participle agrees with the subject."""


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun or name; `plural` is empty for one that is not counted."""

    english: str
    plural: str
    classifier: str
    vietnamese: str
    french: str
    french_plural: str
    gender: str
    plural_in_french: bool
    classes: frozenset[str]
    feminine: str = ""
    """What a woman of this profession is called in French."""


@dataclass(frozen=True, slots=True, eq=False)
class Pronoun:
    """A personal pronoun; `person` counts the French forms je, tu, il, nous, ils from 0."""

    english: str
    objective: str
    vietnamese: str
    french: str
    french_object: str
    person: int
    gender: str


@dataclass(frozen=True, slots=True, eq=False)
class Determiner:
    """What stands before (in Vietnamese also after) a noun; `french` holds the forms m, f, m and f before a vowel."""

    english: str
    number: Number
    classified: bool
    before: str
    after: str
    french: tuple[str, str, str, str]
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """A quality; `french` holds the forms m, f, m plural, f plural and m before a vowel."""

    english: str
    comparative: str
    vietnamese: str
    french: tuple[str, str, str, str, str]
    position: str
    """In French: before or after the noun, or "have" where avoir and a noun say it (avoir faim)."""
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class French:
    """A French verb; `tail` is what follows the conjugated word (avoir *besoin* de)."""

    infinitive: str
    present: tuple[str, ...]
    participle: str
    tail: str
    preposition: str


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb; `frames` are the classes of its subjects, each with the classes of its objects."""

    english: str
    third: str
    past: str
    gerund: str
    vietnamese: str
    french: French
    kind: str
    frames: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Preposition:
    """A preposition; French à and de contract later with the article."""

    english: str
    vietnamese: str
    french: str
    classes: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Adverbial:
    """A fixed phrase with its alignment; `front` puts it first in Vietnamese."""

    english: str
    source: tuple[Token, ...]
    vietnamese: tuple[Token, ...]
    french: tuple[Token, ...]
    front: bool
    classes: frozenset[str]


def table(name: str) -> Iterator[dict[str, str]]:
    """Read the rows of `words_<name>.tsv`, "-" as an empty cell."""
    lines = Path(__file__).with_name(f"words_{name}.tsv").read_text(encoding="utf-8").rstrip("\n").split("\n")
    header = lines[0].split("\t")
    for line in lines[1:]:
        cells = ["" if cell == "-" else cell for cell in line.split("\t")]
        yield dict(zip(header, cells, strict=True))


@cache
def nouns() -> tuple[Noun, ...]:
    """Return every noun, name and profession."""
    found = [
        Noun(
            row["english"],
            _regular(row["plural"], english_plural(row["english"])),
            row["classifier"],
            row["vietnamese"],
            row["french"],
            _regular(row["french_plural"], french_plural(row["french"])),
            row["gender"][0],
            row["gender"].endswith("p"),
            _set(row["classes"]),
        )
        for row in table("nouns")
    ]
    for row in table("professions"):
        plural = _regular(row["plural"], english_plural(row["english"]))
        french = row["masculine"]
        forms = (row["english"], plural, "", row["vietnamese"], french, french_plural(french), "m", False)
        found.append(Noun(*forms, _set(row["classes"]), row["feminine"]))
    return tuple(found)


@cache
def pronouns() -> dict[str, Pronoun]:
    """Return the personal pronouns (and "who") by their English name."""
    return {row["english"]: Pronoun(**{**row, "person": int(row["person"])}) for row in table("pronouns")}  # type: ignore[arg-type]


@cache
def determiners() -> tuple[Determiner, ...]:
    """Return every determiner, singular and plural apart."""
    return tuple(
        Determiner(
            row["english"],
            "plural" if row["number"] == "plural" else "singular",
            row["classifier"] == "yes",
            row["before"],
            row["after"],
            (row["masculine"], row["feminine"], row["masculine_vowel"], row["feminine_vowel"]),
            row["kind"],
        )
        for row in table("determiners")
    )


@cache
def adjectives() -> tuple[Adjective, ...]:
    """Return every adjective."""
    return tuple(
        Adjective(
            row["english"],
            row["comparative"],
            row["vietnamese"],
            _agreement(row["masculine"], row["feminine"]),
            row["position"],
            tuple(row["classes"].split(",")),
        )
        for row in table("adjectives")
    )


@cache
def verbs() -> dict[str, Verb]:
    """Return every verb by its English base form; those of playing also by their kind: "play game".

    `past` or `gerund` is empty where the phrasebook avoids the form.
    """
    found = {}
    for row in table("verbs"):
        base = row["english"]
        found[f"{base} {row['kind']}" if row["kind"] in ("game", "instrument") else base] = Verb(
            base,
            _regular(row["third"], english_third(base)),
            _regular(row["past"], english_past(base)),
            _regular(row["gerund"], english_gerund(base)),
            row["vietnamese"],
            french_verb(row["french"]),
            row["kind"],
            tuple(_frame(frame) for frame in row["frames"].split(";") if frame),
        )
    return found


@cache
def prepositions() -> tuple[Preposition, ...]:
    """Return every preposition."""
    return tuple(
        Preposition(row["english"], row["vietnamese"], row["french"], _set(row["classes"]))
        for row in table("prepositions")
    )


@cache
def adverbials() -> tuple[Adverbial, ...]:
    """Return the fixed phrases, with "in France", "to France" and "from France" for every land and city."""
    found = [
        _adverbial(row["english"], row["vietnamese"], row["french"], row["place"] == "front", row["classes"])
        for row in table("adverbials")
    ]
    for row in table("lands"):
        name, vietnamese = row["english"], _numbered(row["vietnamese"])
        within, away = _contracted(row["in_french"]), _contracted(row["from_french"])
        found.append(_adverbial(f"in:1 {name}:2", f"ở:1 {vietnamese}", within, False, "land"))
        found.append(_adverbial(f"to:1 {name}:2", f"đến:1 {vietnamese}", within, False, "journey"))
        found.append(_adverbial(f"from:1 {name}:2", f"từ:1 {vietnamese}", away, False, "origin"))
    return tuple(found)


@cache
def french_verb(phrase: str) -> French:
    """Conjugate a French verb phrase such as "avoir besoin de".

    >>> french_verb("avoir besoin de").tail, french_verb("parler").present[3]
    ('besoin', 'parlons')
    """
    infinitive, *rest = phrase.split()
    preposition = rest.pop() if rest and rest[-1] in ("à", "de") else ""
    irregular = _conjugations().get(infinitive)
    present = irregular[:5] if irregular else french_present(infinitive)
    participle = irregular[5] if irregular else infinitive[:-2] + "é"
    return French(infinitive, present, participle, " ".join(rest), preposition)


@cache
def nouns_of(kind: str) -> tuple[Noun, ...]:
    """Return the nouns of a class."""
    return tuple(noun for noun in nouns() if kind in noun.classes)


@cache
def adverbials_of(kind: str) -> tuple[Adverbial, ...]:
    """Return the fixed phrases of a class."""
    return tuple(adverbial for adverbial in adverbials() if kind in adverbial.classes)


@cache
def adjectives_for(noun: Noun) -> tuple[Adjective, ...]:
    """Return the qualities that things of this class may have."""
    return tuple(adjective for adjective in adjectives() if noun.classes.intersection(adjective.classes))


@cache
def determiner(english: str, number: Number, kind: str = "") -> Determiner:
    """Return one determiner; `kind` tells apart those without an English word."""
    return next(d for d in determiners() if (d.english, d.number) == (english, number) and kind in ("", d.kind))


@cache
def _conjugations() -> dict[str, tuple[str, ...]]:
    return {row.pop("infinitive"): tuple(row.values()) for row in table("conjugations")}


def _regular(cell: str, form: str) -> str:
    return form if cell == "." else cell


def _set(cell: str) -> frozenset[str]:
    return frozenset(cell.split(","))


def _agreement(masculine: str, feminine: str) -> tuple[str, str, str, str, str]:
    """Return the five forms of an adjective from its cells."""
    plain, _, liaison = masculine.partition("/")
    if feminine == "=":
        return plain, plain, plain, plain, plain
    return plain, feminine, french_plural(plain), french_plural(feminine), liaison or plain


def _frame(cell: str) -> tuple[str, tuple[str, ...]]:
    subject, _, objects = cell.partition(":")
    return subject, tuple(kind for kind in objects.split(",") if kind != "-")


def _adverbial(english: str, vietnamese: str, french: str, front: bool, classes: str) -> Adverbial:
    """Build a fixed phrase from cells such as "next:1 week:2"; 0 is aligned to nothing, no number means 1."""
    name = " ".join(word.partition(":")[0] for word in english.split())
    source, left, right = (_marked(cell, name) for cell in (english, vietnamese, french))
    return Adverbial(name, source, left, right, front, _set(classes))


def _marked(cell: str, name: str) -> tuple[Token, ...]:
    tokens = []
    for word in cell.split():
        text, _, numbers = word.partition(":")
        tokens.append(Token(text, tuple(f"{name}.{n}" for n in (numbers or "1").split(",") if n != "0")))
    return tuple(tokens)


def _numbered(name: str) -> str:
    return " ".join(f"{word}:2" for word in name.split())


def _contracted(place: str) -> str:
    """Number "en France": au and du hold both the preposition and the article of the name."""
    first, *name = place.split()
    return " ".join([f"{first}:1", *(f"{word}:2" for word in name)])
