"""What torchrun and Ray tell the processes that they start, in their environment."""

import os
from collections.abc import Callable, Mapping, MutableMapping
from functools import wraps
from pathlib import PurePath
from typing import ParamSpec, TypeVar

from dragoman.errors import InputError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

SET_BY_TORCHRUN = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def is_one_of_several(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether torchrun started this process and others, to train together.

    >>> is_one_of_several({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"})
    True
    """
    return all(name in environment for name in SET_BY_TORCHRUN) and int(environment["WORLD_SIZE"]) > 1


def process_count(environment: Mapping[str, str] = os.environ) -> int:
    """Return how many processes train together.

    >>> process_count({}), process_count({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"})
    (1, 2)
    """
    return int(environment["WORLD_SIZE"]) if is_one_of_several(environment) else 1


def check_alone(what: str) -> None:
    """Raise InputError where torchrun started this process and others, none of which may do `what` without the others.

    >>> check_alone("`adapt`")
    """
    if is_one_of_several():
        raise InputError(
            "only `dragoman train` (in Python `fit`) and `dragoman compare` share their work among processes; "
            f"run {what} without torchrun"
        )


def for_one_process(job: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make a function refuse to run in one of several processes that torchrun started: each would do and write the same."""

    @wraps(job)
    def checked(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        check_alone(f"`{job.__name__}`")
        return job(*arguments, **options)

    return checked


def is_first(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether this is the only process, or the first of several.

    >>> is_first({}), is_first({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"})
    (True, False)
    """
    return not is_one_of_several(environment) or int(environment["RANK"]) == 0


def restarts(environment: Mapping[str, str] = os.environ) -> int:
    """Return how often torchrun has started its processes again, because one of them had died.

    >>> restarts({"TORCHELASTIC_RESTART_COUNT": "1"}), restarts({})
    (1, 0)
    """
    return int(environment.get("TORCHELASTIC_RESTART_COUNT", "0"))


def launch_of(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the name of this launch of torchrun, also after it started its processes again, or machines joined or left.

    It is what `--rdzv-id` says, or else the folder that each launch makes for its errors. None if neither is known.

    >>> launch_of({"TORCHELASTIC_RUN_ID": "mine"}), launch_of({"TORCHELASTIC_RUN_ID": "none"})
    ('mine', None)
    >>> launch_of({"TORCHELASTIC_ERROR_FILE": "/tmp/torchelastic_1/none_x2/attempt_1/0/error.json"})
    'none_x2'
    """
    name = environment.get("TORCHELASTIC_RUN_ID", "none")
    if name != "none":
        return name
    parts = PurePath(environment.get("TORCHELASTIC_ERROR_FILE", "")).parts
    return parts[-4] if len(parts) > 3 else None


def name_launch(name: str, environment: MutableMapping[str, str] = os.environ) -> None:
    """Let `launch_of` return a name, where something other than torchrun has started this process.

    >>> name_launch("mine", place := {}), launch_of(place)
    (None, 'mine')
    """
    environment["TORCHELASTIC_RUN_ID"] = name
