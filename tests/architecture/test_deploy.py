"""The files in `deploy/` fit what they install and start."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTAINERFILE = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
UNIT = ROOT / "deploy/dragoman.service"


def test_the_image_has_everything_that_the_package_is_built_from() -> None:
    copied = {name for line in re.findall(r"^COPY (.+) \S+$", CONTAINERFILE, re.MULTILINE) for name in line.split()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    about = project["project"]
    needed = {"pyproject.toml", "src", about["readme"], *about["license-files"], *included}
    assert needed <= copied and all((ROOT / name).exists() for name in copied)


def test_the_image_installs_extras_that_there_are() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r'"\.\[(.+)\]"', CONTAINERFILE)
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_reads_the_unit_without_complaint(tmp_path: Path) -> None:
    program = tmp_path / "dragoman"
    program.touch(0o755)
    unit = tmp_path / "dragoman.service"
    text = UNIT.read_text(encoding="utf-8")
    assert "/opt/dragoman/bin/dragoman serve " in text
    unit.write_text(text.replace("/opt/dragoman/bin/dragoman", str(program)), encoding="utf-8")
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")
