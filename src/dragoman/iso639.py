"""Codes of languages: one of three letters (ISO 639-3), as imported models have it, is the one of two that most files have."""

import re

_TWO_LETTERS = """
aar:aa abk:ab afr:af aka:ak als:sq amh:am ara:ar arb:ar arg:an asm:as ava:av ave:ae aym:ay ayr:ay aze:az azj:az bak:ba bam:bm
bel:be ben:bn bis:bi bod:bo bos:bs bre:br bul:bg cat:ca ces:cs cha:ch che:ce chu:cu chv:cv cmn:zh cor:kw cos:co cre:cr cym:cy
dan:da deu:de div:dv dzo:dz ell:el eng:en epo:eo est:et eus:eu ewe:ee fao:fo fas:fa fij:fj fin:fi fra:fr fry:fy ful:ff gaz:om
gla:gd gle:ga glg:gl glv:gv grn:gn guj:gu hat:ht hau:ha hbs:sh heb:he her:hz hin:hi hmo:ho hrv:hr hun:hu hye:hy ibo:ig ido:io
iii:ii iku:iu ile:ie ina:ia ind:id ipk:ik isl:is ita:it jav:jv jpn:ja kal:kl kan:kn kas:ks kat:ka kau:kr kaz:kk khk:mn khm:km
kik:ki kin:rw kir:ky kmr:ku kom:kv kon:kg kor:ko kua:kj kur:ku lao:lo lat:la lav:lv lim:li lin:ln lit:lt ltz:lb lub:lu lug:lg
lvs:lv mah:mh mal:ml mar:mr mkd:mk mlg:mg mlt:mt mon:mn mri:mi msa:ms mya:my nau:na nav:nv nbl:nr nde:nd ndo:ng nep:ne nld:nl
nno:nn nob:nb nor:no npi:ne nya:ny oci:oc oji:oj ori:or orm:om ory:or oss:os pan:pa pbt:ps pes:fa pli:pi plt:mg pol:pl por:pt
pus:ps que:qu quy:qu roh:rm ron:ro run:rn rus:ru sag:sg san:sa sin:si slk:sk slv:sl sme:se smo:sm sna:sn snd:sd som:so sot:st
spa:es sqi:sq srd:sc srp:sr ssw:ss sun:su swa:sw swe:sv swh:sw tah:ty tam:ta tat:tt tel:te tgk:tg tgl:tl tha:th tir:ti ton:to
tsn:tn tso:ts tuk:tk tur:tr twi:tw uig:ug ukr:uk urd:ur uzb:uz uzn:uz ven:ve vie:vi vol:vo wln:wa wol:wo xho:xh ydd:yi yid:yi
yor:yo zha:za zho:zh zsm:ms zul:zu
"""
_KNOWN = {three: two for three, _, two in (pair.partition(":") for pair in _TWO_LETTERS.split())}
"""All of ISO 639-1, and the members of macrolanguages that imported models name, as `arb` of `ar`."""


def base_code(code: str) -> str:
    """Return the language of a code without its region or script, in two letters where it has them.

    >>> [base_code(one) for one in ("en-US", "VI", "vie_Latn", "zho_Hant", "ceb")]
    ['en', 'vi', 'vi', 'zh', 'ceb']
    """
    base = re.split(r"[-_]", code)[0].lower()
    return _KNOWN.get(base, base)


def language_tag(code: str) -> str:
    """Return the tag (BCP 47) that other programs have for a language, which imported models name with a script or a region.

    >>> [language_tag(one) for one in ("vie_Latn", "en_XX", "zho_Hant", "pt_BR", "pt-BR", "ace_Arab")]
    ['vi', 'en', 'zh-Hant', 'pt-BR', 'pt-BR', 'ace-Arab']
    """
    base, _, rest = code.partition("_")
    plain = base_code(base)
    if "-" in code or (not rest and plain == base.lower()):
        return code
    says_more = len(plain) > 2 or plain == "zh" or (plain, rest) == ("pt", "BR")
    return f"{plain}-{rest}" if rest and says_more else plain
