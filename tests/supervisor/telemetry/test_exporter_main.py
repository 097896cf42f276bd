"""The process that exports, alone: its lines, its end, its environment, and that no other program imports the SDK."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.telemetry.early_start import exporter_command, exporter_environment
from supervisor.telemetry.lines import Order, encode
from tests.support.otlp_receiver import OtlpReceiver, silent
from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).parents[3]


def start(environ: dict[str, str], flush_s: float = 0.5) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        exporter_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], **environ},
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(encode(Order("http", "none", 60.0, flush_s, "1", 1, "x")))
    process.stdin.flush()
    return process


def test_it_ends_by_itself_at_the_end_of_its_input_even_if_the_collector_is_silent():
    with OtlpReceiver(silent) as receiver:
        process = start(receiver.environment)
        span = b'{"trace_id":"%s","span_id":"%s","name":"a","start_ns":1,"end_ns":2}' % (b"1" * 32, b"2" * 16)
        out, err = process.communicate(b'{"type":"spans","spans":[%s]}\n' % span, timeout=PATIENCE_S)
    assert process.returncode == 0
    assert err == b""
    assert b"not all taken" in out


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense", b'{"type":"spans"}', b'{"type":"other"}', b"\xff\xfe", b"[]",
        b'{"type":"spans","spans":[{"trace_id":"zz","span_id":"1","name":"a","start_ns":1,"end_ns":2}]}',
        b'"' + b"x" * (5 * 2**20) + b'"',
    ],
    ids=["text", "no spans", "another type", "bytes", "a list", "an id", "too long"],
)  # fmt: skip
def test_a_line_that_it_cannot_read_is_told_and_the_next_one_counts(line):
    with OtlpReceiver() as receiver:
        process = start(receiver.environment, PATIENCE_S)
        span = b'{"trace_id":"%s","span_id":"%s","name":"a","start_ns":1,"end_ns":2}' % (b"1" * 32, b"2" * 16)
        said = line + b'\n{"type":"spans","spans":[%s]}\n' % span
        out, err = process.communicate(said, timeout=PATIENCE_S)
        assert receiver.one("a")
    assert (process.returncode, err) == (0, b"")
    failed, sent = out.splitlines()
    assert b'"type":"failed"' in failed
    assert b'"type":"sent"' in sent


def test_its_environment_has_no_key():
    environ = {
        "ANTHROPIC_API_KEY": "a", "GITHUB_TOKEN": "b", "PATH": "c", "OTEL_EXPORTER_OTLP_HEADERS": "d",
        "HTTPS_PROXY": "e", "no_proxy": "f", "SSL_CERT_FILE": "g", "LD_PRELOAD": "h",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "  ",
    }  # fmt: skip
    assert "".join(sorted(exporter_environment(environ).values())) == "cdefg"


IMPORTING = re.compile(r"^\s*(import|from) opentelemetry\b", re.MULTILINE)


def test_only_the_process_that_exports_imports_the_sdk():
    found = [
        str(path.relative_to(ROOT))
        for name in ("agent", "cli", "pyzot", "supervisor", "wire", "zotext")
        for path in (ROOT / name).rglob("*.py")
        if IMPORTING.search(path.read_text("utf-8"))
    ]
    assert found == ["supervisor/telemetry/exporter_main.py"]


def test_the_host_imports_no_sdk():
    program = (
        "import supervisor.telemetry.telemetry as t, sys; t.check_extra(); print('opentelemetry.sdk' in sys.modules,"
        " 'requests' in sys.modules, [each for each in sys.modules.values() if 'opentelemetry' in each.__name__"
        " and getattr(each, '__file__', None)])"
    )
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout == "False False []\n"
