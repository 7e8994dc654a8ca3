"""Language codes as clients write them, and the English names of languages."""

from collections.abc import Iterable

from dragoman.iso639 import base_code

_SAME = (
    ("pb", "pt-br"),
    ("zh", "zh-hans", "zh-cn", "zh-sg"),
    ("zt", "zh-hant", "zh-tw", "zh-hk"),
    ("nb", "no"),
    ("he", "iw"),
    ("id", "in"),
    ("tl", "fil"),
)
"""Codes of one language, in small letters."""

_REGIONS = {("zh", "hant"): "zt", ("zh", "tw"): "zt", ("pt", "br"): "pb"}
"""Scripts and regions with codes of their own."""

_NAMES = """
af Afrikaans|am Amharic|ar Arabic|az Azerbaijani|be Belarusian|bg Bulgarian|bn Bengali|bs Bosnian|ca Catalan|ceb Cebuano
cs Czech|cy Welsh|da Danish|de German|el Greek|en English|eo Esperanto|es Spanish|et Estonian|eu Basque|fa Persian
fi Finnish|fr French|fy Western Frisian|ga Irish|gd Scottish Gaelic|gl Galician|gu Gujarati|ha Hausa|he Hebrew|hi Hindi
hr Croatian|ht Haitian Creole|hu Hungarian|hy Armenian|id Indonesian|ig Igbo|is Icelandic|it Italian|ja Japanese
jv Javanese|ka Georgian|kk Kazakh|km Khmer|kn Kannada|ko Korean|ku Kurdish|ky Kyrgyz|la Latin|lb Luxembourgish|lo Lao
lt Lithuanian|lv Latvian|mg Malagasy|mi Maori|mk Macedonian|ml Malayalam|mn Mongolian|mr Marathi|ms Malay|mt Maltese
my Burmese|nb Norwegian (Bokmål)|ne Nepali|nl Dutch|nn Norwegian (Nynorsk)|no Norwegian|oc Occitan|or Odia|pa Punjabi
pb Portuguese (Brazil)|pl Polish|ps Pashto|pt Portuguese|pt-br Portuguese (Brazilian)|pt-pt Portuguese (European)
ro Romanian|ru Russian|sa Sanskrit|sd Sindhi|si Sinhala|sk Slovak|sl Slovenian|so Somali|sq Albanian|sr Serbian
su Sundanese|sv Swedish|sw Swahili|ta Tamil|te Telugu|tg Tajik|th Thai|tk Turkmen|tl Tagalog|tr Turkish|tt Tatar|ug Uyghur
uk Ukrainian|ur Urdu|uz Uzbek|vi Vietnamese|wo Wolof|xh Xhosa|yi Yiddish|yo Yoruba|zh Chinese|zh-hans Chinese (simplified)
zh-hant Chinese (traditional)|zt Chinese (traditional)|zu Zulu|en-gb English (British)|en-us English (American)
"""


def plain_code(code: str) -> str:
    """Return the code by which clients know the language of an imported model; other codes as they are.

    >>> [plain_code(one) for one in ("vie_Latn", "vie", "en_XX", "zho_Hant", "pt-BR", "ace_Arab")]
    ['vi', 'vi', 'en', 'zt', 'pt-BR', 'ace_Arab']
    """
    base, rest = base_code(code), code.lower().partition("_")[2]
    if "-" in code or len(base) > 2:
        return code
    return _REGIONS.get((base, rest), base)


def language_name(code: str) -> str:
    """Return the English name of a language, or its code where that is not known.

    >>> language_name("vi"), language_name("vie_Latn"), language_name("zh-Hans"), language_name("xx")
    ('Vietnamese', 'Vietnamese', 'Chinese (simplified)', 'xx')
    """
    names = _names()
    return names.get(code.lower()) or names.get(plain_code(code), code)


def find_language(code: str, known: Iterable[str]) -> str | None:
    """Return the known code that a client means: the same but for capitals, or another one of the same language.

    >>> [find_language(one, ["en", "zh", "vie_Latn"]) for one in ("EN", "zh-Hans", "vi", "zz")]
    ['en', 'zh', 'vie_Latn', None]
    """
    codes = sorted(known, reverse=True)
    by_name = {plain_code(one): one for one in codes} | {one.lower().replace("_", "-"): one for one in codes}
    asked = code.strip().lower().replace("_", "-")
    same = next((group for group in _SAME if asked in group), (asked,))
    return next((by_name[one] for one in (asked, *same) if one in by_name), None)


def same_language(code: str) -> tuple[str, ...]:
    """Return a code in small letters, that of its language without region, and all others of the same language.

    >>> same_language("pb"), same_language("vi-vn")
    (('pb', 'pt-br'), ('vi-vn', 'vi'))
    """
    base = code.split("-")[0]
    others = [one for group in _SAME if {code, base} & {*group} for one in group]
    return tuple(dict.fromkeys([code, base, *others]))


def find_variant(code: str, known: Iterable[str]) -> str | None:
    """Return the known code that a client means, or that of the language of which it means a variant.

    >>> find_variant("EN-US", ["en", "vi"]), find_variant("PT-BR", ["pt", "pb"]), find_variant("EN", ["en-GB"])
    ('en', 'pb', 'en-GB')
    """
    known = list(known)
    base = code.partition("-")[0]
    narrower = sorted(one for one in known if one.lower().replace("_", "-").partition("-")[0] == base.strip().lower())
    same = find_language(code, known)
    if same or find_language(code, ["zt"]):  # traditional characters are no variant of the simplified ones
        return same
    return find_language(base, known) or (narrower[0] if narrower else None)


def _names() -> dict[str, str]:
    """Return the names of languages by their codes."""
    entries = (entry.partition(" ") for line in _NAMES.strip().split("\n") for entry in line.split("|"))
    return {code: name for code, _, name in entries}
