"""How large the definitions of an extension are: in its figures, in a warning, and in the file for those that list."""

from __future__ import annotations

import json
import os
import stat

import pytest

from supervisor.monitoring import definition_sizes
from supervisor.monitoring.definition_sizes import DefinitionSize, key_of, read_sizes, sizes_keeper
from supervisor.registry.definition_size import LARGE, size_warning
from tests.support.host import CHILDREN

TOOL = """
send(type="hello", name="x")
for index in range({tools}):
    send(type="register_tool", name=f"{name}_{{index}}", description="d" * {length}, schema={{"type": "object"}})
send(type="ready")
for frame in frames():
    pass
"""


def write(host, name, *, tools, length):
    host.write(name, TOOL.format(name=name, tools=tools, length=length))


def test_the_figures_have_them_and_large_ones_are_warned_of_once(host):
    write(host, "small", tools=2, length=100)
    write(host, "large", tools=20, length=10_000)
    host.start()
    figures = host.supervisor.stats()
    one = -(-(len("small_0") + 100 + len('{"type":"object"}')) // 4)
    assert (figures["small"].tools, figures["small"].definition_tokens) == (2, 2 * one)
    assert figures["large"].definition_tokens > LARGE
    for _ in range(2):
        host.supervisor.registrations.forget()
        host.supervisor.registrations.tools()
    ((kind, warning),) = host.said_of("large")
    assert (kind, "the definitions of its 20 tools take about 50," in warning) == ("warning", True)
    assert host.said_of("small") == []


@pytest.mark.parametrize(("tools", "tokens", "is_told"), [(1, LARGE, False), (1, LARGE + 1, True)])
def test_the_limit(tools, tokens, is_told):
    assert bool(size_warning(tools, tokens)) is is_told
    assert "its 1 tool take" not in size_warning(2, tokens)


def test_what_an_extension_had_is_remembered_until_it_has_something_else(host, tmp_path):
    home = tmp_path / "home"
    write(host, "small", tools=2, length=100)
    host.write("mute", "sys.exit(1)\n")
    sampled = sizes_keeper(home, host.supervisor.extensions)
    sampled()
    assert not home.exists()
    host.start()
    host.supervisor.on_sample.append(sampled)
    host.supervisor.sample()
    file = home / definition_sizes.NAME
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    figures = host.supervisor.stats()["small"]
    assert key_of("mute", CHILDREN) not in read_sizes(home)
    assert read_sizes(home)[key_of("small", CHILDREN)] == DefinitionSize(2, figures.definition_tokens)

    before = file.stat()
    os.utime(file, ns=(1, 1))
    host.supervisor.sample()
    sizes_keeper(home, host.supervisor.extensions)()  # as the next run does
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, 1)


def test_the_oldest_are_forgotten_and_damage_costs_only_the_figures(host, tmp_path, monkeypatch):
    monkeypatch.setattr(definition_sizes, "EXTENSIONS_KEPT", 2)
    file = tmp_path / definition_sizes.NAME
    old = [{"name": name, "place": "/x", "tools": 1, "tokens": 1} for name in ("a", "b")]
    file.write_text(json.dumps({"extensions": old}))
    write(host, "c", tools=1, length=1)
    host.start()
    sizes_keeper(tmp_path, host.supervisor.extensions)()
    assert [name for name, _ in read_sizes(tmp_path)] == ["b", "c"]
    for damaged in (b"", b"{", b"[]", b'{"extensions": 3}', b"\xff"):
        file.write_bytes(damaged)
        assert read_sizes(tmp_path) == {}
