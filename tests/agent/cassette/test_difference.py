"""How a request that differs from the recorded one is described."""

from __future__ import annotations

import pytest

from agent.cassette import CassetteMismatch, CassettePlayer
from tests.support.cassette_exchanges import CWD, params, record, reply


def test_a_mismatch_says_where_and_what_to_do(tape) -> None:
    long = "the beginning is the same " * 10
    record(tape, (params("first", long + "cats"), reply("ok")))
    player = CassettePlayer.load(tape, cwd=CWD)
    asked = params("first", long + "dogs", "third")
    asked["max_tokens"] = 200
    with pytest.raises(CassetteMismatch) as caught:
        player.next(asked)
    assert str(caught.value).splitlines() == [
        f"the run differs from cassette {tape}:2 at request 1 of 1; record it again with --record {tape}",
        "max_tokens",
        "  recorded: 100",
        "  asked:    200",
        "messages[1].content[0].text",
        '  recorded: …"ame the beginning is the same cats"',
        '  asked:    …"ame the beginning is the same dogs"',
        "messages[2]",
        "  recorded: (nothing)",
        '  asked:    {"role": "user", "content": [{"type": "text", "text": "third"}]}',
    ]
    assert player.next(params("first", long + "cats")) == reply("ok"), "a mismatch does not move the tape"


def test_many_differences_are_cut(tape) -> None:
    record(tape, (params(*"abcdefgh"), reply("ok")))
    with pytest.raises(CassetteMismatch) as caught:
        CassettePlayer.load(tape, cwd=CWD).next(params(*"ABCDEFGH"))
    assert str(caught.value).count("recorded:") == 5
    assert str(caught.value).endswith("and more")
