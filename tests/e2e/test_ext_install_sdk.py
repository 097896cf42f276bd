"""`zot ext install-sdk copilot` with the real npm, and a registry of our own."""

from __future__ import annotations

import shutil
import signal

import pytest

from tests.support.mounts import within
from tests.support.npm_registry import PACKAGE, NpmRegistry
from tests.support.patience import PATIENCE_S

pytestmark = pytest.mark.slow
INSTALL = ("ext", "install-sdk", "copilot")


@pytest.fixture(autouse=True)
def npm(zot):
    if not shutil.which("npm"):
        pytest.skip("no npm here")
    zot.env |= {"npm_config_cache": str(zot.folder / "cache"), "npm_config_userconfig": str(zot.folder / "npmrc")}


def left(zot):
    return sorted(path.name for path in zot.home.iterdir() if path.name != "logs")


def test_what_it_says(zot):
    place = zot.home / "copilot-sdk" / "node_modules" / PACKAGE
    with NpmRegistry("1.0.0", "1.2.3") as registry:
        zot.env["npm_config_registry"] = registry.url
        done = zot.run(*INSTALL)
        assert (done.status, done.stdout) == (0, b"")
        assert done.stderr.splitlines() == [
            f"installing {PACKAGE} with npm", f"installed {PACKAGE} 1.2.3", f"  in            {place}"
        ]  # fmt: skip
        (record,) = zot.run(*INSTALL, "--version", "1.0.0", "--json").json_lines
        assert record == {
            "action": "installed", "sdk": "copilot", "package": PACKAGE, "version": "1.0.0", "dir": str(place),
            "replaced": "1.2.3", "warnings": [],
        }  # fmt: skip
        failed = zot.run(*INSTALL, "--version", "1.9.0", "--json")
    assert (failed.status, failed.stdout) == (1, b"")
    assert "its registry has no such version. npm says: ETARGET" in failed.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_interrupt_in_the_middle_leaves_the_old_one(zot, number):
    with NpmRegistry("1.0.0") as registry:
        assert zot.run(*INSTALL, env={"npm_config_registry": registry.url}).status == 0
    with NpmRegistry("1.2.3", holds=".tgz") as registry:
        with zot.start(*INSTALL, env={"npm_config_registry": registry.url}) as running:
            assert registry.held.wait(PATIENCE_S)
            running.signal(number)
            outcome = running.finish()
        if number != signal.SIGKILL:
            assert outcome.status == 130
            assert outcome.stderr.endswith("zot ext install-sdk: interrupted\n")
            assert left(zot) == ["copilot-sdk"]
    with NpmRegistry("1.2.3") as registry:
        (record,) = zot.run(*INSTALL, "--json", env={"npm_config_registry": registry.url}).json_lines
    assert (record["version"], record["replaced"]) == ("1.2.3", "1.0.0")
    assert left(zot) == ["copilot-sdk"], "what a killed one has left is gone"


def test_an_sdk_on_a_full_disk_leaves_nothing(zot):
    command = within(zot.home, "size=1m", zot.command)
    inside = f'"$@"; echo $? >&2; ls -A {zot.home} >&2'
    with NpmRegistry("1.0.0", padding="x" * (4 << 20)) as registry:
        outcome = zot.run(
            *INSTALL,
            env={"npm_config_registry": registry.url},
            command=[*command[:-3], "/bin/sh", "-c", inside, "sh", *zot.command],
        )
    *_, error, status = outcome.warnings
    assert status == "1"
    assert error.startswith(f"zot ext install-sdk: npm cannot install {PACKAGE}@1: no space is left on the disk.")
