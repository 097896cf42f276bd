"""Which extensions a host offers, and why it does not offer the others; how a run knows its own among them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.sharing.offers import (
    COPILOT_IS_PRIVATE,
    FRESH_S,
    NO_LEASES,
    NOT_ASKED_FOR,
    OPEN_GUARD,
    Offers,
    describe,
    granted_values,
)  # fmt: skip
from wire.frames import Hello
from wire.manifest import parse_manifest

if TYPE_CHECKING:
    from pathlib import Path


def extension(
    folder: Path,
    *,
    guards: tuple[str, ...] = (),
    hello: Hello | None = None,
    scope: Scope = Scope.GLOBAL,
    **fields: Any,
) -> Any:
    manifest = parse_manifest(msgspec.json.encode({"name": "one", "exec": "x", **fields}))
    found = FoundExtension(folder, manifest, scope)
    return SimpleNamespace(
        name="one", found=found, manifest=manifest, guards=frozenset(guards), lead=SimpleNamespace(said_hello=hello)
    )


def hello(*features: str) -> Hello:
    return Hello("one", features=list(features) or None)


GUARD = ("tool_call",)
SHARED, LEASED = {"sessions": "shared"}, {"sessions": "leased"}


@pytest.mark.parametrize(
    ("fields", "guards", "said", "operator", "mode"),
    [
        ({}, (), hello(), (), ("private", NOT_ASKED_FOR.format("one"))),
        ({}, (), hello(), ("two",), ("private", NOT_ASKED_FOR.format("one"))),
        ({}, (), hello(), ("one",), ("shared", "")),
        ({}, GUARD, hello(), ("one",), ("shared", "")),
        (SHARED, (), hello(), (), ("shared", "")),
        (SHARED, (), None, (), ("shared", "")),
        (SHARED, GUARD, hello(), (), ("private", OPEN_GUARD.format("one"))),
        ({**SHARED, "on_failure": "deny"}, GUARD, hello(), (), ("shared", "")),
        (SHARED, GUARD, hello(), ("one",), ("shared", "")),
        (LEASED, (), hello("leases"), (), ("leased", "")),
        (LEASED, GUARD, hello("leases", "more"), (), ("leased", "")),
        (LEASED, (), hello(), (), ("private", NO_LEASES)),
        (LEASED, (), hello("more"), (), ("private", NO_LEASES)),
        (LEASED, (), None, (), ("leased", "")),
        (LEASED, (), hello("leases"), ("one",), ("shared", "")),
        ({**SHARED, "dialect": "copilot"}, (), hello(), (), ("private", COPILOT_IS_PRIVATE)),
        ({"dialect": "copilot"}, (), hello(), ("one",), ("private", COPILOT_IS_PRIVATE)),
    ],
)  # fmt: skip
def test_how_runs_may_use_it(
    tmp_path: Path, fields: dict[str, Any], guards: tuple[str, ...], said: Hello | None, operator: tuple[str, ...],
    mode: tuple[str, str],
) -> None:  # fmt: skip
    made = extension(tmp_path, guards=guards, hello=said, **fields)
    assert Offers(operator, lambda: 0.0).mode(made) == mode


def test_an_offer_says_whether_the_files_have_changed_since(tmp_path: Path) -> None:
    now = 0.0
    script = tmp_path / "x.py"
    script.write_text("a")
    made = extension(tmp_path, hello=hello(), **SHARED)
    offers = Offers((), lambda: now)
    offers.note(made)

    def is_changed() -> bool:
        return offers.offer(made, {}, "salt").is_changed

    assert not is_changed()
    script.write_text("longer")
    now += FRESH_S
    assert is_changed()
    offers.note(made)
    assert is_changed(), "it is still the same version"
    made.found = msgspec.structs.replace(made.found)
    offers.note(made)
    now += FRESH_S
    assert not is_changed(), "it was reloaded"


def test_values_are_hashed_with_the_salt_of_the_host(tmp_path: Path) -> None:
    made = extension(tmp_path, env=["A_TOKEN", "MISSING", "ODD"])
    environ = {"A_TOKEN": "secret", "OTHER": "x", "ODD": "\udcff"}
    one, two = (granted_values(made.found, environ, salt) for salt in ("one", "two"))
    assert one.keys() == {"A_TOKEN", "ODD"}
    assert one["A_TOKEN"] != two["A_TOKEN"]
    assert "secret" not in repr(one)


def test_a_description_is_of_all_by_which_it_is_started(tmp_path: Path) -> None:
    plain = describe(extension(tmp_path).found)
    assert describe(extension(tmp_path, sessions="shared", start="lazy", idle_stop_s=3).found) == plain
    for fields in ({"args": ["a"]}, {"env": ["A"]}, {"on_failure": "deny"}, {"timeouts": {"hello": 9}}):
        assert describe(extension(tmp_path, **fields).found) != plain
