"""A test of a file stands at the same place: `decoding/beam.py` has `tests/decoding/test_beam.py`."""

from pathlib import PurePosixPath

import pytest
from tests.architecture.source import PACKAGE, ROOT, Source, planted, sources

WHOLES = frozenset({"data/phrasebook"})
"""Folders whose files do one thing together, which is tested as one: the grammar that writes the phrasebook."""


def mirrors(source: Source) -> list[str]:
    """Return where a source may be tested; settings may be tested with what they set. Nothing where none is needed.

    A file without functions has no behaviour, and `__init__.py` and `__main__.py` only gather.
    """
    path = source.path
    if path.name.startswith("__") or not any(True for _ in source.functions):
        return []
    if path.parent.as_posix() in WHOLES:
        path = PurePosixPath(f"{path.parent}.py")
    what = path.stem.removesuffix("_settings")
    names = [path.name] if what == path.stem else [path.name, f"{what}.py", f"{what}s.py"]
    return sorted(f"tests/{(path.parent / f'test_{name}').as_posix()}" for name in names)


def test_every_file_has_its_test():
    wanted = {source.name: mirrors(source) for source in sources(PACKAGE)}
    missing = [name for name, places in wanted.items() if places and not any((ROOT / one).exists() for one in places)]
    assert not missing, "\n".join(f"{name} needs {wanted[name][0]}" for name in missing)


@pytest.mark.parametrize(
    ("path", "text", "places"),
    [
        ("errors.py", "def f(): ...", ["tests/test_errors.py"]),
        ("decoding/beam.py", "def f(): ...", ["tests/decoding/test_beam.py"]),
        (
            "models/rnn_settings.py",
            "def f(): ...",
            ["tests/models/test_rnn.py", "tests/models/test_rnn_settings.py", "tests/models/test_rnns.py"],
        ),
        ("data/phrasebook/french.py", "def f(): ...", ["tests/data/test_phrasebook.py"]),
        ("models/start_settings.py", "class C:\n    size: int", []),
        ("models/__init__.py", "def f(): ...", []),
    ],
)
def test_a_mirror_is_known_by_its_path(path: str, text: str, places: list[str]):
    assert mirrors(planted(text, path)) == places
