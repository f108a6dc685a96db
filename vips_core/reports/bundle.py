"""The files of a report, as a folder or ZIP: listed files only, with code that repeats a run or a sweep."""

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
from vips_core.jobs.request import Request
from vips_core.models.task import TASKS
from vips_core.records.samples import SAMPLES
from vips_core.reports.exhibits import Exhibit
from vips_core.toml import to_toml

_COMPARE_IMPORTS = "from operator import attrgetter\nfrom pathlib import Path\n\nimport numpy as np\n\n"
_COMPARE = """\
if Path("params.npz").exists():
    with np.load("params.npz", allow_pickle=False) as arrays:
        same = all(np.array_equal(attrgetter(name)(fit.params), arrays[name]) for name in arrays)
    print("the same parameters, bit for bit:", same)
"""


def run_cells(request: Request, plan: Mapping[str, Any], private: bool, has_test: bool) -> list[str]:
    """Return the run in Python, as the cells of a notebook."""
    if private:
        return [
            "import vips_core as vips\n",
            "# This draws fresh noise and spends budget again; the store reserves it or refuses the run.\n"
            + _call("fit = vips.fit_registered", request.to_mapping())
            + 'print("ε by PLD:", fit.epsilon("pld"))\n',
        ]
    task, method = request.task, request.method
    if request.data in SAMPLES:
        source = "from vips_core.records.samples import load_sample\n"
        load = f'data = load_sample("{request.data}")\n'
    else:
        source = "from vips_core.store.store import Store\n"
        load = f"data = Store().load({json.dumps(request.data)})\n"
    if pure := request.chosen_method.pure:
        pure_imports, lines = pure.code(request.values)
        return [pure_imports + source, load, lines]
    imports = (_COMPARE_IMPORTS if request.seed is not None else "") + "import vips_core as vips\n"
    imports += task.imports(method)
    cells = [
        imports + source,
        load,
        f"model = {task.model_code(method, request.values)}\n" + _call("plan = vips.PrivacyPlan", plan),
        f"fit = vips.fit(model, data.train, plan, seed={request.seed!r})\n",
        'print("ε by PLD:", fit.epsilon("pld"))\n'
        + (f'print("held-out {task.validation_score}:", {task.score_code})\n' if has_test else ""),
    ]
    return [*cells, _COMPARE] if request.seed is not None else cells


def _call(start: str, arguments: Mapping[str, Any]) -> str:
    """Return a call in Python, with one argument a line."""
    return f"{start}(\n" + "".join(f"    {name}={value!r},\n" for name, value in arguments.items()) + ")\n"


def sweep_cells() -> list[str]:
    """Return a sweep in Python, as the cells of a notebook beside its config.toml."""
    return [
        "from pathlib import Path\n\nfrom vips_core.store.store import Store\n"
        "from vips_core.sweeps.job import run_missing\nfrom vips_core.sweeps.grid import Sweep\n"
        "from vips_core.sweeps.results import frame, summarise\n",
        'definition = Sweep.from_toml(Path("config.toml").read_text(encoding="utf-8"))\nstore = Store()\n',
        'if __name__ == "__main__":  # the processes that run the cells import this file\n'
        "    run_missing(definition, store)\n"
        "    print(summarise(frame(definition, store)).to_string())\n",
    ]


def script(cells: list[str], about: str) -> str:
    """Return the cells as one file."""
    first, *rest = cells
    quiet = about.replace("\\", "").replace('"', "'")
    return f'"""{quiet}"""\n\n{first}\n' + "\n".join(rest)


def notebook(cells: list[str], about: str) -> str:
    """Return the cells as a notebook."""
    code: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "id": f"cell-{number}",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": cell.rstrip().splitlines(keepends=True),
        }
        for number, cell in enumerate(cells, 1)
    ]
    text = {"cell_type": "markdown", "id": "about", "metadata": {}, "source": [about]}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {
        "cells": [text, *code],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False)


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


def config_files(config: Mapping[str, Any]) -> Files:
    """Return a config as TOML and as JSON."""
    text = json.dumps(config, indent=2, ensure_ascii=False)
    return {"config.toml": to_toml(config).encode(), "config.json": text.encode()}


def repetition_files(cells: list[str], about: str) -> Files:
    """Return the script and the notebook."""
    return {
        "repeat.py": script(cells, about).encode(),
        "repeat.ipynb": notebook(cells, about).encode(),
    }


def write(files: Files, path: Path) -> None:
    """Write into a folder, or into a file ending in .zip."""
    unpacked = {path / name: content for name, content in _publishable(files).items()}
    for target, content in ({path: zipped(files)} if path.suffix == ".zip" else unpacked).items():
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
