"""One small picture for each kind: its weights for the same three sentences, side by side."""

import io
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

from dragoman.atomic import write_output
from dragoman.inspection.heatmap import draw
from dragoman.inspection.picture import AttentionPicture

SHRINK = 0.55
"""Of the size that a single picture is drawn in."""


def draw_side_by_side(shown: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw what `measuring.show` returned. The same weights give the same bytes."""
    with TemporaryDirectory() as folder:
        panels = []
        for number, one in enumerate(shown):
            file = Path(folder) / f"{number}.png"
            draw(AttentionPicture(one["source"], one["target"], [[one["weights"]]]), file)
            with Image.open(file) as image:
                panels.append(image.convert("RGB"))
    together = Image.new("RGB", (sum(panel.width for panel in panels), max(panel.height for panel in panels)), "white")
    left = 0
    for panel in panels:
        together.paste(panel, (left, 0))
        left += panel.width
    small = together.resize((round(together.width * SHRINK), round(together.height * SHRINK)), Image.Resampling.LANCZOS)
    content = io.BytesIO()
    small.save(content, format="png", optimize=True)
    write_output(path, content.getvalue())
