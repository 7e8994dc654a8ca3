"""The files in `deploy/` fit what they install and start."""

import json
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
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


@pytest.mark.parametrize("status", [200, 503])
def test_the_image_is_healthy_while_its_service_says_so(status: int) -> None:
    class Service(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/health" else 404)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None: ...

    (line,) = re.findall(r"^HEALTHCHECK .*?CMD (.+)$", CONTAINERFILE, re.MULTILINE)
    assert '"--port", "5000"' in CONTAINERFILE
    with HTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        _, *arguments = json.loads(line.replace("5000", str(server.server_port)))
        checked = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert (checked.returncode, checked.stderr) == (int(status != 200), "")


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
