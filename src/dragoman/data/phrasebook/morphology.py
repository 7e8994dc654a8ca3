"""Regular inflection of English and French; what is irregular stands in the word lists."""

_VOWELS = "aeiouyAEIOUY"
_FRENCH_VOWELS = frozenset("aeiouhâàéèêëîïôöûüœAEIOUÂÀÉÈÊÎÔŒ")
_SOUNDED_LIKE_CONSONANT = ("uni", "use", "one")
_SILENT_H = ("hour", "honest")


def english_plural(noun: str) -> str:
    """Return the plural of a regular noun (or the third person of a verb).

    >>> english_plural("city"), english_plural("glass"), english_plural("boy")
    ('cities', 'glasses', 'boys')
    """
    if noun.endswith("y") and noun[-2] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def english_past(verb: str) -> str:
    """Return the simple past of a regular verb.

    >>> english_past("carry"), english_past("like"), english_past("look for")
    ('carried', 'liked', 'looked for')
    """
    first, space, rest = verb.partition(" ")
    if first.endswith("y") and first[-2] not in _VOWELS:
        return first[:-1] + "ied" + space + rest
    return first + ("d" if first.endswith("e") else "ed") + space + rest


def english_third(verb: str) -> str:
    """Return the third person of a regular verb.

    >>> english_third("watch"), english_third("look for")
    ('watches', 'looks for')
    """
    first, space, rest = verb.partition(" ")
    return english_plural(first) + space + rest


def english_gerund(verb: str) -> str:
    """Return the -ing form of a regular verb; doubled consonants are irregular.

    >>> english_gerund("write"), english_gerund("see"), english_gerund("wait for")
    ('writing', 'seeing', 'waiting for')
    """
    first, space, rest = verb.partition(" ")
    stem = first[:-1] if first.endswith("e") and not first.endswith("ee") else first
    return stem + "ing" + space + rest


def article(following: str) -> str:
    """Return the indefinite article before an English word.

    >>> article("apple"), article("university"), article("honest")
    ('an', 'a', 'an')
    """
    vowel = following[0] in "aeiouAEIOU" and not following.startswith(_SOUNDED_LIKE_CONSONANT)
    return "an" if vowel or following.startswith(_SILENT_H) else "a"


def french_plural(word: str) -> str:
    """Return the plural of a regular French noun or adjective.

    >>> french_plural("chat"), french_plural("souris"), french_plural("nouveau")
    ('chats', 'souris', 'nouveaux')
    """
    if word.endswith(("s", "x", "z")):
        return word
    return word + ("x" if word.endswith("eau") else "s")


def french_present(infinitive: str) -> tuple[str, ...]:
    """Return the forms for je, tu, il, nous, ils of a regular verb in -er.

    >>> french_present("manger")
    ('mange', 'manges', 'mange', 'mangeons', 'mangent')
    >>> french_present("lancer")[3]
    'lançons'
    """
    stem = infinitive[:-2]
    plural = stem + "e" if stem.endswith("g") else stem[:-1] + "ç" if stem.endswith("c") else stem
    return stem + "e", stem + "es", stem + "e", plural + "ons", stem + "ent"


def elides(following: str) -> bool:
    """Tell whether a French word makes the word before it lose its vowel; every h in the word lists is mute.

    >>> elides("homme"), elides("école"), elides("yaourt")
    (True, True, False)
    """
    return following[0] in _FRENCH_VOWELS
