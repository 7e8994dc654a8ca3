"""Pictures of BLEU against the minutes of a core, for the corpora on which other toolkits were trained too."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality.plan import Job
from benchmarks.speed.parts.train import PEERS

Points = dict[str, list[tuple[float, float]]]
"""Minutes of a core and mean BLEU of each variant, in the order of the minutes."""


OWN = ("Dragoman, auto", "Dragoman, auto, more cores")
"""Names of the points of `auto`."""
TITLES = {peer.name: peer.title for peer, _ in PEERS}
"""Names of the points of other toolkits."""


def compared(jobs: Sequence[Job], results: Mapping[str, Mapping[str, Any]]) -> dict[str, Points]:
    """Return, for each corpus on which another toolkit was trained, the points of `auto` and of the others."""
    found: dict[str, Points] = {}
    for job in jobs:
        if job.key in results and "minutes" in job.budget and (job.variant == "auto" or job.is_peer):
            scores = results[job.key]["bleu"].values()
            point = (job.budget["minutes"] * job.threads, sum(scores) / len(scores))
            name = TITLES.get(job.recipe["peer"], job.variant) if job.is_peer else OWN[job.threads > 1]
            found.setdefault(job.corpus, {}).setdefault(name, []).append(point)
    return {
        corpus: {name: sorted(points) for name, points in variants.items()}
        for corpus, variants in found.items()
        if variants.keys() - set(OWN)
    }


def draw(points: Points, path: Path) -> None:
    """Draw a line for each variant, or a point."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    path.parent.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(7, 4), dpi=100, layout="constrained")
    place = figure.subplots()
    for name, line in sorted(points.items(), key=lambda item: -item[1][-1][1]):
        own = name in OWN
        place.plot(*zip(*line, strict=True), "o-" if own else "s--", label=name, zorder=3 if own else 2)
    place.set_xlim(left=0)
    place.set_ylim(bottom=0)
    place.set_xlabel("minutes of training, times cores", fontsize=9)
    place.set_ylabel("BLEU, mean of the dev sets", fontsize=9)
    place.legend(fontsize=8, loc="lower right")
    place.grid(alpha=0.3)
    FigureCanvasAgg(figure).print_png(path, metadata={"Software": None})
