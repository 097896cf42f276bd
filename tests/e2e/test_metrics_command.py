"""`zot metrics` with real hosts."""

from __future__ import annotations

import os
import re
import signal
import socket
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.extension_folder import extension
from tests.support.host_process import hosting
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from tests.support.zot_process import Running, Zot


@pytest.fixture
def echo(zot: Zot) -> Any:
    return extension(zot.folder, "echo", limits={"rss_mb": 500})


def address_of(running: Running) -> str:
    """The URL that it says it serves."""
    wait_until(lambda: "serving" in running.errors() or running.process.poll() is not None)
    found = re.search(r"serving (http://\S+/metrics)", running.errors())
    assert found, running.errors()
    return found[1]


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return str(answer.read().decode())


def test_without_a_host_it_prints_no_series_of_one(zot: Zot):
    zot.env.pop("XDG_RUNTIME_DIR", None)
    done = zot.run("metrics")
    assert (done.status, done.stderr) == (0, "")
    series = [line for line in done.text.splitlines() if not line.startswith("#")]
    assert [line.split()[0] for line in series] == ["zot_scrape_duration_seconds"]


def test_it_prints_the_figures_of_all_hosts_with_each_head_once(zot: Zot, echo: Any):
    with hosting(zot, echo) as one, hosting(zot, flags=("--no-ext",)) as other:
        one.call("echo", "hi")
        done = zot.run("metrics")
        assert (done.status, done.stderr) == (0, "")
        for pid in (one.pid, other.pid):
            assert f'zot_host_up{{kind="host",pid="{pid}"}} 1.0\n' in done.text
        assert f'zot_extension_calls_total{{extension="echo",pid="{one.pid}"}} 1.0\n' in done.text
        assert f'zot_extension_limit{{extension="echo",limit="rss_mb",pid="{one.pid}"}} 500.0\n' in done.text
        heads = [line for line in done.text.splitlines() if line.startswith("#")]
        assert len(heads) == len(set(heads))
        assert zot.run("metrics", "--openmetrics").text.endswith("# EOF\n")
        assert "zot_host_up{" not in zot.run("metrics", "--kind", "mcp", "--kind", "run").text


def test_it_serves_them_until_it_is_stopped(zot: Zot, echo: Any):
    with zot.start("metrics", "--listen", "127.0.0.1:0") as running:
        url = address_of(running)
        assert "zot_host_up{" not in get(url)
        with hosting(zot, echo) as hosted:  # started later
            assert f'zot_extension_up{{extension="echo",pid="{hosted.pid}"}} 1.0\n' in get(url)
            pid = hosted.pid
            assert zot.run("stop", str(pid)).status == 0
        wait_until(lambda: f'pid="{pid}"' not in get(url))
        running.signal(signal.SIGTERM)
        done = running.finish()
    assert (done.status, done.stdout, done.leftovers) == (0, b"", [])


def test_ctrl_c_ends_it_in_order(zot: Zot):
    with zot.start("metrics", "--listen", "127.0.0.1:0") as running:
        address_of(running)
        running.signal(signal.SIGINT)
        assert running.finish().status == 0


def test_a_host_that_is_stopped_in_its_tracks_holds_up_no_other(zot: Zot, echo: Any):
    with hosting(zot, echo) as well, hosting(zot, flags=("--no-ext",)) as hung:
        os.kill(hung.pid, signal.SIGSTOP)
        try:
            text = zot.run("metrics").text
        finally:
            os.kill(hung.pid, signal.SIGCONT)
        assert f'zot_host_up{{kind="unknown",pid="{hung.pid}"}} 0.0\n' in text
        assert f'zot_extension_up{{extension="echo",pid="{well.pid}"}} 1.0\n' in text


def test_a_host_that_was_killed_is_gone_from_the_figures(zot: Zot):
    with zot.start("metrics", "--listen", "127.0.0.1:0") as running:
        url = address_of(running)
        with hosting(zot, flags=("--no-ext",)) as hosted:
            assert "zot_host_up{" in get(url)
            os.kill(hosted.pid, signal.SIGKILL)
            hosted.running.process.wait()
            assert "zot_host_up{" not in get(url)


def test_an_address_in_use_is_told(zot: Zot):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = zot.run("metrics", "--listen", f"127.0.0.1:{port}")
    assert (done.status, done.stdout) == (1, b"")
    assert done.stderr == (
        f"zot metrics: --listen 127.0.0.1:{port}: Address already in use; another program listens there; choose another"
        " port, or 0 for a free one\n"
    )


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--listen", "127.0.0.1"], "the host or the port is missing"),
        (["--listen", "no.such.invalid:9469"], "no.such.invalid is no host here"),
        (["--listen", "127.0.0.1:0", "--openmetrics"], "--openmetrics has no effect with --listen"),
        (["--kind", "hosts"], "hosts"),
    ],
)
def test_flags_that_make_no_sense_are_refused(zot: Zot, flags: list[str], said: str):
    assert said in zot.run("metrics", *flags).refusal()


def test_an_address_that_others_reach_is_remarked_on(zot: Zot):
    with zot.start("metrics", "--listen", "0.0.0.0:0") as running:
        address_of(running)
        assert "is not only of this machine: who reaches it reads names and folders" in running.errors()
        running.signal(signal.SIGTERM)
        assert running.finish().status == 0
