"""Ledgers as files: reading returns what was written."""

from hypothesis import given, settings
from hypothesis import strategies as st

from vips_core import Ledger, LedgerBlock, LedgerEntry

names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
blocks = st.builds(
    LedgerBlock, st.floats(1e-9, 1e9), st.just(0.0) | st.floats(1e-9, 1e9), st.integers(1, 10**9)
)
entries = st.builds(
    LedgerEntry,
    st.floats(1e-9, 1),
    st.dictionaries(names, blocks, min_size=1, max_size=3),
    st.sampled_from(["poisson", "fixed"]),
    st.integers(1, 10**6),
)


@given(st.builds(Ledger, st.integers(1, 10**9), st.booleans(), st.lists(entries, max_size=4)))
@settings(max_examples=100, deadline=None)
def test_ledgers_round_trip(ledger):
    assert Ledger.from_json(ledger.to_json()) == ledger
