"""Choose words that go together: noun phrases, subjects, objects, places and times, one random choice after another.

Every decision is one call of `choice`, on words or on their names, so that a test can make it instead.
"""

from functools import cache
from random import Random

from dragoman.data.phrasebook.lexicon import (
    Adjective,
    Adverbial,
    Determiner,
    Noun,
    Preposition,
    Verb,
    adjectives_for,
    adverbials_of,
    determiner,
    determiners,
    nouns_of,
    prepositions,
    pronouns,
    verbs,
)
from dragoman.data.phrasebook.syntax import Action, Complement, Phrase, Tense

PEOPLE = ("pronoun", "pronoun", "pronoun", "name", "person", "profession", "profession", "kin", "couple")
"""Kinds of human subject, as often as they are drawn."""

PRONOUNS = ("I", "you", "he", "she", "we", "they")
"""Those who may do something."""

_OBJECT = ("person", "profession", "name", "kin")
OWNED = (
    *("thing", "text", "garment", "accessory", "furniture", "pet", "vehicle", "fruit", "instrument", "lesson"),
    *("drink", "dish", "relation", "owned"),
)
"""Classes of what can be mine or yours."""

_SINGULAR = ("the", "the", "the", "a", "a", "a", "this", "that")
_PLURAL = ("the", "the", "these", "those")
_SEVERAL = ("some", "many", "two", "three", "four", "five")
_RARELY = ("plain", "plain", "plain", "owned")
_OWNERS = ("my", "your", "his", "her", "our", "their")


def noun(random: Random, kinds: tuple[str, ...]) -> Noun:
    """Choose a class, then a noun of it."""
    return random.choice(nouns_of(random.choice(kinds)))


def quality(random: Random, thing: Noun) -> Adjective | None:
    """Choose an adjective to stand beside a noun, now and then; none beside members of the family."""
    fitting = () if "kin" in thing.classes else adjectives_for(thing)
    return random.choice(fitting) if random.choice(("plain", "plain", "qualified")) == "qualified" and fitting else None


def specific(random: Random, thing: Noun, plural: bool = True, indefinite: bool = True) -> Phrase:
    """Speak of a certain thing or things: the, this, my, a, two ..."""
    if "name" in thing.classes:
        return Phrase(thing)
    if "kin" in thing.classes:
        return Phrase(thing, random.choice(_owners(thing)))
    chosen = random.choice(_determiners(thing, plural and bool(thing.plural), indefinite))
    return Phrase(thing, chosen, quality(random, thing))


def definite(thing: Noun) -> Phrase:
    """Speak of the thing, one only, without an adjective."""
    return Phrase(thing, determiner("the", "singular"))


def someone(random: Random) -> Phrase:
    """Choose a person to speak of, who is not a pronoun."""
    return specific(random, noun(random, _OBJECT), plural=False, indefinite=False)


def people(random: Random, names: tuple[str, ...] = PRONOUNS) -> Phrase:
    """Choose who does what only people do; `names` are the pronouns that may be."""
    kind = random.choice(PEOPLE)
    if kind == "pronoun":
        return pronoun(random, names)
    if kind == "couple":
        first, second = random.choice(nouns_of("name")), random.choice(nouns_of("name"))
        return Phrase(first, partner=Phrase(second)) if first is not second else Phrase(first)
    return specific(random, noun(random, (kind,)), indefinite=False)


def anyone(random: Random) -> Phrase:
    """Choose who does something, "every child" and "all the teachers" among them."""
    scope = random.choice(("some", "some", "some", "every", "all the"))
    if scope == "some":
        return people(random)
    found = noun(random, ("person", "profession"))
    return Phrase(found, determiner(scope, "singular" if scope == "every" else "plural"))


def others(random: Random) -> Phrase:
    """Choose whom a question is about: not the one who asks it."""
    return people(random, ("you", "you", "he", "she", "they"))


def pronoun(random: Random, names: tuple[str, ...] = PRONOUNS) -> Phrase:
    """Choose a pronoun."""
    return Phrase(pronouns()[random.choice(names)])


def subject(random: Random, kind: str) -> Phrase:
    """Choose who or what does something that only a certain class does."""
    return specific(random, noun(random, (kind,)), indefinite=False)


def verb(random: Random, kinds: tuple[str, ...], transitive: bool, form: str = "english", doer: str = "people") -> Verb:
    """Choose a verb of one of `kinds` that `doer` may do and that has the form (third, past, gerund) asked for."""
    return random.choice(_verbs(kinds, transitive, form, doer))


def objects_of(chosen: Verb, doer: str = "people") -> tuple[str, ...]:
    """Return the classes of things that `doer` may do this to."""
    return next(objects for kind, objects in chosen.frames if kind == doer)


def thing(random: Random, chosen: Verb, doer: str = "people", closed: bool = False) -> Phrase:
    """Choose an object; in a `closed` clause (a negation or a question) quantities do not occur."""
    kind = random.choice(objects_of(chosen, doer))
    if kind == "anyone":
        return someone(random)
    found = random.choice(nouns_of(kind))
    if found.classes & {"subject", "language", "meal", "game", "hobby"}:
        return Phrase(found, determiner("", "singular", "generic"))
    if closed:
        return _closed(random, found)
    if kind in ("garment", "driven", "baby", "person", "profession"):
        return specific(random, found, plural=False)
    if found.classes & {"thing", "text", "accessory", "pet"} and random.choice(_RARELY) == "owned":
        return Phrase(found, owner=owner(random))
    return Phrase(found, random.choice(_quantities(found)), quality(random, found))


def owner(random: Random) -> Phrase:
    """Choose whose something is: a name, or a person without an adjective."""
    found = noun(random, ("name", "name", "kin", "relation"))
    if "name" in found.classes:
        return Phrase(found)
    return Phrase(found, random.choice(_owners(found)) if "kin" in found.classes else determiner("the", "singular"))


def generic(found: Noun) -> Phrase:
    """Speak of a kind of thing as such: "cats", "music"."""
    return Phrase(found, determiner("", "plural" if found.plural else "singular", "generic"))


def bare(random: Random, chosen: Verb, doer: str) -> Phrase:
    """Choose an object of which there is some, without saying how much: "grass", "carrots"."""
    found = noun(random, objects_of(chosen, doer))
    return Phrase(found, determiner("", "plural" if found.plural else "singular", "bare"))


def action(random: Random, kinds: tuple[str, ...], form: str = "english", closed: bool = False) -> Action:
    """Choose what people do to something."""
    chosen = verb(random, kinds, True, form)
    return Action(chosen, thing(random, chosen, closed=closed))


def place(random: Random) -> Complement | Adverbial:
    """Choose where something is done."""
    if random.choice(("phrase", "site", "site", "site")) == "phrase":
        return random.choice(adverbials_of("place"))
    return site(random)


def site(random: Random) -> Complement:
    """Choose where people are: at the station, in the kitchen, near the church."""
    kind = random.choice(("venue", "inside", "around"))
    if kind == "around":
        return around(random)
    return Complement(preposition("at" if kind == "venue" else "in"), definite(noun(random, (kind,))))


def around(random: Random) -> Complement:
    """Choose a building or a plant that something is near to."""
    return Complement(random.choice(_prepositions("around")), definite(noun(random, ("building", "shade"))))


def spot(random: Random, found: Noun) -> Complement:
    """Choose where a thing or a pet is: on a table, under a tree; what is small also in a box."""
    kind = random.choice(("on", "on", "under", "in", "around"))
    if kind == "around":
        near = noun(random, ("furniture", "vehicle", "shade", "opening"))
        return Complement(random.choice(_prepositions("around")), definite(near))
    small = kind == "in" and found.classes & {"handheld", "fruit", "ornament"}
    flat = "seat" if "pet" in found.classes else "surface"
    where = noun(random, ("container",) if small else (flat, "shade") if kind == "under" else (flat,))
    return Complement(
        preposition("in" if small else "on" if kind == "in" or where.english == "mat" else kind), definite(where)
    )


def wilds(random: Random) -> Complement:
    """Choose where an animal is."""
    kind = random.choice(("inside", "shade", "around"))
    if kind == "around":
        return around(random)
    if kind == "shade":
        return Complement(preposition("under"), definite(noun(random, ("shade",))))
    return Complement(preposition("in"), definite(noun(random, ("outdoors",))))


def time(random: Random, *kinds: str) -> Adverbial:
    """Choose when, from phrases of one of `kinds`."""
    return random.choice(adverbials_of(random.choice(kinds)))


def seat(random: Random, posture: str) -> Complement:
    """Choose where people sit, lie or stand."""
    if posture == "stand":
        near = definite(noun(random, ("building", "shade", "opening", "vehicle")))
        return Complement(random.choice(_prepositions("around")), near)
    return Complement(preposition("on"), definite(noun(random, ("seat",))))


def plain(random: Random, found: Noun) -> Phrase:
    """Speak of a certain thing or things without an adjective."""
    if "kin" in found.classes:
        return Phrase(found, random.choice(_owners(found)))
    if not found.plural:
        return Phrase(found, determiner("the", "singular"))
    names = (("the", "singular"), ("the", "singular"), ("this", "singular"), ("the", "plural"), ("these", "plural"))
    return Phrase(found, determiner(*random.choice(names)))


def shown(random: Random, found: Noun) -> Phrase:
    """Speak of something that one points at."""
    if random.choice(_RARELY) == "owned" and found.classes.intersection(OWNED):
        return Phrase(found, owner=owner(random))
    several = determiner("", "plural", "listed")
    known = _OWNERS if found.classes.intersection(OWNED) else ()
    chosen = random.choice((*(determiner(name, "singular") for name in ("a", "a", "a", *known)), several))
    return Phrase(found, chosen, quality(random, found))


def counted(random: Random, found: Noun) -> Phrase:
    """Speak of one thing, or a number of things, not known before."""
    names = (*(("a", "singular"),) * 4, ("some", "plural"), ("many", "plural"))
    chosen = random.choice((*(determiner(*name) for name in names), *counting()[:5]))
    return Phrase(found, chosen, quality(random, found))


def ongoing(random: Random) -> Tense:
    """Choose between present and progressive."""
    return "present" if random.choice(("present", "progressive")) == "present" else "progressive"


@cache
def preposition(english: str, kind: str = "") -> Preposition:
    """Return one preposition; `kind` tells the uses of "to" apart."""
    return next(p for p in prepositions() if p.english == english and (not kind or kind in p.classes))


@cache
def _prepositions(kind: str) -> tuple[Preposition, ...]:
    return tuple(p for p in prepositions() if kind in p.classes)


def _closed(random: Random, found: Noun) -> Phrase:
    """Choose an object of a negation or a question."""
    return Phrase(found, random.choice(_known(found)), quality(random, found))


@cache
def _owners(found: Noun) -> tuple[Determiner, ...]:
    """Return whose relative it may be: a husband is hers, a wife is his."""
    excluded = {"husband": ("his", "our", "their"), "wife": ("her", "our", "their")}.get(found.english, ())
    return tuple(determiner(name, "singular") for name in _OWNERS if name not in excluded)


@cache
def _determiners(found: Noun, plural: bool, indefinite: bool) -> tuple[Determiner, ...]:
    """Return the determiners of a certain thing, as often as they are drawn."""
    owners = _OWNERS if found.classes.intersection(OWNED) else ()
    single = [name for name in _SINGULAR if name != "a" or (indefinite and found.plural)]
    several = (*_PLURAL, *(_SEVERAL if indefinite else ()), *(owners[:4] if "kin" not in found.classes else ()))
    singular = tuple(determiner(name, "singular") for name in (*single, *owners))
    return singular + tuple(determiner(name, "plural") for name in several if plural)


@cache
def _quantities(found: Noun) -> tuple[Determiner, ...]:
    """Return the determiners of an object, bare ones included."""
    base = _determiners(found, bool(found.plural), True)
    return base + (determiner("", "plural" if found.plural else "singular", "bare"),) * (len(base) // 4)


@cache
def _known(found: Noun) -> tuple[Determiner, ...]:
    """Return the determiners of an object in a negation or a question."""
    base = _determiners(found, bool(found.plural), False)
    return base + (determiner("", "plural" if found.plural else "singular", "bare"),) * (len(base) // 4)


@cache
def _verbs(kinds: tuple[str, ...], transitive: bool, form: str, doer: str) -> tuple[Verb, ...]:
    return tuple(
        found
        for found in verbs().values()
        if found.kind in kinds
        and getattr(found, form)
        and any(kind == doer and bool(objects) == transitive for kind, objects in found.frames)
    )


@cache
def counting() -> tuple[Determiner, ...]:
    """Return the numbers from two to twelve."""
    return tuple(found for found in determiners() if found.kind == "number")
