"""A short script and a notebook that repeat a run or a sweep through the public API."""

import json
from collections.abc import Mapping
from typing import Any

from vips_core.runs.request import Request
from vips_core.runs.sources import BUILT_IN
from vips_core.runs.tasks import NON_PRIVATE, UNCUT_WORDS, variant

_MODELS = {
    "lda": 'vips.LDA({topics}, data.train.vocabulary, {words}, method="{variant}")',
    "logistic": 'vips.BayesianLogistic(data.train.feature_names, data.train.norm_bound, "{variant}")',
    "sbn": 'vips.SBN(data.train.shape[0] * data.train.shape[1], {hidden}, data.train.shape, "{variant}")',
}
_SCORES = {
    "lda": ("perplexity (completion)", "vips.perplexity(fit, data.test)"),
    "logistic": ("AUC", "vips.auc(fit, data.test)"),
    "sbn": ("pixel accuracy", "vips.pixel_accuracy(fit, data.test)"),
}
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
    """Return the run as pieces of Python, one for each cell of a notebook."""
    if private:
        return _through_the_store(request)
    if request.method == "perm":
        return _objective_perturbation(request, name)
    imports = _COMPARE_IMPORTS if request.seed is not None else ""
    imports += "import vips_core as vips\n"
    imports += "from vips_core.baselines.dpsgd import PrivateGradientDescent\n" * (request.method == "sgd")
    source, load = _source(name)
    model = model_line(request)
    score, call = _SCORES[request.model]
    cells = [
        imports + source,
        load,
        f"model = {model}\nplan = vips.PrivacyPlan(\n"
        + "".join(f"    {key}={json.dumps(value)},\n" for key, value in plan.items())
        + ")\n",
        f"fit = vips.fit(model, data.train, plan, seed={request.seed!r})\n",
        'print("ε by PLD:", fit.epsilon("pld"))\n'
        + (f'print("held-out {score}:", {call})\n' if has_test else ""),
    ]
    return [*cells, _COMPARE] if request.seed is not None else cells


def model_line(request: Request) -> str:
    """Return the expression that makes the request's model, as its task does."""
    if request.method == "sgd":
        return "PrivateGradientDescent(data.train.feature_names, data.train.norm_bound)"
    if request.model == "lda" and request.method == NON_PRIVATE:
        words = max(request.get("words"), UNCUT_WORDS)
        return f"vips.LDA({request.get('topics')}, data.train.vocabulary, {words}, clip=1.0)"
    return _MODELS[request.model].format(**request.values, variant=variant(request.method))


def sweep_cells() -> list[str]:
    """Return a sweep as pieces of Python, beside its config.toml."""
    return [
        "from pathlib import Path\n\nfrom vips_core.runs.store import Store\n"
        "from vips_core.sweeps.sweep import Sweep, frame, run_missing, summarise\n",
        'definition = Sweep.from_toml(Path("config.toml").read_text(encoding="utf-8"))\nstore = Store()\n',
        'if __name__ == "__main__":  # processes are started, which read this file\n'
        "    run_missing(definition, store)\n"
        "    print(summarise(frame(definition, store)).to_string())\n",
    ]


def script(cells: list[str], about: str) -> str:
    """Return the pieces as one file."""
    first, *rest = cells
    quiet = about.replace("\\", "").replace('"', "'")
    return f'"""{quiet}"""\n\n{first}\n' + "\n".join(rest)


def notebook(cells: list[str], about: str) -> str:
    """Return the pieces as a notebook."""
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
    if name in BUILT_IN:
        return "from vips_core.runs import sources\n", f'data = sources.built_in("{name}")\n'
    return "from vips_core.runs.store import Store\n", f"data = Store().load({json.dumps(name)})\n"


def _objective_perturbation(request: Request, name: str) -> list[str]:
    source, load = _source(name)
    return [
        "import numpy as np\n\n"
        "from vips_core.baselines.objective_perturbation import fit_objective_perturbation\n" + source,
        load,
        f"rng = np.random.default_rng({request.seed!r})\n"
        f"weights = fit_objective_perturbation(data.train, {request.get('epsilon')!r}, rng)\n"
        "print(weights)\n",
    ]


def _through_the_store(request: Request) -> list[str]:
    """On private data a repetition spends budget again, and the store has to count it."""
    return [
        "from vips_core.runs import worker\nfrom vips_core.runs.request import Request\n"
        "from vips_core.runs.store import Store\n",
        f'request = Request.from_toml("""\n{request.to_toml()}""")\nstore = Store()\n',
        "# A repetition draws new noise and spends budget again: it is reserved, or refused.\n"
        "run_id = store.submit(request)\nworker.work(store, run_id)\nprint(store.run(run_id))\n",
    ]
