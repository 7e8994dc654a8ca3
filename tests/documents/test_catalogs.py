"""Messages without a translation get one."""

import polib

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


def test_the_only_form_of_a_plural_is_that_of_many():
    entry = 'msgid "%d cat"\nmsgid_plural "%d cats"\nmsgstr[0] ""\n'
    header = 'msgid ""\nmsgstr ""\n"Plural-Forms: nplurals={0}; plural=0;\\n"\n\n'
    assert [one.text for one in CatalogDocument(header.format(1) + entry).segments] == ["%d cats"]
    assert [one.text for one in CatalogDocument(entry).segments] == ["%d cats"]
    both = header.format(2) + entry + 'msgstr[1] ""\n'
    assert [one.text for one in CatalogDocument(both).segments] == ["%d cat", "%d cats"]


def test_escapes_of_control_characters_are_written_as_they_mean():
    entry = r"""msgid "\033[1mbold\x1B[0m \a\v \303\251 \\n"
msgstr ""
"""
    document = CatalogDocument(entry)
    (segment,) = document.segments
    found = document.text([Segment(segment.text, segment.spans)])
    assert found.splitlines()[1] == r'msgstr "\033[1mbold\033[0m \a\v é \\n"'
