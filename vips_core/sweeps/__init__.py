"""Grids of demonstration runs on public data: settings, cells that are run once, and the paper's presets."""
