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
