"""What the words for users say is so: commands, settings, recipes, links and names exist, and both READMEs agree."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import typer
from tools import settings_tables
from tools.site import with_links

from dragoman.classification.settings import ClassifierRecipe
from dragoman.cli.main import COMMANDS as FILES
from dragoman.cli.main import app, in_python
from dragoman.errors import SettingsError
from dragoman.runs.recipe import CHOOSABLE, Recipe, load_recipe, shipped
from dragoman.settings import parse
from dragoman.training.resuming import MAY_CHANGE
from dragoman.training.settings import OptimisationSettings

ROOT = Path(__file__).resolve().parents[2]
READMES = ("README.md", "README.vi.md")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
COMMANDS = {
    " ".join(filter(None, (name, inner))): found
    for name, command in typer.main.get_command(app).commands.items()  # type: ignore[attr-defined]  # a group
    for inner, found in getattr(command, "commands", {"": command}).items()
}
"""Every command by its name, those of a group with the name of the group before theirs."""


def read(name: str) -> str:
    """Return a page's text."""
    return (ROOT / name).read_text(encoding="utf-8")


def table_of_commands(name: str) -> list[str]:
    """Return the commands in the first cells of a README's tables, with their arguments."""
    return re.findall(r"^\| `dragoman ([^`]+)` \|", read(name), re.MULTILINE)


def command_of(words: str) -> str:
    """Return the command that words after `dragoman` begin with; empty where it is none."""
    first, _, rest = words.partition(" ")
    return next((name for name in (f"{first} {rest.partition(' ')[0]}", first) if name in COMMANDS), "")


def blocks(text: str) -> list[str]:
    """Return the contents of fenced blocks."""
    return re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@cache
def settings_of_every_kind() -> set[str]:
    """Return the names of all settings that a recipe may hold."""
    schemas = [Recipe.model_json_schema(), ClassifierRecipe.model_json_schema()]
    return {name for one in schemas for table in (one, *one["$defs"].values()) for name in table["properties"]}


def test_the_settings_that_may_be_auto_are_listed() -> None:
    section = read("docs/recipes.md").partition("## `auto`")[2].partition("\n## ")[0]
    listed = re.findall(
        r"`((?:text|model|training|decoding)\.\w+)`", section.partition("works for")[2].partition(".\n")[0]
    )
    assert listed == [f"{part}.{name}" for part, names in CHOOSABLE.items() for name in names]


@pytest.mark.parametrize("name", READMES)
def test_the_table_of_commands_holds_every_command_once_and_no_other(name: str) -> None:
    assert sorted(command_of(row) for row in table_of_commands(name)) == sorted(COMMANDS)


@pytest.mark.parametrize("name", READMES)
def test_the_table_of_commands_names_the_file_that_answers_each(name: str) -> None:
    rows = re.findall(r"^\| `dragoman (\w+)[^`]*` \|.*\| \[([^]]+)\]\(([^)]+)\) \|$", read(name), re.MULTILINE)
    assert len(rows) == len(COMMANDS)
    for command, file, path in rows:
        assert (file, path) == (f"{in_python(command)}.py", f"src/dragoman/cli/{file}")
        tree = ast.parse(read(path))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        groups = {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets}  # type: ignore[attr-defined]
        assert in_python(command) in functions | groups


def test_every_file_of_commands_is_one_or_helps_them() -> None:
    helpers = {
        "console",
        "documents",
        "files",
        "loading",
        "options",
        "quality",
        "signals",
        "translations",
        "word_links",
    }
    files = {path.stem for path in (ROOT / "src" / "dragoman" / "cli").glob("*.py")}
    assert files == {*map(in_python, FILES), *helpers, "main", "__init__"}


def test_both_readmes_show_the_same_commands_pictures_and_code() -> None:
    english, vietnamese = map(read, READMES)
    assert table_of_commands("README.md") == table_of_commands("README.vi.md")
    assert blocks(english) == blocks(vietnamese)
    links = [re.findall(r"\]\(([^)]+)\)", text.replace(".vi.md", ".md"))[1:] for text in (english, vietnamese)]
    assert links[0] == links[1]
    headings = [len(re.findall(r"^#+ ", text, re.MULTILINE)) for text in (english, vietnamese)]
    assert headings[0] == headings[1]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_options_written_beside_a_command_exist(path: Path) -> None:
    text = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8"))
    for words in re.findall(r"dragoman (\w[^\n`|]*)", text):
        if name := command_of(words):
            known = {option for parameter in COMMANDS[name].params for option in parameter.opts}
            assert set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", words)) <= {*known, "--help"}, f"dragoman {words}"
    for words, cell in re.findall(r"^\| `dragoman (\w[^`]*)` \|(.*)\|$", text, re.MULTILINE):
        known = {option for parameter in COMMANDS[command_of(words)].params for option in parameter.opts}
        assert set(re.findall(r"`(--[a-z-]+)", cell)) <= known, f"dragoman {words}"


def test_the_pages_of_settings_hold_every_setting() -> None:
    text = read("docs/recipes.md") + read("docs/classify.md")
    assert [name for name in sorted(settings_of_every_kind()) if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize("path", settings_tables.PAGES, ids=lambda path: path.name)
def test_the_tables_of_settings_are_fresh(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == settings_tables.page(path), "run python -m tools.settings_tables"


def test_the_recipe_in_the_page_of_recipes_is_one(tmp_path: Path) -> None:
    example = next(block for block in blocks(read("docs/recipes.md")) if block.startswith("about:"))
    (tmp_path / "mine.yaml").write_text(example, encoding="utf-8")
    assert load_recipe(tmp_path / "mine.yaml").training.minutes == 30


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_recipes_in_pages_that_extend_a_shipped_one_are_recipes(path: Path, tmp_path: Path) -> None:
    for example in blocks(path.read_text(encoding="utf-8")):
        if example.startswith("extends:"):
            (tmp_path / "mine.yaml").write_text(example, encoding="utf-8")
            load_recipe(tmp_path / "mine.yaml")


def test_the_recipe_for_a_language_model_of_own_text_has_nothing_of_the_phrasebook(tmp_path: Path) -> None:
    (example,) = (block for block in blocks(read("docs/pretraining.md")) if block.startswith("extends:"))
    (tmp_path / "mine.yaml").write_text(example, encoding="utf-8")
    recipe = load_recipe(tmp_path / "mine.yaml", ["data.source=en", "data.target=en"])
    assert not [
        corpus for corpus in (*recipe.data.train, *recipe.data.dev, *recipe.data.test) if "phrasebook" in repr(corpus)
    ]


def test_the_settings_that_may_change_on_resume_are_those_of_the_code() -> None:
    (item,) = re.findall(r"^- \*\*To resume\*\*(.*?)^- ", read("docs/recipes.md"), re.MULTILINE | re.DOTALL)
    sections = {"training", "decoding", "about"}
    assert set(re.findall(r"`([a-z_]+)`", item)) - sections == MAY_CHANGE


def test_the_budgets_are_those_of_the_code() -> None:
    (item,) = re.findall(
        r"^- \*\*`training` needs a budget:\*\*(.*?)\. ", read("docs/recipes.md"), re.MULTILINE | re.DOTALL
    )
    with pytest.raises(SettingsError, match="needs a budget") as refused:
        parse(OptimisationSettings, {})
    assert set(re.findall(r"`([a-z]+)`", item)) == set(re.findall(r"`training\.([a-z]+)`", str(refused.value)))


@pytest.mark.parametrize("page", ["docs/troubleshooting.md", "docs/troubleshooting.vi.md"])
def test_messages_quoted_in_the_troubleshooting_pages_exist(page: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "src" / "dragoman").rglob("*.py")]
    code = re.sub(r"\{[^{}]*\}", "0", re.sub(r"\"\s*f?\"", "", "\n".join(texts)).replace("`", ""))
    quoted = re.findall(r"^\*\*\"(.+?)\"", read(page), re.MULTILINE)
    assert len(quoted) > 8
    for message in quoted:
        parts = [part.strip(" ,") for part in re.split(r"\b\d+\b|\ba\.\w\w\b|\.\.\.|: | nan\b", message)]
        for part in parts:
            assert part in code, f"no message says {part!r}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_settings_named_with_their_section_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    known = settings_of_every_kind()
    named = re.findall(
        r"(?<!dragoman\.)\b(?:data|text|model|training|decoding)\.([a-z_]+)(?:\.([a-z_]+))?\b(?![(/*])", text
    )
    suffixes = {"py", "cpp", "yaml", "md", "json", "safetensors"}
    odd = [name for pair in named for name in pair if name and name not in known | suffixes | {"droput"}]
    assert odd == []


@pytest.mark.parametrize("name", ["train", "recipes"])
def test_recipes_named_in_commands_are_shipped(name: str) -> None:
    for path in PAGES:
        for recipe in re.findall(rf"dragoman {name} ([a-z][a-z0-9-]*)(?![\w./])", path.read_text(encoding="utf-8")):
            assert recipe in shipped(), f"{path.name}: dragoman {name} {recipe}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (path.parent / target).exists(), f"{path.name}: {target}"


@pytest.mark.parametrize("path", [path for path in PAGES if path.name.endswith(".vi.md")], ids=lambda path: path.name)
def test_vietnamese_pages_lead_to_vietnamese_pages_and_back_to_the_english_one(path: Path) -> None:
    first, *links = re.findall(r"\]\(([^)#]+(?<!\.vi)\.md)", path.read_text(encoding="utf-8"))
    assert first == path.name.replace(".vi.md", ".md")
    assert [link for link in links if (path.parent / link.replace(".md", ".vi.md")).exists()] == []


@pytest.mark.parametrize("order", ["docs/README.md", "docs/README.vi.md", "mkdocs.yml"])
def test_every_page_is_in_the_reading_orders_and_on_the_site(order: str) -> None:
    docs = ROOT / "docs"
    pages = {page.relative_to(docs) for page in [*docs.glob("*.md"), *docs.glob("*/README.md")]}
    named = re.findall(r"(?<=[( ])([\w/.-]+\.md)", read(order).replace(".vi.md", ".md"))
    known = {Path(name) for name in named} | {Path("README.md"), Path("pictures/README.md")}
    assert {Path(str(page).replace(".vi.md", ".md")) for page in pages} - known == set()


def test_the_site_itself_switches_between_languages() -> None:
    staged = {name: name for name in ("a.md", "a.vi.md", "b.md", "b.vi.md")}
    assert with_links("[English](a.md), [b](b.vi.md#c)", "a.vi.md", staged) == "English, [b](b.md#c)"
    assert with_links("[Tiếng Việt](a.vi.md), [here](a.md#c)", "a.md", staged) == "Tiếng Việt, [here](a.md#c)"


def test_names_in_the_architecture_exist() -> None:
    named = set(re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", read("ARCHITECTURE.md")))
    assert len(named) > 30
    for file, name in sorted(named):
        here = [path for path in (ROOT / file, ROOT / "src/dragoman" / file) if path.exists()]
        assert here or (not name and list((ROOT / "src/dragoman").rglob(file))), f"{file} does not exist"
        if name:
            tree = ast.parse(here[0].read_text(encoding="utf-8"))
            defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
            assert name in defined, f"{file} has no {name}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_tests_named_in_a_page_exist(path: Path) -> None:
    for file, name in re.findall(r"(tests/[\w/]+\.py)::(\w+)", path.read_text(encoding="utf-8")):
        assert f"def {name}(" in read(file), f"{path.name}: {file} has no {name}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_programs_that_a_page_starts_exist_and_find_what_they_import(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for module in re.findall(r"python -m ((?:benchmarks|tests|tools)[\w.]*)", text):
        place = ROOT / module.rstrip(".").replace(".", "/")
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), f"{path.name}: {module}"
    for file in re.findall(r"python ((?:benchmarks|tests|tools)/[\w/]+\.py)", text):
        nodes = list(ast.walk(ast.parse(read(file))))
        names = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        names += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        beside = {name.partition(".")[0] for name in names} & {"benchmarks", "tests", "tools"}
        assert beside == set(), f"{path.name}: a file alone does not find {beside}; say python -m for {file}"


def test_every_erratum_names_its_check() -> None:
    errata, _, _ = read("docs/errata.md").partition("## ")
    rows = [row for row in errata.split("\n") if row.startswith("| ")][2:]
    assert len(rows) >= 8
    for row in rows:
        assert re.search(r"tests/[\w/]+\.py::\w+", row), f"no test shows: {row}"


def test_the_parts_in_the_architecture_are_those_that_exist() -> None:
    (layers,) = (block for block in blocks(read("ARCHITECTURE.md")) if re.match(r"\d+ programs", block))
    drawn = set(re.findall(r"\b(\w+)(?:/|\.py)(?=[\s,>)]|$)", layers))
    package = ROOT / "src" / "dragoman"
    parts = {path.stem for path in package.glob("*.py") if not path.stem.startswith("__")}
    parts |= {path.parent.name for path in package.glob("*/__init__.py")}
    assert drawn == parts


def test_pictures_are_small() -> None:
    for picture in (ROOT / "docs" / "pictures").glob("*.png"):
        assert picture.stat().st_size < 200_000, picture.name


@pytest.mark.parametrize("name", READMES)
def test_python_examples_use_public_names(name: str) -> None:
    import dragoman

    examples = [block for block in blocks(read(name)) if "import dragoman" in block]
    assert examples
    for example in examples:
        used = {
            node.attr
            for node in ast.walk(ast.parse(example))
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "dragoman"
        }
        assert used <= set(dragoman.__all__)
