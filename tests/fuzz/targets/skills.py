"""Files that authors of projects and skills write: SKILL.md and AGENTS.md."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent.run.context_files import FILE_LIMIT, context_text, find_context_files
from agent.skills.allowed_tools import ActiveSkills
from agent.skills.builtin_skills import FILE, FOLDER
from agent.skills.read import SkillError, read_skill
from agent.skills.skill import manifest
from tests.fuzz.target import Target, without_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WRITTEN = (
    b"---\nname: deploy\ndescription: >-\n  Puts it\n  there.\nallowed-tools:\n  - Read\n  - Bash(ls:*)\n---\nDo.\n",
    b"---\nname: 'a'\ndescription: \"b\\tc\"\nallowed_tools: [read, todo_*]\npermissions: {a: [b]}\n---\n",
    b"\xef\xbb\xbf\n---\r\nname: &a x\r\nother: [*a, {b: c}]\r\nallowed-tools: Read, Bash(ls *) *\r\n---\r\nDo.\r\n",
    b"Only a body.\n",
)


@without_folder
def skills(data: bytes) -> None:
    """A skill is read or told; the model can be told of what was read, and it judges calls."""
    try:
        skill, _ = read_skill(data, "/p/SKILL.md", "p")
    except SkillError:
        return
    assert manifest([skill])[0].count("\n") == 2
    skill.text.encode()
    active = ActiveSkills()
    active.begin(skill.name, skill.allowed)
    for command in (b'{"command":"git log; rm x"}', b'{"command":"ls"}', b"{}"):
        assert active.refusal("bash", command) == "" or skill.allowed is not None


@contextmanager
def context_files(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """`AGENTS.md` goes into the system prompt, or a notice says why not."""
    file = folder / "AGENTS.md"

    def take(data: bytes) -> None:
        file.write_bytes(data)
        found = find_context_files(folder / "home", folder)
        assert len(context_text(found.files, str(folder)).encode()) < 3 * FILE_LIMIT + 1000
        is_blank = not data.decode("utf-8-sig", "replace").strip()
        assert found.files or found.notices or is_blank or data in (b"\xef", b"\xef\xbb")  # half a byte order mark

    yield take


TARGETS = (
    Target("skills", lambda: [*WRITTEN, (FOLDER / "write-zot-extension" / FILE).read_bytes()], skills, 130),
    Target("context_files", lambda: [*WRITTEN], context_files, 130),
)
