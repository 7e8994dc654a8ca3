"""French noun phrases: articles, agreement of adjectives, possession; then elision and contraction between words."""

from collections.abc import Iterable

from dragoman.data.phrasebook.lexicon import Adjective, Determiner, Noun, Pronoun
from dragoman.data.phrasebook.morphology import elides
from dragoman.data.phrasebook.syntax import Action, Phrase
from dragoman.data.phrasebook.tokens import Token, words

_ELIDED = frozenset(("le", "la", "de", "je", "ne", "que", "me", "te", "ce"))
_CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


def phrase(node: Phrase, role: str, preposition: str = "", negated: bool = False) -> list[Token]:
    """Return a noun phrase; `preposition` is what the verb puts before it.

    After de an article of indefinite quantity falls (besoin d'eau); as `negated` direct object it becomes de.
    """
    if node.partner is not None:
        first = phrase(Phrase(node.head, node.determiner), role + "first.")
        return first + words("et", role + "and") + phrase(node.partner, role + "second.")
    head = node.head
    if isinstance(head, Pronoun):
        return words(head.french, role + "noun")
    plural = head.plural_in_french or (node.determiner is not None and node.determiner.number == "plural")
    noun = words(head.french_plural if plural and head.french_plural else head.french, role + "noun")
    before, after = _adjectives(node.adjective, head, plural, role)
    rest = before + noun + after
    if node.contents:
        rest += words("de", role + "of") + words(node.contents.french, role + "contents")
    if node.relative:
        rest += words("qui", role + "who") + _third(node.relative, role + "relative.")
    if node.owner:
        article = words("les" if plural else "la" if head.gender == "f" else "le", role + "determiner")
        return article + rest + words("de", role + "of") + phrase(node.owner, role + "owner.")
    if node.determiner is None:
        return rest
    return words(_article(node.determiner, head, rest, preposition, negated), role + "determiner") + rest


def contract(tokens: Iterable[Token]) -> list[Token]:
    """Join words as French does: l'homme, j'aime, and with an article (not the pronoun le) du, aux.

    >>> [token.text for token in contract([*words("je pense à"), *words("le", "determiner"), *words("été ou à")])]
    ['je', 'pense', 'à', "l'", 'été', 'ou', 'à']
    >>> [token.text for token in contract([*words("à"), *words("les", "determiner"), *words("amis")])]
    ['aux', 'amis']
    """
    done: list[Token] = []
    for token in tokens:
        if done and done[-1].text in _ELIDED and elides(token.text):
            done[-1] = Token(done[-1].text[:-1] + "'", done[-1].meanings)
        elif len(done) > 1 and _is_article(done[-1]) and (short := _CONTRACTED.get((done[-2].text, done[-1].text))):
            done[-2:] = [Token(short, (*done[-2].meanings, *done[-1].meanings))]
        done.append(token)
    return done


def _is_article(token: Token) -> bool:
    return bool(token.meanings) and token.meanings[0].endswith("determiner")


def _third(action: Action, role: str) -> list[Token]:
    """Return an action in the third person, as after "qui"."""
    thing = phrase(action.object, role + "object.", action.verb.french.preposition) if action.object else []
    return words(action.verb.french.present[2], role + "verb") + thing


def _adjectives(adjective: Adjective | None, head: Noun, plural: bool, role: str) -> tuple[list[Token], list[Token]]:
    """Return what stands before and what stands after the noun."""
    if adjective is None:
        return [], []
    form = adjective.french[2 * plural + (head.gender == "f")]
    if adjective.position == "before" and head.gender == "m" and not plural and elides(head.french):
        form = adjective.french[4]
    tokens = words(form, role + "adjective")
    return (tokens, []) if adjective.position == "before" else ([], tokens)


def _article(determiner: Determiner, head: Noun, rest: list[Token], preposition: str, negated: bool) -> str:
    """Choose the form of a determiner by gender, by the sound that follows, and by what governs the phrase."""
    if determiner.kind == "bare" and preposition == "de":
        return ""
    if determiner.kind in ("bare", "indefinite") and negated and not preposition:
        return "de"
    if determiner.kind == "generic" and head.plural_in_french:
        return "les"
    form = determiner.french[2 * elides(rest[0].text) + (head.gender == "f")]
    preposed = determiner.kind in ("bare", "listed") and rest[0].meanings[0].endswith("adjective")
    return "de" if preposed and form == "des" else form
