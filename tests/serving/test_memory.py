"""What was used last is kept, within a size."""

from dataclasses import dataclass

from dragoman.serving.memory import Memory


@dataclass(frozen=True)
class Thing:
    size: int


def test_what_was_used_longest_ago_leaves() -> None:
    memory: Memory[Thing] = Memory(10)
    for name in ("a", "b", "c"):
        memory.put(name, Thing(3))
    assert memory.get("a") == Thing(3)
    memory.put("d", Thing(4))
    assert [name for name in "abcd" if memory.get(name)] == ["a", "c", "d"]
    assert (memory.used, len(memory)) == (10, 3)


def test_a_value_is_replaced_and_a_huge_one_not_kept() -> None:
    memory: Memory[Thing] = Memory(10)
    memory.put("a", Thing(3))
    memory.put("a", Thing(5))
    memory.put("b", Thing(11))
    assert (memory.used, len(memory), memory.get("b")) == (5, 1, None)


def test_no_room_keeps_nothing() -> None:
    memory: Memory[Thing] = Memory(0)
    memory.put("a", Thing(1))
    assert memory.get("a") is None
