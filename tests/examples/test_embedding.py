"""The programs in examples/embedding drive real agents."""

from __future__ import annotations

import json

import pytest

from tests.support.embedding_program import EXAMPLES, last_text, project
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


ANSWERS = {"7 * 8?": "56", "6 * 7?": "It is 42.", "The capital of France?": "Paris.", "Of Spain?": "Madrid"}


def question(number, prompt, expected, category):
    return json.dumps({"id": f"q{number}", "prompt": prompt, "meta": {"expected": expected, "category": category}})


def answered(request):
    return text_reply(ANSWERS[last_text(request.body["messages"][-1]["content"])], input_tokens=100, output_tokens=10)


def test_an_evaluation_counts_what_is_right_by_category_and_goes_on_later(tmp_path):
    questions = [
        question(1, "7 * 8?", "56", "sums"), question(2, "6 * 7?", "42", "sums"),
        question(3, "The capital of France?", "paris", "capitals"),
    ]  # fmt: skip
    with project(tmp_path) as made:
        made.server.otherwise = answered
        file = made.folder / "questions.jsonl"
        file.write_text("\n".join(questions))
        said = made.run(EXAMPLES / "evaluate.py", "questions.jsonl", "runs")
        scores = ["wrong: q2: 'It is 42.', not 42", "capitals: 1 of 1 (100%)", "sums: 1 of 2 (50%)"]
        assert said.splitlines() == [*scores, "done: {'ok': 3}, $0.0009"]
        file.write_text("\n".join([*questions, question(4, "Of Spain?", "madrid", "capitals")]))
        said = made.run(EXAMPLES / "evaluate.py", "questions.jsonl", "runs")
        scores[1] = "capitals: 2 of 2 (100%)"
        assert said.splitlines() == [*scores, "done: {'ok': 4}, $0.0012"]
        assert len(made.asked()) == 4


def test_the_evaluation_has_thirty_lines():
    code = (EXAMPLES / "evaluate.py").read_text().partition('"""\n\n')[2].partition("\n\n\nif __name__")[0]
    assert len([line for line in code.splitlines() if line]) <= 30


def test_each_example_is_in_the_table():
    table = (EXAMPLES.parent / "README.md").read_text()
    for path in EXAMPLES.glob("*.*"):
        assert f"(embedding/{path.name})" in table
