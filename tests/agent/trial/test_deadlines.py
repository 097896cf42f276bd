"""`agent.trial.deadlines`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.trial.deadlines import SHARES, shorten
from wire.manifest import Timeouts

SECONDS = st.floats(0.001, 86_400)


@given(st.builds(Timeouts, SECONDS | st.none(), SECONDS, SECONDS, SECONDS, SECONDS), SECONDS, SECONDS)
def test_no_deadline_is_longer_than_before_or_than_its_part(own: Timeouts, default_hello_s: float, longest_s: float):
    found = shorten(own, default_hello_s, longest_s)
    for name, share in SHARES.items():
        before = getattr(own, name) or default_hello_s
        assert getattr(found, name) == min(before, longest_s * share)
