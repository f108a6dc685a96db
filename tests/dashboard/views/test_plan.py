"""The Plan page: its numbers are the core's, its address restores it, and bad values get a sentence."""

import pytest

from dashboard import background
from dashboard.components import formats
from dashboard.components.formats import at_most
from dashboard.views.plan import data, form
from tests.dashboard.plan_page import PLAN, command, page, texts
from tests.pages import address, checked, metrics, settled, widget
from vips_core import ACCOUNTANTS, PrivacyPlan, rounding

DEFAULTS = {parameter.name: parameter.default for parameter in form.PARAMETERS}


def test_headline_and_accountants_are_the_core_s():
    at = settled(page())
    shown = metrics(at)
    assert shown["ε by moments"] == at_most(PLAN.epsilon("moments"))
    assert shown["ε by strong composition"] == at_most(PLAN.epsilon("strong"))
    assert shown["ε by PLD, the tightest accountant"] == at_most(PLAN.epsilon("pld"))
    claim = PLAN.risk().gaussian_claim()
    assert claim not in texts(at)
    at.session_state["accountants"] = True
    table = settled(checked(at.run())).table[0].value
    assert claim in texts(at)
    expected = PLAN.epsilons()
    for name, accountant in ACCOUNTANTS.items():
        row = table[table["Accountant"] == accountant.label].iloc[0]
        assert row["ε"] == at_most(expected[name])
        assert row["Why it differs"].startswith(accountant.why)
        assert PLAN.accounts([name])[name].note in row["Why it differs"]


def test_slow_parts_fill_in_with_the_core_s_numbers():
    at = settled(page())
    risk, shown = PLAN.risk(), metrics(at)
    assert shown["Found at 1% false alarms"] == rounding.percent_up(float(risk.true_positive_rate(0.01)))
    assert shown["Advantage over guessing"] == rounding.percent_up(risk.advantage)
    assert shown["Efficiency relative to full batches"] == f"{PLAN.efficiency:.0%}"
    assert risk.sentence() in texts(at)
    assert f"**{rounding.percent_up(risk.posterior(0.5))}** sure" in texts(at)
    assert len(at.get("plotly_chart")) == 5


def test_slow_calls_do_not_block(monkeypatch):
    """The rest of the page is drawn before the run waits for slow calls."""
    waited_for = []
    monkeypatch.setattr(background, "_PATIENCE", 0.0)
    monkeypatch.setattr(background, "rerun_when_ready", waited_for.extend)
    at = page(solve="sigma", target=1.3125)
    assert data.make_plan in [call[0] for call in waited_for]
    assert "Computing…" in texts(at)
    assert len(at.number_input) > 4
    monkeypatch.setattr(background, "_PATIENCE", 60.0)
    moved = PLAN.calibrate(1.3125)
    assert metrics(checked(at.run()))["ε by moments"] == at_most(moved.epsilon("moments"))


def test_slider_and_exact_entry_follow_each_other_and_the_address():
    at = page()
    checked(widget(at.number_input, "number:sigma").set_value(2.345).run())
    assert widget(at.select_slider, "slider:sigma").value == 2.345
    assert metrics(at)["ε by moments"] == at_most(PLAN.replace(noise_multiplier=2.345).epsilon("moments"))
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
    numbers = {
        "n": 12_345,
        "s": 678,
        "sigma": 2.5,
        "epochs": 3.5,
        "delta": 2e-6,
        "target": 1.5,
        "prior": 0.25,
    }
    risk = {"by": "epsilon", "found": 0.02, "advantage": 0.3, "belief": 0.7, "alarms": 0.005, "use": "topics"}
    wanted = numbers | {"solve": "sigma", "accountant": "rdp"} | risk
    first = page(**wanted)
    assert address(first) == {name: str(value) for name, value in wanted.items()}
    second = page(**address(first))
    assert metrics(settled(second)) == metrics(settled(first))
    plan = PrivacyPlan(records=12_345, expected_batch=678, epochs=3.5, delta=2e-6).calibrate(1.5, "rdp")
    assert metrics(second)["ε by moments"] == at_most(plan.epsilon("moments"))
    assert f"σ = {formats.number(plan.noise_multiplier)}" in texts(second)


@pytest.mark.parametrize("accountant", ["moments", "pld"])
def test_solves_for_noise(accountant):
    at = settled(page(solve="sigma", target=2, accountant=accountant))
    plan = PLAN.calibrate(2.0, accountant)
    assert metrics(at)["ε by moments"] == at_most(plan.epsilon("moments"))
    assert f"--target-epsilon 2 --accountant {accountant}" in command(at)


def test_solves_for_epochs():
    at = settled(page(solve="epochs", target=4, accountant="moments", s=4000))
    plan = PLAN.replace(expected_batch=4000).calibrate(4.0, "moments", solve="steps")
    assert f"{formats.number(plan.epochs)} epochs" in texts(at)
    assert f"--steps {plan.steps} " in command(at)


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("n", "abc", "n must be a whole number of at least 10 and at most 1,000,000,000, got 'abc'"),
        ("n", "3.5", "n must be a whole number"),
        ("s", "0", "s must be a whole number of at least 1"),
        ("sigma", "nan", "sigma must be a number of at least 0.001 and at most 1e7, got nan"),
        ("sigma", "-1", "sigma must be a number of"),
        ("epochs", "1e999", "epochs must be a number of"),
        ("delta", "1", "delta must be a number of"),
        ("solve", "__import__", "solve must be one of epsilon, sigma, s, epochs"),
        ("accountant", "none", "accountant must be one of"),
        ("target", "0", "target must be a number of"),
        ("prior", "1", "prior must be a number of"),
    ],
)
def test_bad_address_gives_a_sentence_and_the_default(name, value, complaint):
    at = page(**{name: value})
    (error,) = at.error
    assert complaint in error.value.replace("\\", "")
    assert address(at)[name] == str(DEFAULTS[name])
    checked(widget(at.number_input, "number:delta").set_value(1e-8).run())
    assert not at.error  # gone after the next input


def test_complaints_outlive_the_polling():
    at = page(sigma="x")
    assert settled(at).error


def test_address_is_not_markup():
    (error,) = page(sigma="![x](http://example.org/x.png)<b>").error
    assert "\\!\\[x\\]\\(http" in error.value
    assert "\\<b\\>" in error.value


def test_the_batch_follows_the_records_so_that_the_rate_stays():
    at = page()
    for records, batch in ((13, 1), (1_000, 50), (400_000, 20_000)):  # the rate survives a batch of 1 of 13
        checked(widget(at.number_input, "number:n").set_value(records).run())
        assert (address(at)["n"], address(at)["s"]) == (str(records), str(batch))
        assert not at.error
    assert "each on a random 5% of the records" in texts(settled(at))


def test_an_address_with_a_batch_that_is_too_large_is_told_in_neutral_words():
    at = page(n=1000, s=5000)
    assert "was lowered to 1" in at.info[0].value
    assert not at.error
    assert address(at)["s"] == "1000"
