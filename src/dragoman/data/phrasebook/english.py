"""Say a tree in English."""

from dragoman.data.phrasebook.lexicon import Adverbial, Determiner, Pronoun
from dragoman.data.phrasebook.morphology import article
from dragoman.data.phrasebook.syntax import (
    Action,
    Age,
    Clause,
    Clock,
    Complement,
    Compound,
    Existence,
    Greeting,
    Phrase,
    Presentation,
    Profession,
    Quality,
    Sentence,
    Weather,
    ending,
)
from dragoman.data.phrasebook.tokens import Token, words


def sentence(node: Sentence) -> list[Token]:
    """Return the English words of a sentence, punctuation included."""
    match node:
        case Clause():
            return clause(node, "") + words(ending(node.form), "end")
        case Existence():
            return _existence(node)
        case Presentation():
            return _presentation(node)
        case Compound():
            joint = words(node.joint, "joint")
            return clause(node.first, "1.") + joint + clause(node.second, "2.") + words(".", "end")
        case Weather():
            return [*node.adverbial.source, *node.time.source, *words(".", "end")]
        case Clock():
            hour = words("it", "it") + words("is", "be") + words(node.hour.english, "hour") + words("o'clock", "clock")
            return hour + words(".", "end")
        case Greeting():
            greeted = words(",", "comma") + words(node.name.english, "name") + words("!", "end")
            return [*node.adverbial.source, *greeted]


def phrase(node: Phrase, role: str, objective: bool = False) -> list[Token]:
    """Return a noun phrase; `role` makes its meanings differ from those of other phrases in the sentence."""
    if node.partner is not None:
        first = phrase(Phrase(node.head, node.determiner), role + "first.")
        return first + words("and", role + "and") + phrase(node.partner, role + "second.")
    head = node.head
    if isinstance(head, Pronoun):
        return words(head.objective if objective else head.english, role + "noun")
    determiner = node.determiner
    rest = words(node.adjective.english, role + "adjective") if node.adjective else []
    rest += words(head.plural if determiner and determiner.number == "plural" else head.english, role + "noun")
    if node.contents:
        rest += words("of", role + "of") + words(node.contents.english, role + "contents")
    if node.relative:
        rest += words("who", role + "who") + _third(node.relative, role + "relative.")
    if node.owner:
        return _owner(node.owner, role) + rest
    return _determiner(determiner, rest[0].text, role) + rest


def clause(node: Clause, scope: str) -> list[Token]:
    """Return a clause without its final punctuation."""
    front = words(node.asked, scope + "asked") if node.asked and node.asked != "how many" else []
    after: list[Token] = []
    match node.predicate:
        case Action(verb=_, object=Phrase() as thing):
            after = phrase(thing, scope + "object.", objective=True)
            if node.asked == "how many":
                front, after = after, []
        case Quality():
            after = _quality(node.predicate, scope)
        case Profession(noun):
            one = [] if node.subject.plural else words(article(noun.english), scope + "a")
            after = one + words(noun.plural if node.subject.plural else noun.english, scope + "noun")
        case Age(years):
            after = words(years.english, scope + "number") + words("years old", scope + "years")
    for complement in node.complements:
        after += _complement(complement, scope)
    if node.time:
        after += node.time.source
    return front + _finite(node, scope) + after


def _finite(node: Clause, scope: str) -> list[Token]:
    """Return subject, auxiliary, negation and verb in the order that the form of the clause asks for."""
    if node.form == "command":
        return words("don't" if node.negative else "", scope + "not") + words(_base(node), scope + "verb")
    if node.form == "suggestion":
        return words("let's", scope + "lets") + words(_base(node), scope + "verb")
    auxiliary, verb = _verb_group(node, scope)
    subject = phrase(node.subject, scope + "subject.")
    often = [*node.frequency.source] if node.frequency else []
    if node.form == "question":
        return auxiliary + subject + verb
    if node.negative and auxiliary and auxiliary[0].text in ("will", "is", "are", "am", "was", "were", "must"):
        auxiliary = auxiliary + words("not", scope + "not")
    return subject + auxiliary + often + verb


def _base(node: Clause) -> str:
    return node.predicate.verb.english if isinstance(node.predicate, Action) else "be"


def _verb_group(node: Clause, scope: str) -> tuple[list[Token], list[Token]]:
    """Return the auxiliary, where there is one, and the rest of the verb."""
    past = node.tense == "past"
    if not isinstance(node.predicate, Action):
        if node.tense == "future":
            return words("will", scope + "tense"), words("be", scope + "be")
        return words(_be(node.subject, past), scope + "be"), []
    verb = node.predicate.modal or node.predicate.verb
    meaning = scope + ("modal" if node.predicate.modal else "verb")
    rest = words(node.predicate.verb.english, scope + "verb") if node.predicate.modal else []
    if verb.kind == "auxiliary":
        if verb.english == "can" and node.negative:
            return words("cannot", meaning, scope + "not"), rest
        return words(verb.english, meaning), rest
    if node.tense == "future":
        return words("will", scope + "tense"), words(verb.english, meaning) + rest
    if node.tense == "progressive":
        return words(_be(node.subject, False), scope + "aspect"), words(verb.gerund, meaning)
    third = not node.subject.plural and node.subject.head.english != "I"
    if node.negative or node.form == "question":
        do = "did" if past else "does" if third else "do"
        meanings = (scope + "not",) if node.negative else (scope + "do",)
        support = words(do + ("n't" if node.negative else ""), *meanings, scope + "past")
        return support, words(verb.english, meaning) + rest
    if past:
        return [], words(verb.past, meaning, scope + "past")
    return [], words(verb.third if third else verb.english, meaning) + rest


def _third(action: Action, role: str) -> list[Token]:
    """Return an action in the third person, as after "who"."""
    after = phrase(action.object, role + "object.", objective=True) if action.object else []
    return words(action.verb.third, role + "verb") + after


def _be(subject: Phrase, past: bool) -> str:
    if subject.head.english == "I":
        return "was" if past else "am"
    if subject.plural:
        return "were" if past else "are"
    return "was" if past else "is"


def _determiner(determiner: Determiner | None, following: str, role: str) -> list[Token]:
    if determiner is None:
        return []
    text = article(following) if determiner.english == "a" else determiner.english
    return words(text, role + "determiner")


def _owner(owner: Phrase, role: str) -> list[Token]:
    *before, last = phrase(owner, role + "owner.")
    return [*before, Token(last.text + "'s", (*last.meanings, role + "of"))]


def _quality(node: Quality, scope: str) -> list[Token]:
    meaning = scope + "quality"
    if node.degree == "comparative":
        *more, adjective = node.adjective.comparative.split()
        grown = words("more", scope + "more") + words(adjective, meaning)
        grown = grown if more else words(adjective, meaning, scope + "more")
        return grown + words("than", scope + "than") + (phrase(node.than, scope + "than.") if node.than else [])
    degree = [] if node.degree == "plain" else words(node.degree, scope + "degree")
    return degree + words(node.adjective.english, meaning)


def _complement(node: Complement | Adverbial, scope: str) -> list[Token]:
    if isinstance(node, Complement):
        role = f"{scope}{node.preposition.english}."
        return words(node.preposition.english, role) + phrase(node.phrase, role, objective=True)
    return [*node.source]


def _existence(node: Existence) -> list[Token]:
    be = words("are" if node.phrase.plural else "is", "be")
    there = words("there", "there")
    opening = be + there if node.form == "question" else there + be
    thing = phrase(node.phrase, "thing.")
    return opening + thing + _complement(node.place, "") + words(ending(node.form), "end")


def _presentation(node: Presentation) -> list[Token]:
    plural = node.phrase.plural
    pointer = words({"this": "these", "that": "those"}[node.pointer] if plural else node.pointer, "pointer")
    be = words("are" if plural else "is", "be")
    opening = be + pointer if node.form == "question" else pointer + be
    negation = words("not", "not") if node.negative else []
    return opening + negation + phrase(node.phrase, "thing.") + words(ending(node.form), "end")
