"""The SDK is installed whole or not at all, with the real npm and a registry of our own."""

from __future__ import annotations

import os
import shutil

import pytest

from supervisor.discovery.copilot.sdk import PACKAGE
from supervisor.install.copilot_sdk import check, complaint, install
from supervisor.install.errors import InstallError, MisuseError
from tests.support.npm_registry import NpmRegistry


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """The user's npm, with a cache of its own."""
    if not shutil.which("npm"):
        pytest.skip("no npm here")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    monkeypatch.setenv("npm_config_userconfig", str(tmp_path / "npmrc"))
    for name in ("npm_config_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)

    def use(registry):
        monkeypatch.setenv("npm_config_registry", registry.url)
        return registry

    return use


def all_in(home):
    return sorted(path.name for path in home.iterdir())


@pytest.mark.slow
def test_a_version_replaces_another(npm, tmp_path):
    home = tmp_path / "home"
    with npm(NpmRegistry("1.0.0", "1.2.3", "2.0.0")):
        first = install(home)
        assert (first.version, first.before, first.warnings) == ("1.2.3", None, ()), "the newest 1.x"
        assert first.path == home / "copilot-sdk" / "node_modules" / PACKAGE
        assert not (first.path / "ran").exists(), "no script of it is run"
        assert home.stat().st_mode & 0o077 == 0
        again = install(home, "1.0.0")
        assert (again.version, again.before) == ("1.0.0", "1.2.3")
        assert install(home, "latest").version == "2.0.0"
        (again.path / "package.json").write_text("{")
        assert (install(home, "1.2.3").before, all_in(home)) == ("", ["copilot-sdk"])


@pytest.mark.slow
def test_settings_of_npm_do_not_lead_it_elsewhere(npm, tmp_path, monkeypatch):
    for name, value in {"global": "true", "prefix": str(tmp_path / "prefix"), "install_strategy": "linked"}.items():
        monkeypatch.setenv(f"npm_config_{name}", value)
    with npm(NpmRegistry("1.2.3")):
        assert install(tmp_path / "home").version == "1.2.3"
    assert not (tmp_path / "prefix").exists()
    assert not (tmp_path / "home" / "copilot-sdk" / "node_modules" / PACKAGE).is_symlink()


FAILURES = {
    "no such version": ("1.5.0", {}, "its registry has no such version. npm says: ETARGET: No matching version"),
    "unknown": ("1", {"status": 404}, "its registry has no such version. npm says: E404: "),
    "refused": ("1", {"status": 403}, "its registry refuses it; npm login, or look at ~/.npmrc. npm says: E403: "),
    "broken": ("1", {"exports": {".": "./index.js"}}, f"{PACKAGE} (version 1.2.3) has no entry for extensions"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_leaves_the_old_one(npm, tmp_path, case):
    version, options, words = FAILURES[case]
    home = tmp_path / "home"
    with npm(NpmRegistry("1.0.0")):
        old = install(home)
    with npm(NpmRegistry("1.2.3", **options)), pytest.raises(InstallError) as caught:
        install(home, version)
    assert words in str(caught.value)
    assert (all_in(home), (old.path / "extension.js").exists()) == (["copilot-sdk"], True)


@pytest.mark.slow
def test_a_registry_that_is_not_there(npm, tmp_path):
    with npm(NpmRegistry("1.0.0")):
        pass  # its port is closed now
    with pytest.raises(InstallError, match=r"its registry cannot be reached; .* npm says: ECONNREFUSED: "):
        install(tmp_path / "home")
    assert all_in(tmp_path / "home") == []


@pytest.mark.slow
def test_a_registry_that_never_answers(npm, tmp_path):
    with (
        npm(NpmRegistry("1.0.0", holds=".tgz")),
        pytest.raises(InstallError, match=r"npm has not finished in 3 s; --timeout gives it longer"),
    ):
        install(tmp_path / "home", timeout_s=3.0)
    assert all_in(tmp_path / "home") == []


def test_a_home_that_cannot_be_made(tmp_path):
    (tmp_path / "home").write_text("a file")
    with pytest.raises(InstallError, match="home: Not a directory; nothing was changed"):
        install(tmp_path / "home")


def test_without_npm(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InstallError, match="npm is not on PATH; it comes with Node"):
        install(tmp_path / "home")
    assert os.listdir(tmp_path / "home") == []


@pytest.mark.parametrize(
    "version", ["", "1 2", "../x", "git+ssh://x", "@1", "--global", "^1.0.0", "1" * 65, "0.1.32", "0"]
)
def test_a_version_that_can_be_none(version):
    with pytest.raises(MisuseError, match="--version"):
        check(version)


@pytest.mark.parametrize("version", ["1", "1.0", "1.0.14", "2.0.0-beta.1", "latest", "next"])
def test_a_version_that_can_be_one(version):
    check(version)


@pytest.mark.parametrize(
    ("err", "words"),
    [
        ("", "npm says: exit status 7"),
        ("Segmentation fault\n", "npm says: Segmentation fault"),
        ("npm ERR! code E401\nnpm ERR! Incorrect password\nnpm ERR! \n", "refuses it; npm login, or look at ~/.npmrc."),
        ("npm error code ENOSPC\nnpm error errno -28\nnpm error nospc no space", "disk. npm says: ENOSPC: no space"),
        ("npm error a \x1b[31mred\x1b[0m word\nnpm error and\nnpm error more\nnpm error not", "word and more"),
    ],
)
def test_what_npm_complains_about(err, words):
    said = complaint("a@1", err, 7)
    assert said.startswith("npm cannot install a@1: ")
    assert words in said
    assert "\x1b" not in said
    assert "\n" not in said
