"""Credentials reach the server alone: no command line, no file, no message, no helper of the user."""

from __future__ import annotations

import signal
import subprocess
import threading

import pytest

from supervisor.home.config import Config
from supervisor.install.git import GitError, start_program
from supervisor.install.install import install
from supervisor.install.source import parse_source
from supervisor.install.update import update
from tests.support.git_server import GitServer
from tests.support.install_sources import Scope, git, repository, shelves

SECRET = "s3cr3t%40wörd"
PLAIN = "s3cr3t@wörd"


@pytest.fixture
def served(tmp_path):
    folder = tmp_path / "served"
    repository(folder / "guard")
    git(folder / "guard", "config", "uploadpack.allowAnySHA1InWant", "true")
    return folder


@pytest.fixture
def told(tmp_path, monkeypatch):
    """The user's own git configuration, whose helper writes down what it is asked and told."""
    notes = tmp_path / "told"
    notes.write_text("")
    config = tmp_path / "gitconfig"
    helper = f'!f() {{ echo "$1" >> {notes}; cat >> {notes}; cat {tmp_path}/answer 2>/dev/null; }}; f'
    git(tmp_path, "config", "--file", str(config), "credential.helper", helper)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return notes


def files_below(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("ref", ["", "@main", "@{commit}"])
def test_a_password_is_in_no_command_line_and_in_no_file(tmp_path, served, told, ref):
    here = shelves(tmp_path)
    commit = git(served / "guard", "rev-parse", "HEAD")
    with GitServer(served, "me", PLAIN) as server:
        url = f"http://me:{SECRET}@{server.address}/guard/.git{ref.format(commit=commit)}"
        extension = install(parse_source(url, tmp_path), Scope.GLOBAL, here).now
    assert extension.record.source == f"http://{server.address}/guard/.git"
    assert server.granted
    assert any(b"git-remote-http" in line for line in server.command_lines)
    for text in (*server.command_lines, files_below(here.home)):
        assert b"s3cr3t" not in text
    assert told.read_text() == "", "the user's own helper is not involved"


def test_a_token_alone_is_a_user_with_an_empty_password(tmp_path, served, told):
    with GitServer(served, "t0ken", "") as server:
        url = f"http://t0ken@{server.address}/guard/.git"
        install(parse_source(url, tmp_path), Scope.GLOBAL, shelves(tmp_path))
    assert server.granted
    assert all(b"t0ken" not in line for line in server.command_lines)
    assert told.read_text() == ""


def test_the_users_helper_knows_the_password_of_a_name(tmp_path, served, told):
    (tmp_path / "answer").write_text(f"password={PLAIN}\n")
    with GitServer(served, "me", PLAIN) as server:
        install(parse_source(f"http://me@{server.address}/guard/.git", tmp_path), Scope.GLOBAL, shelves(tmp_path))
    assert server.granted
    assert "username=me\n" in told.read_text()


def test_refused_credentials_are_in_no_message(tmp_path, served, told):
    here = shelves(tmp_path)
    with GitServer(served, "me", "another") as server:
        for user_info in (f"me:{SECRET}", "t0ken"):
            with pytest.raises(GitError) as caught:
                install(parse_source(f"http://{user_info}@{server.address}/guard/.git", tmp_path), Scope.GLOBAL, here)
            assert "it wants credentials: give git a credential helper" in str(caught.value)
            assert not any(secret in str(caught.value) for secret in ("s3cr3t", "t0ken", PLAIN))
    assert not here.home.exists()


def test_update_asks_the_users_helper_and_says_how_to_give_credentials_again(tmp_path, served, told):
    here = shelves(tmp_path)
    with GitServer(served, "me", PLAIN) as server:
        source = parse_source(f"http://me:{SECRET}@{server.address}/guard/.git", tmp_path)
        extension = install(source, Scope.GLOBAL, here).now
        with pytest.raises(GitError) as caught:
            update(extension, here, Config())
        again = f"zot ext install --force http://USER:PASSWORD@{server.address}/…, which records none"
        assert again in str(caught.value)
        (tmp_path / "answer").write_text(f"username=me\npassword={PLAIN}\n")
        assert update(extension, here, Config()).now == extension


def test_an_interrupt_during_the_start_leaves_nothing_of_the_program(monkeypatch):
    """The interrupt comes when the program runs already but `Popen` has not yet returned it."""
    known, start = [], subprocess.Popen

    def interrupted(*args, **options):
        known.append(start(*args, **options))
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        return known[0]

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt), start_program(["sleep", "600"], stdout=subprocess.PIPE):
        pass
    assert known[0].returncode == -signal.SIGKILL
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
