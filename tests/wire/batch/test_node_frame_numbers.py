"""Numbers in the frames of a node that would do harm further on: in JSON, in a sum, as a time."""

from __future__ import annotations

from typing import Any

import pytest

from wire.batch.node_frames import Exited, FrameError, Memory, Ready, encode, from_node_reader

EXITED: dict[str, Any] = {"run": "1-1", "code": 0, "cpu_s": 0.5, "rss_peak": 1}
READY: dict[str, Any] = {"jobs": 1, "most_jobs": 1, "host": "h"}


@pytest.mark.parametrize(
    "frame",
    [
        *(Exited(**EXITED | {"cpu_s": bad}) for bad in (float("nan"), float("inf"), -1.0)),
        *(Exited(**EXITED | {"code": bad}) for bad in (256, -(10**9), 2**64 - 1)),
        Exited(**EXITED | {"rss_peak": -1}),
        Memory(runs={"1-1": 2**64 - 1}, shared=0),
        Memory(runs={}, shared=-1),
        Ready(**READY | {"jobs": 2**63}),
        Ready(**READY | {"most_jobs": -1}),
    ],
)
def test_a_number_out_of_its_range_is_no_frame(frame: Any) -> None:
    with pytest.raises(FrameError, match=r"Expected `(int|float)`"):
        list(from_node_reader().feed(encode(frame)))
