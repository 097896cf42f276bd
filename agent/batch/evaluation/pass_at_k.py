"""pass@k: the chance that at least one of k repetitions of a task passes.

The unbiased estimator of Chen et al. 2021, "Evaluating Large Language Models Trained on Code": of n repetitions of
which c have passed, 1 - C(n - c, k) / C(n, k). That is the share of the choices of k repetitions with one that passed.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb


@lru_cache(4096)
def pass_at_k(count: int, passed: int, k: int) -> float:
    """The estimate from `count` repetitions of a task. Exact but for the last rounding: it divides whole numbers.
    Raises `ValueError` unless 1 <= k <= count and 0 <= passed <= count."""
    if not (1 <= k <= count and 0 <= passed <= count):
        raise ValueError(f"pass@{k} of {count} repetitions, {passed} passed")
    choices = comb(count, k)
    return (choices - comb(count - passed, k)) / choices


def choose_ks(most: int) -> list[int]:
    """1, 2, 4, 8 … up to `most`, and `most` itself; empty for 0."""
    found = [1 << power for power in range(most.bit_length())]
    return found if found[-1:] == [most] or not most else [*found, most]
