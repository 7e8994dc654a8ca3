"""The C++ parts neither leave their memory nor do what C++ leaves undefined, whatever the shapes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fuzz.kernels import environment, try_number
from tests.native.compiled import require

from dragoman.native.compilation import DECODING, LOSS, RECURRENCE, SEGMENTATION

BROKEN = """
#include <vector>
int main(int count, char**) { std::vector<int> numbers(3); return numbers.data()[count + 2]; }
"""


def test_random_shapes_give_what_torch_or_python_does() -> None:
    for part in (DECODING, LOSS, RECURRENCE, SEGMENTATION):
        require(part)
    assert {try_number(number) for number in range(60)} == {"products", "tokens", "losses", "loops", "segments"}


@pytest.mark.slow
def test_random_shapes_pass_under_sanitizers(tmp_path: Path) -> None:
    require(DECODING)
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.kernels", str(tmp_path), "60", "1"],
        env=environment(tmp_path / "cache"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int((tmp_path / "cases-1.json").read_text()) > 0


@pytest.mark.slow
def test_sanitizers_find_what_leaves_its_memory(tmp_path: Path) -> None:
    if not shutil.which("g++"):
        pytest.skip("no C++ compiler here")
    (tmp_path / "broken.cpp").write_text(BROKEN)
    variables = environment(tmp_path / "cache")
    subprocess.run([*variables["CXX"].split(), "broken.cpp", "-o", "broken"], cwd=tmp_path, check=True)
    variables.pop("LD_PRELOAD")
    done = subprocess.run([tmp_path / "broken"], env=variables, capture_output=True, text=True, check=False)
    assert done.returncode and "heap-buffer-overflow" in done.stderr
