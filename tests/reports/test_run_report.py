"""The report of a run and its guarantee."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.reports import TABLE, text_of, worked
from tests.small_rows import rows, small_store
from vips_core.jobs import worker
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.models.task import TASKS
from vips_core.privacy import gaussian
from vips_core.privacy.accountants import stated
from vips_core.privacy.ledger import Ledger
from vips_core.records import Table
from vips_core.reports import report, run_report
from vips_core.reports.run_facts import gather
from vips_core.store.budget import Cap

HEADINGS = [
    "Unit of privacy",
    "Neighbouring data sets",
    "Sampling",
    "Mechanism and noise",
    "Clipping",
    "Accounting",
    "Attack risk",
    "Gaussian differential privacy",
    "Who is trusted",
    "What was tuned, and on which data",
    "Other runs on the same data",
    "Software",
    "Known limits",
]


def test_a_report_states_the_whole_guarantee(folder):
    html = text_of((folder / "report.html").read_text(encoding="utf-8"))
    for heading in HEADINGS:
        assert f"<h3>{heading}</h3>" in html
    ledger = Ledger.from_json((folder / "ledger.json").read_text(encoding="utf-8"))
    assert f"ε = {stated(ledger.epsilon(1e-3, 'gaussian'))} and δ = 0.001 (accountant: " in html
    assert "for replacing one record, one &lt;b&gt;row&lt;/b&gt;, by nothing" in html
    assert ledger.steps == 4
    assert "4 releases on all records (q = 1)." in html
    mu = stated(2 / ledger.entries[0].noise_multiplier)
    assert html.count(f"μ = {mu} (Gaussian DP for every δ, regret 0)") == 2
    assert "Save this as config.toml to repeat this run exactly." in html
    assert f"{ledger.entries[0].noise_multiplier:.4g}" in html
    for block in ledger.entries[0].blocks:
        assert f"<td>{block}</td>" in html
    assert "with the public tables of the utility bench in view" in html
    assert "numpy" in html
    assert "AES-256 in counter mode" in html
    assert "Zero-out" in html


def test_a_known_seed_is_shown_as_a_demonstration(folder):
    html = text_of((folder / "report.html").read_text(encoding="utf-8"))
    assert "<h3>Demonstration</h3>" in html
    assert "the guarantee does not hold" in html
    assert "With a secret seed, this run would be" in html


def test_reports_on_private_data_state_composition_and_repeat_through_the_store(store, tmp_path):
    first, second = (worked(store, data="secret", epsilon=1.0) for _ in range(2))
    html = text_of(report.html_for_run(store, second))
    assert "1 run preceded it on these records" in html
    total = store.budget("secret").history[1][2]
    assert f"All runs up to and including this one take {100 * total:.4g}% of it" in html
    assert "by a privacy filter, which holds even if runs are chosen adaptively" in html
    assert "No run preceded it" in text_of(report.html_for_run(store, first))
    assert "Demonstration" not in html
    assert "to request the same run again, with fresh noise and at its own cost" in html
    assert "There are no scores" in html
    assert not re.search(r"\d s,", html)  # training time depends on private records
    report.write_run(store, second, tmp_path)
    script = (tmp_path / "repeat.py").read_text(encoding="utf-8")
    assert "vips.fit_registered(" in script  # so that the budget counts it
    assert "vips.fit(" not in script
    assert {file.suffix for file in tmp_path.iterdir() if file.is_file()} <= {
        ".html", ".toml", ".json", ".csv", ".npz", ".py", ".ipynb", ".txt", ".yaml",
    }  # fmt: skip


def test_a_report_states_the_cap_in_force_and_all_other_caps(store):
    """Issue 32: ε = 0.5 was spent under a cap of 3. Then 0.1 was set, and the report stated that."""
    first = {"unit": "one row", "by": "Ada", "reason": "a <test>"}
    store.add_data("capped", rows(300, 41), cap=Cap(3.0, 1e-3), **first)
    run_id = worked(store, data="capped", epsilon=0.5)
    share = store.budget("capped").history[0][2]
    store.set_cap("capped", Cap(0.1, 1e-4), by="Eve", reason="looks better")
    html = text_of(report.html_for_run(store, run_id))
    assert (
        "When this run was reserved, the cap of all runs together was ε = 3 at δ = 0.001, enforced by" in html
    )
    assert f"All runs up to and including this one take {100 * share:.4g}% of it." in html
    assert "The cap has changed since: today it is ε = 0.1 at δ = 0.0001." in html
    assert "Everything released or reserved so far takes at least all of today's cap" in html
    caps = html.partition("<h3>Caps so far</h3>")[2].partition("</table>")[0]
    cells = [re.findall("<td[^>]*>(.*?)</td>", row) for row in caps.split("<tr>")[2:]]
    assert [row[1:] for row in cells] == [
        ["3", "0.001", "Ada", "a &lt;test&gt;", "yes"],
        ["0.1", "0.0001", "Eve", "looks better", ""],
    ]
    composition = run_report.draft(gather(store, run_id)).partition("composition: ")[2]
    assert "was ε = 3 at δ = 0.001, enforced by a privacy filter" in composition
    assert re.search(r"Caps so far: ε = 3 at δ = 0.001, set on [\d-]+ by Ada \(a <test>\); ", composition)


def test_runs_without_noise_or_ledger_say_so(store):
    html = text_of(report.html_for_run(store, worked(store, method="non-private", seed=0)))
    assert "no privacy guarantee, and ε is infinite" in html
    html = text_of(report.html_for_run(store, worked(store, method="perm", epsilon=1.5, seed=0)))
    assert "ε = 1.5 (and δ = 0) for replacing one record" in html
    assert "Objective perturbation" in html
    assert "Method perm, done, 2" in html
    assert not re.search("σ =|q =|delta|Poisson batches, each", html)


def test_sampled_batches_are_described(store):
    html = text_of(report.html_for_run(store, worked(store, method="sgd", epsilon=1.0, batch=30, seed=1)))
    assert "Poisson batches, each record in each batch independently with probability q = 0.1" in html
    mu = re.search(r"and with μ = ([\d.]+) \(Gaussian DP for δ ≥ 1e-10, regret [\d.]+\), for replacing", html)
    assert html.count(f"μ = {mu[1]} (Gaussian DP") == 2  # beside ε, and in the guarantee
    epsilon, delta = re.search(r"with ε = ([\d.]+) and δ = ([\de.-]+)", html).groups()
    assert gaussian.epsilon(float(mu[1]), float(delta)) >= 0.999 * float(epsilon)


def test_a_run_that_left_nothing_claims_nothing(store):
    run_id = submit(store, Request.from_mapping(TABLE | {"data": "secret", "epsilon": 0.1}))
    store.cancel(run_id)
    html = text_of(report.html_for_run(store, run_id))
    assert "ended before its ledger was written" in html
    assert "ε = 0 at δ = 0.001" in html
    assert "differentially private with" not in html


def test_why_a_private_run_failed_is_not_published(store, monkeypatch):
    def sums(self, params, batch, blocks):
        raise ValueError("/private/place: the first label is 1")

    monkeypatch.setattr("vips_core.models.logistic.refined.Refined.sums", sums)
    for data, is_told in (("secret", False), ("small", True)):
        run_id = submit(store, Request.from_mapping(TABLE | {"data": data, "epsilon": 0.1}))
        worker.work(store, run_id)
        assert store.run(run_id).status == "failed"
        assert ("first label" in report.html_for_run(store, run_id)) == is_told


def test_a_run_on_persons_protects_all_records_of_a_person(store):
    visits = replace(rows(300, 7), persons=np.arange(300) % 120)
    unit = TASKS["logistic"].records.unit("patient")
    store.add_data("visits", visits, cap=Cap(3.0, 1e-4), unit=unit, person_column="patient")
    run_id = worked(store, data="visits", epsilon=1.0, delta=1e-4)
    html = text_of(report.html_for_run(store, run_id))
    assert (
        "for replacing one record, one person (all rows with the same value of patient), by nothing" in html
    )
    assert "The number of records, N = 120, is public" in html
    assert "drawn together and count as one record" in html
    assert "protected less" not in html
    assert "A person with k records is protected less" in text_of(
        report.html_for_run(store, worked(store, data="secret", epsilon=0.1))
    )


def test_a_report_describes_the_records_of_the_run_not_those_with_their_name_now(store):
    store.add_data("reused", rows(300, 21), cap=Cap(3.0, 1e-3), unit="one row", reason="a test")
    private = worked(store, data="reused", epsilon=0.5)
    store.remove_data("reused")
    persons = [f"p{row // 3}" for row in range(300)]
    others = rows(300, 22)
    others = Table(
        others.x, others.y, others.feature_names, others.norm_bound, others.ranges, persons=persons
    )
    person = {"unit": "one whole ward", "person_column": "ward"}
    store.add_data("reused", others, cap=Cap(3.0, 1e-3), reason="a test", **person)
    facts = gather(store, private)
    assert (facts.data.unit, facts.data.person_column) == ("one row", None)
    assert [run for _, run, _ in facts.budget.history] == [private]
    assert "one whole ward" not in report.html_for_run(store, private)
    store.remove_data("reused")
    store.add_data("reused", rows(300, 23), private=False, unit="one row")
    page = text_of(report.html_for_run(store, private))
    assert gather(store, private).data.private
    assert "is public: runs on it are not counted" not in page
    public = worked(store, data="reused", epsilon=0.5, seed=1)
    store.remove_data("reused")
    assert not gather(store, public).data.private
    assert run_report.draft(gather(store, public)) is None


def test_no_report_is_written_from_a_ledger_that_does_not_verify(tmp_path):
    """Issue 32: `fit` refused such a store, but `runs export` reported it all the same."""
    store = small_store(tmp_path / "home")
    private, public = worked(store, data="secret", epsilon=0.5), worked(store, epsilon=1.0, seed=3)
    with store.database.write() as connection:
        connection.execute("DROP TRIGGER ledger_is_not_changed")
        connection.execute("UPDATE ledger SET content = replace(content, '3.0', '9.0') WHERE kind = 'cap'")
    refused = "no report may be written while the ledger is not intact: Row 3 of the ledger was changed"
    for run_id in (private, public):  # whether a run is private, a table says
        for made in (report.html_for_run, report.zip_for_run):
            with pytest.raises(ValueError, match=refused):
                made(store, run_id)
        with pytest.raises(ValueError, match=refused):
            report.write_run(store, run_id, tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_a_ledger_that_was_edited_is_not_reported(store):
    store.add_data("edited", rows(300, 31), cap=Cap(3.0, 1e-3), unit="one row", reason="a test")
    run_id = worked(store, data="edited", epsilon=0.5)
    file = store.folder(run_id) / "ledger.json"
    released = Ledger.from_json(file.read_text(encoding="utf-8"))
    entry = released.entries[0]
    noisier = {name: replace(block, noise_std=2 * block.noise_std) for name, block in entry.blocks.items()}
    for entries in ([replace(entry, blocks=noisier), *released.entries[1:]], released.entries[1:]):
        file.write_text(replace(released, entries=entries).to_json(), encoding="utf-8")
        with pytest.raises(
            ValueError, match=f"the ledger of run {run_id} differs from what the store counted"
        ):
            report.html_for_run(store, run_id)
    file.write_text(released.to_json(), encoding="utf-8")
    assert gather(store, run_id).ledger == released
