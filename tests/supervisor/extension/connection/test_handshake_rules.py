"""When a process that has said hello counts as ready. Without processes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from supervisor.extension.connection.handshake import IDLE_IS_READY_S, Readiness, readiness

TIMES = st.floats(0, 1e6, allow_subnormal=False)


@given(TIMES, TIMES, TIMES)
def test_a_process_is_ready_at_the_deadline_or_after_silence_whichever_is_first(
    now: float, last_frame: float, latest: float
):
    found, again = readiness(now, last_frame=last_frame, latest=latest)
    if now >= latest:
        assert (found, again) == (Readiness.LATE, now)
    elif now >= last_frame + IDLE_IS_READY_S:
        assert (found, again) == (Readiness.SILENT, now)
    else:
        assert found is Readiness.NOT_YET
        assert now < again == min(latest, last_frame + IDLE_IS_READY_S)


@given(TIMES, st.floats(0, 60), st.lists(st.floats(0, 1), max_size=30))
def test_looks_at_the_given_times_find_a_ready_process_by_the_deadline(
    hello: float, ready_s: float, pauses: list[float]
):
    """Frames come after these pauses, then none; it is looked at again when the last look said so."""
    frames = [hello]
    for pause in pauses:
        frames.append(frames[-1] + pause)
    latest, now, looks, found = hello + ready_s, hello, 0, Readiness.NOT_YET
    while found is Readiness.NOT_YET:
        last_frame = max(frame for frame in frames if frame <= now)
        before = now
        found, now = readiness(now, last_frame=last_frame, latest=latest)
        looks += 1
        assert now > before or found is not Readiness.NOT_YET
    assert now <= latest
    assert looks <= len(frames) + 2
    if found is Readiness.SILENT:
        assert not any(now - IDLE_IS_READY_S < frame - 1e-6 <= now for frame in frames)
