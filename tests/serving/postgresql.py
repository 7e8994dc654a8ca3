"""A PostgreSQL server of a test: its own folder, a socket there, no network. Where it is not installed, tests skip."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FOLDERS = "/usr/lib/postgresql"
QUICK = ("-c", "fsync=off", "-c", "listen_addresses=", "-c", "shared_buffers=16MB", "-c", "max_connections=20")


def _program(name: str) -> str | None:
    """Return the path of a program of PostgreSQL; Debian keeps them out of PATH."""
    known = sorted(Path(FOLDERS).glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(known[-1]) if known else None)


def _account() -> str | None:
    """Return the account that the server must run as: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


@contextmanager
def postgresql() -> Iterator[str]:
    """Start a server and give its address, where the name of a database follows; skip the tests if that is impossible."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    initdb, control = _program("initdb"), _program("pg_ctl")
    if initdb is None or control is None:
        pytest.skip("PostgreSQL is not installed")
    account = _account()
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        if account is not None:
            shutil.chown(folder, account)
        given = {"user": account, "cwd": folder, "check": True, "capture_output": True, "timeout": 300}
        data = f"{folder}/data"
        subprocess.run([initdb, "-D", data, "-A", "trust", "-U", "dragoman", "-N", "--locale=C", "-E", "UTF8"], **given)
        options = " ".join([*QUICK, "-k", folder])
        given |= {"capture_output": False, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([control, "-D", data, "-l", f"{folder}/log", "-o", options, "-w", "start"], **given)
        try:
            yield f"postgresql://dragoman@/{{}}?host={folder}"
        finally:
            subprocess.run([control, "-D", data, "-m", "immediate", "-w", "stop"], **given)
