"""Messages without a translation get one."""

import polib
import pytest

from dragoman.documents.catalogs import CatalogDocument
from dragoman.documents.segments import Segment

CATALOG = r"""msgid ""
msgstr "Language: vi\n"

#, c-format
msgid ""
"Say \"hi\"\n"
"to %s"
msgstr ""

msgid "cat"
msgid_plural "cats"
msgstr[0] ""
msgstr[1] ""

msgid "done"
msgstr "xong"
"""


def test_messages_and_plurals_are_translated_and_others_stay():
    document = CatalogDocument(CATALOG)
    assert [one.text for one in document.segments] == ['Say "hi"to %s', "cat", "cats"]
    assert document.text([None] * 3) == CATALOG
    upper = [Segment(one.text.upper(), one.spans) for one in document.segments]
    found = polib.pofile(document.text(upper))
    assert found[0].msgstr == 'SAY "HI"\nTO %S'
    assert found[1].msgstr_plural == {0: "CAT", 1: "CATS"}
    assert found[2].msgstr == "xong"
    assert "#, c-format" in document.text(upper)


@pytest.mark.parametrize(
    ("charset", "written"), [("CHARSET", "UTF-8"), ("ISO-8859-1", "UTF-8"), ("utf-8", "utf-8"), ("UTF-8", "UTF-8")]
)
@pytest.mark.parametrize("opening", ['""\n"', '"Language: vi\\n"\n"', '"'])
def test_the_header_of_a_translated_template_names_the_encoding_it_is_in(charset: str, written: str, opening: str):
    kind = "Content-Type: text/plain; charset="
    file = f'msgid ""\nmsgstr {opening}{kind}{charset}\\n"\n\nmsgid "{kind}x"\nmsgstr ""\n'
    document = CatalogDocument(file)
    assert document.text([None]) == file
    found = document.text([Segment("mèo")])
    assert found.endswith(f'msgid "{kind}x"\nmsgstr "mèo"\n')
    assert polib.pofile(found).metadata["Content-Type"] == f"text/plain; charset={written}"


def test_the_only_form_of_a_plural_is_that_of_many():
    entry = 'msgid "%d cat"\nmsgid_plural "%d cats"\nmsgstr[0] ""\n'
    header = 'msgid ""\nmsgstr ""\n"Plural-Forms: nplurals={0}; plural=0;\\n"\n\n'
    assert [one.text for one in CatalogDocument(header.format(1) + entry).segments] == ["%d cats"]
    assert [one.text for one in CatalogDocument(entry).segments] == ["%d cats"]
    both = header.format(2) + entry + 'msgstr[1] ""\n'
    assert [one.text for one in CatalogDocument(both).segments] == ["%d cat", "%d cats"]


@pytest.mark.parametrize(
    ("forms", "singular"),
    [
        ("nplurals=2; plural=(n != 1);", 0),
        ("nplurals=2; plural=n>1;", 0),
        ("nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5;", 1),
        ("nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);", 0),
        ("nplurals=4; plural=(n%100==1 ? 1 : n%100==2 ? 2 : n%100==3 || n%100==4 ? 3 : 0);", 1),
        ("nplurals=3; plural=(n % 10 == 0 || n % 100 >= 11) ? 0 : ((n % 10 == 1 && n % 100 != 11) ? 1 : 2);", 1),
        ("nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;", 0),
    ],
)
def test_the_form_of_one_is_that_of_the_singular(forms: str, singular: int):
    count = int(forms[9])
    entry = 'msgid "%d cat"\nmsgid_plural "%d cats"\n' + "".join(f'msgstr[{n}] ""\n' for n in range(count))
    found = CatalogDocument(
        f'msgid ""\nmsgstr ""\n"Language: x\\n"\n"Plural-Forms: {forms[:60]}"\n"{forms[60:]}\\n"\n\n{entry}'
    ).segments
    assert [one.text for one in found] == ["%d cat" if n == singular else "%d cats" for n in range(count)]


def test_escapes_of_control_characters_are_written_as_they_mean():
    entry = r"""msgid "\033[1mbold\x1B[0m \a\v \303\251 \\n"
msgstr ""
"""
    document = CatalogDocument(entry)
    (segment,) = document.segments
    found = document.text([Segment(segment.text, segment.spans)])
    assert found.splitlines()[1] == r'msgstr "\033[1mbold\033[0m \a\v é \\n"'
