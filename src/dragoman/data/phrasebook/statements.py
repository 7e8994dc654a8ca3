"""Sentence patterns about doing: each draws one tree. The name of a function is the name of its pattern."""

from collections.abc import Callable
from random import Random

from dragoman.data.phrasebook import pick
from dragoman.data.phrasebook.lexicon import adverbials_of, determiner, nouns_of, verbs
from dragoman.data.phrasebook.syntax import Action, Clause, Complement, Phrase, Sentence, Tense

_DOING = ("activity",)
_ACTING = ("activity", "event")
_MANNERS = {
    **{"run": "speed", "walk": "speed", "swim": "speed", "shout": "loud", "laugh": "loud", "work": "much"},
    **{"travel": "much", "sleep": "much", "read": "quiet", "cry": "quiet", "sing": "skill", "dance": "skill"},
}


def does(random: Random) -> Clause:
    """Draw "She reads the newspaper every day."."""
    done = pick.action(random, _DOING)
    timed = random.choice(("timeless", "timed")) == "timed"
    return Clause(pick.anyone(random), done, time=pick.time(random, "habit", "day") if timed else None)


def did(random: Random) -> Clause:
    """Draw "My father bought a car last week."."""
    done = pick.action(random, _ACTING, "past")
    return Clause(pick.people(random), done, "past", time=pick.time(random, "past"))


def will_do(random: Random) -> Clause:
    """Draw "We will visit the museum tomorrow."."""
    done = pick.action(random, _ACTING)
    return Clause(pick.people(random), done, "future", time=pick.time(random, "future"))


def is_doing(random: Random) -> Clause:
    """Draw "The children are eating apples."."""
    done = pick.action(random, _DOING, "gerund")
    timed = random.choice(("timeless", "timeless", "timed")) == "timed"
    return Clause(pick.people(random), done, "progressive", time=pick.time(random, "now") if timed else None)


def does_not(random: Random) -> Clause:
    """Draw "I don't drink coffee."."""
    return Clause(pick.people(random), pick.action(random, _DOING, closed=True), negative=True)


def did_not(random: Random) -> Clause:
    """Draw "He didn't find the keys yesterday."."""
    done = pick.action(random, _ACTING, "past", closed=True)
    return Clause(pick.people(random), done, "past", negative=True, time=pick.time(random, "past"))


def will_not(random: Random) -> Clause:
    """Draw "They will not sell the house next year."."""
    done = pick.action(random, _ACTING, closed=True)
    return Clause(pick.people(random), done, "future", negative=True, time=pick.time(random, "future"))


def acts(random: Random) -> Clause:
    """Draw "The dancer laughs in the evening."."""
    return Clause(pick.anyone(random), Action(pick.verb(random, _DOING, False)), time=pick.time(random, "habit", "day"))


def acts_somehow(random: Random) -> Clause:
    """Draw "The boy runs quickly."."""
    chosen = random.choice(tuple(_MANNERS))
    manner = pick.time(random, _MANNERS[chosen])
    action = Action(verbs()[chosen])
    return Clause(pick.people(random), action, pick.ongoing(random), complements=(manner,))


def acted(random: Random) -> Clause:
    """Draw "Anna arrived last night."."""
    action = Action(pick.verb(random, _ACTING, False, "past"))
    return Clause(pick.people(random), action, "past", time=pick.time(random, "past"))


def will_act(random: Random) -> Clause:
    """Draw "My uncle will come back next week."."""
    action = Action(pick.verb(random, _ACTING, False))
    return Clause(pick.people(random), action, "future", time=pick.time(random, "future"))


def acts_somewhere(random: Random) -> Clause:
    """Draw "I study at school."."""
    chosen = random.choice(("study", "work", "sing", "dance", "run", "eat", "wait", "read", "play", "sleep", "walk"))
    where = pick.time(random, "study") if chosen == "study" else pick.place(random)
    action = Action(verbs()[chosen])
    return Clause(pick.people(random), action, pick.ongoing(random), complements=(where,))


def does_somewhere(random: Random) -> Clause:
    """Draw "He is reading a book in the park."."""
    chosen = verbs()[random.choice(("read", "write", "eat", "drink", "draw", "look for", "wait for", "translate"))]
    done = Action(chosen, pick.thing(random, chosen))
    return Clause(pick.people(random), done, "progressive", complements=(pick.place(random),))


def acts_together(random: Random) -> Clause:
    """Draw "We are dancing together."."""
    chosen = verbs()[random.choice(("dance", "sing", "work", "travel", "eat", "walk", "run", "laugh", "swim", "play"))]
    doers = random.choice(("pronoun", "couple"))
    pair = (random.choice(nouns_of("name")), random.choice(nouns_of("profession")))
    couple = Phrase(pair[0], partner=Phrase(pair[1], determiner("the", "singular")))
    subject = pick.pronoun(random, ("we", "they")) if doers == "pronoun" else couple
    return Clause(subject, Action(chosen), pick.ongoing(random), complements=adverbials_of("together"))


def does_with(random: Random) -> Clause:
    """Draw "She travels with her sister."."""
    chosen = verbs()[random.choice(("dance", "sing", "work", "travel", "chat", "walk", "run", "swim", "play"))]
    company = Complement(pick.preposition("with"), pick.someone(random))
    return Clause(pick.pronoun(random), Action(chosen), complements=(company,), time=pick.time(random, "habit", "day"))


def does_often(random: Random) -> Clause:
    """Draw "I never drink beer."."""
    frequency = pick.time(random, "frequency")
    done = pick.action(random, _DOING, closed=frequency.english == "never")
    return Clause(pick.people(random), done, frequency=frequency)


def likes(random: Random) -> Clause:
    """Draw "I love cats."."""
    chosen = pick.verb(random, ("liking",), True)
    return Clause(pick.people(random), Action(chosen, pick.generic(pick.noun(random, pick.objects_of(chosen)))))


def does_not_like(random: Random) -> Clause:
    """Draw "They don't like beer."."""
    chosen = verbs()[random.choice(("like", "love"))]
    liked = pick.generic(pick.noun(random, pick.objects_of(chosen)))
    return Clause(pick.people(random), Action(chosen, liked), negative=True)


def has(random: Random) -> Clause:
    """Draw "He has two dogs."; also of wanting and needing."""
    chosen = verbs()[random.choice(("have", "want", "need"))]
    return Clause(pick.people(random), Action(chosen, pick.thing(random, chosen)))


def has_not(random: Random) -> Clause:
    """Draw "We don't have a car."."""
    chosen = verbs()[random.choice(("have", "want", "need"))]
    found = pick.noun(random, pick.objects_of(chosen))
    lacking = determiner("a", "singular") if found.plural else determiner("", "singular", "bare")
    return Clause(pick.people(random), Action(chosen, Phrase(found, lacking)), negative=True)


def knows(random: Random) -> Clause:
    """Draw "She knows him."; the pronoun goes before the verb in French."""
    chosen = verbs()[random.choice(("know", "help", "respect", "look at", "wait for", "follow", "love", "invite"))]
    who = pick.people(random)
    same = {"I": ("I", "we"), "we": ("I", "we"), "you": ("you",)}.get(who.head.english, (who.head.english,))
    whom = pick.pronoun(random, tuple(name for name in ("I", "you", "he", "she", "we", "they") if name not in same))
    return Clause(who, Action(chosen, whom), negative=_now_and_then(random))


def wants_to(random: Random) -> Clause:
    """Draw "I want to learn French."."""
    modal = verbs()[random.choice(("want to", "like to", "need to", "hope to", "try to", "start to"))]
    negative = modal.english in ("want to", "need to", "like to") and _now_and_then(random)
    done = pick.action(random, _DOING, closed=negative)
    return Clause(pick.people(random), Action(done.verb, done.object, modal), negative=negative)


def can(random: Random) -> Clause:
    """Draw "She cannot open the door."."""
    negative = _now_and_then(random)
    done = pick.action(random, _ACTING, closed=negative)
    return Clause(pick.people(random), Action(done.verb, done.object, verbs()["can"]), negative=negative)


def must(random: Random) -> Clause:
    """Draw "We must protect the trees."."""
    done = pick.action(random, _DOING)
    return Clause(pick.anyone(random), Action(done.verb, done.object, verbs()["must"]))


def goes(random: Random) -> Clause:
    """Draw "She went to the market yesterday."."""
    tense = random.choice(("present", "past", "future", "progressive"))
    where = Complement(pick.preposition("to", "direction"), pick.definite(pick.noun(random, ("venue",))))
    kinds = {"present": ("habit", "day"), "progressive": ("now",)}.get(tense, (tense,))
    goer, when = pick.people(random), pick.time(random, *kinds)
    return Clause(goer, Action(verbs()["go"]), _TENSES[tense], complements=(where,), time=when)


def plays_game(random: Random) -> Clause:
    """Draw "They play football on Sunday."."""
    game = pick.generic(pick.noun(random, ("game",)))
    played = Action(verbs()["play game"], game)
    return Clause(pick.people(random), played, time=pick.time(random, "habit", "day"))


def plays_instrument(random: Random) -> Clause:
    """Draw "Linh is playing the violin."."""
    instrument = Phrase(pick.noun(random, ("instrument",)), determiner("the", "singular", "musical"))
    return Clause(pick.people(random), Action(verbs()["play instrument"], instrument), pick.ongoing(random))


def speaks_language(random: Random) -> Clause:
    """Draw "My cousin speaks French well."."""
    language = Phrase(pick.noun(random, ("language",)), determiner("", "singular", "none"))
    return Clause(pick.people(random), Action(verbs()["speak"], language), negative=_now_and_then(random))


def lives_in(random: Random) -> Clause:
    """Draw "His aunt lives in Spain."."""
    land = pick.time(random, "land")
    return Clause(pick.people(random), Action(verbs()["live"]), negative=_now_and_then(random), complements=(land,))


def comes_from(random: Random) -> Clause:
    """Draw "The pilot comes from Canada."."""
    return Clause(pick.people(random), Action(verbs()["come"]), complements=(pick.time(random, "origin"),))


def travels_to(random: Random) -> Clause:
    """Draw "We will travel to Italy next month."."""
    land, when = pick.time(random, "journey"), pick.time(random, "future")
    return Clause(pick.people(random), Action(verbs()["travel"]), "future", complements=(land,), time=when)


def gives(random: Random) -> Clause:
    """Draw "He gave the book to the child yesterday."."""
    chosen = verbs()[random.choice(("give", "send", "sell"))]
    tense = random.choice(("past", "future"))
    whom = Complement(pick.preposition("to", "recipient"), pick.someone(random))
    given, when = Action(chosen, pick.thing(random, chosen)), pick.time(random, tense)
    return Clause(pick.pronoun(random), given, _TENSES[tense], complements=(whom,), time=when)


def buys_for(random: Random) -> Clause:
    """Draw "I am preparing dinner for my mother."."""
    chosen = verbs()[random.choice(("buy", "prepare", "sing", "cook", "draw", "choose"))]
    whom = Complement(pick.preposition("for"), pick.someone(random))
    return Clause(
        pick.pronoun(random), Action(chosen, pick.thing(random, chosen)), pick.ongoing(random), complements=(whom,)
    )


def puts(random: Random) -> Clause:
    """Draw "She is putting the keys on the table."."""
    chosen = pick.noun(random, ("thing", "accessory"))
    where = Complement(pick.preposition("on"), pick.definite(pick.noun(random, ("surface",))))
    moved = pick.specific(random, chosen)
    return Clause(pick.people(random), Action(verbs()["put"], moved), "progressive", complements=(where,))


def drinks_a_glass(random: Random) -> Clause:
    """Draw "He drinks two cups of tea."."""
    vessel = random.choice(("cup", "glass", "bottle"))
    measure = next(noun for noun in nouns_of("thing") if noun.english == vessel)
    contents = pick.noun(random, ("sweetened" if vessel == "cup" else "poured",))
    several = random.choice((determiner("a", "singular"), determiner("a", "singular"), *pick.counting()))
    drunk = Action(verbs()[random.choice(("drink", "buy", "want"))], Phrase(measure, several, contents=contents))
    return Clause(pick.people(random), drunk)


def knows_who(random: Random) -> Clause:
    """Draw "I know a woman who plays the piano."."""
    whom = pick.noun(random, ("adult", "profession"))
    chosen = pick.verb(random, _DOING, True)
    relative = Action(chosen, pick.thing(random, chosen, closed=True))
    acquaintance = Phrase(whom, determiner("a", "singular"), relative=relative)
    return Clause(pick.pronoun(random), Action(verbs()["know"], acquaintance))


def animal_does(random: Random) -> Clause:
    """Draw "The horse is eating grass."."""
    doer = random.choice(("animal", "grazer", "hunter", "dog"))
    chosen = pick.verb(random, _ACTING, True, doer=doer)
    done = Action(chosen, pick.thing(random, chosen, doer))
    return Clause(pick.subject(random, doer), done, pick.ongoing(random) if chosen.gerund else "present")


def animal_acts(random: Random) -> Clause:
    """Draw "The bird flies."; somewhere now and then."""
    doer = random.choice(("animal", "bird", "dog"))
    action = Action(pick.verb(random, _DOING, False, doer=doer))
    where = (pick.wilds(random),) if _now_and_then(random) and doer == "animal" else ()
    return Clause(pick.subject(random, doer), action, pick.ongoing(random), complements=where)


def animals_generally(random: Random) -> Clause:
    """Draw "Horses eat carrots."."""
    doer = random.choice(("grazer", "hunter", "pet"))
    found = pick.noun(random, (doer,))
    chosen = verbs()["eat" if doer != "pet" else "drink"]
    kind = "animal" if doer == "pet" else doer
    return Clause(pick.generic(found), Action(chosen, pick.bare(random, chosen, kind)))


_TENSES: dict[str, Tense] = {"present": "present", "past": "past", "future": "future", "progressive": "progressive"}


def _now_and_then(random: Random) -> bool:
    return random.choice(("affirmative", "affirmative", "negative")) == "negative"


PATTERNS: tuple[Callable[[Random], Sentence], ...] = (
    does,
    did,
    will_do,
    is_doing,
    does_not,
    did_not,
    will_not,
    acts,
    acts_somehow,
    acted,
    will_act,
    acts_somewhere,
    does_somewhere,
    acts_together,
    does_with,
    does_often,
    likes,
    does_not_like,
    has,
    has_not,
    knows,
    wants_to,
    can,
    must,
    goes,
    plays_game,
    plays_instrument,
    speaks_language,
    lives_in,
    comes_from,
    travels_to,
    gives,
    buys_for,
    puts,
    drinks_a_glass,
    knows_who,
    animal_does,
    animal_acts,
    animals_generally,
)
