"""Sources as a user may write them, whose credentials are never shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.install.errors import MisuseError
from supervisor.install.source import GITHUB, GitSource, LocalSource, parse_source, without_credentials

TOKEN = "s3cr3tT0ken"


@pytest.mark.parametrize(
    ("text", "url", "ref"),
    [
        ("https://example.org/me/guard", "https://example.org/me/guard", None),
        ("https://example.org/me/guard@v1.2", "https://example.org/me/guard", "v1.2"),
        ("https://example.org/me/guard.git@feature/x", "https://example.org/me/guard.git", "feature/x"),
        ("https://example.org/@me/guard", "https://example.org/@me/guard", None),
        ("https://example.org/@me/guard@main", "https://example.org/@me/guard", "main"),
        ("https://user@example.org/guard", "https://user@example.org/guard", None),
        ("https://user@example.org", "https://user@example.org", None),
        ("ssh://git@example.org/guard@v1", "ssh://git@example.org/guard", "v1"),
        ("git@example.org:me/guard.git", "git@example.org:me/guard.git", None),
        ("git@example.org:me/guard.git@v1", "git@example.org:me/guard.git", "v1"),
        ("git@example.org:guard@0123abc", "git@example.org:guard", "0123abc"),
        ("https://me:a:b@example.org:8080/x", "https://me:a:b@example.org:8080/x", None),
        ("https://[::1]/x", "https://[::1]/x", None),
        ("https://me@[::1]:8080/x", "https://me@[::1]:8080/x", None),
        ("file:///srv/guard", "file:///srv/guard", None),
        ("file:///srv/guard@v1", "file:///srv/guard", "v1"),
        ("file:///srv/@scope/guard", "file:///srv/@scope/guard", None),
    ],
)
def test_a_repository(tmp_path, text, url, ref):
    found = parse_source(text, tmp_path)
    assert isinstance(found, GitSource)
    assert (found.url, found.ref) == (url, ref)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the source is empty"),
        ("a\0b", "the source is empty"),
        ("ext::sh -c id", "no such folder"),
        ("ftp://example.org/x", "ftp:// is not one of https"),
        ("https://example.org/x@", "cannot be a branch, tag or commit"),
        ("https://example.org/x@-oops", "'-oops' cannot be a branch"),
        ("https://example.org/x.git@--upload-pack=id", "cannot be a branch"),
        ("https://example.org/x@a b", "cannot be a branch"),
        ("https://example.org/x@a..b", "cannot be a branch"),
        ("example.org/me/guard", "write its whole URL, https://example.org/me/guard"),
        ("./gaurd", "did you mean"),
        ("guard@v1", "a branch or tag needs a URL: file://"),
        ("a-file", "not a folder"),
        ("https://example.org:port/x", "its port is not a number"),
        ("ssh://git@example.org:me/x", "its port is not a number"),
    ],
)
def test_what_is_no_source(tmp_path, text, complaint):
    (tmp_path / "guard").mkdir()
    (tmp_path / "a-file").write_text("")
    with pytest.raises(MisuseError, match=r"^[^\n]+$") as caught:
        parse_source(text, tmp_path)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("password", ["p/secret", "/secret", "p/secret@v1", "?/secret", "p?q/secret"])
def test_a_password_with_a_slash_is_refused_and_not_shown(tmp_path, password):
    with pytest.raises(MisuseError, match="write the / in a password as %2F") as caught:
        parse_source(f"https://me:{password}@example.org/x", tmp_path)
    assert "secret" not in str(caught.value)


def test_a_folder_by_any_spelling(tmp_path, monkeypatch):
    inner = tmp_path / "guard.git" / "sub"
    inner.mkdir(parents=True)
    guard = inner.parent
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "link").symlink_to(guard)
    for text, here in [
        (".", guard), ("..", inner), ("./", guard), ("guard.git", tmp_path), ("guard.git/", tmp_path),
        ("~/guard.git", inner), (str(guard), inner), ("link", tmp_path),
    ]:  # fmt: skip
        assert parse_source(text, here) == LocalSource(Path(guard).resolve()), text


def test_a_folder_whose_name_looks_like_a_repository(tmp_path):
    odd = tmp_path / "me@host:x"
    odd.mkdir()
    assert parse_source("me@host:x", tmp_path) == LocalSource(odd)


@pytest.mark.parametrize(
    ("url", "public"),
    [
        (f"https://me:{TOKEN}@example.org/x", "https://example.org/x"),
        (f"https://{TOKEN}@example.org:8443/x", "https://example.org:8443/x"),
        (f"https://example.org/x?token={TOKEN}", "https://example.org/x"),
        (f"ssh://git:{TOKEN}@example.org/x", "ssh://git@example.org/x"),
        ("git@example.org:x", "git@example.org:x"),
        ("file:///srv/what?#", "file:///srv/what?#"),
    ],
)
def test_credentials_are_not_shown(url, public):
    assert without_credentials(url) == public
    found = GitSource(url, "v1")
    assert found.shown == f"{public}@v1"
    assert TOKEN not in repr(found) + found.label
    assert not found.secrets or url in found.secrets


@given(st.text(max_size=60))
def test_any_text_is_a_source_or_one_line_of_complaint(text):
    for tried in (text, f"https://{text}", f"file://{text}", f"git@h:{text}"):
        try:
            found = parse_source(tried, Path("/nonexistent"))
        except MisuseError:
            continue
        if isinstance(found, GitSource) and found.ref is not None:
            assert not found.ref.startswith("-")
            assert tried == f"{found.url}@{found.ref}".removeprefix("" if "://" in tried else GITHUB)


@pytest.mark.parametrize(
    ("text", "ref"),
    [("me/guard", None), ("me/guard@v1.2", "v1.2"), ("me/guard.git@feature/x", "feature/x"), ("My-Org/a_b.c", None)],
)
def test_a_repository_on_github(tmp_path, text, ref):
    assert parse_source(text, tmp_path) == GitSource(GITHUB + text.partition("@")[0], ref)


def test_a_folder_wins_over_a_repository_on_github(tmp_path):
    folder = tmp_path / "me" / "guard"
    folder.mkdir(parents=True)
    assert parse_source("me/guard", tmp_path) == LocalSource(folder.resolve(), f"{GITHUB}me/guard")
    assert parse_source("./me/guard", tmp_path) == LocalSource(folder.resolve())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("me/gaurd", "me/gaurd: no such folder, but there is me/ here; did you mean "),
        ("me/other", f"for GitHub write {GITHUB}me/other"),
        ("me/guard@v1", "a branch or tag needs a URL: file://"),
        ("you/guard@-x", "'-x' cannot be a branch"),
        ("you/guard@", "'' cannot be a branch"),
        ("you/guard/sub", "no such folder"),
        ("-you/guard", "no such folder"),
        ("you/.git", "no such folder"),
        ("./you/guard", "no such folder"),
        ("~/you", "no such folder"),
    ],
)
def test_a_slip_in_a_path_is_no_download(tmp_path, monkeypatch, text, complaint):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "me" / "guard").mkdir(parents=True)
    with pytest.raises(MisuseError, match=r"^[^\n]+$") as caught:
        parse_source(text, tmp_path)
    assert complaint in str(caught.value)
