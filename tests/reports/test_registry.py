"""The draft for the public registry of deployments: its keys, its values, and runs without a draft."""

import re
from dataclasses import replace

import pytest
import yaml

from tests.reports import TABLE, worked
from tests.small_rows import rows
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.privacy.accountants import stated
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.tradeoff import AttackRisk
from vips_core.reports import page, report, run_report
from vips_core.reports.run_facts import gather
from vips_core.store.budget import Cap
from vips_core.store.people import Sources

# Keys of the registry, which allows no others.
SECTIONS = {
    "basic": {
        "name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region",
        "publication_date",
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        "privacy_unit", "privacy_unit_details", "privacy_parameters", "privacy_parameters_details",
    },
    "deployment_model": {
        "model_name", "model_name_details", "actors", "release_type",
        "data_source_type", "data_source_type_details", "access_type", "access_type_details",
    },
    "accounting": {"post_processing", "composition"},
    "implementation": {"preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"},
    "administrative": {"registry_authors"},
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def claimed(store):
    """Records for these tests only: other tests count releases from theirs."""
    store.add_data("claimed", rows(300, 12), cap=Cap(5.0, 1e-3), unit="one patient", reason="a test")


def drafted(store, run_id):
    return yaml.safe_load(run_report.draft(gather(store, run_id)))


def test_a_private_run_has_a_draft_with_the_registrys_keys(store, tmp_path):
    run_id = worked(store, data="claimed", epsilon=0.3)
    report.write_run(store, run_id, tmp_path)
    record = yaml.safe_load((tmp_path / "registry.yaml").read_text(encoding="utf-8"))
    deployment = record.pop("deployment")
    assert record == {"url_slug": f"vips-{run_id}", "status": "Draft", "tier": 3}
    assert {section: set(values) for section, values in deployment.items()} == SECTIONS
    texts = [item for values in deployment.values() for item in values.values() if isinstance(item, str)]
    assert all(text.strip() and "&" not in text and "  " not in text for text in texts)
    loss = deployment["privacy_loss"]
    ledger = Ledger.from_json((tmp_path / "ledger.json").read_text(encoding="utf-8"))
    assert loss["privacy_parameters"]["delta"] == 1e-3
    assert loss["privacy_parameters"]["epsilon"] == float(stated(ledger.epsilon(1e-3, "gaussian")))
    claim = AttackRisk(ledger.events(), 1e-3).gaussian_claim()
    assert "for every δ, regret 0)" in claim
    assert f"All releases together have {claim}." in loss["privacy_parameters_details"]
    assert loss["privacy_unit"] in loss["privacy_unit_details"]
    assert f"{ledger.entries[0].noise_multiplier:.4g}" in deployment["implementation"]["mechanisms"]
    assert deployment["dp_variant"]["variant_name"] == "Approximate DP"
    assert "TO FILL IN" in deployment["basic"]["data_curators"][0]


def test_a_unit_is_written_unchanged_and_a_small_delta_as_a_number(store):
    unit = 'one "patient"\t<all>: & {visits}\x07 # not a comment'
    store.add_data("quoted", rows(300, 11), cap=Cap(3.0, 1e-9), unit=unit)
    record = drafted(store, worked(store, data="quoted", epsilon=0.5, delta=1.2345e-15))
    loss = record["deployment"]["privacy_loss"]
    assert loss["privacy_unit"] == 'one "patient" <all>: & {visits} # not a comment'
    assert loss["privacy_parameters"]["delta"] == 1.2345e-15


NASTY = 'a "quote", it\'s: <b>bold</b> & {braces} [x] | > % @ `tick`\nnext — é 😀 \\ "#5: - end'


def test_every_text_is_written_as_it_was_given(store):
    """Issue 32: texts that had passed through HTML templates showed &#34; for each quote."""
    person = Sources(rows=[b"somebody in both"])
    told = {"unit": NASTY, "by": NASTY, "reason": NASTY, "sources": person}
    store.add_data("nasty", rows(300, 14), cap=Cap(3.0, 1e-3), **told)
    store.add_data("apart", rows(300, 15), cap=Cap(3.0, 1e-3), separate=NASTY, **told)
    record = drafted(store, worked(store, data="apart", epsilon=0.5))["deployment"]
    line = " ".join(NASTY.split())
    assert record["privacy_loss"]["privacy_unit"] == line
    assert record["privacy_loss"]["privacy_unit_details"].startswith(f"One record is {line}; all of it")
    assert record["dp_variant"]["data_domain"].startswith(f"One record is {line}. ")
    composition = record["accounting"]["composition"]
    assert f"apart was kept apart from nasty by {line}, although they share rows or persons: {line}." in (
        composition
    )
    assert f" by {line} ({line})." in composition  # who set the cap, and why
    assert not re.search(r"&[#\w]+;", str(record))


@pytest.mark.parametrize(
    "text", [NASTY, '"', "'", "- x: y", "# no comment", "é😀", "null", "1e-5", "\\n", "a\u2028b"]
)
def test_any_text_is_a_string_of_yaml(text):
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    assert yaml.safe_load(f"key: {page.scalar(text)}") == {"key": line}


def test_a_second_run_counts_as_many_releases(store):
    first, second = (worked(store, data="claimed", epsilon=0.1) for _ in range(2))
    kinds = [drafted(store, run)["deployment"]["deployment_model"]["release_type"] for run in (first, second)]
    assert kinds[1] == "Many releases"


def test_the_claim_outlives_the_data_set(store):
    person = {"unit": "one person (all rows of a name)", "person_column": "name"}
    store.add_data("brief", rows(300, 13), cap=Cap(5.0, 1e-3), reason="a test", **person)
    runs = [worked(store, data="brief", epsilon=0.1) for _ in range(2)]
    before = [drafted(store, run) for run in runs]
    store.remove_data("brief")
    assert [drafted(store, run) for run in runs] == before
    assert before[1]["deployment"]["deployment_model"]["release_type"] == "Many releases"


def test_a_stopped_run_states_the_cost_of_its_whole_plan(store):
    facts = gather(store, worked(store, data="claimed", epsilon=0.2))
    plan = facts.result["plan"] | {"steps": 2 * facts.ledger.steps}
    stopped = replace(facts, result={**facts.result, "plan": plan})
    losses = [yaml.safe_load(run_report.draft(run))["deployment"]["privacy_loss"] for run in (stopped, facts)]
    of_all, of_part = (loss["privacy_parameters"]["epsilon"] for loss in losses)
    assert PrivacyPlan(**plan).risk().gaussian_claim() in losses[0]["privacy_parameters_details"]
    assert of_part == pytest.approx(0.2, rel=1e-3)
    assert of_all == float(stated(PrivacyPlan(**plan).epsilon())) > 1.3 * of_part


def test_a_run_without_a_claim_has_no_draft(store, seeded):
    assert run_report.draft(gather(store, seeded)) is None
    cancelled = submit(store, Request.from_mapping(TABLE | {"data": "claimed", "epsilon": 0.1}))
    store.cancel(cancelled)
    assert run_report.draft(gather(store, cancelled)) is None
