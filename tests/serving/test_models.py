"""Models are known from the start, loaded when they are needed, and leave when memory is short."""

import asyncio
import shutil
import threading
from pathlib import Path

import pytest
from tests.serving.workers import Reversing, job, offer
from tests.tiny import Trained

from dragoman.conversion.job import export
from dragoman.errors import InputError, RunError
from dragoman.inference.engines import EngineName
from dragoman.serving.interface import ModelError, ShuttingDownError, UnknownLanguageError, UnknownModelError
from dragoman.serving.models import Models, Offer, check_glossaries, loader, read_offers
from dragoman.serving.settings import EngineSettings
from dragoman.serving.workers import ExportWorker, TorchWorker, Worker


def models(loaded: list[str], *offers: Offer, memory_mb: float = 1.0) -> Models:
    def load(one: Offer) -> Worker:
        loaded.append(one.name)
        return Reversing()

    return Models(offers, load, settings=EngineSettings(), memory_mb=memory_mb)


def test_the_first_model_of_a_pair_answers_unless_another_is_named() -> None:
    offered = models([], offer("a", ("en", "vi")), offer("b", ("en", "vi"), ("fr", "en")))
    assert offered.languages == {"en": frozenset({"vi"}), "fr": frozenset({"en"})}
    assert offered.choose("en", "vi").name == "a"
    assert offered.choose("en", "vi", "b").name == "b"
    assert offered.offer(None).name == "a"
    with pytest.raises(UnknownModelError, match="a, b"):
        offered.offer("c")


def test_unknown_languages_are_refused_by_name() -> None:
    offered = models([], offer("a", ("en", "vi")), offer("b", ("fr", "en")))
    for source, target, blamed, words in (
        ("xx", "vi", ("xx", None), "en, fr"),
        ("en", "yy", (None, "yy"), "vi"),
        ("fr", "vi", ("fr", "vi"), "en"),
    ):
        with pytest.raises(UnknownLanguageError, match=words) as caught:
            offered.choose(source, target)
        assert (caught.value.source, caught.value.target) == blamed
    with pytest.raises(UnknownLanguageError, match=r"`fr` is not translated by `a`; source languages are en$"):
        offered.choose("fr", "en", "a")
    with pytest.raises(UnknownLanguageError, match=r"into `en` by `a`; target languages of `en` are vi$"):
        offered.choose("en", "en", "a")


def test_the_model_used_longest_ago_leaves_once_it_is_idle() -> None:
    loaded: list[str] = []
    size = 400_000
    offers = [offer(name, ("en", "vi"), size=size) for name in "abc"]

    async def use() -> None:
        offered = models(loaded, *offers)
        async with offered.lease(offers[0]):
            pass
        async with offered.lease(offers[1]) as busy:
            async with offered.lease(offers[0]):
                pass
            waiting = asyncio.create_task(visit(offered, offers[2]))
            await asyncio.sleep(0.02)
            assert not waiting.done()
            assert (await busy.translate([job("ab")]))[0].best.text == "ba"
        await asyncio.wait_for(waiting, 10)
        assert set(offered.engines) == {"a", "c"}
        await offered.close()

    async def visit(offered: Models, one: Offer) -> None:
        async with offered.lease(one):
            pass

    asyncio.run(use())
    assert loaded == ["a", "b", "c"]


def test_a_model_is_loaded_once_however_many_ask_for_it() -> None:
    loaded: list[str] = []
    one = offer("a", ("en", "vi"))

    async def use() -> None:
        offered = models(loaded, one)

        async def visit() -> None:
            async with offered.lease(one) as engine:
                await engine.translate([job("x")])

        await asyncio.gather(*(visit() for _ in range(5)))
        await offered.close()

    asyncio.run(use())
    assert loaded == ["a"]


def test_a_model_arrives_although_those_that_asked_for_it_gave_up() -> None:
    began, go_on = threading.Event(), threading.Event()
    loads: list[str] = []

    def load(one: Offer) -> Worker:
        loads.append(one.name)
        began.set()
        go_on.wait(10)
        return Reversing()

    async def use() -> None:
        one = offer("a", ("en", "vi"))
        offered = Models([one], load, settings=EngineSettings())

        async def visit() -> None:
            async with offered.lease(one) as engine:
                await engine.translate([job("x")])

        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(visit(), 0.02)
        assert began.is_set() and not offered.engines
        go_on.set()
        await asyncio.wait_for(visit(), 10)
        await offered.close()

    asyncio.run(use())
    assert loads == ["a"]


def test_two_models_for_one_place_both_answer() -> None:
    loaded: list[str] = []
    offers = [offer(name, ("en", "vi"), size=10) for name in "ab"]

    async def visit(offered: Models, one: Offer) -> str:
        async with offered.lease(one) as engine:
            return (await engine.translate([job("xy")]))[0].best.text

    async def use() -> None:
        offered = models(loaded, *offers, memory_mb=1e-5)
        found = await asyncio.wait_for(asyncio.gather(*(visit(offered, one) for one in offers * 3)), 20)
        assert found == ["yx"] * 6
        await offered.close()

    asyncio.run(use())
    assert sorted(loaded) == ["a", "b"]


def test_a_model_that_must_leave_ends_although_the_one_that_asked_for_its_place_gave_up() -> None:
    offers = [offer(name, ("en", "vi"), size=10) for name in "ab"]

    async def visit(offered: Models, one: Offer) -> None:
        async with offered.lease(one):
            pass

    async def use() -> None:
        offered = models([], *offers, memory_mb=1e-5)
        async with offered.lease(offers[0]) as leaving:
            await leaving.translate([job("x")])
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(visit(offered, offers[1]), 0.02)
        await offered.close()
        with pytest.raises(ShuttingDownError):
            await leaving.translate([job("y")])

    asyncio.run(use())


def test_the_thread_that_loads_a_model_ends_with_it() -> None:
    """The OpenMP threads of one that stays would slow down those that translate."""
    one = offer("a", ("en", "vi"))
    threads: list[threading.Thread] = []

    def load(_: Offer) -> Worker:
        threads.append(threading.current_thread())
        return Reversing()

    async def use() -> None:
        offered = Models([one], load, settings=EngineSettings())
        async with offered.lease(one):
            assert [thread.is_alive() for thread in threads] == [False]
        await offered.close()

    asyncio.run(use())


def test_a_model_that_cannot_be_loaded_does_not_tell_callers_where_it_is() -> None:
    def load(one: Offer) -> Worker:
        raise RunError("/secret/place is damaged")

    async def use() -> None:
        one = offer("a", ("en", "vi"))
        offered = Models([one], load, settings=EngineSettings())
        with pytest.raises(ModelError) as caught:
            async with offered.lease(one):
                pass
        assert "secret" not in str(caught.value) and "secret" in str(caught.value.__cause__)

    asyncio.run(use())


ENGINES: tuple[EngineName, ...] = ("torch", "auto", "ctranslate2")


def test_runs_exports_and_ensembles_are_offered(trained: Trained, tmp_path: Path) -> None:
    run, other = trained("transformer"), trained("rnn")
    exported, _ = export(run, tmp_path / "out")
    alone, folder, ensemble = read_offers([run, exported, f"{run}+{other}"])
    assert [one.name for one in (alone, folder, ensemble)] == [run.name, "out", f"{run.name}+{other.name}"]
    assert alone.directions.trained == folder.directions.trained == (("en", "vi"),)
    assert (alone.attends, folder.attends) == (True, False)
    assert [one.explorable for one in (alone, folder, ensemble)] == [True, False, False]
    both = tmp_path / "both"
    shutil.copytree(run, both)
    assert read_offers([both], engine="auto")[0].explorable
    export(both, quantization="float32")
    assert [read_offers([both], engine=one)[0].explorable for one in ENGINES] == [True, False, False]
    assert read_offers([both], engine="auto", device="cuda")[0].explorable
    assert ensemble.size > alone.size > folder.size > 0
    load = loader(device="cpu")
    assert isinstance(load(alone), TorchWorker) and isinstance(load(folder), ExportWorker)
    assert len(load(ensemble).translator.models) == 2  # type: ignore[attr-defined]


def test_what_cannot_be_served_is_refused_at_the_door(trained: Trained, tmp_path: Path) -> None:
    run = trained("transformer")
    with pytest.raises(RunError):
        read_offers([tmp_path / "nothing"])
    with pytest.raises(InputError, match="twice"):
        read_offers([run, run])
    left = trained("transformer", "text.right_to_left=true", "training.steps=2")
    with pytest.raises(InputError, match=r"writes from right to left, .*`--rerank`"):
        read_offers([f"{run}+{left}"])
    exported, _ = export(run, tmp_path / "out")
    for together in (f"{exported}+{run}", f"{run}+{exported}"):
        with pytest.raises(InputError, match="exports cannot be combined"):
            read_offers([together])


def test_a_glossary_needs_one_pair_and_models_that_can_be_made_to_write_terms(tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("cat\tmèo\n", encoding="utf-8")
    one, other = offer("one", ("en", "vi")), offer("other", ("fr", "vi"))
    assert check_glossaries([terms], [one, one], engine="torch") == [str(terms)]
    with pytest.raises(InputError, match="these models translate 2; serve one pair"):
        check_glossaries([terms], [one, other], engine="torch")
    with pytest.raises(InputError, match="an export cannot"):
        check_glossaries([terms], [one], engine="ctranslate2")
    terms.write_text("cat\t\n", encoding="utf-8")
    with pytest.raises(InputError, match="empty term"):
        check_glossaries([terms], [one], engine="auto")
