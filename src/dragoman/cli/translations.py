"""How `dragoman translate` prints translations, and assesses and rescues them where that is asked for."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dragoman.cli.console import note
from dragoman.errors import InputError
from dragoman.inference.translation import TermCounts

if TYPE_CHECKING:
    from dragoman.documents.memories import Recalled
    from dragoman.inference.confidence.assessor import Assessor
    from dragoman.text.frames import Between


@dataclass(frozen=True)
class Shown:
    """What is printed of a translation beside its text."""

    align: bool = False
    confidence: bool = False
    alarms: bool = False
    as_json: bool = False

    @property
    def assesses(self) -> bool:
        """Tell whether translations must be assessed."""
        return self.confidence or self.alarms

    def line(self, number: int, translation: Any, *, view: Any, numbered: bool) -> str:
        """Write one translation: as a JSON object, or as text with one column, after ` ||| `, for each thing asked for."""
        links = _links(translation, view) if self.align else ""
        if self.as_json:
            table = {
                "line": number,
                "translation": translation.text,
                "score": translation.score,
                "log_prob": translation.log_prob,
            }
            table |= {"alignment": links} if self.align else {}
            table |= {"terms": [asdict(one) for one in translation.terms]} if translation.terms else {}
            table |= _recalled(translation.memory) | self._assessment(translation.assessment)
            return json.dumps(table, ensure_ascii=False)
        columns = [translation.text, *([links] if self.align else [])]
        if self.confidence:
            found = translation.assessment.confidence
            columns.append("" if found is None else f"{found:.3f}")
        if self.alarms:
            columns.append("; ".join(map(str, translation.assessment.alarms)))
        text = " ||| ".join(columns)
        return f"{number} ||| {text} ||| {translation.score:.6f}" if numbered else text

    def _assessment(self, assessment: Any) -> dict[str, Any]:
        """Return what a JSON object says of an assessment."""
        table: dict[str, Any] = {}
        if self.confidence:
            known = assessment.confidence
            table["confidence"] = None if known is None else round(known, 4)
            table["words"] = [[word, round(share, 4)] for word, share in assessment.words]
        if self.confidence or self.alarms:
            table["alarms"] = [{"name": alarm.name, "words": list(alarm.words)} for alarm in assessment.alarms]
        if assessment is not None and assessment.replaced is not None:
            table["replaced"] = assessment.replaced
        return table


class Watch:
    """Translates, assesses, and rescues what is flagged; counts that, and keeps what a report shows."""

    def __init__(
        self, translator: Any, assessor: "Assessor | None" = None, *, rescues: bool = False, report: Path | None = None
    ) -> None:
        self.translator = translator
        self._assessor, self._rescues, self._report = assessor, rescues, report
        self._counts = (0, 0)
        self._terms = TermCounts() if translator.settings.requires_terms else None
        self._sources: list[str] = []
        self._translations: list[Any] = []

    def translate(self, sentences: Sequence[str], **options: Any) -> list[Any]:
        """Translate sentences with the options of `Translator.translate`."""
        found = list((self._assessor or self.translator).translate(sentences, **options))
        if self._terms is not None:
            self._terms += TermCounts.of(found)
        if self._assessor is None:
            return found
        if self._rescues:
            from dragoman.inference.confidence.rescue import rescue

            rescued = rescue(self._assessor, sentences, found, **options)
            self._counts = self._counts[0] + rescued.flagged, self._counts[1] + rescued.cured
            found = list(rescued.translations)
        if self._report is not None:
            self._sources += sentences
            self._translations += found
        return found

    def conclude(self) -> None:
        """Say how many terms were met and how many translations were rescued, and write the report."""
        if self._terms is not None:
            note(str(self._terms))
        if self._rescues:
            flagged, cured = self._counts
            note(f"{flagged:,} translations were flagged; a rescue cured {cured:,} of them.")
        if self._report is not None and self._assessor is not None:
            from dragoman.inference.confidence.report import write_confidence_report

            write_confidence_report(self._report, self._assessor, self._sources, translations=self._translations)
            note(f"The report is in {self._report}")


def make_watch(
    translator: Any, shown: Shown, *, rescues: bool, report: Path | None, to: "Between", device: str
) -> Watch:
    """Return what translates, to the language of `to`. InputError if it cannot do what is asked for."""
    if not (shown.assesses or rescues or report is not None):
        return Watch(translator)
    from dragoman.inference.confidence.assessor import Assessor

    if rescues and translator.settings.requires_terms:
        raise InputError(
            "--rescue takes samples, which may lack the terms of a glossary; remove --rescue, or the glossary: --glossary, or "
            "that of the recipe with `--set glossary=[]`"
        )
    if rescues and translator.settings.n_best > 1:
        raise InputError("--rescue chooses one translation of each sentence; remove --n-best, or --rescue")
    assessor = Assessor.of(translator, device=device)
    if shown.confidence or report is not None:
        assessor.require_calibration(to)
    return Watch(translator, assessor, rescues=rescues, report=report)


def assessing_engine(runs: Sequence[Path], engine: str) -> Literal["torch"]:
    """Return the engine that can assess. InputError if another was asked for."""
    from dragoman.inference.ctranslate2.folder import is_export

    exports = [run for run in runs if is_export(run)]
    if exports:
        raise InputError(f"{exports[0]} is an export, which cannot assess translations; give the run it was made from")
    if engine == "ctranslate2":
        raise InputError("CTranslate2 cannot assess translations; use `--engine torch`")
    return "torch"


def _recalled(memory: "Recalled | None") -> dict[str, Any]:
    """Return what a JSON object says of what a translation memory has: nothing was scored that comes from it."""
    if memory is None:
        return {}
    if memory.is_exact:
        return {"score": None, "log_prob": None, "memory": "exact"}
    near = {"memory": "near", "near": [asdict(one) for one in memory.near]} if memory.near else {}
    return near | ({"prefix": memory.prefix} if memory.prefix else {})


def _links(translation: Any, view: Any) -> str:
    """Return the word alignments of a translation, if it has any."""
    from dragoman.text.links import format_links

    return "" if translation.reading is None or view is None else format_links(view.links(translation.reading))
