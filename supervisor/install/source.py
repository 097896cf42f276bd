"""Reads the source of an extension from text: a folder, or a git repository with a branch, tag or commit."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import unquote

from supervisor.install.errors import MisuseError

_URL = re.compile(r"^(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:\d+)?")
_SCP = re.compile(r"^[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+:(?!/?$)")
SCHEMES = ("https", "http", "ssh", "git", "file")
HEX = re.compile(r"^[0-9a-f]{7,64}$")
GITHUB = "https://github.com/"
_OWNER_REPO = re.compile(r"(?P<owner>[A-Za-z0-9](?:[A-Za-z0-9-]{0,38}))/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}(?P<ref>@.*)?")
_UNFIT_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")


@dataclass(frozen=True)
class LocalSource:
    """A folder with an extension."""

    folder: Path
    """An absolute path without links and `..`, so that even `.` has a name."""
    instead_of: str = ""
    """The URL that the same text means if this folder does not exist; empty if it means none."""

    @property
    def shown(self) -> str:
        return str(self.folder)

    @property
    def label(self) -> str:
        return self.folder.name or "root"


@dataclass(frozen=True)
class GitSource:
    """A git repository, with a branch, tag or commit."""

    url: str
    """The URL as given. It may have credentials: never show, record or pass it on."""
    ref: str | None = None

    def __repr__(self) -> str:
        return f"GitSource({self.shown!r})"

    @property
    def public_url(self) -> str:
        return without_credentials(self.url)

    @property
    def shown(self) -> str:
        return self.public_url + (f"@{self.ref}" if self.ref else "")

    @property
    def label(self) -> str:
        return re.split(r"[/:]", self.public_url.rstrip("/"))[-1].removesuffix(".git") or "repository"

    @property
    def origin(self) -> str:
        """Scheme, host and port of a URL."""
        return "/".join(self.public_url.split("/", 3)[:3])

    @property
    def credentials(self) -> tuple[str, str] | None:
        """User name, or token, and password of a web address; the password may be empty."""
        if not self.url.lower().startswith(("https://", "http://")) or not self._user_info:
            return None
        name, _, password = self._user_info.partition(":")
        return unquote(name), unquote(password)

    @property
    def _user_info(self) -> str:
        return self.url.partition("://")[2].split("/", 1)[0].rpartition("@")[0]

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts to remove from the output of git."""
        if self.url == self.public_url:
            return ()
        info = self._user_info
        password = info.partition(":")[2]
        known = (self.url, f"{info}@" if info else "", password, unquote(password))
        return tuple(secret for secret in known if secret)


Source = LocalSource | GitSource


def parse_source(text: str, here: Path) -> Source:
    """Reads the path of an existing folder; else a URL, `user@host:path`, or `owner/repo` on GitHub, with an optional
    `@ref` at its end. Raises `MisuseError`."""
    if "\0" in text or not text.strip():
        raise MisuseError("the source is empty; give a folder or the URL of a git repository")
    if (url := _URL.match(text)) is not None:
        if not _is_text(text):
            raise MisuseError("the URL is not valid UTF-8")
        if url["scheme"].lower() not in SCHEMES:
            raise MisuseError(f"{without_credentials(text)}: {url['scheme']}:// is not one of {', '.join(SCHEMES)}")
        if not _HOST.fullmatch(text[url.end() :].split("/", 1)[0].rpartition("@")[2]):
            # The text in the port's place may be the start of a password: it is not shown.
            raise MisuseError(f"{url[0]}…: its port is not a number; write the / in a password as %2F")
        return _git(text, url.end())
    folder = Path(os.path.realpath(here / os.path.expanduser(text)))  # Path.expanduser raises for an unknown user
    if not _is_text(str(folder)):
        raise MisuseError(f"{os.fsencode(text).decode('utf-8', 'replace')}: not valid UTF-8; rename it")
    short = _OWNER_REPO.fullmatch(text)
    if folder.is_dir():
        return LocalSource(folder, GITHUB + text if short else "")
    if _SCP.match(text) and not folder.exists():
        return _git(text, text.index(":") + 1)
    # If a folder has the owner's name, the text is a mistyped path, which must not become a download.
    if short is not None and not folder.exists() and not os.path.lexists(here / short["owner"]):
        return _git(GITHUB + text, len(GITHUB))
    raise MisuseError(_not_a_folder(text, folder, here))


def without_credentials(url: str) -> str:
    """Returns the URL without password, token and query. Keeps the user of an ssh URL, which is no secret."""
    if (scheme := _URL.match(url)) is None:
        return url
    authority, slash, path = url[scheme.end() :].partition("/")
    user_info, at, host = authority.rpartition("@")
    user = user_info.partition(":")[0] if scheme["scheme"].lower() in ("ssh", "git") else ""
    path = path if scheme["scheme"].lower() == "file" else re.split(r"[?#]", path)[0]
    return f"{scheme[0]}{user}{at if user else ''}{host}{slash}{path}"


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _git(text: str, path_from: int) -> GitSource:
    """Splits URL and ref. An `@` within the path starts the ref, but not at the start of a part of the path, as in
    `/@scope/name`."""
    if text.lower().startswith("file://"):
        path_from = len("file://")
    else:
        slash = text.find("/", path_from)
        path_from = path_from if "://" not in text else (len(text) if slash < 0 else slash)
    path = text[path_from:]
    marked = re.search(r"\.git/?@", path)
    at = marked.end() - 1 if marked else path.rfind("@")
    if at <= 0 or (path[at - 1] == "/" and not marked):
        return _check(GitSource(text))
    url, ref = text[: path_from + at], path[at + 1 :]
    if not ref or ref.startswith("-") or ref.endswith((".", "/", ".lock")) or _UNFIT_REF.search(ref):
        raise MisuseError(f"{without_credentials(url)}: {ref[:80]!r} cannot be a branch, tag or commit")
    return _check(GitSource(url, ref))


def _check(source: GitSource) -> GitSource:
    if any(char in text for text in source.credentials or () for char in "\0\r\n"):
        raise MisuseError(f"{source.public_url}: its credentials hold a line break, which git cannot take")
    return source


def _not_a_folder(text: str, folder: Path, here: Path) -> str:
    if folder.exists():
        return f"{text}: not a folder; name the folder that holds extension.json"
    stem, at, _ref = text.rpartition("@")
    if (short := _OWNER_REPO.fullmatch(text)) is not None and not (at and (here / stem).is_dir()):
        near = _nearest(folder)
        return f"{text}: no such folder, but there is {short['owner']}/ here{near}; for GitHub write {GITHUB}{text}"
    if at and stem and (here / os.path.expanduser(stem)).is_dir():
        return f"{text}: no such folder; a branch or tag needs a URL: file://{Path(os.path.realpath(here / stem))}@…"
    if re.match(r"^[a-z0-9-]+(\.[a-z0-9-]+)+/", text):
        return f"{text}: no such folder; for a repository write its whole URL, https://{text}"
    return f"{text}: no such folder{_nearest(folder)}"


def _nearest(folder: Path) -> str:
    """A question with the nearest name beside the folder; empty without one."""
    try:
        names = [sibling.name for sibling in folder.parent.iterdir() if sibling.is_dir()]
    except OSError:
        return ""
    near = get_close_matches(folder.name, names, n=1)
    return f"; did you mean {folder.parent / near[0]}?" if near else ""
