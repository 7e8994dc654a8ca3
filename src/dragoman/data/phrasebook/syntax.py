"""What a sentence says, before it is said in a language: the trees that patterns draw and languages put into words."""

from dataclasses import dataclass
from typing import Literal

from dragoman.data.phrasebook.lexicon import Adjective, Adverbial, Determiner, Noun, Preposition, Pronoun, Verb

Tense = Literal["present", "past", "future", "progressive"]
Form = Literal["statement", "question", "command", "suggestion", "subject question"]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase; a pronoun has no determiner."""

    head: Noun | Pronoun
    determiner: Determiner | None = None
    adjective: Adjective | None = None
    owner: "Phrase | None" = None
    """Whose it is: "the teacher's book"."""
    contents: Noun | None = None
    """What it holds: "a glass of water"."""
    partner: "Phrase | None" = None
    """Who else: "Anna and Paul"."""
    relative: "Action | None" = None
    """Who does it: "a woman who sings"."""

    @property
    def plural(self) -> bool:
        """Whether English agrees in the plural."""
        if isinstance(self.head, Pronoun):
            return self.head.english in ("you", "we", "they")
        return self.partner is not None or (self.determiner is not None and self.determiner.number == "plural")


@dataclass(frozen=True, slots=True)
class Action:
    """Doing something: a verb, what it acts on, and a verb before it such as "want to"."""

    verb: Verb
    object: Phrase | None = None
    modal: Verb | None = None


@dataclass(frozen=True, slots=True)
class Quality:
    """Being some way: "very tall", "taller than Paul"."""

    adjective: Adjective
    degree: Literal["plain", "very", "too", "comparative"] = "plain"
    than: Phrase | None = None


@dataclass(frozen=True, slots=True)
class Profession:
    """Being a doctor."""

    noun: Noun


@dataclass(frozen=True, slots=True)
class Location:
    """Being somewhere; the clause's complement says where."""


@dataclass(frozen=True, slots=True)
class Age:
    """Being ten years old."""

    years: Determiner


Predicate = Action | Quality | Profession | Location | Age


@dataclass(frozen=True, slots=True)
class Complement:
    """A preposition and what it governs: "on the table"."""

    preposition: Preposition
    phrase: Phrase


@dataclass(frozen=True, slots=True)
class Clause:
    """Someone does or is something."""

    subject: Phrase
    predicate: Predicate
    tense: Tense = "present"
    negative: bool = False
    form: Form = "statement"
    asked: Literal["", "what", "where", "why", "when", "how many"] = ""
    """What a question asks for; with "how many" it is the object."""
    complements: tuple[Complement | Adverbial, ...] = ()
    frequency: Adverbial | None = None
    time: Adverbial | None = None


@dataclass(frozen=True, slots=True)
class Existence:
    """There is something somewhere."""

    phrase: Phrase
    place: Complement
    form: Form = "statement"


@dataclass(frozen=True, slots=True)
class Presentation:
    """This is something."""

    pointer: Literal["this", "that"]
    phrase: Phrase
    negative: bool = False
    form: Form = "statement"


@dataclass(frozen=True, slots=True)
class Compound:
    """Two clauses joined by a word."""

    first: Clause
    joint: Literal["and", "but", "because", "when"]
    second: Clause


@dataclass(frozen=True, slots=True)
class Weather:
    """A fixed sentence about the weather, and its time."""

    adverbial: Adverbial
    time: Adverbial


@dataclass(frozen=True, slots=True)
class Clock:
    """It is three o'clock."""

    hour: Determiner


@dataclass(frozen=True, slots=True)
class Greeting:
    """Good morning, Anna."""

    adverbial: Adverbial
    name: Noun


Sentence = Clause | Existence | Presentation | Compound | Weather | Clock | Greeting


def ending(form: Form) -> str:
    """Return the punctuation that ends a clause.

    >>> ending("statement"), ending("subject question"), ending("command")
    ('.', '?', '!')
    """
    match form:
        case "question" | "subject question":
            return "?"
        case "command" | "suggestion":
            return "!"
        case "statement":
            return "."
