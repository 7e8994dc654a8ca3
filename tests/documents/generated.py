"""Documents of all formats with tags, placeholders and numbers in them, made at random, and a translator that spoils them."""

import io
import random
import re
import zipfile
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

WORDS = tuple(
    re.findall(r"\S+", "the cat sees a small house, and two dogs sleep. Who knows? It rains (often) on Mondays; yes!")
)
HELD = (
    "☐",
    "____",
    "%s",
    "%1$d",
    "{0}",
    "{name}",
    "{{user}}",
    "$total",
    "%1",
    "%s%lu",
    "%n",
    "{0:>5}",
    "12",
    "1,000.50",
    "3.5",
    "https://a.example/b?c=1",
    "me@b.example",
)


class Spoiler:
    """Reverses words in capitals, and loses, changes or doubles some placeholders; with odd seeds, it has links."""

    attends = False
    previous = 0

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.view = SimpleNamespace(links=lambda reading: SimpleNamespace(possible=reading.links)) if seed % 2 else None

    def translate(self, sentences: list[str], **_options: Any) -> list[Any]:
        return [self._spoilt(one.split()) for one in sentences]

    def _spoilt(self, words: list[str]) -> Any:
        made: list[tuple[str, int]] = []
        for number in reversed(range(len(words))):
            word = words[number].upper()
            if not word.isalpha() and self._random.random() < 0.4:
                word = self._random.choice(["", "⁇", f"{word} {word}", "%s", "7", word[:-1]])
            made += [(part, number) for part in word.split()]
        target = [word for word, _ in made]
        links = frozenset((number, place) for place, (_, number) in enumerate(made))
        sides = SimpleNamespace(words=words), SimpleNamespace(words=target)
        reading = SimpleNamespace(source=sides[0], target=sides[1], links=links)
        return SimpleNamespace(text=" ".join(target), reading=reading, terms=(), searched_again=False)


@dataclass(frozen=True)
class Made:
    """A document that was made, and its format."""

    content: bytes
    format: str


def text(chance: random.Random, most: int = 9) -> str:
    """Return some words with placeholders among them."""
    words = [
        chance.choice(HELD) if chance.random() < 0.2 else chance.choice(WORDS) for _ in range(chance.randint(1, most))
    ]
    return " ".join(words)


def tagged(chance: random.Random, pairs: list[tuple[str, str]], alone: list[str], depth: int = 2) -> str:
    """Return some words with tags around and among them."""
    out = []
    for _ in range(chance.randint(1, 3)):
        out.append(text(chance, 4))
        if depth and chance.random() < 0.5:
            opening, closing = chance.choice(pairs)
            out.append(f"{opening}{tagged(chance, pairs, alone, depth - 1)}{closing}")
        if chance.random() < 0.3:
            out.append(chance.choice(alone))
    return chance.choice(["", " "]).join(out) if chance.random() < 0.2 else " ".join(out)


def make(kind: str, seed: int) -> Made:
    """Return a document of a format."""
    chance = random.Random(seed)
    return Made(_MAKERS[kind](chance), kind)


def zipped(parts: dict[str, str | bytes]) -> bytes:
    """Return a zip file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, inside in parts.items():
            archive.writestr(name, inside)
    return out.getvalue()


def _html(chance: random.Random) -> bytes:
    pairs, alone = (
        [("<b>", "</b>"), ('<a href="x?a=1&amp;b">', "</a>"), ("<i class=c>", "</i>")],
        ["<br>", "<img src=x>", "<code>%d a</code>"],
    )
    body = "".join(f"<p>{tagged(chance, pairs, alone)}</p>\n<script>a<b</script>" for _ in range(chance.randint(1, 4)))
    return f"<!DOCTYPE html>\n<title>{text(chance)}</title>{body}<ul><li>{text(chance)}<li>x &lt; y</ul>".encode()


def _md(chance: random.Random) -> bytes:
    pairs, alone = (
        [("**", "**"), ("*", "*"), ("~~", "~~"), ("_", "_"), ("[", "](x?a=1 'T')"), ("[", "][r 1]"), ("<b>", "</b>")],
        ["`%d a`", "![small cat](i.png)", "<br>", "<https://a.example>", "[^1]", "<kbd>Ctrl</kbd>", "![r 1]", "[r 1]"],
    )
    ends = chance.choice(["\n", "\n", "\r\n"])
    blocks = ["---", "title: a", "---", f"# {tagged(chance, pairs, alone)} {{#id}}", ""]
    for _ in range(chance.randint(1, 5)):
        some = [tagged(chance, pairs, alone) for _ in range(chance.randint(1, 3))]
        first, rest = chance.choice(
            [("> ", "> "), ("- ", "  "), ("1. ", "   "), ("- > [ ] ", "  > "), ("", ""), ("", " ")]
        )
        gap = chance.choice(["", "  ", "\\"])
        blocks += [first + f"{gap}\n{rest}".join(some).replace("\n", ends), *chance.choice([[], ["==="]]), ""]
    cell = tagged(chance, pairs, alone)
    blocks += [f"| {text(chance)} | `a\\|b` |", "|:--|---|", f"| {cell} | x \\| y", f"{cell}|", ""]
    blocks += [
        "```sh",
        "the cat # sees",
        "```",
        "",
        "<div>",
        "the cat",
        "</div>",
        "",
        "    the cat",
        "",
        "[r 1]: /u 'the cat'",
    ]
    return ends.join(blocks).encode()


def _txt(chance: random.Random) -> bytes:
    ends = ["\n", "\r\n", "\n\n"]
    return "".join(f"{tagged(chance, [('<b>', '</b>')], ['<x/>'])}{chance.choice(ends)}" for _ in range(4)).encode()


def _times(number: int) -> str:
    return f"00:00:{number:02d},000 --> 00:00:{number + 1:02d},500"


def _srt(chance: random.Random) -> bytes:
    cues = [tagged(chance, [("<i>", "</i>")], ["{\\an8}"], 1) for _ in range(chance.randint(1, 5))]
    return "".join(f"{n}\n{_times(n)}\n{cue}\n\n" for n, cue in enumerate(cues, 1)).encode()


def _vtt(chance: random.Random) -> bytes:
    cues = [tagged(chance, [("<i>", "</i>"), ("<v Bob>", "</v>")], ["<00:01.000>"], 1) for _ in range(3)]
    shown = "".join(f"{_times(n).replace(',', '.')} align:start\n{cue}\n\n" for n, cue in enumerate(cues, 1))
    return f"WEBVTT\n\nNOTE nothing\n\n{shown}".encode()


def _po(chance: random.Random) -> bytes:
    entries = [
        f'#: a.c:{n}\nmsgid "{tagged(chance, [("<b>", "</b>")], ["<br/>"])}\\n"\nmsgstr ""\n\n' for n in range(3)
    ]
    return f'msgid ""\nmsgstr ""\n"Language: vi\\n"\n\n{"".join(entries)}msgid "a"\nmsgstr "b"\n'.encode()


def _xliff(chance: random.Random) -> bytes:
    pairs, alone = (
        [('<g id="1">', "</g>"), ('<bpt id="5" rid="9">&lt;b></bpt>', '<ept id="6" rid="9"/>')],
        ['<x id="2"/>', "<ph>%s</ph>", 'a <bpt id="7"/>b <g id="8">c <ept id="7"/>d</g>'],
    )
    units = "".join(
        f'<trans-unit id="{n}"><source>{tagged(chance, pairs, alone)}</source></trans-unit>' for n in range(3)
    )
    return f'<xliff version="1.2"><file target-language="vi"><body>{units}</body></file></xliff>\n'.encode()


def _tmx(chance: random.Random) -> bytes:
    inside = tagged(chance, [("<hi>", "</hi>")], ['<ph x="1"/>'])
    unit = f'<tu><tuv xml:lang="en"><seg>{inside}</seg></tuv></tu>'
    return f'<tmx version="1.4"><header srclang="en"/><body>{unit}</body></tmx>'.encode()


def _csv(chance: random.Random) -> bytes:
    rows = "".join(f'{n},"{tagged(chance, [("<b>", "</b>")], ["<br/>"])}",z\r\n' for n in range(3))
    return f"id,text,other\r\n{rows}".encode()


def _tsv(chance: random.Random) -> bytes:
    return ("id\ttext\n" + "".join(f"{n}\t{text(chance)}\n" for n in range(3))).encode()


def _field(kind: str) -> str:
    return f'<w:r><w:rPr><w:b/></w:rPr><w:fldChar w:fldCharType="{kind}"/></w:r>'


def _docx(chance: random.Random) -> bytes:
    code = f"{_field('begin')}<w:r><w:instrText>REF a</w:instrText></w:r>{_field('separate')}"
    pairs = [
        (f"{code}<w:r><w:t>", f"</w:t></w:r>{_field('end')}"),
        (f"{code}<w:ins><w:r><w:t>", f"</w:t></w:r>{_field('end')}</w:ins>"),
        ('<w:bookmarkStart w:id="7"/><w:r><w:t>', '</w:t></w:r><w:bookmarkEnd w:id="7"/>'),
        ("<w:r><w:t>", "</w:t></w:r>"),
        ('<w:r w:rsidR="1"><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">', "</w:t></w:r>"),
        ('<w:hyperlink r:id="r1"><w:r><w:t>', "</w:t></w:r></w:hyperlink>"),
    ]
    alone = ["<w:r><w:br/></w:r>", '<w:bookmarkStart w:id="1"/>', '<w:r><w:footnoteReference w:id="2"/></w:r>']
    paragraphs = ""
    for _ in range(3):
        inside = ""
        for _ in range(chance.randint(1, 5)):
            opening, closing = chance.choice(pairs)
            inside += f"{opening}{text(chance, 3)} {closing}" + (chance.choice(alone) if chance.random() < 0.3 else "")
        paragraphs += f'<w:p><w:pPr><w:jc w:val="both"/></w:pPr>{inside}</w:p>'
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://r"'
    return zipped(
        {"word/document.xml": f"<w:document {space}><w:body>{paragraphs}</w:body></w:document>", "a.bin": b"\x00\x01"}
    )


def _pptx(chance: random.Random) -> bytes:
    runs = "".join(f"<a:r><a:rPr b='{n % 2}'/><a:t>{text(chance, 3)} </a:t></a:r>" for n in range(3))
    slide = f'<p:sld xmlns:p="p" xmlns:a="a"><a:p>{runs}<a:br/><a:fld id="1"><a:t>9</a:t></a:fld><a:endParaRPr/></a:p></p:sld>'
    return zipped({"ppt/slides/slide1.xml": slide, "ppt/media/x.png": b"\x89"})


def _odt(chance: random.Random) -> bytes:
    pairs, alone = (
        [('<text:span text:style-name="T1">', "</text:span>"), ('<text:a x="1">', "</text:a>")],
        [" <text:s/>", "<text:line-break/>"],
    )
    inside = "".join(f"<text:p>{tagged(chance, pairs, alone)}</text:p>" for _ in range(3))
    return zipped({"mimetype": "application/x", "content.xml": f'<o xmlns:text="t">{inside}</o>'})


def _xlsx(chance: random.Random) -> bytes:
    bold = "<r><rPr><b/></rPr><t>"
    shared = ""
    for _ in range(3):
        some = f"<r><t>{text(chance, 3)}&#10;</t></r>{bold}{text(chance, 3)}</t></r>"
        shared += f'<si><t xml:space="preserve">{text(chance)} </t></si><si>{some}</si>'
    sheet = f'<worksheet><c t="inlineStr"><is><t>{text(chance)}_x000D_\n{text(chance)}</t></is></c><c><v>3</v></c></worksheet>'
    comment = f"<comments><comment><text>{bold}{text(chance)}</t></r></text></comment></comments>"
    parts = {"sharedStrings": f"<sst>{shared}</sst>", "worksheets/sheet1": sheet, "comments1": comment}
    return zipped({f"xl/{name}.xml": part for name, part in parts.items()} | {"xl/media/x.png": b"\x89"})


def _ods(chance: random.Random) -> bytes:
    cells = "".join(f"<table:table-cell><text:p>{text(chance)}</text:p></table:table-cell>" for _ in range(3))
    sums = '<table:table-cell table:formula="a" office:value-type="float"><text:p>3</text:p></table:table-cell>'
    return zipped({"mimetype": "application/x", "content.xml": f'<o xmlns:text="t">{cells}{sums}</o>'})


def _epub(chance: random.Random) -> bytes:
    listed = f"<ncx><navLabel><text>{text(chance)}</text></navLabel></ncx>"
    about = f"<package><dc:title>{text(chance)}</dc:title><dc:language>en</dc:language></package>"
    page = _html(chance).replace(b"<br>", b"<br/>")
    return zipped({"mimetype": "application/epub+zip", "a/1.xhtml": page, "a/toc.ncx": listed, "a/a.opf": about})


_MAKERS = {
    "html": _html, "md": _md,
    "txt": _txt, "srt": _srt, "vtt": _vtt, "po": _po, "xliff": _xliff, "tmx": _tmx, "csv": _csv, "tsv": _tsv,
    "docx": _docx, "pptx": _pptx, "odt": _odt, "odp": _odt, "xlsx": _xlsx, "ods": _ods, "epub": _epub,
}  # fmt: skip
FORMATS = tuple(_MAKERS)
