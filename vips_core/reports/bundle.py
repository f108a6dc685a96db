"""Files of a report, as one folder or ZIP. What may be in one is listed; nothing else ever is."""

import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vips_core.audits import job as audit_job
from vips_core.csv_text import to_csv
from vips_core.jobs import execution
from vips_core.models.task import TASKS
from vips_core.reports import repeat
from vips_core.reports.exhibits import Exhibit

Files = dict[str, bytes]

HTML = "report.html"
REGISTRY = "registry.yaml"
PUBLISHABLE = (
    HTML,
    "config.toml",
    "config.json",
    REGISTRY,
    "repeat.py",
    "repeat.ipynb",
    "results.csv",
    "cells.csv",
    "summary.csv",
    "ledgers.json",
    execution.LEDGER,
    execution.PARAMETERS,
    execution.SETTINGS,
    execution.RESULT,
    execution.SUMMARY,
    audit_job.VERDICT,
    audit_job.ROC,
)
EXHIBIT_TABLE = re.compile(r"figures/[\w-]+\.csv")


def exhibit_files(exhibits: Sequence[Exhibit]) -> Files:
    """Return the table of each exhibit as CSV."""
    return {f"figures/{exhibit.name}.csv": to_csv(exhibit.table) for exhibit in exhibits}


def config_files(table: Mapping[str, Any], toml: str) -> Files:
    """Return a config as TOML and as JSON."""
    text = json.dumps(table, indent=2, ensure_ascii=False)
    return {"config.toml": toml.encode(), "config.json": text.encode()}


def repetition_files(cells: list[str], about: str) -> Files:
    """Return the script and the notebook."""
    return {
        "repeat.py": repeat.script(cells, about).encode(),
        "repeat.ipynb": repeat.notebook(cells, about).encode(),
    }


def write(files: Files, path: Path) -> None:
    """Write into a folder, or into a file ending in .zip."""
    if path.suffix == ".zip":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(zipped(files))
        return
    for name, content in _publishable(files).items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def zipped(files: Files) -> bytes:
    """Return the files as a ZIP."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in _publishable(files).items():
            archive.writestr(name, text)
    return content.getvalue()


def _publishable(files: Files) -> Files:
    allowed = (*PUBLISHABLE, *(f"{name}.csv" for task in TASKS.values() for name in task.tables))
    for name in files:
        if name not in allowed and not EXHIBIT_TABLE.fullmatch(name):
            raise ValueError(f"a report may hold {', '.join(allowed)} and figures/*.csv, got {name!r}")
    return files
