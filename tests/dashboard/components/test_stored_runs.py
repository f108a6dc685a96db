"""Lists of runs."""

from types import SimpleNamespace

import pytest

from dashboard.views.audit import text as audit_text
from dashboard.views.frontier import text as frontier_text


@pytest.mark.parametrize("label", [audit_text.label, frontier_text.label])
def test_a_run_is_called_the_same_while_it_goes_on(label):
    """A browser reports a choice by its label, and may still have the one of a moment ago."""
    request = {"model": "logistic", "method": "refined"}
    labels = {
        label(SimpleNamespace(id="0123abcd", data="small", request=request, status=status))
        for status in ("queued", "running", "done")
    }
    assert len(labels) == 1
    assert "0123abcd" in labels.pop()
