"""Law 12: exported models give the same translations, or are refused by name; planted bugs are caught."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.inference.ctranslate2 import engines
from tests.laws import law_of_exports as law
from tests.laws.architectures import Architecture
from tests.laws.planting import Law, Plant, numbers_of, replace, see_caught
from tests.slow import some
from torch import Tensor, nn

from dragoman.attention.multi_head import MultiHead
from dragoman.conversion import specification


def test_what_is_expected_to_be_exported_is():
    wanted = {"transformer pre-norm, sinusoidal", "transformer post-norm, learned", "transformer, gated", *law.MORE}
    wanted |= {
        "transformer, rotary",
        "transformer, target tied",
        "transformer, nothing tied",
        "transformer, dot to itself",
        "transformer, as marian",
        "transformer, as m2m",
        "transformer, as bart",
        "transformer, as t5",
    }
    assert wanted <= set(law.EXPORTED)


@pytest.mark.parametrize("name", some(law.EXPORTED, list(law.EXPORTED)[::4]))
def test_exported_models_give_the_same_translations(name: str, tmp_path: Path):
    law.law_12_an_export_translates_the_same(law.EXPORTED[name], tmp_path)


@pytest.mark.parametrize("name", law.REFUSED)
def test_what_cannot_be_exported_is_refused_by_name(name: str, tmp_path: Path):
    law.law_12_what_cannot_be_exported_is_refused(law.REFUSED[name], tmp_path)


def folds_nothing_into_queries(right: Any, attention: MultiHead) -> Any:
    return attention.query.weight, attention.query.bias


def leaves_positions_out(right: Any, layer: nn.Module, width: int) -> Any:
    return 0 * right(layer, width)


def turns_distances_round(right: Any, vectors: Tensor) -> Any:
    return right(vectors)[::-1].copy()


def ends_no_source(right: Any, *given: Any, **named: Any) -> Any:
    spec = right(*given, **named)
    spec.config.add_source_eos = False
    return spec


def finds_no_obstacle(right: Any, settings: Architecture) -> Any:
    return iter(())


def exporting(name: str) -> Law:
    """Law 12, tried on an architecture that can be exported."""
    return partial(law.law_12_an_export_translates_the_same, law.EXPORTED[name])


def refusing(name: str) -> Law:
    """Law 12, tried on an architecture that cannot be exported."""
    return partial(law.law_12_what_cannot_be_exported_is_refused, law.REFUSED[name])


BUGS: dict[str, tuple[Law, Plant]] = {
    "12: score without its scale": (
        exporting("transformer, dot to itself"),
        replace(specification, "scaled_queries", folds_nothing_into_queries),
    ),
    "12: positions left out": (
        exporting("transformer pre-norm, sinusoidal"),
        replace(specification, "_positions", leaves_positions_out),
    ),
    "12: distances the other way round": (
        exporting("shaw alone"),
        replace(specification, "_distances", turns_distances_round),
    ),
    "12: sources without an end": (exporting("transformer, gated"), replace(engines, "describe", ends_no_source)),
    "12: what cannot be expressed is left out": (
        refusing("transformer, alibi"),
        replace(specification, "obstacles", finds_no_obstacle),
    ),
}


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_caught(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    see_caught(*BUGS[name], tmp_path, monkeypatch=monkeypatch)


def test_every_law_has_a_planted_bug() -> None:
    assert {name.partition(":")[0] for name in BUGS} == numbers_of(law)
