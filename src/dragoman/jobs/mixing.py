"""The texts of an adaptation: pairs of the domain, and general ones among them so that the run does not forget."""

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.data.checksums import Checksums
from dragoman.data.corpus import Pair, corpus_files, name_of, read_pairs
from dragoman.data.directions import Directions
from dragoman.data.ledger import check, write_recorded
from dragoman.data.lines import COMPRESSED
from dragoman.data.settings import DataSettings
from dragoman.errors import CorpusError, DamagedError, InputError, RunError, shorten
from dragoman.jobs.translate_corpus import FIELDS, CorpusTranslation, sentences
from dragoman.json_files import load_json
from dragoman.runs.folder import GROWN, Run
from dragoman.settings import parse

FOLDER = "mixed"
"""Folder of an adapted run with its general pairs, its dev sets and its test sets."""
SUFFIXES = ("", *COMPRESSED)
"""Endings of files that are read."""
DEV, TEST = 250, 1000
"""Maximum number of sentences of each dev set and of each test set."""
TRANSLATED = 5000
"""Maximum number of sentences of the domain that the base translates where there is no general corpus."""
REPEATS, ENOUGH = 5, 20_000
"""A small domain is repeated up to so often in an epoch, until it has so many pairs, among general pairs that are not."""
SEED = 1
"""Seed of what is drawn from corpora."""

Tables = list[dict[str, Any]]
"""Corpora as recipes write them."""


@dataclass(frozen=True)
class General:
    """Where general pairs come from."""

    train: DataSettings | None
    """A corpus to draw from; None where the base translates sentences of the domain instead."""
    held: DataSettings | None
    """Corpora for dev and, if it has any, for test; None if there are none."""

    @property
    def files(self) -> list[Path]:
        """Return all files that are read."""
        parts = ((self.train, ("train",)), (self.held, ("dev", "test")))
        return [path for data, names in parts if data is not None for path in files_of(data, *names)]


@dataclass(frozen=True)
class Mixture:
    """The texts of an adaptation, and what its settings depend on."""

    data: Mapping[str, Any]
    """The section `data` of its recipe."""
    pairs: int
    """Pairs of the domain."""
    tokens: float
    """Tokens of a pair of the domain, on its longer side."""
    tested: str
    """Which part of the domain's folder is the final test: `test`, or else `dev`."""
    directions: Sequence[Sequence[str]] = field(default_factory=list)
    """The directions that files are numbered by, from 1 on: those of the base, which may be in another order in the new run."""
    share: float = 0.5
    """Share of general pairs among those trained on."""
    general_tested: str = "test"
    """Which part of the general corpora is the final test, as `tested`."""

    def without_empty(self) -> "Mixture":
        """Return it without corpora of translations that have all turned out to be empty."""
        kept = [one for one in self.data["train"] if "jsonl" not in one or Path(one["jsonl"]).stat().st_size]
        return replace(self, data={**self.data, "train": kept})

    def save(self, folder: Path) -> None:
        """Write it, which says that its files are complete."""
        write_recorded(
            folder.parent, folder / "texts.json", json.dumps(vars(self), indent=2, ensure_ascii=False) + "\n"
        )

    @classmethod
    def load(cls, folder: Path) -> "Mixture | None":
        """Read what `save` wrote, perhaps before the folder was moved; None if there is nothing. RunError if it is damaged."""
        path = folder / "texts.json"
        if not path.exists():
            return None
        try:
            check(folder.parent, path)
            mixture = cls(**load_json(path))
            for corpus in (*mixture.data["train"], *mixture.data["dev"]):
                if "jsonl" in corpus:  # as no corpus of the domain's own folder is
                    corpus["jsonl"] = str(folder.absolute() / Path(corpus["jsonl"]).name)
            return mixture
        except (ValueError, TypeError, LookupError, DamagedError):
            raise RunError(f"{path} is damaged; remove {folder} to mix the texts again") from None


def written_pairs(run: Run, mixture: Mixture, name: str) -> list[Pair]:
    """Read a dev or test set of a mixture, such as `general-dev`, in all directions; none if there is no such set."""
    pairs: list[Pair] = []
    ways = directions_of(run)
    for number, direction in enumerate(mixture.directions or ways.trained, 1):
        path = (run.folder / FOLDER / f"{name}-{number}.jsonl").absolute()
        check(run.folder, path)
        if path.exists():
            languages = {"languages": list(direction)} if ways.tagged else {}
            corpus = {"jsonl": str(path), "fields": list(FIELDS), **languages}
            data = parse(DataSettings, section(run, {"train": [corpus], "dev": [corpus]}), str(path))
            pairs += read_pairs(data.train[0], data)
    return pairs


def files_of(data: DataSettings, *parts: str) -> list[Path]:
    """Return the files of the corpora of some parts."""
    return [path for part in parts for corpus in getattr(data, part) for path in corpus_files(corpus, data)]


def pairs_of(data: DataSettings, part: str) -> Iterator[Pair]:
    """Yield the pairs of the corpora `train`, `dev` or `test` that the filters keep, without synthetic and noised ones."""
    for corpus in getattr(data, part):
        if not (corpus.tagged or corpus.is_noised):
            yield from sentences(corpus, data)


def directions_of(run: Run) -> Directions:
    """Return the directions in which a run is adapted: those of its recipe where it was imported, which may have thousands."""
    framed = bool(run.source.frames or run.target.starts)
    return Directions(run.recipe.data.directions.trained, tagged=True) if framed else run.directions


def in_folder(run: Run, folder: Path, needed: Sequence[str] = ("train", "dev")) -> DataSettings:
    """Return the corpora of a folder laid out as for the recipe own-files, in the directions of `run`.

    It holds train.SOURCE and train.TARGET, dev.SOURCE and dev.TARGET, and perhaps test. InputError if one is missing or empty.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; give one with {_expected(run, needed)}")
    found: dict[str, Tables] = {part: list(_parallel(run, folder, part)) for part in ("train", "dev", "test")}
    for part in needed:
        if not found[part]:
            others = sorted({path.suffix for path in folder.glob(f"{part}.*") if path.suffix not in SUFFIXES})
            there = f", only {', '.join(part + suffix for suffix in others)}" if others else ""
            languages = shorten(str(directions_of(run)))
            raise InputError(
                f"{folder} has no {part} files in the languages of {run.folder}, which translates {languages}{there}; it "
                f"needs {_expected(run, needed)}"
            )
    found["train"] = found["train"] or found["dev"]  # which every recipe must have
    data = parse(DataSettings, section(run, found), str(folder))
    for part in found:
        if getattr(data, part) and next(pairs_of(data, part), None) is None:
            raise InputError(
                f"{name_of(getattr(data, part)[0], data)} has no pair that `data.filters` of {run.folder} keeps"
            )
    return data


def general_of(run: Run, folder: Path | None) -> General:
    """Return the general corpora: those of `folder`, or those of the run's recipe whose files are as they were."""
    if folder is not None:
        given = in_folder(run, folder, ("dev",))
        return General(None if given.train == given.dev else given, given)
    data, files = run.recipe.data, Checksums()
    known: Mapping[str, str] = run.manifest.get("data", {})

    def unchanged(part: str) -> bool:
        if not getattr(data, part) and part != "test":
            return False  # an imported run names no corpora
        try:
            return all(known.get(str(path)) == files.of(path) for path in files_of(data, part))
        except CorpusError:
            return False

    held = data if unchanged("dev") else None
    if held is not None and not unchanged("test"):
        held = data.model_copy(update={"test": ()})
    return General(data if unchanged("train") else None, held)


def section(run: Run, corpora: Mapping[str, Tables]) -> dict[str, Any]:
    """Return the section `data` of a recipe with corpora in the directions of `run`."""
    own = run.recipe.data
    ways = directions_of(run)
    tags = own.tags or (ways.languages if ways.tagged else ())
    common = {"source": own.source, "target": own.target, "languages": list(tags)}
    return {**common, "filters": own.filters.model_dump(mode="json"), **corpora}


def draw(pairs: Iterable[Pair], count: int) -> list[Pair]:
    """Draw at most `count` pairs evenly from a corpus that is read once (Vitter 1985, algorithm R), in its order.

    >>> [pair.source for pair in draw((Pair(str(number), "", "") for number in range(9)), 3)]
    ['5', '6', '7']
    """
    chance, drawn = random.Random(SEED), list[tuple[int, Pair]]()
    for number, pair in enumerate(pairs):
        if number < count:
            drawn.append((number, pair))
        elif (place := chance.randrange(number + 1)) < count:
            drawn[place] = (number, pair)
    return [pair for _, pair in sorted(drawn, key=lambda one: one[0])]


def measured(run: Run, domain: DataSettings) -> tuple[int, float]:
    """Return how many pairs a domain has, and the mean number of tokens on their longer sides."""
    count, lengths = 0, list[int]()
    for pair in pairs_of(domain, "train"):
        count += 1
        if len(lengths) < TEST:
            lengths.append(1 + max(len(run.source.encode(pair.source)), len(run.target.encode(pair.target))))
    return count, sum(lengths) / len(lengths)


@dataclass(frozen=True)
class Mixer:
    """Writes the texts of an adaptation of `run` into the folder `place`."""

    run: Run
    place: Path
    share: float
    """Share of general pairs among all."""
    size: tuple[int, float]
    """What `measured` says of the domain."""

    def mix(self, domain: DataSettings, general: General) -> tuple[Mixture, list[CorpusTranslation]]:
        """Write all texts but what the base must translate, which is returned; `Mixture.save` may follow only then."""
        pairs, tokens = self.size
        repeat = max(1, min(REPEATS, ENOUGH // pairs))
        wanted = round(pairs * repeat * self.share / (1 - self.share))
        corpora: dict[str, Tables] = {
            "train": [{**table, "repeat": repeat} for table in section_of(domain)["train"]],
            "dev": self._held_out(domain, general),
        }
        translations: list[CorpusTranslation] = []
        if wanted and general.train is not None:
            drawn = draw(pairs_of(general.train, "train"), wanted)
            # In order, sources that come again with translations of them would look out of step.
            random.Random(SEED).shuffle(drawn)
            corpora["train"] += self._write("general-train", drawn, wanted)
        elif wanted:
            known = (pair for pair in pairs_of(domain, "train") if not self._is_new(pair))
            sources = draw(known, min(wanted, TRANSLATED))
            for number, some in self._by_direction(sources):
                path = self._path("general-train", number)
                translations.append(CorpusTranslation(partial(list[Pair], some), path))
                corpora["train"].append(self._table(path, number, max(1, round(wanted / len(sources)))))
        tested = "test" if domain.test else "dev"
        self._write("domain-test", draw(pairs_of(domain, tested), TEST))
        other = "dev" if general.held is not None and not general.held.test else "test"
        if general.held is not None:
            self._write("general-test", draw(pairs_of(general.held, other), TEST))
        ways = [list(one) for one in directions_of(self.run).trained]
        return Mixture(section(self.run, corpora), pairs, tokens, tested, ways, self.share, other), translations

    def _is_new(self, pair: Pair) -> bool:
        """Tell whether a language of a pair is one that the run has grown by, and cannot translate yet."""
        new = self.run.manifest.get(GROWN, {}).get("languages", ())
        return any(language in new for language in pair.languages or ())

    def _held_out(self, domain: DataSettings, general: General) -> Tables:
        """Write the dev sets, as many sentences of the domain as general ones: the loss is that of both."""
        own = draw(pairs_of(domain, "dev"), DEV)
        other = [] if general.held is None else draw(pairs_of(general.held, "dev"), DEV)
        count = min(len(own), len(other)) if other else len(own)
        return self._write("domain-dev", draw(own, count)) + self._write("general-dev", draw(other, count))

    def _write(self, name: str, pairs: Sequence[Pair], wanted: int = 0) -> Tables:
        """Write pairs, a file for each direction; return them as corpora, repeated until they are as many as `wanted`."""
        tables: Tables = []
        for number, some in self._by_direction(pairs):
            path = self._path(name, number)
            rows = (dict(zip(FIELDS, (pair.source, pair.target), strict=True)) for pair in some)
            write_recorded(self.place.parent, path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
            tables.append(self._table(path, number, max(1, round(wanted / len(pairs)))))
        return tables

    def _by_direction(self, pairs: Sequence[Pair]) -> Iterator[tuple[int, list[Pair]]]:
        """Yield the pairs of each direction that has some, with the direction's number from 1 on."""
        present = {pair.languages for pair in pairs}
        for number, direction in enumerate(directions_of(self.run).trained, 1):
            if {None, direction} & present:
                yield number, [pair for pair in pairs if pair.languages in (None, direction)]

    def _path(self, name: str, number: int) -> Path:
        """Return the file of the pairs of a direction."""
        return self.place.absolute() / f"{name}-{number}.jsonl"

    def _table(self, path: Path, number: int, repeat: int) -> dict[str, Any]:
        """Return the file of the pairs of a direction as a corpus."""
        ways = directions_of(self.run)
        languages = {"languages": list(ways.trained[number - 1])} if ways.tagged else {}
        return {"jsonl": str(path), "fields": list(FIELDS), **languages} | ({"repeat": repeat} if repeat > 1 else {})


def section_of(data: DataSettings) -> dict[str, Any]:
    """Return a section `data` as recipes write it."""
    return data.model_dump(mode="json", exclude_defaults=True)


def _parallel(run: Run, folder: Path, part: str) -> Iterator[dict[str, Any]]:
    """Yield the corpora of a part of a folder, in each direction of a run of which both files are there."""
    names = {path.name for path in folder.iterdir() if path.is_file()}
    ways = directions_of(run)
    for direction in ways.trained:
        source, target = (
            next((name for end in SUFFIXES if (name := f"{part}.{one}{end}") in names), None) for one in direction
        )
        if source is not None and target is not None:
            place, languages = folder.absolute(), {"languages": list(direction)} if ways.tagged else {}
            yield {"source": str(place / source), "target": str(place / target), **languages}


def _expected(run: Run, parts: Sequence[str]) -> str:
    """Name the files that a folder should have, for the run's first direction."""
    names = [f"{part}.{language}" for part in parts for language in directions_of(run).first]
    return f"{', '.join(names[:-1])} and {names[-1]}"
