"""The core loads fast: slow imports wait until they are used."""

import subprocess
import sys

SLOW = (
    "scipy.optimize",
    "scipy.stats",
    "scipy.signal",
    "mpmath",
    "cryptography",
    "pandas",
    "sklearn",
    "dp_accounting",
    "vips_core.store.store",
)


def test_importing_the_core_loads_nothing_slow_that_it_may_not_need():
    code = f"import sys, vips_core; print([name for name in {SLOW} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"
