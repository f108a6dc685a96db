"""The pages' logic, without a browser."""

import ast
import contextlib
import math
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.runtime.scriptrunner import RerunData, RerunException
from streamlit.testing.v1 import AppTest

import dashboard
from dashboard import background, charts, formats, launch, planning, session, words
from tests.pages import address, checked, opened
from vips_core import ACCOUNTANTS, PrivacyPlan

HOME = Path(dashboard.__file__).parent
DEFAULTS = {parameter.name: parameter.default for parameter in planning.PARAMETERS}
PLAN = PrivacyPlan(records=400_000, expected_batch=20_000, epochs=1, noise_multiplier=1.24, delta=1e-7)


def page(**address):
    at = AppTest.from_file(HOME / "app.py", default_timeout=60)
    return opened(at, **{"prior": 0.5} | address)  # an address with values leads to Plan


def settled(at):
    """Run until the slow accountants have answered, as the page does by itself."""
    deadline = time.monotonic() + 60
    while at.session_state["waiting"] and time.monotonic() < deadline:
        time.sleep(0.05)
        checked(at.run())
    assert not at.session_state["waiting"]
    return at


def widget(elements, key):
    """The slider or entry of a number, whose key goes on after this."""
    (found,) = [element for element in elements if element.key and element.key.startswith(key + ":")]
    return found


def metrics(at):
    return {metric.label: metric.value for metric in at.metric}


def texts(at):
    return "\n".join(element.value for element in [*at.markdown, *at.caption])


def test_headline_and_accountants_are_the_core_s():
    at = settled(page())
    shown = metrics(at)
    assert shown["ε by the moments accountant"] == formats.number(PLAN.epsilon("moments"))
    assert shown["ε by strong composition"] == formats.number(PLAN.epsilon("strong"))
    table = at.table[0].value
    expected = PLAN.epsilons()
    for name, accountant in ACCOUNTANTS.items():
        row = table[table["Accountant"] == accountant.label].iloc[0]
        assert row["ε"] == formats.number(expected[name])
        assert row["Why it differs"].startswith(accountant.why)
        assert PLAN.accounts([name])[name].note in row["Why it differs"]


def test_slow_parts_fill_in_with_the_core_s_numbers():
    at = settled(page())
    risk, shown = PLAN.risk(), metrics(at)
    assert shown["Found at 1% false alarms"] == f"{float(risk.true_positive_rate(0.01)):.1%}"
    assert shown["Advantage over guessing"] == f"{risk.advantage:.1%}"
    assert shown["Share of the best signal over noise"] == f"{PLAN.efficiency:.0%}"
    assert risk.sentence() in texts(at)
    assert f"**{risk.posterior(0.5):.3g}** sure" in texts(at)
    assert len(at.get("plotly_chart")) == 5


def test_slow_accountants_do_not_block(monkeypatch):
    """The fast part is on the page before the run waits for the slow one."""
    release, waited_for = threading.Event(), []
    monkeypatch.setattr(planning, "details", lambda plan: release.wait(20))
    monkeypatch.setattr(background, "rerun_when_ready", waited_for.extend)
    try:
        at = page(sigma=1.31)
        shown = metrics(at)
        assert shown["ε by the moments accountant"] == formats.number(
            PLAN.replace(noise_multiplier=1.31).epsilon("moments")
        )
        assert shown["Advantage over guessing"] == "…"
        assert planning.details in [call[0] for call in waited_for]
    finally:
        release.set()


def test_slider_and_exact_entry_follow_each_other_and_the_address():
    at = page()
    checked(widget(at.number_input, "number:sigma").set_value(2.345).run())
    assert widget(at.select_slider, "slider:sigma").value == 2.345
    assert metrics(at)["ε by the moments accountant"] == formats.number(
        PLAN.replace(noise_multiplier=2.345).epsilon("moments")
    )
    checked(widget(at.select_slider, "slider:sigma").set_value(3.0).run())
    assert widget(at.number_input, "number:sigma").value == 3.0
    assert address(at)["sigma"] == "3.0"


def test_a_message_sent_before_the_browser_heard_of_a_change_does_not_undo_it():
    at = page()
    stale = widget(at.select_slider, "slider:sigma")
    checked(widget(at.number_input, "number:sigma").set_value(2.0).run())
    assert widget(at.select_slider, "slider:sigma").key != stale.key
    checked(at.run())
    assert address(at)["sigma"] == "2.0"


def test_address_restores_every_value():
    wanted = {
        "n": 12_345, "s": 678, "sigma": 2.5, "epochs": 3.5, "delta": 2e-6, "solve": "sigma",
        "target": 1.5, "accountant": "rdp", "prior": 0.25,
    }  # fmt: skip
    first = page(**wanted)
    assert address(first) == {name: str(value) for name, value in wanted.items()}
    second = page(**address(first))
    assert metrics(settled(second)) == metrics(settled(first))
    plan = PrivacyPlan(records=12_345, expected_batch=678, epochs=3.5, delta=2e-6).calibrate(1.5, "rdp")
    assert metrics(second)["ε by the moments accountant"] == formats.number(plan.epsilon("moments"))
    assert f"σ = {formats.number(plan.noise_multiplier)}" in texts(second)


@pytest.mark.parametrize("accountant", ["moments", "pld"])
def test_solves_for_noise(accountant):
    at = settled(page(solve="sigma", target=2, accountant=accountant))
    plan = PLAN.calibrate(2.0, accountant)
    assert metrics(at)["ε by the moments accountant"] == formats.number(plan.epsilon("moments"))
    assert f"--target-epsilon 2 --accountant {accountant}" in at.code[0].value


def test_solves_for_epochs():
    at = page(solve="epochs", target=4, accountant="moments", s=4000)
    plan = PLAN.replace(expected_batch=4000).calibrate(4.0, "moments", solve="steps")
    assert f"{formats.number(plan.epochs)} epochs" in texts(at)
    assert f"--steps {plan.steps} " in at.code[0].value


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("n", "abc", "n must be a whole number, got 'abc'"),
        ("n", "3.5", "n must be a whole number"),
        ("s", "0", "s must be from 1 to"),
        ("sigma", "nan", "sigma must be from 0.3 to 1,000, got nan"),
        ("sigma", "-1", "sigma must be from"),
        ("epochs", "1e999", "epochs must be from"),
        ("delta", "1", "delta must be from"),
        ("solve", "__import__", "solve must be one of epsilon, sigma, s, epochs"),
        ("accountant", "none", "accountant must be one of"),
        ("target", "0", "target must be from"),
        ("prior", "1", "prior must be from"),
    ],
)
def test_bad_address_gives_a_sentence_and_the_default(name, value, complaint):
    at = page(**{name: value})
    (error,) = at.error
    assert complaint in error.value.replace("\\", "")
    assert address(at)[name] == str(DEFAULTS[name])
    checked(widget(at.number_input, "number:delta").set_value(1e-8).run())
    assert not at.error  # settled once the visitor goes on


def test_complaints_outlive_the_polling():
    at = page(sigma="x")
    assert settled(at).error


def test_address_is_not_markup():
    (error,) = page(sigma="![x](http://example.org/x.png)<b>").error
    assert "\\!\\[x\\]\\(http" in error.value
    assert "\\<b\\>" in error.value


def test_batch_follows_when_records_shrink():
    at = page(n=1000, s=5000)
    assert "cannot be more than 1,000" in at.error[0].value
    assert address(at)["s"] == "1000"


def test_impossible_plans_give_a_sentence():
    at = page(s=1, epochs=10_000)
    assert "choose a larger batch or fewer epochs" in at.error[0].value
    assert not at.metric
    at = page(solve="epochs", target=0.001)
    assert "Not even one step fits" in at.error[0].value
    at = page(solve="sigma", accountant="gaussian")
    assert "full batches" in at.error[0].value


def test_unsafe_delta_is_warned_of():
    assert "not below 1/N" in page(delta=1e-4).warning[0].value
    assert not page(delta=1e-7).warning


def test_tables_behind_charts_open():
    at = settled(page())
    at.session_state["table:surface"] = True
    checked(at.run())
    (table,) = at.dataframe
    found = planning.surface(400_000, 1.0, 1e-7, wide=False)
    assert len(table.value) == found.batches.size * found.noise.size > 1000


@pytest.mark.parametrize("query", [{"sigma": 0.3}, {"sigma": 1000, "n": 10, "s": 1}, {"s": 400_000}])
def test_extreme_plans_draw(query):
    at = settled(page(**query))
    assert len(at.get("plotly_chart")) == 5


def test_code_to_copy_makes_the_same_plan(capsys):
    for changes in ({}, {"solve": "sigma"}, {"solve": "epochs", "target": 4.0}, {"solve": "s"}):
        values = {"solve": "epsilon", "target": 1.0, "accountant": "moments"} | changes
        request = planning.Request(400_000, 20_000, 1.24, 1.0, 1e-7, **values)
        plan = planning.make_plan(request)
        scope = {}
        exec(words.python_code(request, plan), scope)
        assert scope["plan"] == plan
        assert "took part" in capsys.readouterr().out


def test_surface_agrees_with_plans():
    found = planning.surface(400_000, 2.0, 1e-7, wide=False)
    for row in range(0, found.batches.size, 7):
        for column in range(0, found.noise.size, 5):
            batch, noise = int(found.batches[row]), found.noise[column]
            plan = PLAN.replace(expected_batch=batch, epochs=2.0, noise_multiplier=noise)
            assert found.epsilon[row, column] == pytest.approx(plan.epsilon("moments"))


def test_surface_is_not_recomputed_when_noise_or_batch_move():
    request = planning.Request(400_000, 30_000, 1.24, 1.0, 1e-7, "epsilon", 1.0, "moments")
    plan = planning.make_plan(request)
    moved = planning.surface_window(plan.replace(noise_multiplier=3.0), request)
    assert moved == planning.surface_window(plan, request) == (400_000, 1.0, 1e-7, False)


def test_background_shares_cancels_and_resubmits():
    shared = background.Background(threads=1, keep=2)
    gate = threading.Event()
    blocked = shared.ask(gate.wait)
    queued = shared.ask(math.sqrt, 4.0)
    assert shared.ask(math.sqrt, 4.0) is queued
    assert queued.cancel()
    again = shared.ask(math.sqrt, 4.0)
    gate.set()
    assert blocked.result(10) is True
    assert again.result(10) == 2.0


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (math.nan, "–"), (math.inf, "∞"), (0, "0"), (0.9999, "1.00"), (1.2345, "1.23"),
     (29.16, "29.2"), (1366.0, "1,370"), (2.5e-6, "2.50e-06"), (3e7, "3.00e+07")],
)  # fmt: skip
def test_numbers_for_people(value, text):
    assert formats.number(value) == text


def test_log_axis_only_where_epsilon_spans_decades():
    flat = charts.epsilon_over_steps(
        {"moments": (np.arange(1, 4), np.array([1.0, 1.1, 1.2]))}, planning.LABELS
    )
    assert flat["layout"]["yaxis"].get("type") != "log"
    steep = charts.epsilon_over_steps({"moments": (np.arange(1, 4), np.array([0.1, 1, 20]))}, planning.LABELS)
    assert steep["layout"]["yaxis"]["type"] == "log"


def test_launch_passes_every_setting_as_a_flag():
    arguments = launch.arguments(8765)
    assert arguments[-1] == "--server.port=8765"
    for flag in ("--server.address=127.0.0.1", "--browser.gatherUsageStats=false",
                 "--client.showErrorDetails=none", "--server.maxUploadSize=200"):  # fmt: skip
        assert flag in arguments
    assert any(flag.startswith("--theme.dark.backgroundColor=#") for flag in arguments)
    with pytest.raises(ValueError, match="port must be from 1 to 65535"):
        launch.serve(0)


@pytest.mark.parametrize(("given", "port"), [([], None), (["--port", "8765"], 8765)])
def test_the_command_opens_the_pages_at_once(given, port, monkeypatch):
    def serve(port=None):
        raise SystemExit(f"served at {port}")

    monkeypatch.setattr(launch, "serve", serve)
    monkeypatch.setattr(launch, "_is_free", lambda port: True)
    monkeypatch.setattr("sys.argv", ["vips-explorer", "dashboard", *given])
    with pytest.raises(SystemExit, match=f"served at {port}"):
        launch.main()


def test_the_start_page_shows_before_the_core_is_loaded():
    code = (
        "import sys; from dashboard import layout, pages, session; import dashboard.views.start;"
        "print([name for name in ('vips_core', 'numba', 'pandas') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


@pytest.mark.parametrize("given", [["dashboard", "--port", "0"], ["dashboard", "--port", "99999"]])
def test_the_command_leaves_the_rest_to_the_core(given, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["vips-explorer", *given])
    assert launch.main() == 2
    assert (
        capsys.readouterr().err == f"vips-explorer dashboard: port must be from 1 to 65535, got {given[-1]}\n"
    )


def test_checkout_and_wheel_share_one_settings_file():
    checkout = HOME.parent / ".streamlit" / "config.toml"
    assert checkout.resolve() == (HOME / "config.toml").resolve()


@pytest.mark.parametrize("path", sorted((HOME / "views").glob("*.py")), ids=lambda path: path.name)
def test_views_are_thin(path):
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) < 100
    for node in ast.walk(ast.parse(source)):
        names = [node.module] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            assert name in {"streamlit", "vips_core", "dashboard"} or name.startswith("dashboard."), name


WHOLE = {"session.whole", "session.takes", "session.sets"}


def test_every_callback_is_finished():
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(HOME.rglob("*.py"))]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    whole = {
        node.name for node in nodes
        if isinstance(node, ast.FunctionDef) and "session.whole" in map(ast.unparse, node.decorator_list)
    }  # fmt: skip
    whole |= {
        target.id for node in nodes
        if isinstance(node, ast.Assign) and ast.unparse(getattr(node.value, "func", node)) in WHOLE
        for target in node.targets
    }  # fmt: skip
    callbacks = [
        node.value for node in nodes
        if isinstance(node, ast.keyword) and node.arg in ("on_change", "on_click", "on_select")
    ]  # fmt: skip
    assert len(callbacks) > 40
    for callback in callbacks:
        match callback:
            case ast.Constant(value="rerun" | "ignore"):
                pass
            case ast.Call(func=called):
                assert ast.unparse(called) in WHOLE, ast.unparse(callback)
            case _:
                assert ast.unparse(callback).split(".")[-1] in whole, ast.unparse(callback)


class Impatient(dict):
    """A state where newer input comes at the nth access, as Streamlit's does."""

    def __init__(self, turn):
        super().__init__()
        self.left = turn

    def _look(self):
        self.left -= 1
        if self.left == 0:
            raise RerunException(RerunData())

    def __getitem__(self, key):
        self._look()
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        self._look()
        super().__setitem__(key, value)

    def __contains__(self, key):
        self._look()
        return super().__contains__(key)

    def get(self, key, default=None):
        self._look()
        return super().get(key, default)


@pytest.mark.parametrize("turn", range(1, 6))
def test_newer_input_waits_for_a_callback(turn, monkeypatch):
    state = Impatient(turn=0)
    state.update({"page": "plan", "value:plan/sigma": 1.24, "slider": 2.0, "problems": ["before"]})
    state.left = turn
    monkeypatch.setattr(session, "st", SimpleNamespace(session_state=state))
    try:
        session.takes("sigma", "slider")()
        came = False
    except RerunException:
        came = True
    assert came == (turn <= 4)  # what was asked for meanwhile has its turn
    assert dict(state) == {"page": "plan", "value:plan/sigma": 2.0, "slider": 2.0, "problems": []}


@pytest.mark.parametrize("turn", range(1, 25))
def test_a_run_that_is_abandoned_loses_no_value_of_the_address(turn, monkeypatch):
    fake = SimpleNamespace(session_state=Impatient(turn), query_params=QueryParams(sigma="2", s="none"))
    monkeypatch.setattr(session, "st", fake)
    with contextlib.suppress(RerunException):
        session.enter("plan")
        session.load(planning.PARAMETERS)
    fake.session_state.left = 0
    session.enter("plan")
    session.load(planning.PARAMETERS)
    assert session.get("sigma") == 2.0
    assert session.get("epochs") == planning.EPOCHS.default
    assert len(session.problems()) == 1


class QueryParams(dict):
    """The address of a page."""

    def to_dict(self):
        return dict(self)


@pytest.mark.parametrize("address", [{}, {"prior": 0.5}], ids=["start", "plan"])
def test_a_setting_that_cannot_be_used_is_said_on_every_page(address, monkeypatch):
    monkeypatch.setenv("VIPS_WORKERS", "many")
    at = opened(AppTest.from_file(HOME / "app.py", default_timeout=60), **address)
    assert "must be a whole number of at least 1" in at.error[0].value
    assert bool(at.title) == (address == {})  # Start says what VIPS is all the same
    monkeypatch.setenv("VIPS_WORKERS", "2")
    assert not checked(at.run()).error
