"""Stage the documentation for its site: `docs/` and the pages of the repository's root, with links between them.

`make site` runs it before MkDocs. README.md and others stay at the root, where readers of the code look for
them, and become pages of the site too. A link to a file that is not part of the site becomes its text.
"""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

ROOT = Path(__file__).resolve().parents[1]
STAGE = ROOT / "build" / "docs"
OF_THE_ROOT = {
    "README.md": "about.md",
    "README.vi.md": "about.vi.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Files of the repository's root, and the pages that they become."""
LINK = re.compile(r"\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")


def main() -> None:
    """Write the staged pages; what was staged before is gone."""
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", STAGE, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    (STAGE / "assets").mkdir(exist_ok=True)
    shutil.copy(Path(__file__).with_name("iframe-worker.js"), STAGE / "assets")
    pages = {f"docs/{path.relative_to(STAGE).as_posix()}": path for path in STAGE.rglob("*") if path.is_file()}
    for name, page in OF_THE_ROOT.items():
        pages[name] = shutil.copy(ROOT / name, STAGE / page)
    for name, path in pages.items():
        if path.suffix == ".html" and path.with_suffix(".md").exists():  # MkDocs would write a page of that name
            pages[name] = path.rename(path.with_name(f"{path.stem}-whole.html"))
    staged = {name: path.relative_to(STAGE).as_posix() for name, path in pages.items()}
    for name, path in pages.items():
        if path.suffix == ".md":
            path.write_text(with_links(path.read_text(encoding="utf-8"), name, staged), encoding="utf-8")


def with_links(text: str, name: str, staged: Mapping[str, str]) -> str:
    """Return the text of the repository's file `name` with its links as they are on the site.

    `staged` maps files of the repository to their places on the site. The site itself switches between languages: it shows the
    Vietnamese page, where there is one, behind a link from a Vietnamese page to an English one.

    >>> staged = {"README.md": "about.md", "docs/atlas/README.md": "atlas/README.md", "docs/errata.md": "errata.md"}
    >>> with_links("[a](docs/atlas/README.md#b), [c](src/)", "README.md", staged)
    '[a](atlas/README.md#b), c'
    >>> with_links("[d](../errata.md)", "docs/atlas/README.md", staged)
    '[d](../errata.md)'
    >>> staged |= {"docs/a.md": "a.md", "docs/b.md": "b.md"}
    >>> with_links("[English](a.md), [e](b.vi.md)", "docs/a.vi.md", staged | {"docs/a.vi.md": "a.vi.md"})
    'English, [e](b.md)'
    """

    def rewrite(link: re.Match[str]) -> str:
        target, _, anchor = link["target"].partition("#")
        if not target or ":" in target:
            return link[0]
        file = normpath(join(dirname(name), target))
        file = f"{file}/README.md" if f"{file}/README.md" in staged else file
        page = file.replace(".vi.md", ".md")
        if page not in staged or (file != name and page == name.replace(".vi.md", ".md")):
            return link["text"]
        return (
            f"[{link['text']}]({relpath(staged[page], dirname(staged[name]) or '.')}{'#' + anchor if anchor else ''})"
        )

    return LINK.sub(rewrite, text)


if __name__ == "__main__":
    main()
