"""Set how threads wait for one another, which must happen before torch is imported."""

import os
from collections.abc import MutableMapping

IDLE = 0.5
"""With a lower load average over the last minute, the machine is assumed to be idle."""


def set_wait_policy(environment: MutableMapping[str, str], load: float) -> None:
    """Set `OMP_WAIT_POLICY` and `GOMP_SPINCOUNT`, unless either is set, for a machine with this load average.

    Threads that spin for long take each other's cores if these are shared; threads that sleep too soon wake up too late. GNU
    OpenMP, which torch uses on Linux, supports the spin count; others support the policy.
    """
    if "OMP_WAIT_POLICY" not in environment and "GOMP_SPINCOUNT" not in environment:
        environment.update(OMP_WAIT_POLICY="PASSIVE", GOMP_SPINCOUNT="10000" if load < IDLE else "1000")


def load_average() -> float:
    """Return the load average over the last minute; infinity if the system does not report it."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("inf")
