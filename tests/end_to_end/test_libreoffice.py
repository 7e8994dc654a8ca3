"""LibreOffice opens translated files of Word, PowerPoint and OpenDocument, and finds the translation in them."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from lxml import etree
from tests.documents.generated import Spoiler

from dragoman.jobs.translate_document import translate_document

OFFICE = shutil.which("soffice")
PAGE = """<h1>The <i>red</i> house</h1><p>I see <b>two cats</b> and <a href="https://a.example/">a dog</a>, 12 in all.</p>
<ul><li>One house</li><li>Two <u>small</u> houses</li></ul><table><tr><td>the cat</td><td>the dog sleeps</td></tr></table>"""
SLIDE = """<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"
 office:version="1.2" office:mimetype="application/vnd.oasis.opendocument.presentation"><office:body><office:presentation>
<draw:page draw:name="p1"><draw:frame svg:x="2cm" svg:y="2cm" svg:width="20cm" svg:height="5cm"><draw:text-box>
<text:p>I see <text:span>a dog</text:span>, 12 in all.</text:p></draw:text-box></draw:frame></draw:page>
</office:presentation></office:body></office:document>"""

pytestmark = pytest.mark.skipif(OFFICE is None, reason="LibreOffice (soffice) is not installed")


def convert(into: str, folder: Path, *files: Path) -> list[Path]:
    """Convert files by LibreOffice, which must say nothing but that it did."""
    profile = (folder / "profile").as_uri()
    found = subprocess.run(
        [
            OFFICE or "",
            "--headless",
            f"-env:UserInstallation={profile}",
            "--convert-to",
            into,
            "--outdir",
            folder,
            *files,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert found.stdout.count("convert ") == len(files), found
    assert "rror" not in found.stdout + found.stderr.replace("javaldx", "")
    return [folder / f"{file.stem}.{into.partition(':')[0]}" for file in files]


@pytest.mark.slow
def test_translated_files_are_opened(tmp_path: Path):
    page, slide = tmp_path / "page.html", tmp_path / "slide.fodp"
    page.write_text(PAGE, encoding="utf-8")
    slide.write_text(SLIDE, encoding="utf-8")
    made = [
        *convert("docx:MS Word 2007 XML", tmp_path, page),
        *convert("odt", tmp_path, page),
        *convert("pptx", tmp_path, slide),
    ]
    translated = []
    for path in made:
        translated.append(path.with_name(f"{path.suffix[1:]}-new{path.suffix}"))
        assert translate_document(Spoiler(2), path, translated[-1]).left == 0
    for path in convert("pdf", tmp_path, *translated):
        assert path.read_bytes().startswith(b"%PDF")
    for path in convert("txt:Text", tmp_path, *translated[:2]):
        shown = path.read_text(encoding="utf-8-sig")
        assert all(text in shown for text in ("HOUSE RED THE", "HOUSE ONE", "CAT THE", "SLEEPS DOG THE", "12"))


def elements(path: Path) -> Counter[str]:
    """Count the elements of a flat OpenDocument file, but for runs of spaces, which depend on the order of words."""
    return Counter(str(found.tag) for found in etree.parse(path).iter("{*}*") if not str(found.tag).endswith("}s"))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["docx", "odt"])
def test_all_that_libreoffice_reads_in_a_document_is_still_there(suffix: str, tmp_path: Path):
    (made,) = convert(
        "docx:MS Word 2007 XML" if suffix == "docx" else "odt", tmp_path, Path(__file__).with_name("rich.fodt")
    )
    for seed in range(3):
        new = tmp_path / f"new-{seed}.{suffix}"
        assert translate_document(Spoiler(seed), made, new).left == 0
        before, after = (elements(path) for path in convert("fodt", tmp_path, made, new))
        assert before == after
        names = {name.rpartition("}")[2] for name in before}
        assert names >= {
            "note",
            "annotation",
            "tracked-changes",
            "table",
            "frame",
            "bookmark-start",
            "a",
            "list",
            "section",
            "tab",
        }
