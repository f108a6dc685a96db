"""Sums have the same bits in memory and out of core, for any shards, all models and both variants."""

from dataclasses import replace

import numpy as np
import pytest

import vips_core as vips
from tests.models.test_contract import ALL, plan_for
from vips_core.models.check import _equal


@ALL
def test_out_of_core_has_the_bits_of_records_in_memory(case, tmp_path):
    model, data = case.model(), case.data()
    plan = plan_for(data)
    in_memory = vips.fit(model, data, plan, seed=3)
    for size in (len(data) // 3, len(data) // 5 + 1):
        sharded = vips.Sharded.write(tmp_path / str(size), data, records_per_shard=size)
        out_of_core = vips.fit(model, sharded, plan, seed=3)
        assert _equal(in_memory.params, out_of_core.params)
        assert in_memory.ledger == out_of_core.ledger


def test_fixed_batches_too(tmp_path):
    from tests.toy import BetaBernoulli, coin_flips

    model, data = BetaBernoulli(12, 0.5), coin_flips()
    plan = replace(plan_for(data), sampling="fixed")
    sharded = vips.Sharded.write(tmp_path / "shards", data, records_per_shard=7)
    runs = [vips.fit(model, records, plan, seed=3).params.on for records in (data, sharded)]
    assert np.array_equal(*runs)


def test_the_plan_must_be_for_all_records(tmp_path):
    from tests.toy import BetaBernoulli, coin_flips

    sharded = vips.Sharded.write(tmp_path / "shards", coin_flips(), records_per_shard=70)
    with pytest.raises(ValueError, match="the plan is for 199 records, but the data has 200"):
        vips.fit(BetaBernoulli(12, 0.5), sharded, plan_for(range(199)))
