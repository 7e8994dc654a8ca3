"""Fields and codes as DeepL has them."""

import pytest

from dragoman.serving.deepl_routes import choice, refused, source_code, switch, target_codes, words
from dragoman.serving.fields import Fields
from dragoman.serving.gate import QuotaError
from dragoman.serving.interface import OverloadedError, ServiceError


def test_fields_are_read_leniently_and_refused_strictly():
    fields = Fields({"a": "1", "b": True, "c": "maybe", "d": ["x,y", "z"], "e": None, "f": [], "g": 7})
    assert [switch(fields, name, False) for name in "abe"] == [True, True, False]
    assert [words(fields, name) for name in "def"] == [["x", "y", "z"], [], []]
    assert choice(fields, "a", ("0", "1")) == "1" and choice(fields, "e", ("x",), default="y") == "y"
    for read in (
        lambda: switch(fields, "c", False),
        lambda: words(fields, "g"),
        lambda: choice(fields, "b", ("true",)),
    ):
        with pytest.raises(ServiceError, match="not supported"):
            read()


def test_refusals_have_their_statuses():
    assert refused(QuotaError("x")).status_code == 456
    busy = refused(OverloadedError("x", retry_after=7))
    assert (busy.status_code, busy.headers["retry-after"]) == (429, "7")


def test_languages_have_the_codes_of_deepl():
    assert target_codes(["zh", "zt", "no"]) == {"NB": "no", "ZH": "zh", "ZH-HANS": "zh", "ZH-HANT": "zt"}
    assert (source_code("zh-Hant"), source_code("zho_Hant")) == ("ZH", "ZH")
    codes = target_codes(["zho_Hans", "zho_Hant", "eng_Latn"])
    assert [*codes] == ["EN-GB", "EN-US", "ZH", "ZH-HANS", "ZH-HANT"] and codes["ZH-HANT"] == "zho_Hant"
