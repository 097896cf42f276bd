"""The examples of docs/batch-tasks.md are tasks, tables and flags that can be used."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from agent.batch.tasks.read import read_tasks
from agent.batch.tasks.select import filter_from, shard_from, slice_from
from tests.support.zot_process import ROOT

GUIDE = (Path(ROOT) / "docs" / "batch-tasks.md").read_text(encoding="utf-8")
TEMPLATES = re.findall(r"--template '([^']*)'", GUIDE)


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def tasks(text, template=None):
    return read_tasks("-", template=template, base=Path("/project"), stdin=io.BytesIO(text.encode())).tasks


@pytest.mark.parametrize("block", [block for block in blocks("json") if '"prompt"' in block])
def test_each_line_is_a_task(block):
    assert len(tasks(block)) == block.count("\n")


def test_the_table_and_its_template_make_prompts():
    oslo, lima = tasks(blocks("csv")[0], TEMPLATES[0])
    assert oslo.prompt == 'How many people live in Oslo? Answer as {"people": NUMBER}.'
    assert (oslo.max_steps, oslo.tools, lima.max_steps, lima.tools) == (3, None, None, ("read", "bash"))


def test_the_template_of_the_lines_makes_prompts():
    (block,) = [block for block in blocks("json") if '"prompt"' not in block]
    assert tasks(block, TEMPLATES[1])[0].prompt == "Answer in one word. What is the capital of Peru?"


def test_each_flag_can_be_read():
    reading = {"filter": filter_from, "slice": slice_from, "seed": int, "shard": shard_from}
    found = re.findall(r"--(filter|slice|seed|shard) '?([^`' ]+)", GUIDE)
    assert {name for name, _ in found} == set(reading)
    for name, value in found:
        reading[name](value)
