"""A short script and a notebook that repeat a run or a sweep through the public API."""

import json
from collections.abc import Mapping
from typing import Any

from vips_core.jobs.request import Request
from vips_core.records.samples import SAMPLES

_COMPARE_IMPORTS = "from operator import attrgetter\nfrom pathlib import Path\n\nimport numpy as np\n\n"
_COMPARE = """\
if Path("params.npz").exists():
    with np.load("params.npz", allow_pickle=False) as arrays:
        same = all(np.array_equal(attrgetter(name)(fit.params), arrays[name]) for name in arrays)
    print("the same parameters, bit for bit:", same)
"""


def run_cells(
    request: Request, plan: Mapping[str, Any], name: str, private: bool, has_test: bool
) -> list[str]:
    """Return the run in Python, cell by cell of a notebook."""
    if private:
        return _within_the_cap(request)
    source, load = _source(name)
    if pure := request.chosen_method.pure:
        pure_imports, lines = pure.code(request.values)
        return [pure_imports + source, load, lines]
    imports = _COMPARE_IMPORTS if request.seed is not None else ""
    imports += "import vips_core as vips\n"
    task = request.task
    imports += task.imports(request.method)
    model = task.model_code(request.method, request.values)
    cells = [
        imports + source,
        load,
        f"model = {model}\nplan = vips.PrivacyPlan(\n"
        + "".join(f"    {key}={value!r},\n" for key, value in plan.items())
        + ")\n",
        f"fit = vips.fit(model, data.train, plan, seed={request.seed!r})\n",
        'print("ε by PLD:", fit.epsilon("pld"))\n'
        + (f'print("held-out {task.validation_score}:", {task.score_code})\n' if has_test else ""),
    ]
    return [*cells, _COMPARE] if request.seed is not None else cells


def sweep_cells() -> list[str]:
    """Return a sweep in Python, cell by cell of a notebook that lies beside its config.toml."""
    return [
        "from pathlib import Path\n\nfrom vips_core.store.store import Store\n"
        "from vips_core.sweeps.job import run_missing\nfrom vips_core.sweeps.grid import Sweep\n"
        "from vips_core.sweeps.results import frame, summarise\n",
        'definition = Sweep.from_toml(Path("config.toml").read_text(encoding="utf-8"))\nstore = Store()\n',
        'if __name__ == "__main__":  # processes are started, which read this file\n'
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


def _source(name: str) -> tuple[str, str]:
    """Return the import and the line that load a data set."""
    if name in SAMPLES:
        return "from vips_core.records.samples import load_sample\n", f'data = load_sample("{name}")\n'
    return "from vips_core.store.store import Store\n", f"data = Store().load({json.dumps(name)})\n"


def _within_the_cap(request: Request) -> list[str]:
    """On private data a repetition spends budget again, and the store has to count it."""
    return [
        "import vips_core as vips\n",
        "# A repetition draws new noise and spends budget again: it is reserved, or refused.\n"
        "fit = vips.fit_registered(\n"
        + "".join(f"    {name}={value!r},\n" for name, value in request.to_mapping().items())
        + ')\nprint("ε by PLD:", fit.epsilon("pld"))\n',
    ]
