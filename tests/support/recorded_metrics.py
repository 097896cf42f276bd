"""Metrics of real hosts at several moments, as the input of `promtool test rules`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

INTERVAL_S = 15
HELD = 40
"""The number of intervals for which the last figures stay."""


def need_promtool() -> None:
    """Skips the test where promtool is missing; Debian's package `prometheus` has it."""
    if shutil.which("promtool") is None:
        pytest.skip("no promtool here")


def promtool(*words: str | Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["promtool", *words], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
    )


def series_of(texts: Sequence[str]) -> list[dict[str, str]]:
    """The series of these metrics, each text one interval after the one before; afterwards the last one stays."""
    values: dict[str, list[float | None]] = {}
    for number, text in enumerate(texts):
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels = ",".join(f"{name}={json.dumps(value)}" for name, value in sorted(sample.labels.items()))
                row = values.setdefault(f"{sample.name}{{{labels}}}", [None] * len(texts))
                row[number] = sample.value
    return [{"series": name, "values": _notation(row)} for name, row in values.items()]


def _notation(row: Iterable[float | None]) -> str:
    words = ["_" if value is None else repr(value) for value in row]
    return " ".join(words if words[-1] == "_" else [*words, f"{words[-1]}+0x{HELD}"])


def fired(rules: Path, texts: Sequence[str], folder: Path) -> set[str]:
    """The alerts that fire for these metrics at any time, by name. Each is expected to; promtool names the others."""
    groups = yaml.safe_load(rules.read_text())["groups"]
    alerts = {rule["alert"] for group in groups for rule in group["rules"]}
    ever = 'count(max_over_time(ALERTS{{alertname="{}",alertstate="firing"}}[30m])) > bool 0 or vector(0)'
    wanted = [
        {"expr": ever.format(alert), "eval_time": "10m", "exp_samples": [{"labels": "{}", "value": 1}]}
        for alert in sorted(alerts)
    ]
    test: dict[str, Any] = {
        "rule_files": [str(rules)],
        "evaluation_interval": f"{INTERVAL_S}s",
        "tests": [
            {"interval": f"{INTERVAL_S}s", "input_series": series_of(texts), "promql_expr_test": wanted},
        ],
    }
    file = folder / "recorded.yml"
    file.write_text(yaml.safe_dump(test))
    done = promtool("test", "rules", file)
    silent = re.findall(r'alertname=\\?"(\w+)\\?".*\n\s+exp: \{\} 1E\+00\n\s+got: \{\} 0E\+00', done.stdout)
    assert done.returncode == bool(silent), done.stdout
    assert done.stdout.count("got:") == len(silent), done.stdout
    return alerts - set(silent)
