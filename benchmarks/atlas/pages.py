"""The pages of the atlas: words from `words/`, numbers from results alone.

After a change of words, `python -m benchmarks.atlas.pages` writes docs/atlas again from the results there.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import yaml
from benchmarks.atlas.agreed import HERE, ROOT
from benchmarks.atlas.kinds import Kind, kinds, plan
from benchmarks.atlas.pictures import draw_side_by_side

from dragoman.atomic import write_text

Result = Mapping[str, Any]

FAMILIES = {"recurrent": "Recurrent decoders", "transformer": "Transformers"}
LETTERS = {
    "recurrent": (
        "Letters: b sentences, m target and n source positions; h is the size of the decoder's state, k of the encoder's, V the "
        "number of target words."
    ),
    "transformer": "Letters: b sentences, m target and n source positions; H heads of size d, D = Hd.",
    "other": "Letters: b documents or sentences; i sentences, t words; D and k are sizes of states, H heads.",
}
REFERENCE = {"recurrent": "luong-general", "transformer": "transformer"}
"""The kind of each family that the speed of the others is compared with."""
PRINTED = (("bleu", 1), ("aer", 3), ("aer_shifted", 3), ("entropy", 2))
"""What the table gives for each corpus, and its decimals."""
GENERATED = "<!-- Written by `make atlas` from benchmarks/atlas and the results of its run; not by hand. -->"


def write_pages(out: Path, results: Sequence[Result], about: Mapping[str, Any]) -> None:
    """Write results.json, README.md, a page for each kind, and its picture."""
    (out / "pictures").mkdir(parents=True, exist_ok=True)
    kept = [{name: value for name, value in one.items() if name not in ("pictures", "recipe")} for one in results]
    table = {"about": {**about, "plan": plan()}, "results": kept}
    write_text(out / "results.json", json.dumps(table, indent=1, ensure_ascii=False) + "\n")
    for result in results:
        if "pictures" in result:
            draw_side_by_side(result["pictures"], out / "pictures" / f"{result['kind']}.png")
    drawn = {path.stem for path in (out / "pictures").glob("*.png")}
    for name, text in pages(table, drawn).items():
        write_text(out / name, text)


def pages(table: Mapping[str, Any], drawn: set[str]) -> dict[str, str]:
    """Return the text of every page by its name; `drawn` are the kinds that have a picture."""
    results, about = table["results"], table["about"]
    found = {
        f"{kind.name}.md": "\n\n".join(_kind_page(kind, results, about, kind.name in drawn)) + "\n" for kind in kinds()
    }
    return {"README.md": "\n\n".join(_front_page(results, about)) + "\n", **found}


def _front_page(results: Sequence[Result], about: Mapping[str, Any]) -> Iterator[str]:
    """Return the paragraphs of README.md."""
    yield GENERATED
    yield "# Atlas of attention"
    yield (
        "Every kind of attention in Dragoman, trained on the same sentences for the same number of steps, in models of the same "
        "sizes. Each kind adds only what it needs, so the numbers of parameters differ little within a family. The two families "
        "have their own sizes and learning rates: do not rank one against the other by this table. "
        "Each name leads to a page with formula, source, settings, cost and a picture of its weights."
    )
    if about["quick"]:
        yield "**These numbers are of a quick try, which trains for a few steps only. They say nothing about the kinds.**"
    yield "\n".join(_table(results, about))
    yield "\n".join(_legend(results, about))
    yield (HERE / "surprises.md").read_text(encoding="utf-8").strip()
    yield "## Kinds of other tasks\n\nHierarchical attention reads documents, so its models have no row above:"
    yield "\n".join(f"- [{kind.title}]({kind.name}.md)" for kind in kinds() if kind.family == "other")
    yield from _made(results, about)


def _table(results: Sequence[Result], about: Mapping[str, Any]) -> Iterator[str]:
    """Return the lines of the table."""
    corpora = _measured(results, about)
    names = {"bleu": "BLEU", "aer": "AER", "aer_shifted": "AER, shifted", "entropy": "entropy"}
    heads = [f"{title}: {names[number]}" for title in corpora.values() for number, _ in PRINTED]
    yield "| " + " | ".join(["kind", "parameters", *heads, "tokens/s", "MB"]) + " |"
    yield "| --- |" + " ---: |" * (len(heads) + 3)
    for family, title in FAMILIES.items():
        yield f"| **{title}** |" + " |" * (len(heads) + 3)
        for kind in kinds():
            if kind.family == family:
                first = _of(results, kind, next(iter(corpora)))
                cells = [spread(_of(results, kind, corpus), *number) for corpus in corpora for number in PRINTED]
                ends = [
                    spread(first, "tokens_per_second", 0, only_mean=True),
                    spread(first, "memory", 0, only_mean=True),
                ]
                row = [f"[{kind.title}]({kind.name}.md)", spread(first, "parameters", 0, only_mean=True), *cells, *ends]
                yield "| " + " | ".join(row) + " |"


def _legend(results: Sequence[Result], about: Mapping[str, Any]) -> Iterator[str]:
    """Say what the columns are."""
    before = [result["memory_before"] for result in results]
    corpora = _measured(results, about)
    counts = {name: len({result["seed"] for result in results if result["corpus"] == name}) for name in corpora}
    seeds = "; ".join(f"{corpora[name]} {count}" for name, count in counts.items())
    yield f"- Mean ± standard deviation over seeds ({seeds}); one seed has no spread. – means not measured."
    yield "- **BLEU**: sacreBLEU of translations after the last step, greedy ones of the phrasebook, with a beam of 5 of EVBNews."
    if "evbnews" in corpora:
        yield (
            "- On EVBNews words have a lexicon from the start (not without attention), and Transformers are larger and have "
            "rotary positions (not the first one, nor those named after other positions)."
        )
    yield (
        "- **AER**: alignment error rate, 0 to 1, lower is better, against the phrasebook's own links or the manual links of "
        "EVBNews; tokens without letter or digit do not count. Layer and head are chosen on dev sentences, the rate is "
        "measured on others. **Shifted**: the weights of the step that reads a word rather than the one that writes it (Chen et "
        "al. 2020)."
    )
    yield "- **Entropy** of the weights in nats, mean over target pieces, layers and heads; 0 means that it sees one piece."
    yield (
        "- **tokens/s**: target tokens per second in training on the phrasebook with one thread, the 90th percentile of the "
        "records (other work on the machine can only slow it down). **MB**: peak memory of that process"
        + (f", which has {min(before):,.0f} MB before training." if before else ".")
    )
    for name, title in corpora.items():
        if left_out := about["plan"]["corpora"][name].get("left_out"):
            without = " and ".join(f"[{kind}]({kind}.md)" for kind in left_out["kinds"])
            yield f"- {title} was left out for {without}: {left_out['reason']}."
    for name, reason in about["skipped"].items():
        yield f"- {about['plan']['corpora'][name]['title']} was left out of this run: {reason}."
    for name, reason in about["refused"].items():
        yield f"- `{name}` has no result: {reason}."


def _made(results: Sequence[Result], about: Mapping[str, Any]) -> Iterator[str]:
    """Say how the numbers were made."""
    yield "## How the numbers were made"
    if not results:
        yield "Nothing has been trained yet: `make atlas` does it."
        return
    minutes = sum(result["seconds"] for result in results) / 60
    torch = _distinct(result["versions"]["torch"] for result in results)
    yield (
        f"{len(results)} trainings of one thread each, two at a time, {minutes:.0f} minutes of training in all. Commit "
        f"{_distinct(result['commit'] for result in results)} (a + marks uncommitted changes), PyTorch {torch}, "
        f"{_distinct(result['machine'] for result in results)}. BLEU: `{_distinct(result['signature'] for result in results)}`. "
        "Every number of every training is in [results.json](results.json)."
    )
    yield (
        "`make atlas` makes these pages again, on the phrasebook alone; `make atlas EVBNEWS=folder` on EVBNews too. It keeps "
        "what is finished and resumes where it was stopped. What all trainings share is in `benchmarks/atlas/plan.yaml`, "
        "shown below as it was used: a recipe for each corpus, then the settings of each family, which override it; the settings "
        "on the page of a kind override both."
    )
    yield f"```yaml\n{yaml.dump(about['plan'], Dumper=_Plain, sort_keys=False, allow_unicode=True).strip()}\n```"


def _kind_page(kind: Kind, results: Sequence[Result], about: Mapping[str, Any], drawn: bool) -> Iterator[str]:
    """Return the paragraphs of one kind's page."""
    yield GENERATED
    yield f"# {kind.title}"
    yield f"```math\n{kind.formula}\n```"
    yield f"{kind.shapes} {LETTERS[kind.family]}"
    yield f"**Source.** {kind.source}"
    yield f"**When to use it.** {kind.use}"
    if kind.model or kind.training:
        sections = {name: section for name, section in (("model", kind.model), ("training", kind.training)) if section}
        yield "**Settings**, over those that [all kinds share](README.md#how-the-numbers-were-made):"
        yield f"```yaml\n{yaml.safe_dump(sections, sort_keys=False).strip()}\n```"
    if drawn:
        yield f"![Weights of {kind.title} for three sentences](pictures/{kind.name}.png)"
    yield f"**Cost for each target token.** {kind.cost}"
    if kind.family in FAMILIES:
        yield "\n".join(_numbers(kind, results, about))
        yield "How they were measured, and the other kinds: [the atlas](README.md)."


def _numbers(kind: Kind, results: Sequence[Result], about: Mapping[str, Any]) -> Iterator[str]:
    """Return the measured numbers of a kind."""
    names = {
        "parameters": ("parameters", 0),
        "bleu": ("BLEU", 1),
        "aer": ("alignment error rate", 3),
        "aer_shifted": ("alignment error rate, shifted", 3),
        "entropy": ("entropy of the weights, nats", 2),
        "tokens_per_second": ("tokens/s in training", 0),
        "memory": ("peak memory, MB", 0),
    }
    corpora = _measured(results, about)
    found = {name: _of(results, kind, name) for name in corpora}
    yield "| measured | " + " | ".join(corpora.values()) + " |"
    yield "| --- |" + " ---: |" * len(corpora)
    for number, (title, decimals) in names.items():
        yield f"| {title} | " + " | ".join(spread(found[name], number, decimals) for name in corpora) + " |"
    yield "| layer and head of the alignments (shifted) | " + " | ".join(_views(found[name]) for name in corpora) + " |"
    speed = [_speed(found[name], results, kind.family, name) for name in corpora]
    yield f"| speed, where `{REFERENCE[kind.family]}` is 1 | " + " | ".join(speed) + " |"
    made = [result for one in found.values() for result in one]
    yield ""
    if made:
        yield (
            f"Seeds {', '.join(sorted({str(result['seed']) for result in made}))}; commit "
            f"{_distinct(result['commit'] for result in made)}; {_distinct(result['machine'] for result in made)}; recipe hashes "
            f"{_distinct(result['key'] for result in made)}."
        )
    else:
        yield "Not trained yet." + (f" Refused: {about['refused'][kind.name]}" if kind.name in about["refused"] else "")


def spread(results: Sequence[Result], number: str, decimals: int, *, only_mean: bool = False) -> str:
    """Write a number of several seeds as mean ± standard deviation (of a sample); a dash where there is none.

    >>> spread([{"bleu": 90.0}, {"bleu": 92.0}], "bleu", 1)
    '91.0 ± 1.4'
    >>> spread([{"bleu": 90.0}], "bleu", 1), spread([], "bleu", 1)
    ('90.0', '–')
    """
    values = [result[number] for result in results if number in result]
    if not values:
        return "–"
    written = f"{mean(values):,.{decimals}f}"
    same = only_mean or len(values) == 1 or number == "parameters"
    return written if same else f"{written} ± {stdev(values):,.{decimals}f}"


def _measured(results: Sequence[Result], about: Mapping[str, Any]) -> dict[str, str]:
    """Return the titles of the corpora that have a result; of all where none has."""
    titles = {name: corpus["title"] for name, corpus in about["plan"]["corpora"].items()}
    trained = {result["corpus"] for result in results}
    return {name: title for name, title in titles.items() if name in trained} or titles


def _of(results: Sequence[Result], kind: Kind | str, corpus: str) -> list[Result]:
    """Return the results of a kind on a corpus."""
    name = kind if isinstance(kind, str) else kind.name
    return [result for result in results if (result["kind"], result["corpus"]) == (name, corpus)]


def _views(results: Sequence[Result]) -> str:
    """Name the chosen layer and head of each seed."""
    seen = [
        f"{result['aer_view'][0]}.{result['aer_view'][1]} ({result['aer_shifted_view'][0]}.{result['aer_shifted_view'][1]})"
        for result in results
        if "aer_view" in result
    ]
    return ", ".join(dict.fromkeys(seen)) or "–"


def _speed(own: Sequence[Result], results: Sequence[Result], family: str, corpus: str) -> str:
    """Compare the speed of a kind with that of its family's reference."""
    reference = _of(results, REFERENCE[family], corpus)
    own, other = ([r["tokens_per_second"] for r in some if "tokens_per_second" in r] for some in (own, reference))
    return f"{mean(own) / mean(other):.2f}" if own and other else "–"


def _distinct(values: Iterator[str] | Any) -> str:
    """Join what differs."""
    return ", ".join(dict.fromkeys(values))


class _Plain(yaml.SafeDumper):
    """Writes what occurs twice twice, without anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        """Always."""
        return True


def main() -> None:
    """Write the pages in docs/atlas again from their results, after a change of words."""
    out = ROOT / "docs" / "atlas"
    table = json.loads((out / "results.json").read_text(encoding="utf-8"))
    for name, text in pages(table, {path.stem for path in (out / "pictures").glob("*.png")}).items():
        write_text(out / name, text)


if __name__ == "__main__":
    main()
