"""How threads wait for one another, which has to be said before torch is imported."""

import os
from collections.abc import MutableMapping

IDLE = 0.5
"""Below so many running processes, in the mean of the last minute, the machine is taken to be ours."""


def set_wait_policy(environment: MutableMapping[str, str], load: float) -> None:
    """Set `OMP_WAIT_POLICY` and `GOMP_SPINCOUNT`, unless either is set, for a machine on which `load` processes run.

    Threads that spin for long while they wait take each other's cores where these are shared; threads that sleep too soon are
    woken too late. GNU's OpenMP, torch's on Linux, knows the count; others the policy.
    """
    if "OMP_WAIT_POLICY" not in environment and "GOMP_SPINCOUNT" not in environment:
        environment.update(OMP_WAIT_POLICY="PASSIVE", GOMP_SPINCOUNT="10000" if load < IDLE else "1000")


def load_average() -> float:
    """Return how many processes ran in the mean of the last minute; infinity where the system does not say."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("inf")
