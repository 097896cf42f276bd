"""`config.json` is zot's file too: its fields pass, a near miss of ours is an error, others are one remark."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from supervisor.home.config import VOCABULARY, ZOTS, Config, ConfigError, load_config
from wire.manifest import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]


def load(home: Path, text: str) -> Config:
    (home / "config.json").write_text(text)
    return load_config(home)


def test_a_missing_file_means_the_defaults(tmp_path: Path) -> None:
    assert load_config(tmp_path) == Config()
    assert load_config(tmp_path).remark == ""


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (os.mkfifo, "Not a file"),
        (lambda path: path.symlink_to("/dev/zero"), "Not a file"),
        (lambda path: path.symlink_to("gone"), "it is a link to gone, which is not there"),
    ],
)
def test_what_is_no_file_is_refused_at_once(make: Callable[[Path], None], said: str, tmp_path: Path) -> None:
    make(tmp_path / "config.json")
    with pytest.raises(ConfigError, match=f"config.json: cannot be read: {said}"):
        load_config(tmp_path)


@pytest.mark.parametrize("text", [b'{"theme":"\xff"}', b'{"limits":{"rss_mb":5},"x":["\xff"]}'])
def test_bytes_that_are_not_utf_8_are_refused_also_in_fields_of_others(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(text)
    with pytest.raises(ConfigError, match="this is not UTF-8"):
        load_config(tmp_path)


def test_the_fields_of_zot_pass(tmp_path: Path) -> None:
    text = json.dumps(
        {
            **dict.fromkeys(ZOTS, "x"),
            "auto_compact_threshold": 70,
            "$schema": "https://example.org",
            "limits": {"rss_mb": 5},
        }
    )
    config = load(tmp_path, text)
    assert (config.provider, config.model, config.reasoning, config.limits.rss_mb) == ("x", "x", "x", 5)
    assert config.auto_compact_threshold == 70
    assert config.remark == ""
    assert load(tmp_path, '{"provider": "", "model": null}').provider == ""


def test_other_fields_are_one_remark(tmp_path: Path) -> None:
    config = load(tmp_path, '{"modle": "x", "colour": "red"}')
    path = tmp_path / "config.json"
    assert config.remark == f"{path}: nothing reads the fields 'modle' (did you mean 'model'?), 'colour'"


@pytest.mark.parametrize(
    ("field", "meant"),
    [
        ("Limits", "limits"), ("limit", "limits"), ("rss_mb", "limits.rss_mb"), ("secret", "secrets"),
        ("SECRETS", "secrets"), ("envPolicy", "env_policy"), ("env-policy", "env_policy"), ("env_alow", "env_allow"),
        ("allow_env", "env_allow"),
    ],
)  # fmt: skip
def test_a_near_miss_of_ours_is_an_error(field: str, meant: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, json.dumps({field: []}))
    assert str(caught.value) == f"{tmp_path / 'config.json'}: {field}: no such field; did you mean {meant!r}?"


def test_every_field_of_ours_is_guarded() -> None:
    assert VOCABULARY.guarding.keys() == set(Config.__struct_fields__) - ZOTS


def test_the_page_has_every_field_and_every_variable_that_is_read() -> None:
    page = (ROOT / "docs" / "config.md").read_text(encoding="utf-8")
    names = {*Config.__struct_fields__, *ZOTS}
    for package in ("cli", "supervisor", "agent", "pyzot"):
        for source in (ROOT / package).rglob("*.py"):
            text = source.read_text(encoding="utf-8")
            names.update(re.findall(r"environ(?:\.get\(|\.pop\(|\[)\"([A-Z_]+)\"", text))
    assert {name for name in names if f"`{name}`" not in page} == set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"limits": {"rss": 5}}', ": limits.rss: no such field; did you mean 'rss_mb'?"),
        ('{"secrets": "A"}', ": secrets: expected array, got str"),
        ('{"auto_compact_threshold": 101}', ": auto_compact_threshold: "),
        ('{"auto_compact_threshold": 0.85}', ": auto_compact_threshold: expected int | null, got float"),
        ('{"provider": 5}', ": provider: expected str | null, got int"),
        ('{\n  "secrets": ["A"]\n  "limits": {}\n}', ":3:3: expected ',' or '}'; is a comma missing before this?"),
        ("", ":1:1: it is empty"),
    ],
)
def test_a_fault_is_named_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    line = str(caught.value)
    assert line.startswith(f"{tmp_path / 'config.json'}{said}")
    assert "\n" not in line


# --- the rules for events ------------------------------------------------------------------------------------


def test_rules_for_events(tmp_path: Path) -> None:
    rules = [
        {"events": ["given_up", "batch_end"], "run": ["notify", ""]},
        {"events": ["leak"], "post": "HTTPS://example.org:8443/hook?key=1"},
    ]
    found = load(tmp_path, json.dumps({"on_event": rules})).on_event
    assert [(rule.events, rule.run, rule.post) for rule in found] == [
        (("given_up", "batch_end"), ("notify", ""), None),
        (("leak",), None, "HTTPS://example.org:8443/hook?key=1"),
    ]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"events": ["givn_up"], "run": ["x"]}, "[0].events[0]: 'givn_up' is not one of batch_end, given_up, leak"),
        ({"events": [], "run": ["x"]}, "[0].events: expected array of length >= 1"),
        ({"run": ["x"]}, "[0].events is required"),
        ({"events": ["leak"]}, "[0]: needs either run or post"),
        ({"events": ["leak"], "run": ["x"], "post": "http://localhost"}, "[0]: needs either run or post"),
        ({"events": ["leak"], "run": []}, "[0]: run needs a program"),
        ({"events": ["leak"], "run": [""]}, "[0]: run needs a program"),
        ({"events": ["leak"], "run": "notify"}, "[0].run: expected array"),
        ({"events": ["leak"], "run": ["x\0"]}, "[0]: run has a NUL character"),
        ({"events": ["leak"], "rnu": ["x"]}, "[0].rnu: no such field; did you mean 'run'?"),
        *(
            ({"events": ["leak"], "post": url}, "[0]: post needs an address: http:// or https://, a host, no user")
            for url in (
                "file:///etc/passwd",
                "example.org",
                "http://",
                "http:///x",
                "https://a b",
                "http://a\n/",
                "http://user:password@a/",
                "https://token@a",
                "http://[::1",
                "http://a:port/",
            )
        ),
    ],
)
def test_a_faulty_rule_for_events_is_named(rule: dict[str, object], said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"config.json: on_event{said}")):
        load(tmp_path, json.dumps({"on_event": [rule]}))


@pytest.mark.parametrize("name", ["on_events", "onEvent", "alerts", "webhook"])
def test_rules_under_another_name_are_no_silent_loss(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'on_event'"):
        load(tmp_path, json.dumps({name: []}))


def test_limits_of_one_extension_count_more_than_its_manifest(tmp_path: Path) -> None:
    config = load(
        tmp_path, '{"limits": {"rss_mb": 9, "log_mb": 2}, "extension_limits": {"a": {"rss_mb": 300, "log_mb": null}}}'
    )
    assert config.limit_rules.of("a", Limits(rss_mb=5)) == Limits(rss_mb=300)
    assert config.limit_rules.of("b", Limits(rss_mb=5)) == Limits(rss_mb=5, log_mb=2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": {"rss": 3}}', "extension_limits.a: no such limit: 'rss'; did you mean 'rss_mb'?"),
        ('{"a": {"rss_mb": 0}}', "extension_limits.a: rss_mb: write a number above 0, or none, not 0"),
        ('{"a": {"rss_mb": "default"}}', "extension_limits.a: rss_mb: write a number above 0, or none, not 'default'"),
        ('{"a": {"processes": 0.5}}', "extension_limits.a: processes: write a whole number of at least 1"),
        ('{"a": {"cpu_pct": 50}}', "extension_limits.a: no such limit: 'cpu_pct'; did you mean 'cpu_percent'?"),
        ('{"a": 5}', "extension_limits"),
    ],
)
def test_a_kept_limit_without_sense_is_an_error(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load(tmp_path, f'{{"extension_limits": {text}}}')
    assert said in str(error.value)


def test_a_near_miss_of_the_limits_of_extensions_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="extensionLimits: no such field; did you mean 'extension_limits'"):
        load(tmp_path, '{"extensionLimits": {"a": {"rss_mb": 5}}}')
