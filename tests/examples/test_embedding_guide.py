"""The programs in docs/embedding.md and in the README run as they stand, and print what is shown below them."""

from __future__ import annotations

import re
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest

from tests.support.embedding_program import FILES, ROOT, last_text, project
from tests.support.extension_folder import EXAMPLES
from tests.support.host_process import hosting
from tests.support.messages_server import stall_midway, text_reply, tool_reply
from tests.support.zot_process import Zot

pytestmark = pytest.mark.slow

TEXT = (ROOT / "docs" / "embedding.md").read_text()
FOUND = re.findall(r"^##+ ([^\n]+)|^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", TEXT, re.MULTILINE | re.DOTALL)
SAID = text_reply("Yes.")
READ = tool_reply([("read", {"path": "prices.py"})])
SUMS = "It sums up the prices of a shop, VAT included. All amounts are cents."
SCRIPTS = {
    "Ten lines": [[text_reply(SUMS, input_tokens=1000, output_tokens=20)]],
    "Options": [[]],
    "Events": [[READ, text_reply("It has one line.")]],
    "Results": [[SAID, SAID]],
    "Answers as JSON": [
        [
            text_reply("7 %, notes.md and prices.py"),
            text_reply('```json\n{"files": ["notes.md", "prices.py"], "vat": 7}\n```'),
            text_reply("It is not there."),
            text_reply('{"vat": 0}'),
        ]
    ],
    "Errors": [[]],
    "While a prompt runs": [
        [stall_midway(text_reply("Once...Upon..."), after=4), text_reply("The end.")],
        [READ, SAID, SAID],
    ],
    "Beside a prompt": [[]],
    "The conversation": [[SAID, SAID], [SAID, SAID, SAID, text_reply("notes.md says what prices.py does.")]],
    "Sessions": [[SAID, text_reply("Prices.")], [SAID]],
    "Images": [[SAID]],
    "Threads and asyncio": [[SAID, SAID], [SAID, SAID]],
    "Batches": [
        {"book": text_reply("7"), "tea": text_reply("3"), "pen": text_reply("7")},
        {"notes": SAID, "prices": SAID},
    ],
    "Functions and guards": [
        [tool_reply([("stock", {"item": "tea"})]), SAID],
        [tool_reply([("bash", {"command": "rm -rf build"})]), SAID],
        [tool_reply([("bash", {"command": "rm -r build"})]), text_reply("I leave it.")],
    ],
}
"""Replies of the model to each program of each section, in order; to the runs of a batch by a word of the prompt."""
HOSTED = ("guard", "todo-count")


def said_to(by_word, request):
    asked = last_text(request.body["messages"][-1]["content"])
    (reply,) = [reply for word, reply in by_word.items() if word in asked]
    return reply


def programs():
    """Each program with its replies and its output, None where none is shown."""
    found, section = [], ""
    for heading, program, output in FOUND:
        section = heading or section
        if program:
            number = sum(1 for each in found if each.id.startswith(f"{section} "))
            replies = None if section == "Hosts" else SCRIPTS[section][number]
            found.append(pytest.param(program, replies, output or None, id=f"{section} {number}"))
    return found


@contextmanager
def host(made, folder):
    """A host that runs in the project."""
    folder.mkdir()
    zot = Zot(folder)
    for name, data in FILES.items():
        (zot.cwd / name).write_bytes(data)
    made.env["ZOT_HOME"] = str(zot.home)
    with hosting(zot, *(EXAMPLES / name for name in HOSTED)):
        yield


@pytest.mark.parametrize(("program", "replies", "output"), programs())
def test_a_program_of_the_guide_runs(program, replies, output, tmp_path):
    with ExitStack() as running:
        by_word = replies if isinstance(replies, dict) else {}
        made = running.enter_context(project(tmp_path, *(() if by_word else replies or ())))
        made.server.otherwise = partial(said_to, by_word) if by_word else None
        if replies is None:
            running.enter_context(host(made, tmp_path / "host"))
        said = made.run(program)
        for text in re.findall(r'zot\.steer\("(.*)"\)', program):
            assert text in made.asked() or "no prompt runs" in said  # it may have ended just before
    assert output in (said, None)
