"""The table of what was planned and what was."""

from benchmarks.plan import Row, table


def test_differences_are_shares_of_what_was():
    *_, line = table([Row("A model", 1200, (57.0, 60.0), (1_100_000_000, 1_000_000_000))])
    assert line == "| A model | 1,200 | 57.0 s | 60.0 s | -5.0% | 1,100 MB | 1,000 MB | +10.0% |"
