"""The targets, one for each kind of input, by their names."""

from __future__ import annotations

from tests.fuzz.targets import (
    answers,
    batch_reports,
    batch_tasks,
    batches,
    control,
    copilot,
    frames,
    mcp,
    model,
    node_frames,
    profiles,
    recordings,
    rpc,
    sessions,
    skills,
    small_files,
    tools,
    trees,
)

MODULES = (
    frames,
    answers,
    mcp,
    copilot,
    control,
    model,
    tools,
    small_files,
    recordings,
    profiles,
    trees,
    rpc,
    skills,
    sessions,
    batch_reports,
    batch_tasks,
    batches,
    node_frames,
)
TARGETS = {target.name: target for module in MODULES for target in module.TARGETS}
