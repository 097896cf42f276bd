"""The host that tests of extensions use."""

from __future__ import annotations

from wire import frames
from zotext.testing import FEATURES
from zotext.testing import host_side as testing_host


def test_the_test_host_knows_what_the_real_one_does():
    assert set(testing_host.FEATURES) == set(frames.FEATURES) == set(FEATURES)
