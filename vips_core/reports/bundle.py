"""Files of a report, as one folder or ZIP, and the pieces that reports of runs and sweeps share."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vips_core.reports import page, repeat, svg
from vips_core.reports.drawings import Drawing

HTML = "report.html"
Files = dict[str, bytes]


def drawn(drawing: Drawing) -> str:
    """Return a drawing as HTML, with its table."""
    shown = page.table(drawing.table)
    if drawing.figure is None:
        return page.heading(drawing.title) + page.paragraph(drawing.caption, "soft") + shown
    twin = page.folded("The same numbers as a table", shown)
    return page.heading(drawing.title) + page.chart(drawing.figure, drawing.caption, drawing.title) + twin


def drawn_files(found: list[Drawing]) -> Files:
    """Return each drawing as CSV and SVG."""
    files = {f"figures/{item.name}.csv": item.table.to_csv(index=False).encode() for item in found}
    return files | {
        f"figures/{item.name}.svg": svg.render(item.figure, item.title).encode()
        for item in found
        if item.figure is not None
    }


def maker(versions: Mapping[str, str]) -> str:
    """Say what made a report, with its version where it is known."""
    number = versions.get("vips-explorer", "unknown")
    return "Made by VIPS Explorer" + ("." if number == "unknown" else f" {number}.")


def config(table: Mapping[str, Any], toml: str) -> Files:
    """Return a config as TOML and as JSON."""
    text = json.dumps(table, indent=2, ensure_ascii=False)
    return {"config.toml": toml.encode(), "config.json": text.encode()}


def repetition(cells: list[str], about: str) -> Files:
    """Return the script and the notebook."""
    return {
        "repeat.py": repeat.script(cells, about).encode(),
        "repeat.ipynb": repeat.notebook(cells, about).encode(),
    }


def write(files: Files, path: Path) -> None:
    """Write into a folder, or into a file ending in .zip."""
    if path.suffix == ".zip":
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return
    for name, content in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
