"""Sweeps on records that train at once."""

from vips_core.sweeps.grid import Sweep

BASE = {"model": "logistic", "data": "small", "delta": 1e-3, "epochs": 2}


def without_failure(definition):
    """The sweep of the fixture `executed` without the cell that fails."""
    table = definition.to_mapping()
    table["grid"][1]["batch"] = [30]
    return Sweep.from_mapping(table)
