"""The rate-limiter example: how many turns pass, over all sessions."""

from __future__ import annotations

import re
import time

import pytest

from tests.support.replay_script import Script, ok
from tests.support.zot_process import Zot
from wire.exit_codes import Status


@pytest.fixture
def limiter(supervise):
    return supervise("rate-limiter")


def turns(host) -> list[int]:
    return [int(line) for line in (host.data / "turns").read_text().split()]


def write(host, *ages: int) -> None:
    (host.data / "turns").write_text("".join(f"{int(time.time()) - age}\n" for age in ages))


def test_a_turn_passes_and_is_counted_and_old_ones_are_forgotten(limiter):
    write(limiter, 500, 61, 10, 5)
    assert not limiter.ask("turn_start", step=1).is_blocked
    limiter.finish()
    assert len(turns(limiter)) == 3


def test_a_turn_above_the_limit_is_refused_and_not_counted(limiter):
    write(limiter, *range(23, 11, -1))
    refused = limiter.ask("turn_start", step=1)
    assert refused.is_blocked
    found = re.fullmatch(r"rate-limiter: 12 turns in the last 60 s; go on in (\d+) s", refused.reason)
    assert found
    assert 30 <= int(found[1]) <= 37
    limiter.finish()
    assert len(turns(limiter)) == 12


def test_it_counts_over_sessions(supervise):
    first = supervise("rate-limiter")
    write(first, *range(12, 1, -1))
    assert not first.ask("turn_start", step=1).is_blocked
    first.finish()
    assert supervise("rate-limiter").ask("turn_start", step=1).is_blocked


def test_a_foreign_file_lets_turns_pass(limiter):
    (limiter.data / "turns").write_bytes(b"\xff\x00nonsense\n\n{}\n")
    assert not limiter.ask("turn_start", step=1).is_blocked


def test_turns_that_cannot_be_counted_pass(limiter):
    (limiter.data / "turns").mkdir()
    assert not limiter.ask("turn_start", step=1).is_blocked
    limiter.finish()


def test_through_zot_a_refused_turn_ends_the_run(folder_of, tmp_path):
    zot = Zot(tmp_path)
    data = zot.home / "data" / "rate-limiter"
    data.mkdir(parents=True)
    (data / "turns").write_text(f"{int(time.time())}\n" * 11)
    script = Script(zot.cwd).call(("bash", {"command": "true"}), results=[ok("$ true\n\n[exit 0]  Took 0.0s")])
    outcome = zot.replay(script, "-e", folder_of("rate-limiter")).check(Status.BLOCKED)
    assert outcome.result.reason.startswith("rate-limiter: 12 turns in the last 60 s; go on in ")
    assert outcome.result.extensions["rate-limiter"].blocks == 1


def test_a_host_that_gives_no_folder_is_not_limited(greet):
    limiter = greet("rate-limiter")
    for number in range(14):
        limiter.send("event_intercept", id=f'{number} "x"', event="turn_start", step=1)
        assert limiter.frame() == {"type": "event_intercept_response", "id": f'{number} "x"'}
