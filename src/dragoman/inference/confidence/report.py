"""Write assessed translations as one page that needs no network."""

from collections.abc import Sequence
from pathlib import Path

from dragoman.atomic import write_output
from dragoman.errors import InputError
from dragoman.inference.confidence.assessor import Assessor
from dragoman.inference.translation import Translation
from dragoman.inspection.confidence import AssessedSentence, ConfidencePage, ShownAlarm, confidence_page
from dragoman.text.codec import Codec


def write_confidence_report(
    path: str | Path, assessor: Assessor, sources: Sequence[str], *, translations: Sequence[Translation]
) -> None:
    """Write a page of translations that `Assessor.translate` made of the sources; alternatives are left out.

    InputError if the assessor has no calibration, or the file cannot be written.
    """
    known = assessor.require_calibration()
    if len(sources) != len(translations):
        raise InputError(
            f"{len(sources)} sources and {len(translations)} translations cannot be shown together; give one for each"
        )
    page = ConfidencePage(
        run=" and ".join(str(run.folder) for run in assessor.translator.engine.runs),
        languages=assessor.translator.languages,
        sentences=[_sentence(assessor, *pair) for pair in zip(sources, translations, strict=True)],
        good=known.good,
        error=known.reliability.error,
        false_alarms=known.false_alarms,
    )
    write_output(Path(path), confidence_page(page).encode())


def _sentence(assessor: Assessor, source: str, translation: Translation) -> AssessedSentence:
    """Return what is shown of one translation."""
    assessment = translation.assessment
    if assessment is None:
        raise InputError("a translation has not been assessed; translate with `Assessor.translate`")
    return AssessedSentence(
        _words(source, assessor.translator.source),
        _words(translation.text, assessor.translator.target),
        assessment.confidence,
        [share for _, share in assessment.words],
        [ShownAlarm(alarm.name, alarm.words, alarm.places) for alarm in assessment.alarms],
        assessment.replaced,
    )


def _words(text: str, codec: Codec) -> list[str]:
    """Return the words of a text as they are written, if they are as many as those that the run reads."""
    written, read = text.split(), codec.words(text)
    return written if len(written) == len(read) else read
