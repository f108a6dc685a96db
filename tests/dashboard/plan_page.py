"""The Plan page for tests."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

import dashboard
from tests.pages import opened
from vips_core import PrivacyPlan

APP = Path(dashboard.__file__).parent / "app.py"


PLAN = PrivacyPlan(records=400_000, expected_batch=20_000, epochs=1, noise_multiplier=1.24, delta=1e-7)


def page(**address):
    at = AppTest.from_file(APP, default_timeout=60)
    return opened(at, **{"prior": 0.5} | address)  # an address with values leads to Plan


def command(at):
    (line,) = [code.value for code in at.code if code.value.startswith("vips-explorer plan")]
    return line


def texts(at):
    return "\n".join(element.value for element in [*at.markdown, *at.caption])
