"""Say a tree in French: agreement, elision, contraction, negation around the verb, pronouns before it.

"you" is tu; the future is aller with the infinitive; the past is the passé composé, for states the imperfect.
"""

from dragoman.data.phrasebook.french_phrases import contract, phrase
from dragoman.data.phrasebook.lexicon import IMPERFECT, MOVING, Adverbial, French, Pronoun, french_verb
from dragoman.data.phrasebook.morphology import french_plural
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

_JOINTS = {"and": "et", "but": "mais", "because": "parce que", "when": "quand"}
_ASKED = {"what": "qu'", "where": "où", "why": "pourquoi", "when": "quand"}


def sentence(node: Sentence) -> list[Token]:
    """Return the French words of a sentence, punctuation included."""
    return contract(_sentence(node))


def _sentence(node: Sentence) -> list[Token]:
    match node:
        case Clause():
            return clause(node, "") + words(ending(node.form), "end")
        case Existence():
            asks = words("est-ce que") if node.form == "question" else []
            there = words("il y", "there") + words("a", "be")
            place = _complement(node.place, "")
            return asks + there + phrase(node.phrase, "thing.") + place + words(ending(node.form), "end")
        case Presentation():
            return _presentation(node)
        case Compound():
            joint = words(_JOINTS[node.joint], "joint")
            return clause(node.first, "1.") + joint + clause(node.second, "2.") + words(".", "end")
        case Weather():
            return [*node.adverbial.french, *node.time.french, *words(".", "end")]
        case Clock():
            hour = words(node.hour.french[1], "hour")
            return words("il", "it") + words("est", "be") + hour + words("heures", "clock") + words(".", "end")
        case Greeting():
            greeted = words(",", "comma") + words(node.name.french, "name") + words("!", "end")
            return [*node.adverbial.french, *greeted]


def clause(node: Clause, scope: str) -> list[Token]:
    """Return a clause without its final punctuation, before elision and contraction."""
    opening = _opening(node, scope)
    if node.asked == "where" and isinstance(node.predicate, Location):
        return opening + words(_present("être", node.subject), scope + "be") + phrase(node.subject, scope + "subject.")
    subject = [] if node.form in ("command", "suggestion") else phrase(node.subject, scope + "subject.")
    body = opening + subject + _predicate(node, scope)
    for complement in node.complements:
        body += _complement(complement, scope)
    return body + ([*node.time.french] if node.time else [])


def _opening(node: Clause, scope: str) -> list[Token]:
    """Return what a question begins with."""
    if node.form != "question":
        return []
    asks = words("est-ce que", scope + "do")
    if node.asked == "":
        return asks
    if node.asked == "how many" and isinstance(node.predicate, Action) and node.predicate.object:
        return phrase(node.predicate.object, scope + "object.") + asks
    front = words(_ASKED[node.asked], scope + "asked")
    return front if node.asked == "where" and isinstance(node.predicate, Location) else front + asks


def _predicate(node: Clause, scope: str) -> list[Token]:
    """Return the verb with its negation, the pronoun before it and what follows it."""
    match node.predicate:
        case Action():
            return _action(node, node.predicate, scope)
        case Quality(adjective):
            lexeme = "avoir" if adjective.position == "have" else "être"
            return _state(node, lexeme, scope) + _quality(node, node.predicate, scope)
        case Profession(noun):
            name = noun.feminine if _gender(node.subject) == "f" else noun.french
            name = french_plural(name) if _many(node.subject) else name
            return _state(node, "être", scope) + words(name, scope + "noun")
        case Age(years):
            number = words(years.french[0], scope + "number")
            return _state(node, "avoir", scope) + number + words("ans", scope + "years")
        case Location():
            return _state(node, "être", scope)


def _state(node: Clause, lexeme: str, scope: str) -> list[Token]:
    """Return être or avoir in the tense of the clause, negated where the clause is."""
    meaning = scope + "be"
    if node.tense == "future":
        return _negated(node, words(_present("aller", node.subject), scope + "tense"), scope) + words(lexeme, meaning)
    form = _present(lexeme, node.subject)
    if node.tense == "past":
        form = IMPERFECT[lexeme][_person(node.subject)]
    return _negated(node, words(form, meaning), scope)


def _action(node: Clause, action: Action, scope: str) -> list[Token]:
    """Return the verb and its object."""
    french, meaning = action.verb.french, scope + "verb"
    tail = words(_tail(node, action), meaning)
    pronoun = _pronoun(action, scope)
    governed = words(french.preposition, meaning) + _object(node, action, scope)
    if action.modal:
        modal = action.modal.french
        finite = _negated(node, words(_finite(modal, node), scope + "modal"), scope)
        finite += words(modal.tail, scope + "modal") + words(modal.preposition, scope + "modal")
        return finite + pronoun + words(french.infinitive, meaning) + tail + governed
    if node.tense == "future":
        finite = _negated(node, words(_finite(french_verb("aller"), node), scope + "tense"), scope)
        return finite + pronoun + words(french.infinitive, meaning) + tail + governed
    if node.tense == "past" and action.verb.kind == "posture":
        return _negated(node, words(IMPERFECT["être"][_person(node.subject)], meaning, scope + "past"), scope) + tail
    if node.tense == "past":
        return _perfect(node, french, scope) + tail + governed
    return _negated(node, [*pronoun, *words(_finite(french, node), meaning)], scope) + tail + governed


def _perfect(node: Clause, french: French, scope: str) -> list[Token]:
    """Return the passé composé; with être the participle agrees with the subject."""
    moving = french.infinitive in MOVING
    auxiliary = _present("être" if moving else "avoir", node.subject)
    participle = _agreed(french.participle, node.subject) if moving else french.participle
    return _negated(node, words(auxiliary, scope + "past"), scope) + words(participle, scope + "verb")


def _negated(node: Clause, finite: list[Token], scope: str) -> list[Token]:
    """Put ne ... pas (or ne ... jamais) around the finite verb, and other words of frequency after it."""
    often = [*node.frequency.french] if node.frequency else []
    if often and often[0].text == "jamais":
        return words("ne", *often[0].meanings) + finite + often
    if node.negative:
        return words("ne", scope + "not") + finite + words("pas", scope + "not")
    return finite + often


def _pronoun(action: Action, scope: str) -> list[Token]:
    if action.object and isinstance(action.object.head, Pronoun):
        return words(action.object.head.french_object, scope + "object.noun")
    return []


def _object(node: Clause, action: Action, scope: str) -> list[Token]:
    if action.object is None or node.asked == "how many" or isinstance(action.object.head, Pronoun):
        return []
    never = node.frequency is not None and node.frequency.english == "never"
    return phrase(action.object, scope + "object.", action.verb.french.preposition, node.negative or never)


def _tail(node: Clause, action: Action) -> str:
    """Return what follows the conjugated word; the participle of a posture (être assis) agrees."""
    tail = action.verb.french.tail
    return _agreed(tail, node.subject) if action.verb.kind == "posture" and tail != "debout" else tail


def _finite(verb: French, node: Clause) -> str:
    """Return the present, or the imperative, which drops the s of -es and of vas."""
    if node.form == "command":
        form = verb.present[1]
        return form[:-1] if form.endswith(("es", "as")) else form
    return verb.present[3 if node.form == "suggestion" else _person(node.subject)]


def _quality(node: Clause, quality: Quality, scope: str) -> list[Token]:
    forms = quality.adjective.french
    text = forms[(2 if _many(node.subject) else 0) + (_gender(node.subject) == "f")]
    adjective = words(text, scope + "quality")
    match quality.degree:
        case "plain":
            return adjective
        case "comparative":
            than = words("que", scope + "than") + (phrase(quality.than, scope + "than.") if quality.than else [])
            return words("plus", scope + "more") + adjective + than
        case degree:
            return words({"very": "très", "too": "trop"}[degree], scope + "degree") + adjective


def _presentation(node: Presentation) -> list[Token]:
    asks = words("est-ce que") if node.form == "question" else []
    be = words("sont" if node.phrase.plural else "est", "be")
    be = [*words("ne", "not"), *be, *words("pas", "not")] if node.negative else be
    return asks + words("ce", "pointer") + be + phrase(node.phrase, "thing.") + words(ending(node.form), "end")


def _complement(node: Complement | Adverbial, scope: str) -> list[Token]:
    if isinstance(node, Complement):
        role = f"{scope}{node.preposition.english}."
        stressed = isinstance(node.phrase.head, Pronoun)
        governed = words(_STRESSED[node.phrase.head.english], role + "noun") if stressed else phrase(node.phrase, role)
        return words(node.preposition.french, role) + governed
    return [*node.french]


_STRESSED = {"I": "moi", "you": "toi", "he": "lui", "she": "elle", "we": "nous", "they": "eux"}


def _person(subject: Phrase) -> int:
    if isinstance(subject.head, Pronoun):
        return subject.head.person
    return 4 if _many(subject) else 2


def _many(subject: Phrase) -> bool:
    """Tell whether French agrees in the plural; "you" is one person, mathematics are many."""
    if isinstance(subject.head, Pronoun):
        return subject.head.english in ("we", "they")
    return subject.plural or subject.head.plural_in_french


def _gender(subject: Phrase) -> str:
    """Return "f" where all are feminine."""
    partner = _gender(subject.partner) if subject.partner else "f"
    return "f" if subject.head.gender == partner == "f" else "m"


def _present(infinitive: str, subject: Phrase) -> str:
    return french_verb(infinitive).present[_person(subject)]


def _agreed(participle: str, subject: Phrase) -> str:
    """Agree a participle in gender and number; one in -s has no other masculine plural."""
    form = participle + ("e" if _gender(subject) == "f" else "")
    return french_plural(form) if _many(subject) else form
