"""The refined logistic regression's mechanisms, each turned off; see `ablation`."""

import functools
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import vips_core as vips
from tests.benchmarks.utility import logistic, tables
from tests.benchmarks.utility.ablation import Ablation, Measure

ROOM = "vips_core.models.logistic"
DATA = (
    "nhanes",
    "cohort 4000",
    "breast cancer",
    "diabetes",
    "401ksubs",
    "card",
    "catholic",
    "fertil2",
    "cps91",
    "loanapp",
    "OFP 400",
    "labsup 400",
    "HI one-hot",
    "correlated 3000",
    "correlated 100",
    "correlated 400",
    "bag of words",
    "long tails",
    "bwght2",
    "bfi",
    "Bundesliga",
    "epi",
    "jtrain3",
    "titanic",
    "uis",
    "diamonds",
)
Replacement = tuple[str, str, str]  # module, code, and what to run instead


def off(*replacements: Replacement) -> tuple[Replacement, ...]:
    return replacements


VARIANTS = {
    "centring": off(("coordinates", "COMMON = 0.1", "COMMON = 1e9")),
    "z-score of centres": off(("coordinates", "CLEAR = 2.0", "CLEAR = 0.0")),
    "shrinking a centre": off(("coordinates", "(1 - (noise / np.where(clear, first, 1.0)) ** 2)", "1")),
    "scale by signal, power 1/2": off(("coordinates", "0.5 + 0.75 /", "0.5 + 0.0 /")),
    "scale by signal, power 1": off(("coordinates", "0.5 + 0.75 / (1 + signal_per_column / 4)", "1.0")),
    "standardised columns, power 0": off(("coordinates", "0.5 + 0.75 / (1 + signal_per_column / 4)", "0.0")),
    "prior on column variances": off(
        ("coordinates", "expected_mass((second", "(lambda a, b, c: np.maximum(a, c * 4.0**-12))((second")
    ),
    "smallest variance": off(("coordinates", "NARROWEST = 1e-3", "NARROWEST = 1e-9")),
    "steepness of variance noise": off(("coordinates", "np.sqrt(1 + 4 * centre**2)  #", "1.0  #")),
    "mean of known values": off(
        ("coordinates", "known[columns] = np.clip", "known[columns] = 1.0\n    np.clip")
    ),
    "filling missing values": off(("coordinates", "missing = missing[centre[columns] != 0]", "missing = []")),
    "prior on squares": off(
        ("descent", "mass = expected_mass(", "mass = (lambda a, b, c: np.maximum(a, c * 4.0**-12))(")
    ),
    "measured squares": off(("descent", "relative = mass / mass.sum()", "relative = np.ones(d) / d")),
    "measured totals": off(("descent", "A_PRIORI = 0.75, 0.5", "A_PRIORI = 0.75, 1e-9")),
    "prior on totals": off(("descent", "A_PRIORI = 0.75, 0.5", "A_PRIORI = 0.75, 1e9")),
    "totals' memory: all steps": off(("descent", "MEMORY = 3", "MEMORY = 10**6")),
    "totals' memory: one step": off(("descent", "MEMORY = 3", "MEMORY = 1")),
    "least total": off(
        ("descent", "np.maximum(weighed, 0.1 * largest)", "np.maximum(weighed, 1e-6 * largest)")
    ),
    "least curvature of slopes": off(("descent", "max(everything, 0.3 * own * d)", "everything")),
    "matrix": off(("descent", "VISIBLE_FROM, CLEAR_FROM = 3.0, 7.0", "VISIBLE_FROM, CLEAR_FROM = 1e9, 1e9")),
    "matrix guides steps": off(("descent", "CLEAR_FROM = 3.0, 7.0", "CLEAR_FROM = 3.0, 1e9")),
    "matrix's threshold: 7 for both": off(("descent", "CLEAR_FROM = 3.0, 7.0", "CLEAR_FROM = 7.0, 7.0")),
    "matrix's threshold: 3 for both": off(("descent", "CLEAR_FROM = 3.0, 7.0", "CLEAR_FROM = 3.0, 3.0")),
    "second matrix late": off(("descent", "curvature * (1 if early == late else 2)", "curvature * 2")),
    "shrinking the matrix": off(("descent", "4 * noise**2 * len(values)", "0.0")),
    "warm step of the level": off(("descent", "        move[1:] = 0.0", "        pass")),
    "least curvature along eigenvectors": off(
        ("descent", "LEAST_CURVATURE = 0.02", "LEAST_CURVATURE = 1e-6")
    ),
    "secants": off(("secants", "CLEAR = 3.0", "CLEAR = 1e9")),
    "secants' z-score": off(("secants", "CLEAR = 3.0", "CLEAR = 0.0")),
    "secants' harmless excess": off(("secants", "HARMLESS = 1.0", "HARMLESS = 0.0")),
    "secants: noise taken off": off(("secants", "- noise * len(rest)", "")),
    "secants: one direction": off(("secants", "MOST = 8", "MOST = 1")),
    "secants: cap by total": off(("descent", "min(beyond[1] / total, 1.0)", "beyond[1] / total")),
    "largest move": off(("descent", "LARGEST_MOVE = 1.0", "LARGEST_MOVE = 1e9")),
    "doubling of moves": off(("descent", "/ RADIUS / 2.0**taken", "* 0.0")),
    "Wiener time": off(("paces", "time = signal**2 / (1 + signal)", "time = 1e9 + 0 * signal")),
    "faster where clear: 0.3": off(("paces", "LARGEST_STEP = 0.3, 0.9", "LARGEST_STEP = 0.3, 0.3")),
    "faster where clear: 0.9": off(("paces", "LARGEST_STEP = 0.3, 0.9", "LARGEST_STEP = 0.9, 0.9")),
    "sampling of weighted residuals": off(
        ("paces", "curvature / (1 - params.rarer * (5 - 4 * params.rarer) / 3)", "curvature")
    ),
    "prior of constant": off(("paces", "CONSTANT_PRIOR = 2.0", "CONSTANT_PRIOR = 100.0")),
    "first steps left out": off(("descent", "FIRST = 0.1", "FIRST = 0.0")),
    "late average starts later": off(
        ("descent", "0.5 * min(1.0, float(pace.time", "0.0 * min(1.0, float(pace.time")
    ),
    "longer average": off(
        ("estimates", "if saved == 0:", "if True:"),
    ),
    "bias prior of averages": off(("estimates", "MISMATCH = 0.2", "MISMATCH = 0.0")),
    "James-Stein of averages": off(("estimates", "1 - 1 / max(beyond_noise, 1.0)", "0.0")),
    "Newton correction": off(("estimates", "newton = pace.time", "newton = 0.0 * pace.time")),
    "level refitted": off(
        (
            "answer",
            "level = float(flatter * posterior.level_of(probability, spread / flatter**2)) - offset",
            "level = found_level",
        ),
    ),
    "record radius 1": off(("model", "RADIUS_SHARE = 0.5", "RADIUS_SHARE = 1.0")),
    "moments in one step": off(("descent", "max(1, round(plan.steps / 12))", "1")),
    "moments in two steps": off(("descent", "max(1, round(plan.steps / 12))", "2")),
}


@contextmanager
def without(replacements: tuple[Replacement, ...]) -> Iterator[None]:
    """Run other code for a while."""
    for place, old, new in replacements:
        _run(place, old, new)
    try:
        yield
    finally:
        for place, _, _ in replacements:
            _run(place, "", "")


def _run(place: str, old: str, new: str) -> None:
    module = importlib.import_module(f"{ROOM}.{place}")
    if place == "model":
        module.RADIUS_SHARE = float(new.split("= ")[1]) if new else 0.5
        return
    source = Path(module.__file__ or "").read_text(encoding="utf-8")
    assert old in source, (place, old)
    names = {name: value for name, value in vars(module).items() if isinstance(value, type)}
    exec(compile(source.replace(old, new) if old else source, module.__file__, "exec"), vars(module))
    vars(module).update(names)  # classes stay the same
    if place == "answer":
        importlib.import_module(f"{ROOM}.estimates").answer = module.answer


@functools.lru_cache(4)
def split(name: str, seed: int):
    return tables.split(name, seed)


def score(name: str, epsilon: float, draw: int, variant) -> dict[str, float]:
    """Score one fit on held-out rows."""
    train, test = split(name, draw)
    with without(variant or ()):
        model = vips.BayesianLogistic(train.feature_names, train.norm_bound)
        plan = logistic._plan("refined", len(train), epsilon)
        fit = vips.fit(model, train, plan, seed=1000 * draw + round(100 * epsilon))
        scores = logistic.metrics(test.y, fit.model.predict_probability(fit, test))
    return {"auc": scores["auc"], "log_loss": scores["log_loss"]}


ABLATION = Ablation(
    DATA, VARIANTS, score, {"auc": Measure(True, 0.003), "log_loss": Measure(False, 0.003)}, draws=8
)
