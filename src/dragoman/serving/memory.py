"""What was translated lately, in memory."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """A value that knows about how many bytes it takes."""

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        ...


Value = TypeVar("Value", bound=Sized)


class Memory(Generic[Value]):
    """The values that were used last, as many as fit into a number of bytes."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.used = 0
        self._known: OrderedDict[Hashable, Value] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: Hashable) -> Value | None:
        """Return the value of a key, which is then the one used last; None if it is not (or no longer) there."""
        value = self._known.get(key)
        if value is not None:
            self._known.move_to_end(key)
        return value

    def put(self, key: Hashable, value: Value) -> None:
        """Keep a value; those used longest ago leave. One that is larger than everything is not kept."""
        if value.size > self.limit:
            return
        old = self._known.pop(key, None)
        self.used += value.size - (0 if old is None else old.size)
        self._known[key] = value
        while self.used > self.limit:
            _, gone = self._known.popitem(last=False)
            self.used -= gone.size
