"""Say a tree in Vietnamese.

Nouns take classifiers, adjectives follow, tense is a word before the verb (đã, đang, sẽ), a yes-no question stands
between có and không. English plurals become những where the noun is definite and stay unsaid where it is bare.
"""

from dragoman.data.phrasebook.lexicon import Adverbial, Pronoun
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
    ending,
)
from dragoman.data.phrasebook.tokens import Token, words

_JOINTS = {"and": "và", "but": "nhưng", "because": "vì", "when": "khi"}
_ASKED = {"what": "gì", "where": "ở đâu", "why": "tại sao", "when": "khi nào"}


def sentence(node: Sentence) -> list[Token]:
    """Return the Vietnamese words of a sentence, punctuation included."""
    match node:
        case Clause():
            return clause(node, "") + words(ending(node.form), "end")
        case Existence():
            body = words("có", "there", "be") + phrase(node.phrase, "thing.") + _complement(node.place, "")
            return body + words("không" if node.form == "question" else "") + words(ending(node.form), "end")
        case Presentation():
            return _presentation(node)
        case Compound():
            joint = words(_JOINTS[node.joint], "joint")
            return clause(node.first, "1.") + joint + clause(node.second, "2.") + words(".", "end")
        case Weather():
            return [*_placed([*node.adverbial.vietnamese], node.time), *words(".", "end")]
        case Clock():
            hour = words("bây giờ", "it") + words("là", "be") + words(node.hour.before, "hour")
            return hour + words("giờ", "clock") + words(".", "end")
        case Greeting():
            greeted = words(",", "comma") + words(node.name.vietnamese, "name") + words("!", "end")
            return [*node.adverbial.vietnamese, *greeted]


def phrase(node: Phrase, role: str, unspecified: bool = False) -> list[Token]:
    """Return a noun phrase; where it is `unspecified` (not buying a car), "a" and the classifier are left out."""
    if node.partner is not None:
        first = phrase(Phrase(node.head, node.determiner), role + "first.")
        return first + words("và", role + "and") + phrase(node.partner, role + "second.")
    head, noun = node.head, role + "noun"
    if isinstance(head, Pronoun):
        return words(head.vietnamese, noun)
    determiner = node.determiner
    before: list[Token] = []
    classified = not (unspecified and determiner is not None and determiner.kind == "indefinite")
    if determiner is not None and classified:
        for word in determiner.before.split():
            before += words(word, noun if word == "những" else role + "determiner")
    if classified and not node.contents and (node.owner or (determiner is not None and determiner.classified)):
        before += words(head.classifier, noun)
    rest = words(head.vietnamese, noun)
    if node.contents:
        rest += words(node.contents.vietnamese, role + "contents")
    if node.adjective:
        rest += words(node.adjective.vietnamese, role + "adjective")
    if node.relative:
        rest += _action(node.relative, role + "relative.", False)
    if node.owner:
        return before + rest + words("của", role + "of") + phrase(node.owner, role + "owner.")
    return before + rest + words(determiner.after if determiner else "", role + "determiner")


def clause(node: Clause, scope: str) -> list[Token]:
    """Return a clause without its final punctuation."""
    if node.form == "command":
        opening = words("đừng" if node.negative else "hãy", scope + "not")
    elif node.form == "suggestion":
        opening = words("chúng ta hãy", scope + "lets")
    else:
        opening = phrase(node.subject, scope + "subject.")
        opening += [*node.frequency.vietnamese] if node.frequency else []
        opening += _mood(node, scope)
    body = opening + _predicate(node, scope)
    for complement in node.complements:
        body += _complement(complement, scope)
    if node.asked in ("why", "when"):
        body = words(_ASKED[node.asked], scope + "asked") + body
    elif node.asked in ("what", "where"):
        body += words(_ASKED[node.asked], scope + "asked")
    placed = _placed(body, node.time)
    return placed + (words("không", scope + "do") if _closed_question(node) else [])


def _closed_question(node: Clause) -> bool:
    return node.form == "question" and not node.asked


def _mood(node: Clause, scope: str) -> list[Token]:
    """Return the words of tense, negation and question between subject and verb."""
    tokens: list[Token] = []
    acts = isinstance(node.predicate, Action)
    asks = _closed_question(node)
    if node.tense == "past" and acts and not asks:
        tokens += words("đã", scope + "past")
    if node.tense == "future" and not asks:
        tokens += words("sẽ", scope + "tense")
    if node.negative:
        tokens += words("không", scope + "not")
    if asks and not _begins_with_can(node):
        tokens += words("có", scope + "do")
    if isinstance(node.predicate, Profession) and (node.negative or asks):
        tokens += words("phải", scope + "be")
    if node.tense == "progressive":
        tokens += words("đang", scope + "aspect")
    return tokens


def _begins_with_can(node: Clause) -> bool:
    """Tell whether the verb itself begins with có, which a question does not repeat."""
    if not isinstance(node.predicate, Action):
        return False
    verb = node.predicate.modal or node.predicate.verb
    return verb.vietnamese.split()[0] == "có"


def _predicate(node: Clause, scope: str) -> list[Token]:
    match node.predicate:
        case Action():
            return _action(node.predicate, scope, node.negative)
        case Quality():
            return _quality(node.predicate, scope, node.negative)
        case Profession(noun):
            return words("là", scope + "be") + words(noun.vietnamese, scope + "noun")
        case Age(years):
            return words(years.before, scope + "number") + words("tuổi", scope + "years")
        case Location():
            place = _complement(node.complements[0], scope) if node.complements else words("ở")
            return [] if place[0].text == "ở" else words("ở", scope + "be")


def _action(node: Action, scope: str, negative: bool) -> list[Token]:
    tokens: list[Token] = []
    if node.modal:
        text = node.modal.vietnamese
        tokens += words("thể" if negative and text == "có thể" else text, scope + "modal")
    tokens += words(node.verb.vietnamese, scope + "verb")
    return tokens + (phrase(node.object, scope + "object.", unspecified=negative) if node.object else [])


def _quality(node: Quality, scope: str, negative: bool) -> list[Token]:
    adjective = words(node.adjective.vietnamese, scope + "quality")
    match node.degree:
        case "very" if negative:
            return adjective + words("lắm", scope + "degree")
        case "very":
            return words("rất", scope + "degree") + adjective
        case "too":
            return words("quá", scope + "degree") + adjective
        case "comparative":
            more = words("hơn", scope + "more", scope + "than")
            return adjective + more + (phrase(node.than, scope + "than.") if node.than else [])
        case "plain":
            return adjective


def _presentation(node: Presentation) -> list[Token]:
    tokens = words("đây" if node.pointer == "this" else "đó", "pointer")
    if node.negative:
        tokens += words("không", "not") + words("phải", "be")
    elif node.form == "question":
        tokens += words("có") + words("phải", "be")
    tokens += words("là", "be") + phrase(node.phrase, "thing.")
    return tokens + words("không" if node.form == "question" else "") + words(ending(node.form), "end")


def _complement(node: Complement | Adverbial, scope: str) -> list[Token]:
    if isinstance(node, Complement):
        role = f"{scope}{node.preposition.english}."
        return words(node.preposition.vietnamese, role) + phrase(node.phrase, role)
    return [*node.vietnamese]


def _placed(body: list[Token], time: Adverbial | None) -> list[Token]:
    if time is None:
        return body
    return [*time.vietnamese, *body] if time.front else [*body, *time.vietnamese]
