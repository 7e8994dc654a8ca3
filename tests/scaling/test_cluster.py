"""What Ray is asked for, and what is said where it is not there."""

import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.errors import InputError
from dragoman.scaling import cluster as module
from dragoman.scaling.cluster import Workers, cluster, private_folder


class Ray:
    """Stands for Ray on a machine of so many CPUs."""

    def __init__(self, cpus: int = 2, error: Exception | None = None) -> None:
        self.cpus, self.error, self.asked, self.ended = cpus, error, {}, False

    LoggingConfig = SimpleNamespace

    def init(self, address: str | None, **options: Any) -> None:
        self.asked = {"address": address, **options}
        if self.error is not None:
            raise self.error

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": float(self.cpus)}

    def shutdown(self) -> None:
        self.ended = True


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Ray:
    """Ray, in an environment in which nothing was said to it."""
    found = Ray()
    for name in (*module.ENVIRONMENT, "RAY_ADDRESS"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setitem(sys.modules, "ray", found)  # type: ignore[arg-type]
    monkeypatch.setattr(module, "find_spec", lambda name: SimpleNamespace())
    return found


@pytest.mark.parametrize("text", ["0", "2:1", "many", "", "1:", ":3", "-1", "1:2:3"])
def test_what_is_no_number_of_processes_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"--ray .* 1:8"):
        Workers.parse(text)


def test_a_range_is_elastic() -> None:
    assert Workers.parse("1:8").elastic and not Workers.parse("3").elastic


def test_without_ray_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'pip install "dragoman\[ray\]"'), cluster(Workers(1, 1)):
        pass


def test_a_cluster_of_this_machine_tells_nobody_and_shows_no_page(ray: Ray) -> None:
    with cluster(Workers(2, 3)):
        assert ray.asked["address"] is None and ray.asked["include_dashboard"] is False
        assert ray.asked["num_cpus"] >= 3
        assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0" and not ray.ended
    assert ray.ended


def test_what_ray_prints_is_no_result(ray: Ray, capsys: pytest.CaptureFixture[str]) -> None:
    ray.shutdown = lambda: print("of hunger")  # type: ignore[method-assign]
    with cluster(Workers(1, 1)):
        print("a worker died")
    assert capsys.readouterr() == ("", "a worker died\nof hunger\n")


def test_what_the_user_has_told_ray_stays(ray: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    monkeypatch.setenv("RAY_ADDRESS", "first:6379")
    with cluster(Workers(1, 2)):
        assert ray.asked["address"] == "first:6379" and "num_cpus" not in ray.asked
        assert os.environ["RAY_USAGE_STATS_ENABLED"] == "1"


def test_a_cluster_that_is_too_small_or_away_is_refused(ray: Ray) -> None:
    with pytest.raises(InputError, match=r"3 processes with a CPU each, but the cluster has 2"), cluster(Workers(3, 3)):
        pass
    assert ray.ended
    ray.error = Exception("nobody there\nand more")
    with pytest.raises(InputError, match=r"\(nobody there\); check RAY_ADDRESS"), cluster(Workers(1, 1)):
        pass


def test_what_ray_notes_of_a_job_ends_with_it() -> None:
    with private_folder() as place:
        (place / "note.json").write_text("{}")
    assert not place.exists()
