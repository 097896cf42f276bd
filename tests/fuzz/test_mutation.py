"""Inputs are near to their seeds, of many kinds, and the same each time."""

from __future__ import annotations

import json
from collections import Counter

from tests.fuzz.mutation import Mutator, Seed

SEEDS = [b'{"a":[1,"x, y"],"b":{"c":null}}\n', b'{"d":true}\n{"e":-1.5}\n', b"no JSON: \xff"]


def inputs(count: int, run_seed: int = 1) -> list[bytes]:
    mutator = Mutator(SEEDS)
    return [mutator.input(run_seed, number) for number in range(count)]


def test_an_input_depends_on_the_seed_and_its_number_only() -> None:
    first = inputs(500)
    assert inputs(500) == first
    assert Mutator(SEEDS).input(1, 321) == first[321]
    assert inputs(500, run_seed=2) != first


def test_the_parts_of_json_are_found() -> None:
    seed = Seed(SEEDS[0])
    assert {seed.text[start:end] for start, end in seed.values} == {
        b"1", b'"x, y"', b'[1,"x, y"]', b"null", b'{"c":null}', SEEDS[0].strip(),
    }  # fmt: skip
    assert [seed.text[start:end] for start, end in seed.names] == [b'"a"', b'"c"', b'"b"']
    assert [seed.text[start:end] for start, end in seed.members] == [b'"a":[1,"x, y"]', b'"c":null', b'"b":{"c":null}']
    assert len(Seed(SEEDS[1]).lines) == 2


def test_the_first_inputs_are_the_seeds_and_every_cut_comes_up() -> None:
    made = inputs(8 * (1 + sum(map(len, SEEDS))))
    assert made[:3] == SEEDS
    cuts = {seed[:at] for seed in SEEDS for at in range(len(seed))}
    assert cuts <= {*made}


def test_inputs_of_each_kind_come_up() -> None:
    kinds: Counter[str] = Counter()
    for text in inputs(20_000):
        kinds["repeated name"] += b'"d":true,"d":' in text
        kinds["deep"] += b"[" * 101 in text or b'{"a":' * 101 in text
        kinds["long"] += len(text) > 10_000
        kinds["lone surrogate"] += b'"\\ud800"' in text
        kinds["NUL"] += b"\0" in text
        kinds["infinite"] += b"1e309" in text or b"Infinity" in text
        kinds["type swapped"] += b'{"d":null}' in text
        kinds["deleted"] += text.startswith(b'{"b":{"c":null}}')
        kinds["line doubled"] += text.count(b'{"d":true}\n') == 2
        try:
            json.loads(text)
            kinds["JSON"] += 1
        except (ValueError, RecursionError):
            kinds["no JSON"] += 1
    assert min(kinds.values()) > 10, kinds
    assert kinds["JSON"] > 2000
