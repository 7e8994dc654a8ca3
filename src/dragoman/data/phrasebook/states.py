"""Sentence patterns about being and about what there is: each draws one tree, as in `statements`."""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Literal

from dragoman.data.phrasebook import pick
from dragoman.data.phrasebook.lexicon import (
    Adjective,
    Determiner,
    Noun,
    adjectives,
    determiner,
    determiners,
    nouns_of,
    verbs,
)
from dragoman.data.phrasebook.syntax import (
    Action,
    Age,
    Clause,
    Clock,
    Complement,
    Compound,
    Existence,
    Greeting,
    Location,
    Phrase,
    Presentation,
    Profession,
    Quality,
    Sentence,
    Weather,
)

THINGS = ("thing", "text", "garment", "accessory", "furniture", "vehicle", "fruit", "instrument")
"""Classes of things that lie about."""

LYING = ("thing", "text", "accessory", "fruit", "pet")
"""Classes of things that are on a table or under it."""

SHOWN = (*THINGS, "animal", "insect", "plant", "building")
"""Classes of things one points at."""

_POINTED = ("this", "that", "my", "your", "his", "her", "our", "their")
_FEELERS = ("pronoun", "pronoun", "name", "kin", "person", "profession")


_WEATHER = {"weather": ("now", "habit", "land"), "raining": ("now", "land"), "seasonal": ("season", "land")}
_REASONS = {
    "cry": ("sad", "tired", "afraid", "hungry", "worried"),
    "smile": ("happy", "proud", "surprised"),
    "sleep": ("tired", "sleepy", "ill"),
    "shout": ("angry", "afraid", "surprised", "happy"),
    "eat": ("hungry", "sad", "worried"),
    "drink": ("thirsty", "tired"),
    "dance": ("happy", "proud"),
    "sing": ("happy", "sad", "calm"),
    "run": ("afraid", "happy"),
    "walk": ("worried", "sad", "calm"),
}
_GRADES: tuple[Literal["plain", "very", "too"], ...] = ("plain", "very", "too")


def is_some_way(random: Random) -> Clause:
    """Draw "This house is old."; without a degree only of this, that and mine, as Vietnamese prefers."""
    found, adjective = qualified(random)
    names = _POINTED if found.classes.intersection(pick.OWNED) else _POINTED[:2]
    return Clause(Phrase(found, determiner(random.choice(names), "singular")), Quality(adjective))


def are_some_way(random: Random) -> Clause:
    """Draw "These shoes are expensive."."""
    found, adjective = qualified(random)
    if not found.plural:
        return Clause(Phrase(found, determiner("this", "singular")), Quality(adjective))
    return Clause(Phrase(found, determiner(random.choice(("these", "those")), "plural")), Quality(adjective))


def is_very(random: Random) -> Clause:
    """Draw "The lesson is very difficult."."""
    found, adjective = qualified(random, gradable=True)
    return Clause(pick.plain(random, found), Quality(adjective, random.choice(_GRADES[1:])))


def is_not_some_way(random: Random) -> Clause:
    """Draw "The dog is not dangerous."."""
    found, adjective = qualified(random)
    return Clause(pick.plain(random, found), Quality(adjective), negative=True)


def is_not_very(random: Random) -> Clause:
    """Draw "The rooms are not very clean."."""
    found, adjective = qualified(random, gradable=True)
    return Clause(pick.plain(random, found), Quality(adjective, "very"), negative=True)


def feels(random: Random) -> Clause:
    """Draw "I am very tired."."""
    adjective = feeling(random)
    degree = random.choice(_GRADES) if adjective.comparative else "plain"
    return Clause(someone_feeling(random), Quality(adjective, degree))


def does_not_feel(random: Random) -> Clause:
    """Draw "She is not hungry."."""
    return Clause(someone_feeling(random), Quality(feeling(random)), negative=True)


def felt(random: Random) -> Clause:
    """Draw "We were happy yesterday."."""
    return Clause(someone_feeling(random), Quality(feeling(random)), "past", time=pick.time(random, "past"))


def will_feel(random: Random) -> Clause:
    """Draw "They will be ready tomorrow."."""
    return Clause(someone_feeling(random), Quality(feeling(random)), "future", time=pick.time(random, "future"))


def is_more(random: Random) -> Clause:
    """Draw "My car is faster than your car."."""
    adjective = random.choice(tuple(found for found in _gradable() if set(found.classes).intersection(pick.OWNED)))
    owned = pick.noun(random, tuple(kind for kind in adjective.classes if kind in pick.OWNED))
    mine = Phrase(owned, determiner(random.choice(("my", "our", "his")), "singular"))
    yours = Phrase(owned, determiner(random.choice(("your", "her", "their")), "singular"))
    return Clause(mine, Quality(adjective, "comparative", yours))


def is_more_than_another(random: Random) -> Clause:
    """Draw "The lion is bigger than the wolf."."""
    adjective = random.choice(_gradable())
    kind = random.choice(adjective.classes)
    first, second = pick.definite(pick.noun(random, (kind,))), pick.noun(random, (kind,))
    return Clause(first, Quality(adjective, "comparative", Phrase(second, determiner("this", "singular"))))


def someone_is_more(random: Random) -> Clause:
    """Draw "Anna is taller than the teacher."."""
    adjective = random.choice(tuple(found for found in _gradable() if "kin" in found.classes))
    return Clause(Phrase(pick.noun(random, ("name",))), Quality(adjective, "comparative", pick.owner(random)))


def is_profession(random: Random) -> Clause:
    """Draw "She is a doctor."."""
    return Clause(_professional(random), Profession(pick.noun(random, ("profession",))))


def is_not_profession(random: Random) -> Clause:
    """Draw "I am not a lawyer."."""
    return Clause(_professional(random), Profession(pick.noun(random, ("profession",))), negative=True)


def is_somewhere(random: Random) -> Clause:
    """Draw "The keys are on the table."."""
    found = pick.noun(random, ("thing", "text", "accessory", "pet"))
    return Clause(pick.plain(random, found), Location(), complements=(pick.spot(random, found),))


def someone_is_somewhere(random: Random) -> Clause:
    """Draw "My father was at the hospital yesterday."."""
    where = (pick.place(random),)
    if random.choice(("present", "past")) == "past":
        return Clause(pick.people(random), Location(), "past", complements=where, time=pick.time(random, "past"))
    return Clause(pick.people(random), Location(), complements=where)


def sits(random: Random) -> Clause:
    """Draw "The cat sits on the mat."."""
    doer = random.choice(("people", "pet"))
    posture, tense = Action(pick.verb(random, ("posture",), False, doer=doer)), pick.ongoing(random)
    if doer == "people":
        return Clause(pick.people(random), posture, tense, complements=(pick.seat(random, posture.verb.english),))
    pet = pick.noun(random, ("pet",))
    sitter = pick.specific(random, pet, indefinite=False)
    return Clause(sitter, posture, tense, complements=(pick.spot(random, pet),))


def is_years_old(random: Random) -> Clause:
    """Draw "The boy is ten years old."."""
    kind = random.choice(("young", "name", "adult", "pronoun"))
    years = random.choice(pick.counting() if kind == "young" else _ages())
    return Clause(pick.pronoun(random) if kind == "pronoun" else _the(pick.noun(random, (kind,))), Age(years))


def this_is(random: Random) -> Presentation:
    """Draw "This is a book."."""
    return Presentation(_pointer(random), pick.shown(random, pick.noun(random, SHOWN)))


def this_is_not(random: Random) -> Presentation:
    """Draw "That is not my bag."."""
    return Presentation(_pointer(random), pick.shown(random, pick.noun(random, SHOWN)), negative=True)


def this_is_someone(random: Random) -> Presentation:
    """Draw "This is my brother."."""
    return Presentation(_pointer(random), pick.specific(random, pick.noun(random, ("kin",))))


def there_is(random: Random) -> Existence:
    """Draw "There are three books on the table."."""
    found = pick.noun(random, LYING)
    return Existence(pick.counted(random, found), pick.spot(random, found))


def there_is_an_animal(random: Random) -> Existence:
    """Draw "There are many birds in the forest."."""
    return Existence(pick.counted(random, pick.noun(random, ("animal", "insect"))), pick.wilds(random))


def there_is_a_building(random: Random) -> Existence:
    """Draw "There are two pharmacies in the village."."""
    where = Complement(pick.preposition("in"), pick.definite(pick.noun(random, ("settlement",))))
    return Existence(pick.counted(random, pick.noun(random, ("building",))), where)


def there_is_someone(random: Random) -> Existence:
    """Draw "There is a nurse in the garden."."""
    where = pick.site(random)
    return Existence(pick.counted(random, pick.noun(random, ("person", "profession"))), where)


def but(random: Random) -> Compound:
    """Draw "I like tea but I don't like coffee."."""
    who, chosen = pick.pronoun(random), verbs()[random.choice(("like", "love"))]
    kind = random.choice(pick.objects_of(chosen))
    liked = random.choice(nouns_of(kind))
    disliked = random.choice(tuple(found for found in nouns_of(kind) if found is not liked))
    first, second = (Action(chosen, pick.generic(found)) for found in (liked, disliked))
    return Compound(Clause(who, first), "but", Clause(who, second, negative=True))


def because(random: Random) -> Compound:
    """Draw "She is crying because she is sad."."""
    who, (action, reason) = pick.pronoun(random), _reasoned(random)
    return Compound(Clause(who, action, "progressive"), "because", Clause(who, reason))


def when(random: Random) -> Compound:
    """Draw "He sings when he is happy."."""
    who, (action, reason) = pick.pronoun(random), _reasoned(random)
    return Compound(Clause(who, action), "when", Clause(who, reason))


def and_also(random: Random) -> Compound:
    """Draw "Anna is singing and Paul is dancing."."""
    first, second = (Action(pick.verb(random, ("activity",), False)) for _ in range(2))
    one, other = pick.people(random), pick.people(random)
    return Compound(Clause(one, first, "progressive"), "and", Clause(other, second, "progressive"))


def weather(random: Random) -> Weather:
    """Draw "It is cold today."."""
    kind = random.choice(tuple(_WEATHER))
    times = _WEATHER[kind]
    return Weather(pick.time(random, kind), pick.time(random, *times))


def clock(random: Random) -> Clock:
    """Draw "It is three o'clock."."""
    return Clock(random.choice(pick.counting()))


def greeting(random: Random) -> Greeting:
    """Draw "Good morning, Anna!"."""
    return Greeting(pick.time(random, "greeting"), pick.noun(random, ("name",)))


def _reasoned(random: Random) -> tuple[Action, Quality]:
    """Choose what one does and the feeling that makes one do it."""
    done = random.choice(tuple(_REASONS))
    felt = random.choice(_REASONS[done])
    return Action(verbs()[done]), Quality(next(found for found in adjectives() if found.english == felt))


def qualified(random: Random, gradable: bool = False) -> tuple[Noun, Adjective]:
    """Choose a quality and something that may have it."""
    adjective = random.choice(_gradable() if gradable else _qualities())
    return pick.noun(random, adjective.classes), adjective


def feeling(random: Random) -> Adjective:
    """Choose how someone feels."""
    return random.choice(tuple(found for found in adjectives() if "feeling" in found.classes))


def someone_feeling(random: Random) -> Phrase:
    """Choose who feels something, or has an age."""
    kind = random.choice(_FEELERS)
    if kind == "pronoun":
        return pick.pronoun(random)
    found = pick.noun(random, (kind,))
    return pick.specific(random, found) if "kin" in found.classes else _the(found)


def _the(found: Noun) -> Phrase:
    """Speak of one person, by name or as "the man"."""
    return Phrase(found) if "name" in found.classes else pick.definite(found)


@cache
def _ages() -> tuple[Determiner, ...]:
    return tuple(found for found in determiners() if found.kind == "age")


@cache
def _qualities() -> tuple[Adjective, ...]:
    return tuple(found for found in adjectives() if "feeling" not in found.classes)


@cache
def _gradable() -> tuple[Adjective, ...]:
    return tuple(found for found in _qualities() if found.comparative)


def _professional(random: Random) -> Phrase:
    """Choose someone whose profession is told."""
    kind = random.choice(("pronoun", "pronoun", "name", "kin"))
    if kind == "pronoun":
        return pick.pronoun(random)
    return pick.specific(random, pick.noun(random, (kind,)))


def _pointer(random: Random) -> Literal["this", "that"]:
    return "this" if random.choice(("this", "that")) == "this" else "that"


PATTERNS: tuple[Callable[[Random], Sentence], ...] = (
    is_some_way,
    are_some_way,
    is_very,
    is_not_some_way,
    is_not_very,
    feels,
    does_not_feel,
    felt,
    will_feel,
    is_more,
    is_more_than_another,
    someone_is_more,
    is_profession,
    is_not_profession,
    is_somewhere,
    someone_is_somewhere,
    sits,
    is_years_old,
    this_is,
    this_is_not,
    this_is_someone,
    there_is,
    there_is_an_animal,
    there_is_a_building,
    there_is_someone,
    but,
    because,
    when,
    and_also,
    weather,
    clock,
    greeting,
)
