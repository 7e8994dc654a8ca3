"""Sentence patterns that ask or urge: each draws one tree, as in `statements`."""

from collections.abc import Callable
from random import Random

from dragoman.data.phrasebook import pick
from dragoman.data.phrasebook.lexicon import determiner, pronouns, verbs
from dragoman.data.phrasebook.states import LYING, SHOWN, THINGS, feeling, qualified, someone_feeling
from dragoman.data.phrasebook.syntax import (
    Action,
    Clause,
    Existence,
    Location,
    Phrase,
    Presentation,
    Profession,
    Quality,
    Sentence,
)

_WONDERED = (
    *(
        "eat",
        "drink",
        "read",
        "write",
        "cook",
        "buy",
        "sell",
        "look for",
        "draw",
        "build",
        "repair",
        "prepare",
        "teach",
    ),
    *("learn", "study", "carry", "choose", "wash", "clean", "watch", "sing", "translate", "hide", "use"),
)
_HAPPENED = ("see", "find", "lose", "forget", "break", "hear", "receive", "catch", "understand")


def do_you(random: Random) -> Clause:
    """Draw "Does she read the newspaper?"."""
    return Clause(pick.others(random), pick.action(random, ("activity", "state"), closed=True), form="question")


def do_you_like(random: Random) -> Clause:
    """Draw "Do you like cats?"."""
    chosen = verbs()[random.choice(("like", "love"))]
    liked = pick.generic(pick.noun(random, pick.objects_of(chosen)))
    return Clause(pick.others(random), Action(chosen, liked), form="question")


def did_you(random: Random) -> Clause:
    """Draw "Did Paul repair the car yesterday?"."""
    done = pick.action(random, ("activity", "event"), "past", closed=True)
    return Clause(pick.others(random), done, "past", form="question", time=pick.time(random, "past"))


def will_you(random: Random) -> Clause:
    """Draw "Will they sell the house next month?"."""
    done = pick.action(random, ("activity", "event"), closed=True)
    return Clause(pick.others(random), done, "future", form="question", time=pick.time(random, "future"))


def are_you_doing(random: Random) -> Clause:
    """Draw "Is the girl drawing a horse?"."""
    done = pick.action(random, ("activity",), "gerund", closed=True)
    return Clause(pick.others(random), done, "progressive", form="question")


def can_you(random: Random) -> Clause:
    """Draw "Can you drive this truck?"."""
    done = pick.action(random, ("activity", "event"), closed=True)
    return Clause(pick.others(random), Action(done.verb, done.object, verbs()["can"]), form="question")


def do_you_want_to(random: Random) -> Clause:
    """Draw "Do you want to visit the museum?"."""
    done = pick.action(random, ("activity",), closed=True)
    modal = verbs()[random.choice(("want to", "like to", "need to"))]
    return Clause(pick.others(random), Action(done.verb, done.object, modal), form="question")


def is_it_so(random: Random) -> Clause:
    """Draw "Is this exercise difficult?"."""
    found, adjective = qualified(random)
    return Clause(pick.plain(random, found), Quality(adjective), form="question")


def are_you_feeling(random: Random) -> Clause:
    """Draw "Are you thirsty?"."""
    return Clause(someone_feeling(random), Quality(feeling(random)), form="question")


def are_you_profession(random: Random) -> Clause:
    """Draw "Is your mother a nurse?"."""
    return Clause(someone_feeling(random), Profession(pick.noun(random, ("profession",))), form="question")


def is_this(random: Random) -> Presentation:
    """Draw "Is this your umbrella?"."""
    pointed = pick.shown(random, pick.noun(random, SHOWN))
    return Presentation("this" if random.choice(("this", "that")) == "this" else "that", pointed, form="question")


def is_there(random: Random) -> Existence:
    """Draw "Is there a cat under the table?"."""
    found = pick.noun(random, LYING)
    return Existence(Phrase(found, determiner("a", "singular")), pick.spot(random, found), form="question")


def is_there_a_building(random: Random) -> Existence:
    """Draw "Is there a bank near the hotel?"."""
    found = Phrase(pick.noun(random, ("building",)), determiner("a", "singular"))
    return Existence(found, pick.around(random), form="question")


def what(random: Random) -> Clause:
    """Draw "What are you reading?"."""
    tense = pick.ongoing(random)
    action = Action(verbs()[random.choice(_WONDERED)])
    return Clause(pick.others(random), action, tense, form="question", asked="what")


def what_did(random: Random) -> Clause:
    """Draw "What did you buy yesterday?"."""
    action, time = Action(verbs()[random.choice((*_WONDERED, *_HAPPENED))]), pick.time(random, "past")
    return Clause(pick.others(random), action, "past", form="question", asked="what", time=time)


def where_is(random: Random) -> Clause:
    """Draw "Where are my shoes?"."""
    found = pick.noun(random, (*THINGS, "pet", "building", "name", "kin"))
    return Clause(pick.specific(random, found, indefinite=False), Location(), form="question", asked="where")


def where_do(random: Random) -> Clause:
    """Draw "Where does Anna work?"."""
    chosen = verbs()[random.choice(("work", "live", "sleep", "study", "eat", "run", "swim", "dance", "play"))]
    return Clause(pick.others(random), Action(chosen), form="question", asked="where")


def who(random: Random) -> Clause:
    """Draw "Who is eating my cake?"."""
    tense = pick.ongoing(random)
    done = pick.action(random, ("activity",), "gerund" if tense == "progressive" else "english", closed=True)
    return Clause(Phrase(pronouns()["who"]), done, tense, form="subject question")


def who_did(random: Random) -> Clause:
    """Draw "Who broke the window yesterday?"."""
    done = pick.action(random, ("activity", "event"), "past", closed=True)
    time = pick.time(random, "past")
    return Clause(Phrase(pronouns()["who"]), done, "past", form="subject question", time=time)


def how_many(random: Random) -> Clause:
    """Draw "How many brothers do you have?"."""
    chosen = verbs()[random.choice(("have", "want", "see", "sell", "draw", "buy"))]
    found = pick.noun(random, tuple(kind for kind in pick.objects_of(chosen) if kind not in ("anyone", "profession")))
    if not found.plural:
        found = pick.noun(random, ("thing",))
    asked = Phrase(found, determiner("how many", "plural"), pick.quality(random, found))
    return Clause(pick.others(random), Action(chosen, asked), form="question", asked="how many")


def why(random: Random) -> Clause:
    """Draw "Why are you laughing?"."""
    tense = pick.ongoing(random)
    return Clause(
        pick.others(random), Action(pick.verb(random, ("activity",), False)), tense, form="question", asked="why"
    )


def why_feeling(random: Random) -> Clause:
    """Draw "Why is she sad?"."""
    return Clause(someone_feeling(random), Quality(feeling(random)), form="question", asked="why")


def when_will(random: Random) -> Clause:
    """Draw "When will your aunt arrive?"."""
    action = Action(pick.verb(random, ("activity", "event"), False))
    return Clause(pick.others(random), action, "future", form="question", asked="when")


def when_will_do(random: Random) -> Clause:
    """Draw "When will you repair the door?"."""
    done = pick.action(random, ("activity",), closed=True)
    return Clause(pick.others(random), done, "future", form="question", asked="when")


def command(random: Random) -> Clause:
    """Draw "Open the door!"."""
    return Clause(_you(), pick.action(random, ("activity",), closed=True), form="command")


def do_not(random: Random) -> Clause:
    """Draw "Don't touch the vase!"."""
    return Clause(_you(), pick.action(random, ("activity", "event"), closed=True), negative=True, form="command")


def lets(random: Random) -> Clause:
    """Draw "Let's clean the kitchen!"."""
    return Clause(Phrase(pronouns()["we"]), pick.action(random, ("activity",), closed=True), form="suggestion")


def _you() -> Phrase:
    return Phrase(pronouns()["you"])


PATTERNS: tuple[Callable[[Random], Sentence], ...] = (
    do_you,
    do_you_like,
    did_you,
    will_you,
    are_you_doing,
    can_you,
    do_you_want_to,
    is_it_so,
    are_you_feeling,
    are_you_profession,
    is_this,
    is_there,
    is_there_a_building,
    what,
    what_did,
    where_is,
    where_do,
    who,
    who_did,
    how_many,
    why,
    why_feeling,
    when_will,
    when_will_do,
    command,
    do_not,
    lets,
)
