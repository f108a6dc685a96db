"""The shape that Topics, Risk and Images share: choose data and plan, train, watch, and see results."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from dashboard import background, charts, components, layout, library, session, summary, training, upload
from dashboard.components import number_with_slider
from dashboard.formats import number
from dashboard.library import Finished
from dashboard.training import Bench
from vips_core.runs import supervisor
from vips_core.runs.rows import CANCELLED, FAILED, QUEUED, DataRow, RunRow
from vips_core.runs.sources import BUILT_IN, DataSet
from vips_core.runs.tasks import TASKS

__all__ = ["Bench", "show"]
_POLL = 0.5  # seconds
_USUAL_NOISE = 2.0


def show(bench: Bench, results: Callable[[dict[str, Finished], DataSet], None]) -> None:
    """Draw a model page; `results` draws what finished runs, by method, have to show."""
    row = training.load(bench)
    with st.sidebar:
        _inputs(bench, row)
    runs = training.runs_of_visit(bench, row)
    session.save(bench.parameters)
    layout.header(bench.title, bench.introduction)
    if session.get("upload"):
        upload.show(bench.model, training.choose, lambda: session.put("upload", None))
        return
    if not runs:
        _invitation(bench, row)
        return
    live = _progress(bench, runs)
    try:
        done = {method: library.finished(run.id) for method, run in runs.items() if library.has_results(run)}
        if done:
            summary.show(bench, done)
            results(done, library.data(row.name))
    except ValueError as problem:
        layout.problem(str(problem))
    if live is not None:
        _wait(bench, runs, live)


def _inputs(bench: Bench, row: DataRow) -> None:
    _data_choice(bench, row)
    _method_choice(bench, row)
    noise = session.get("noise")
    by = st.segmented_control(
        "Privacy by", ["epsilon", "noise"], default="epsilon" if noise is None else "noise", required=True,
        format_func={"epsilon": "Target ε", "noise": "Noise σ"}.get, key="spend", width="stretch",
        on_change=session.takes("noise", "spend", lambda by: _USUAL_NOISE if by == "noise" else None),
        help="Say what the run may cost, and the noise follows; or say the noise, and the cost follows.",
    )  # fmt: skip
    if by == "epsilon":
        number_with_slider(training.EPSILON)
    else:
        number_with_slider(dataclasses.replace(training.NOISE, default=_USUAL_NOISE))
    for own in bench.numbers:
        number_with_slider(own)
    number_with_slider(bench.epochs)
    number_with_slider(dataclasses.replace(training.DELTA, default=1e-5))
    with st.expander("More", type="compact"):
        components.choice(training.ACCOUNTANT)
        _batch(row)
        if not row.private:
            _seed()
    turn = session.state.get("turn", 0)
    st.button(
        "Train", type="primary", icon=":material/play_arrow:", width="stretch", key="train",
        on_click=_train, args=(bench, turn),
    )  # fmt: skip


@session.whole
def _train(bench: Bench, turn: int) -> None:
    """Submit once for each time that the button was drawn: a second click on it must not spend again."""
    if turn == session.state.get("turn", 0):
        session.state["turn"] = turn + 1
        session.state["problems"] = []
        session.put("upload", None)
        training.submit(bench)


def _data_choice(bench: Bench, row: DataRow) -> None:
    rows = library.data_sets(bench.model)
    names = [item.name for item in rows]
    key = f"data:{len(names)}:{row.name}"
    st.selectbox(
        "Data", names, names.index(row.name), key=key,
        on_change=session.whole(lambda: training.choose(session.state[key])),
        format_func=lambda name: f"{name} (private)" if rows[names.index(name)].private else name,
    )  # fmt: skip
    about = f"{BUILT_IN[row.name].help}. " if row.name in BUILT_IN else ""
    status = "Private" if row.private else "Public"
    st.caption(f"{about}{row.records:,} records for training, {row.unit} each. {status}.".replace("$", "\\$"))
    st.button(
        "Use your own data", icon=":material/upload_file:", width="stretch", key="own",
        on_click=session.sets("upload", "1"),
    )  # fmt: skip


def _method_choice(bench: Bench, row: DataRow) -> None:
    key = f"methods:{row.private}:{session.state.get('turn', 0)}:{row.name}"
    st.multiselect(
        "Methods", bench.methods_for(row), session.get("methods").split(","), key=key,
        format_func=lambda name: bench.labels[name],
        on_change=session.takes("methods", key, lambda chosen: ",".join(chosen) or "refined"),
        help="One run for each. On private data every run spends budget, and nothing may run without noise.",
    )  # fmt: skip


def _batch(row: DataRow) -> None:
    own = session.get("batch") is not None
    st.toggle(
        "Own batch size", own, key="own-batch", help="Otherwise each method takes the batch that suits it.",
        on_change=session.sets("batch", None if own else max(1, row.records // 20)),
    )  # fmt: skip
    if own:
        usual = dataclasses.replace(training.BATCH, default=row.records)
        number_with_slider(usual, most=row.records)


def _seed() -> None:
    own = session.get("seed") is not None
    st.toggle(
        "Demonstration with a seed", own, key="own-seed", help=training.SEED.help,
        on_change=session.sets("seed", None if own else 1),
    )  # fmt: skip
    if own:
        st.number_input(
            "Seed", 0, int(training.SEED.high), int(session.get("seed")), key="seed",
            on_change=session.takes("seed", "seed", int),
        )  # fmt: skip


def _invitation(bench: Bench, row: DataRow) -> None:
    with layout.card("Nothing trained here yet"):
        st.markdown(
            "Choose data, methods and a plan on the left, then **Train**. Training runs in the background: "
            "this page shows how far it is, and its address brings you back after closing it."
        )
        if row.private:
            st.markdown(
                f"**{_plain(row.name)}** is private. Each run spends from its budget, only noisy results "
                "leave the wall, and scores come from public held-out records only."
            )
        st.button(
            "Show the ready example", icon=":material/auto_awesome:", key="example",
            on_click=session.sets("example", "1"),
        )  # fmt: skip


@dataclasses.dataclass
class _Live:
    """Places that follow live runs: a bar for each, and a chart of so many scores."""

    bars: dict[str, Any]
    chart: Any
    scores: int = 1  # a curve needs two


def _progress(bench: Bench, runs: Mapping[str, RunRow]) -> _Live | None:
    """Say how each run stands; return the places that follow the live ones, None where none lives."""
    for method, run in runs.items():
        label = bench.labels[method]
        if run.status == FAILED:
            layout.problem(f"{label} failed: {run.error}")
        elif run.status == CANCELLED:
            spent = "" if run.epsilon is None else f" It has spent ε = {number(run.epsilon)}."
            st.info(f"{label} was cancelled after {run.step} of {run.steps} steps.{spent}")
    alive = {method: run for method, run in runs.items() if run.status in library.ALIVE}
    if not alive:
        return None
    bars: dict[str, Any] = {}
    with layout.fresh("progress", tuple(run.id for run in alive.values())), st.container(border=True):
        for method, run in alive.items():
            bar, button = layout.narrow_columns(f"run-{run.id}", [5, 1], vertical_alignment="center")
            bars[method] = bar.empty()
            button.button(
                "Cancel", key=f"cancel:{run.id}", icon=":material/stop_circle:", width="stretch",
                on_click=_cancel, args=(run.id,), help=f"Stop {bench.labels[method]} within one step.",
            )  # fmt: skip
        live = _Live(bars, st.empty())
        st.caption("You may close this page. The run goes on, and this address brings you back to it.")
    _follow(bench, runs, live)
    return live


@session.whole
def _cancel(run_id: str) -> None:
    try:
        library.store().cancel(run_id)
    except ValueError as problem:
        session.complain(str(problem))


def _follow(bench: Bench, runs: Mapping[str, RunRow], live: _Live) -> None:
    for method, bar in live.bars.items():
        run = runs[method]
        bar.progress(min(1.0, run.step / max(1, run.steps)), _standing(bench, method, run))
    scores = {method: run.scores for method, run in runs.items() if run.scores}
    points = sum(len(found) for found in scores.values())
    if points > live.scores:
        live.scores = points
        figure = charts.scores_over_steps(scores, bench.labels, _score_name(bench))
        live.chart.plotly_chart(
            figure, key=f"live:{points}", config={"displayModeBar": False},
            alt=f"Held-out {_score_name(bench)} so far, by iteration.",
        )  # fmt: skip


def _standing(bench: Bench, method: str, run: RunRow) -> str:
    if run.status == QUEUED:
        return f"**{bench.labels[method]}** waits for its turn"
    spent = "without privacy" if run.epsilon is None else f"ε = {number(run.epsilon)} so far"
    score = f", held-out {_score_name(bench)} {number(run.scores[-1][1])}" if run.scores else ""
    return f"**{bench.labels[method]}**: step {run.step} of {run.steps}, {spent}{score}"


def _wait(bench: Bench, runs: Mapping[str, RunRow], live: _Live) -> None:
    """Follow the live runs until one changes its state; Streamlit stops this when the visitor acts."""
    before = {method: run.status for method, run in runs.items()}
    while True:
        background.pause(_POLL)
        supervisor.start(library.store())
        now = {method: library.store().run(run.id) for method, run in runs.items()}
        if {method: run.status for method, run in now.items()} != before:
            st.rerun()
        _follow(bench, now, live)


def _score_name(bench: Bench) -> str:
    return TASKS[bench.model].watched


def _plain(text: str) -> str:
    return text.replace("_", "\\_")
