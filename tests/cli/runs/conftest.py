"""Imports what the commands import, once, and not in each fork."""

from __future__ import annotations

from importlib import import_module

from cli.ext import ExtGroup

for module in (
    *(name for _title, names in ExtGroup.modules for name in names),
    "cli.runs.list",
    "cli.runs.show",
    "cli.runs.history",
    "cli.runs.ended_runs",
    "rich.cells",
):
    import_module(module)
