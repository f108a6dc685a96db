"""The plan: derived quantities, solving, efficiency, recommendations, and clear refusals."""

import math

import pytest

import vips_core as vips
from vips_core.privacy import gaussian

NOISE_RANGE = r"must be 0 or a number of at least 0.001 and at most 1e7"
DELTA_RANGE = "must be a number of at least 1e-15 and below 1"
RECORDS_RANGE = "must be a whole number of at least 1 and at most 1,000,000,000,000"


def plan(**changes):
    values = {
        "records": 400_000,
        "expected_batch": 20_000,
        "epochs": 1,
        "noise_multiplier": 1.24,
        "delta": 1e-4,
    }
    return vips.PrivacyPlan(**{**values, **changes})


def test_derived_quantities():
    here = plan()
    assert (here.sampling_rate, here.steps, here.epochs) == (0.05, 20, 1.0)
    assert here == plan(epochs=None, steps=20)
    assert here == eval(repr(here), {"PrivacyPlan": vips.PrivacyPlan})
    assert hash(here) == hash(plan())
    assert plan(records=60_000, expected_batch=1600).steps == 37
    assert plan(epochs=0.01).steps == 1
    assert here.replace(epochs=3).steps == 60
    assert here.replace(steps=5).epochs == 0.25
    with pytest.raises(AttributeError):
        here.steps = 3


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"records": 0}, f"records {RECORDS_RANGE}, got 0"),
        ({"records": 2.5}, f"records {RECORDS_RANGE}, got 2.5"),
        ({"records": "many"}, f"records {RECORDS_RANGE}, got 'many'"),
        ({"expected_batch": 500_000}, r"expected_batch must be at most records \(400000\), got 500000"),
        ({"steps": 3}, "give either epochs or steps, got epochs=1 and steps=3"),
        ({"epochs": None}, "give either epochs or steps, got epochs=None and steps=None"),
        ({"epochs": -1}, "epochs must be a number above 0, got -1"),
        ({"epochs": math.nan}, "epochs must be a number above 0, got nan"),
        ({"noise_multiplier": -0.1}, rf"noise_multiplier {NOISE_RANGE}, got -0.1"),
        ({"noise_multiplier": math.inf}, rf"noise_multiplier {NOISE_RANGE}, got inf"),
        ({"noise_multiplier": math.nan}, rf"noise_multiplier {NOISE_RANGE}, got nan"),
        ({"noise_multiplier": 9e-4}, rf"noise_multiplier {NOISE_RANGE}, got 0.0009"),
        ({"noise_multiplier": 1e-19}, rf"noise_multiplier {NOISE_RANGE}, got 1e-19"),
        ({"noise_multiplier": 1e300}, rf"noise_multiplier {NOISE_RANGE}, got 1e\+300"),
        ({"delta": 0}, f"delta {DELTA_RANGE}, got 0"),
        ({"delta": 1.5}, f"delta {DELTA_RANGE}, got 1.5"),
        ({"sampling": "shuffled"}, "sampling must be one of poisson, fixed, got 'shuffled'"),
    ],
)
def test_bad_values_get_one_sentence(changes, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        plan(**changes)


def test_epsilons_name_every_accountant():
    values = plan().epsilons()
    assert set(values) == set(vips.ACCOUNTANTS)
    assert values["gaussian"] is None
    assert values["moments"] == plan().epsilon("moments")
    assert all(account.note for account in plan().accounts().values() if account.epsilon is None)


def test_no_noise_is_no_privacy():
    assert plan(noise_multiplier=0).epsilon() == math.inf
    assert plan(noise_multiplier=0).efficiency == 1
    assert any("no privacy" in warning for warning in plan(noise_multiplier=0).warnings())
    with pytest.raises(ValueError, match="the plan has no noise_multiplier yet"):
        plan(noise_multiplier=None).epsilon()


def test_solving_for_steps_and_batch():
    base = plan(noise_multiplier=1.5)
    longer = base.calibrate(1.5, "moments", solve="steps")
    assert longer.epsilon("moments") <= 1.5 < longer.replace(steps=longer.steps + 1).epsilon("moments")
    larger = base.calibrate(1.5, "moments", solve="expected_batch")
    assert larger.steps == base.steps
    assert larger.epsilon("moments") <= 1.5
    assert larger.replace(expected_batch=larger.expected_batch + 1).epsilon("moments") > 1.5
    with pytest.raises(ValueError, match="not even one step fits in epsilon = 1e-06"):
        base.calibrate(1e-6, "moments", solve="steps")
    with pytest.raises(
        ValueError, match="solve must be one of noise_multiplier, steps, expected_batch, got 'delta'"
    ):
        base.calibrate(1, solve="delta")
    with pytest.raises(ValueError, match="epsilon must be a number above 0, got 0"):
        base.calibrate(0)


def test_efficiency_of_the_papers_plan():
    """Errata §7: signal over noise 0.18, where the PLD ε of 0.93 allows 0.29."""
    assert plan().signal_to_noise == pytest.approx(0.18, abs=0.005)
    assert gaussian.mu(plan().epsilon(), 1e-4) == pytest.approx(0.29, abs=0.005)
    assert gaussian.mu(2.44, 1e-4) == pytest.approx(0.68, abs=0.005)
    assert plan().efficiency == pytest.approx(0.18 / 0.29, abs=0.01)
    assert plan(expected_batch=400_000).efficiency == 1


def test_warnings_in_plain_words():
    assert any("Choose δ well below 1/N" in warning for warning in plan().warnings())
    assert plan(delta=1e-7).warnings() == []
    assert any("Poisson" in warning for warning in plan(sampling="fixed", delta=1e-7).warnings())
    assert plan(sampling="fixed", expected_batch=400_000, delta=1e-7).warnings() == []


def test_recommend_takes_full_batches_when_it_can():
    class NoRule:
        pass

    chosen = vips.recommend(NoRule(), records=5000, epsilon=1.0, delta=1e-5, epochs=10)
    assert (chosen.sampling_rate, chosen.steps, chosen.efficiency) == (1, 10, 1)
    assert chosen.epsilon("gaussian") == pytest.approx(1, rel=1e-6)
    short = vips.recommend(NoRule(), records=5000, epsilon=1.0, delta=1e-5, epochs=0.1)
    assert short.epochs <= 0.1
    rivals = [
        vips.PrivacyPlan(records=5000, expected_batch=500 // t, steps=t, delta=1e-5).calibrate(1.0)
        for t in (2, 5, 20)
    ]
    assert all(short.efficiency >= rival.efficiency for rival in rivals)
    with pytest.raises(ValueError, match="epochs must be a number above 0, got 0"):
        vips.recommend(NoRule(), records=10, epsilon=1.0, delta=1e-5, epochs=0)


def test_recommend_asks_the_model_first():
    class Rule:
        def recommend(self, records, epsilon, delta, epochs):
            return plan(records=records, expected_batch=1, delta=delta)

    assert vips.recommend(Rule(), records=10, epsilon=1.0, delta=1e-3, epochs=1).expected_batch == 1
