"""The host that tests of extensions use."""

from __future__ import annotations

from wire import frames
from zotext.testing import FEATURES
from zotext.testing import host_side as testing_host


def test_the_test_host_has_the_features_of_the_real_host():
    assert set(testing_host.FEATURES) == set(frames.FEATURES) == set(FEATURES)
