"""Which modules have shapes in their signatures. Nothing of Dragoman is imported here: the tests check what comes after."""

from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


def modules_with_shapes() -> Iterator[str]:
    """Yield the names of Dragoman's modules that import jaxtyping."""
    for path in sorted((SOURCE / "dragoman").rglob("*.py")):
        if "from jaxtyping import" in path.read_text(encoding="utf-8"):
            yield ".".join(path.relative_to(SOURCE).with_suffix("").parts)
