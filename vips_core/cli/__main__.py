"""`python -m vips_core.cli`: the same as `vips-explorer`, without the dashboard."""

import sys

from vips_core.cli import main

sys.exit(main())
