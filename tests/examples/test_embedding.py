"""The programs in examples/embedding drive real agents."""

from __future__ import annotations

import pytest

from tests.support.embedding_program import EXAMPLES, project
from tests.support.messages_server import http_error, text_reply, tool_reply

pytestmark = pytest.mark.slow


def test_ten_lines_stream_an_answer_and_say_what_it_has_cost(tmp_path):
    with project(tmp_path, text_reply("It sums prices.", input_tokens=1000, output_tokens=100)) as made:
        assert made.run(EXAMPLES / "ten_lines.py") == "It sums prices.\n100 tokens, $0.003\n"


def test_ten_lines_say_why_there_is_no_answer(tmp_path):
    with project(tmp_path, http_error(401, "invalid key")) as made:
        assert "ANTHROPIC_API_KEY was refused" in made.run(EXAMPLES / "ten_lines.py")


def test_ten_lines_are_ten():
    code = (EXAMPLES / "ten_lines.py").read_text().partition('"""\n\n')[2].splitlines()
    assert len([line for line in code if line]) <= 10


def write(text):
    return tool_reply([("write", {"path": "guide.md", "content": text})])


READ = tool_reply([("read", {"path": "guide.md"})])


def test_two_agents_talk_until_the_reviewer_is_content(tmp_path):
    replies = [
        *(write("Start it."), text_reply("Written."), READ, text_reply("Say how.")),
        *(write("Start it: ./run"), text_reply("Changed."), READ, text_reply("OK.")),
    ]
    with project(tmp_path, *replies) as made:
        said = made.run(EXAMPLES / "two_agents.py", "guide.md", "How to start it.").splitlines()
        asked = made.asked()
    assert said[:4] == ["1. writer: Written.", "1. reviewer: Say how.", "2. writer: Changed.", "2. reviewer: OK."]
    assert [line.split(":")[0] for line in said[4:]] == ["writer", "reviewer"]
    assert asked[0] == "Write the file guide.md: How to start it."
    assert "Start it." in asked[3]
    assert asked[4] == "Change guide.md as the reviewer wishes: Say how."
    assert (made.folder / "guide.md").read_text() == "Start it: ./run"


def test_two_agents_stop_after_three_rounds(tmp_path):
    with project(tmp_path, *[text_reply("Hm.")] * 6) as made:
        said = made.run(EXAMPLES / "two_agents.py", "guide.md", "x", status=1).splitlines()
        assert made.server.unused == 0
    assert said[5] == "3. reviewer: Hm."


def test_two_agents_say_what_a_failure_has_cost(tmp_path):
    with project(tmp_path, text_reply("Written."), http_error(401)) as made:
        said = made.run(EXAMPLES / "two_agents.py", "guide.md", "x", status=1).splitlines()
    assert said[1].startswith("authentication: ")
    assert said[-2].startswith("writer: 10 tokens in, 5 out")


def test_each_example_is_in_the_table():
    table = (EXAMPLES.parent / "README.md").read_text()
    for path in EXAMPLES.glob("*.*"):
        assert f"(embedding/{path.name})" in table
