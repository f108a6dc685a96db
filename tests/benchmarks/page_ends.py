"""Every control of every page at the ends of its range: no page ends in an error.

python -m tests.benchmarks.page_ends [--visits learn plan …] [--walks 5] [--seed 0]

Values come from the address, one at a time and, of numbers, in pairs, and from the page's controls, one at a
time and in walks from one to the next. What is beyond the ends has to be refused in a sentence. Buttons that
train are not pressed. Each fault is printed with what leads to it. A sample is in the suite, in
`tests/dashboard/test_page_ends.py`.
"""

import argparse
import contextlib
import itertools
import json
import math
import os
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from unittest import mock

import numpy as np
from streamlit import config

from dashboard import state
from dashboard.components import live_runs
from dashboard.views.audit import form as audit
from dashboard.views.frontier import form as frontier
from dashboard.views.images.definition import PAGE as IMAGES
from dashboard.views.learn import lessons
from dashboard.views.plan import form as plan
from dashboard.views.plan import guide
from dashboard.views.risk.definition import PAGE as RISK
from dashboard.views.runs import data as runs
from dashboard.views.topics.definition import PAGE as TOPICS
from tests.pages import address, trained, unopened
from tests.small_rows import rows
from vips_core import Documents, Images
from vips_core.audits import job as audits
from vips_core.jobs import supervisor, worker
from vips_core.store.budget import Cap
from vips_core.store.store import Store
from vips_core.sweeps.cells import cells_of, run_cell
from vips_core.sweeps.grid import Sweep
from vips_core.sweeps.job import submit_sweep

PATIENCE = 60.0  # seconds within which a page must settle
LONGEST = 300  # characters of a sentence
CONTROLS = ("slider", "select_slider", "number_input", "selectbox", "radio", "checkbox", "toggle")
CONTROLS += ("multiselect", "button_group", "text_input", "text_area", "button")
NOT_PRESSED = re.compile("ask|train|example|start-|submit|cancel|delete|resume|pin")  # buttons that act
TYPED = ("", "nonsense", "0", "1e999, nan", "ä" * 5000)
NO_NUMBERS = ("nan", "inf", "-inf", "1e999", "nonsense", "0x10", "9" * 400)
NO_WORDS = ("nonsense!", "\x00", "x" * 500)
MODELS = {  # a run of each, that trains in no time
    "lda": {"model": "lda", "data": "words", "delta": 1e-4, "epochs": 2, "topics": 2, "seed": 1},
    "logistic": {"model": "logistic", "data": "small", "delta": 1e-4, "epochs": 2, "seed": 1},
    "sbn": {"model": "sbn", "data": "dots", "delta": 1e-4, "epochs": 2, "hidden": 2, "seed": 1},
}


@dataclass(frozen=True)
class Visit:
    """A page that is opened by an address.

    Attributes
    ----------
    values
        Other values of the address.
    words
        Words that the page understands, for values that are words.
    """

    page: str
    values: tuple[state.Parameter, ...] = ()
    address: Mapping[str, object] = field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def ends(self):
        """Return the ends of each value's range, or all its possible values, by name."""
        return {value.name: self._ends(value) for value in self.values}

    def _ends(self, value):
        if isinstance(value, state.Number):
            kind = int if value.whole else float
            return [str(kind(value.low)), str(kind(value.high))]
        return list(value.options if isinstance(value, state.Choice) else self.words.get(value.name, ()))

    def open(self, **more):
        """Open the page, and wait until slow calls have been answered."""
        at = unopened(self.page)
        for name, text in {**self.address, **more}.items():
            at.query_params[name] = str(text)
        return rested(at.run())


def rested(at):
    """Run a page until slow calls have been answered, as it does by itself."""
    deadline = time.monotonic() + PATIENCE
    while not at.exception and "waiting" in at.session_state and at.session_state["waiting"]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"not at rest after {PATIENCE:g} s")
        time.sleep(0.02)
        at.run()
    return at


def faults(at):
    """Return what is wrong with a page: exceptions, NaN or None, axes without ends, long errors."""
    found = [f"{error.message} in {_place(error.stack_trace)}" for error in at.exception]
    shown = [str(item.value) for item in (*at.metric, *at.markdown, *at.caption, *at.info, *at.warning)]
    found += [f"shows {text[:200]!r}" for text in shown if re.search(r"\bnan\b|\bNone\b", text)]
    found += [f"says too much: {error.value}" for error in at.error if len(_plain(error)) > LONGEST]
    for chart in at.get("plotly_chart"):
        for name, part in json.loads(chart.proto.spec)["layout"].items():
            ends = part.get("range", [0, 1]) if "axis" in name else [0, 1]
            if None in ends or ends[0] == ends[1]:
                found.append(f"draws {name} from {ends[0]} to {ends[1]}")
    return found


def _place(trace):
    ours = [line.strip() for line in trace if "dashboard" in line or "vips_core" in line]
    return ours[-1] if ours else "Streamlit"


def _plain(error):
    return error.value.replace("\\", "")


def refused(visit, wrong):
    """Open a page with values that it must refuse; return faults, among them a missing sentence."""
    at = visit.open(**wrong)
    found, kept, said = faults(at), address(at), [_plain(error) for error in at.error]
    for value in visit.values:
        if value.name in wrong and not any(f"In the address, {value.name} " in sentence for sentence in said):
            found.append(f"does not refuse {value.name}={wrong[value.name]!r:.60}")
        if value.name in wrong and kept.get(value.name) == wrong[value.name]:
            found.append(f"keeps {value.name}={wrong[value.name]!r:.60}")
    return found


def beyond(value):
    """Return texts that an address must not hold for a value."""
    if isinstance(value, state.Number) and value.whole:
        return [str(int(value.low) - 1), str(int(value.high) + 1), "1.5", *NO_NUMBERS]
    if isinstance(value, state.Number):
        ends = math.nextafter(value.low, -math.inf), math.nextafter(value.high, math.inf)
        return [*map(str, ends), *NO_NUMBERS]
    return list(NO_WORDS)


def controls(at):
    """Return the controls by kind, name and label, each with the values that it can take."""
    return {
        _identity(widget): _settings(widget)
        for kind in CONTROLS
        for widget in at.get(kind)
        if not widget.disabled and not (kind == "button" and NOT_PRESSED.match(widget.key or ""))
    }


def _identity(widget):
    """Return the part of a widget's identity that stays when its value changes elsewhere."""
    return widget.type, ":".join((widget.key or "").split(":")[:2]), widget.label


def _settings(widget):
    match widget.type:
        case "slider" | "number_input":
            return [widget.min, widget.max]
        case "select_slider":
            return [widget.options[0], widget.options[-1]]
        case "selectbox" | "radio":
            return list(widget.options)
        case "button_group" | "multiselect":
            one = widget.type == "button_group" and widget._is_single_select
            return widget.options if one else [[], *([option] for option in widget.options), widget.options]
        case "text_input" | "text_area":
            return list(TYPED)
        case "button":
            return [True]
        case _:
            return [True, False]


def set_control(at, control, setting):
    """Set a control as a visitor does."""
    widget = next(widget for widget in at.get(control[0]) if _identity(widget) == control)
    widget.set_value(setting)
    return rested(at.run())


def walk(visit, rng, most, noted):
    """Set one control after another to a random end, until there is a fault."""
    at, done = visit.open(), set()
    found = faults(at)
    while not found and len(done) < most and (there := sorted(controls(at).keys() - done)):
        control = rng.choice(there)
        setting = rng.choice(controls(at)[control])
        done.add(control)
        noted.append((*control[1:], setting if len(str(setting)) < 60 else "…"))
        found = faults(set_control(at, control, setting))
    return found


def looks(visit, rng, walks):
    """Return all checks of a page: what leads to each, and a function that returns its faults."""
    ends = visit.ends()
    numbers = [value.name for value in visit.values if isinstance(value, state.Number)]
    alone = [{name: text} for name, texts in ends.items() for text in texts]
    pairs = [
        {one: text, other: another}
        for one, other in itertools.combinations(numbers, 2)
        for text, another in itertools.product(ends[one], ends[other])
    ]
    anywhere = [{name: rng.choice(texts) for name, texts in _visible(visit)} for _ in range(10 * walks)]
    for more in ({}, *alone, *pairs, *anywhere):
        yield more, lambda more=more: faults(visit.open(**more))
    for value in visit.values:
        for text in beyond(value):
            yield {value.name: text[:40]}, lambda wrong={value.name: text}: refused(visit, wrong)
    for control, settings in controls(visit.open()).items():
        for setting in settings:
            noted = [*control[1:], str(setting)[:60]]
            yield noted, lambda c=control, s=setting: faults(set_control(visit.open(), c, s))
    yield from (_walk_of(visit, rng, 40) for _ in range(walks))


def sample(visit, rng, most):
    """Return a few checks: all values at their ends in turn, all beyond them, and a walk over controls."""
    for first in (0, 1) if visit.values else ():
        more = {name: texts[-(place % 2)] for place, (name, texts) in enumerate(_visible(visit), first)}
        yield more, lambda more=more: faults(visit.open(**more))
    wrong = {value.name: rng.choice(beyond(value)) for value in visit.values}
    if wrong:
        yield wrong, lambda: refused(visit, wrong)
    yield _walk_of(visit, rng, most)


def _visible(visit):
    """Return the ends of values, without those values that hide all others."""
    return [item for item in visit.ends().items() if item[1] and item[0] not in ("upload", "guide")]


def _walk_of(visit, rng, most):
    noted = []
    return noted, lambda: walk(visit, rng, most, noted)


def problems(name, found):
    """Run the checks of a visit, and return what is wrong, each with what leads to it."""
    told = []
    for way, look in found:
        try:
            wrong = look()
        except Exception as error:  # of the page or of the test: either needs a look
            wrong = [f"{type(error).__name__}: {error}"]
        told += [f"{name} {way}: {fault}" for fault in wrong]
    return told


def visits(store):
    """Return a visit of every page and lesson, on what `furnish` has put into a store."""
    fits = {model: [run.id for run in store.runs(kind="fit", model=model)] for model in MODELS}
    sweep, attacked = (store.runs(kind=kind)[0].id for kind in ("sweep", "audit"))
    found = {"start": Visit("start")}
    for key, lesson in lessons.LESSONS.items():
        state_of_lesson = (lessons.PRESENT, *lesson.state)
        found[f"learn {key}"] = Visit("learn", state_of_lesson, {"lesson": key, lesson.shown.name: 1})
    steps = {"guide": tuple("1234")}
    found["plan"] = Visit("plan", (*plan.PARAMETERS, *guide.PARAMETERS), words=steps)
    for by in plan.BY.options:
        found[f"plan of noise by {by}"] = Visit("plan", plan.PARAMETERS, {"solve": "sigma", "by": by})
    for solve in ("s", "epochs"):
        found[f"plan of {solve}"] = Visit("plan", plan.PARAMETERS, {"solve": solve})
    for step in steps["guide"]:
        found[f"plan guided, question {step}"] = Visit("plan", address={"guide": step})
    for name, page in (("topics", TOPICS), ("risk", RISK), ("images", IMAGES)):
        data, methods = MODELS[page.task.name]["data"], page.task.methods
        values = tuple(value for value in page.parameters if value.name not in ("example", "runs", "data"))
        words = {"methods": (",".join(methods), *methods), "engine": ("cluster",), "upload": ("1",)}
        words |= {"topic": ("1", "9999"), "wrong": ("1",), "person": ("0:0", "0:1,1:1", "0:-", "9:1")}
        found[name] = Visit(name, values, {"data": data}, words)
        found[f"{name} by noise"] = Visit(name, values, {"data": data, "noise": 2}, words)
        found[f"{name} in private"] = Visit(name, values, {"data": f"{data} secret"}, words)
        found[f"{name} of own data"] = Visit(name, address={"data": data, "upload": 1})
        shown = {"data": data, "runs": ",".join(fits[page.task.name])}
        found[f"{name} with results"] = Visit(name, values, shown, words)
    words = {"sweep": (*frontier.SHIPPED, sweep), "epsilons": ("0", "9999", "0.000001", "1,1,2")}
    words |= {"methods": ("strong,perm", "none"), "data": ("small", "nowhere"), "score": ("AUC", "none")}
    found["frontier"] = Visit("frontier", frontier.PARAMETERS, {}, words)
    found["frontier of a sweep"] = Visit(
        "frontier", frontier.PARAMETERS, {"sweep": sweep, "preset": "own"}, words
    )
    words = {"audit": (attacked, "00000000"), "method": ("strong", "none"), "data": ("small", "nowhere")}
    found["audit"] = Visit("audit", audit.PARAMETERS, {}, words)
    everyone = ",".join(itertools.chain(*fits.values(), [sweep, attacked]))
    words = {"runs": (everyone, "00000000"), "data": ("small", "nowhere")}
    found["runs"] = Visit("runs", runs.PARAMETERS, {}, words)
    found["runs side by side"] = Visit("runs", runs.PARAMETERS, {"runs": everyone}, words)
    return found


def furnish(store):
    """Register small data sets, public and private, and leave runs, a sweep and an audit."""
    rng = np.random.default_rng(0)
    made = {
        "lda": lambda n: Documents.from_counts(rng.integers(1, 5, (n, 4)), ("tea", "milk", "tax", "debt")),
        "logistic": lambda n: rows(n, n),
        "sbn": lambda n: Images.from_images(rng.random((n, 4, 3)) < 0.4, 0.5),
    }
    for model, request in MODELS.items():
        name, of = request["data"], made[model]
        store.add_data(name, of(60), of(30), private=False, unit="one record")
        store.add_data(f"{name} secret", of(61), None, cap=Cap(1.0, 1e-4), unit="one record")
        trained(store, **request, method="refined", epsilon=2.0)
        trained(store, **request, method="non-private")
    table = {"model": "logistic", "data": "small", "delta": 1e-3, "epochs": 2, "epsilon": [0.5, 4.0]}
    submit_sweep(store, table)
    sweep = Sweep.from_mapping(table)
    for cell in sweep.cells():
        run_cell(str(store.home), cells_of(sweep, store), cell.to_mapping(), False)
    table = {"model": "logistic", "data": "small", "noise": 2.0, "delta": 1e-4, "releases": 100, "seed": 1}
    worker.work(store, audits.submit_audit(store, table), None, audits.run_audit)


@contextlib.contextmanager
def nothing_trains():
    """Let no process start, and no page follow a run that no process does."""
    with (
        mock.patch.object(supervisor, "start", return_value=[]),
        mock.patch.object(live_runs, "follow", return_value=None),
    ):
        yield


def main() -> None:
    """Check all pages, and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--visits", nargs="+", default=[""], help="beginnings of names (default: all)")
    parser.add_argument("--walks", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home, nothing_trains():
        os.environ["VIPS_HOME"] = home
        config.set_option("client.showErrorDetails", "full")
        store = Store()
        furnish(store)
        for name, visit in visits(store).items():
            if name.startswith(tuple(options.visits)):
                began, counted = time.perf_counter(), Counter()
                every = looks(visit, random.Random(f"{options.seed} {name}"), options.walks)
                told = problems(name, (counted.update(looks=1) or look for look in every))
                print(f"{name}: {counted['looks']} looks, {time.perf_counter() - began:.0f} s", flush=True)
                print(*told, sep="\n", end="\n" if told else "", flush=True)


if __name__ == "__main__":
    main()
