"""`zot ext install-sdk`: what is refused before npm is started."""

from __future__ import annotations

import pytest

from tests.support.zot_fork import run


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "Missing argument 'SDK'"),
        (("other",), "Invalid value for 'SDK': 'other' is not one of 'copilot'"),
        (
            ("copilot", "--version", "a b"),
            "zot ext install-sdk: --version 'a b' is neither a version, as 1.0.14, nor a",
        ),
        (("copilot", "--version", "0.1.32"), "--version 0.1.32: versions before 1.0.0 cannot be used"),
        (("copilot", "--timeout", "0"), "Invalid value for '--timeout': 0.0 is not in the range 1<=x<=86400"),
    ],
)
def test_misuse(zot, args, words):
    outcome = run(zot, "ext", "install-sdk", *args)
    assert (outcome.status, outcome.stdout) == (2, b"")
    assert words in outcome.stderr
    assert not zot.home.exists()


def test_without_npm(zot):
    zot.env["PATH"] = str(zot.cwd)
    outcome = run(zot, "ext", "install-sdk", "copilot", "--json")
    assert (outcome.status, outcome.stdout) == (1, b"")
    assert outcome.stderr == "zot ext install-sdk: npm is not on PATH; it comes with Node (https://nodejs.org)\n"
