"""What a translation takes over from its source: how it begins and ends, and whether it is in capitals."""

_END = ".!?…。！？:;,"
"""Marks at the end that a translation has if, and only if, its source has one."""

_FULL = ".!?…。！？"


def has_words(text: str) -> bool:
    """Tell whether there is anything to translate: a letter or a digit.

    >>> has_words("👍 !"), has_words("số 5")
    (False, True)
    """
    return any(character.isalnum() for character in text)


def formatted_like(source: str, text: str) -> str:
    """Return a translation with the last mark of its source, in capitals if that is, and with as small or large a first letter.

    A word that is repeated for a source of one word is said once.

    >>> formatted_like("good morning", "Chào buổi sáng."), formatted_like("STOP!", "dừng lại"), formatted_like("Yes", "Có có có")
    ('chào buổi sáng', 'DỪNG LẠI!', 'Có')
    """
    bare, core = source.strip(), text.strip()
    if not has_words(bare) or not has_words(core):
        return text
    start = len(text) - len(text.lstrip())
    before, after = text[:start], text[start + len(core) :]
    words = core.split()
    if len(bare.split()) == 1 and len(words) > 1 and len({word.strip(_END).casefold() for word in words}) == 1:
        core = words[0]
    core = _cased(bare, _ended(bare, core))
    return f"{before}{core}{after}"


def _ended(source: str, text: str) -> str:
    """Return a text with the last mark of its source, if that has one, and without any otherwise."""
    if source[-1] in _FULL and text[-1] not in _END:
        return text + source[-1]
    if source[-1].isalnum() and text[-1] in _FULL:
        return text.rstrip(_FULL).rstrip() or text
    return text


def _cased(source: str, text: str) -> str:
    """Return a text whose letters are as large as those of its source: all of them, or the first."""
    if source.isupper() and sum(character.isalpha() for character in source) > 1:
        return text.upper()
    first, begun = source[0], text[0]
    if first.islower() and begun.isupper() and not text[:2].isupper():
        return begun.lower() + text[1:]
    return begun.upper() + text[1:] if first.isupper() and begun.islower() else text
