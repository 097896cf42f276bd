"""Fetches a repository with the user's `git`: without prompts, hooks and submodules, within a deadline."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from supervisor.home.delete_tree import delete
from supervisor.install.errors import InstallError
from supervisor.install.source import HEX
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from supervisor.install.source import GitSource

TIMEOUT_S = 300.0
"""Seconds that each git command may take."""
OF_ANOTHER_REPOSITORY = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_CEILING_DIRECTORIES", "GIT_TEMPLATE_DIR",
)  # fmt: skip
"""Variables that git sets for its hooks. They would lead git to the hook's repository."""
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GONE_S = 1.0
"""Seconds to wait for the end of the children of a killed git."""
GIVE_CREDENTIALS = (
    """!f() { [ "$1" != get ] || printf 'username=%s\\npassword=%s\\n' "$ZOT_GIT_USER" "$ZOT_GIT_PASSWORD"; }; f"""
)
"""A credential helper: git starts a shell with this text, which answers from its environment. All users may read
command lines; an environment only its own user."""
REFUSED = "Authentication failed"
WANTS_CREDENTIALS = ("terminal prompts disabled", "could not read Username", "could not read Password", REFUSED)
FULL_COMMIT = 40
"""Hex digits of a whole commit id."""


class GitError(InstallError):
    """git failed. The text is git's message without credentials."""


def fetch(source: GitSource, tree: Path, timeout_s: float = TIMEOUT_S) -> str:
    """Makes `tree` with the repository's files and its `.git`, and returns their commit. An interrupt kills git. Raises
    `GitError`."""
    git = _Git(source, timeout_s)
    url, ref = source.public_url, source.ref
    looks_like_a_commit = ref is not None and HEX.match(ref) is not None
    try:
        if ref is not None and looks_like_a_commit and len(ref) >= FULL_COMMIT:
            git.run("init", "--quiet", "--", str(tree))
            git.run("-C", str(tree), "fetch", "--quiet", "--depth", "1", "--no-tags", "--", url, ref)
            git.run("-C", str(tree), "checkout", "--quiet", "--detach", "FETCH_HEAD", "--")
        else:
            branch = ["--branch", ref] if ref else []
            git.run("clone", "--quiet", "--depth", "1", "--no-tags", *branch, "--", url, str(tree))
    except GitError:
        if not looks_like_a_commit or ref is None:
            raise
        delete(tree)  # the ref is neither a branch nor a tag, and the server gives no single commits
        git.run("clone", "--quiet", "--no-checkout", "--", url, str(tree))
        git.run("-C", str(tree), "checkout", "--quiet", "--detach", ref, "--")
    return git.run("-C", str(tree), "rev-parse", "HEAD").strip()


class _Git:
    def __init__(self, source: GitSource, timeout_s: float) -> None:
        self._source = source
        self._timeout_s = timeout_s
        self._envs = _environments(source)

    def run(self, *args: str) -> str:
        """Runs git and returns its output. Tries the next environment if the server refuses the credentials of one.
        Raises `GitError`."""
        while True:
            status, out, err = self._run_once(args)
            if not status:
                return out.decode("utf-8", "replace")
            if REFUSED.encode() not in err or len(self._envs) == 1:
                raise GitError(f"{self._source.shown}: {self._complaint(err, status)}")
            del self._envs[0]

    def _run_once(self, args: Sequence[str]) -> tuple[int, bytes, bytes]:
        """Returns the exit status, stdout and stderr."""
        settings = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false")
        try:
            with start_program(["git", *settings, *args], env=self._envs[0], stdout=subprocess.PIPE) as process:
                out, err = process.communicate(timeout=self._timeout_s)
        except FileNotFoundError:
            raise GitError("git is not installed; install it, or give a folder") from None
        except OSError as error:
            raise GitError(f"git cannot be started: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise GitError(
                f"{self._source.shown}: git has not finished in {self._timeout_s:g} s; --timeout gives it longer"
            ) from None
        return process.returncode, out, err

    def _complaint(self, err: bytes, status: int) -> str:
        lines = err.decode("utf-8", "replace").splitlines()
        chosen = [line for line in lines if line.startswith(("fatal:", "error:"))][:1] or lines[-1:]
        text = one_line(" ".join(chosen), 500) or f"exit status {status}"
        text = text.replace(self._source.url, self._source.public_url)
        for secret in self._source.secrets:
            text = text.replace(secret, "")
        hint = ""
        if any(sign in text for sign in WANTS_CREDENTIALS):
            hint = (
                "; it wants credentials: give git a credential helper, or use ssh, or zot ext install --force"
                f" {self._source.origin.replace('://', '://USER:PASSWORD@')}/…, which records none"
            )
        return f"git says: {text.removeprefix('fatal: ').rstrip('.')}{hint}"


@contextmanager
def start_program(argv: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a program whose stderr is a pipe, without a terminal for questions. Ends it after the block, with all
    processes that it started. A signal during the start waits until the program can be ended. Raises `OSError`."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)

    def in_child() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if sys.platform == "linux":
            _die_with_parent()

    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            umask=_umask() | 0o022,  # no other user may change its files
            start_new_session=True,  # its children are killed with it
            preexec_fn=in_child,  # noqa: PLW1509  (no threads here)
            **options,
        )
    except BaseException:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        _await_end_of(process.stdout)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _await_end_of(pipe: IO[bytes] | None) -> None:
    """Waits until all writers of the pipe are gone: the killed children of git, which may take a moment to end."""
    if pipe is None:
        return
    readable = select.poll()
    readable.register(pipe, select.POLLIN)
    until = time.monotonic() + GONE_S
    while (left := until - time.monotonic()) > 0 and readable.poll(left * 1000):
        if not os.read(pipe.fileno(), 65536):
            return


def _environments(source: GitSource) -> list[dict[str, str]]:
    """Returns the environments for git, to be tried in this order. A name without a password may be a token, for which
    the password is empty; or a user whose password the user's own credential helper knows."""
    env = {name: value for name, value in os.environ.items() if name not in OF_ANOTHER_REPOSITORY}
    env |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file"}
    if source.credentials is None:
        return [env]
    name, password = source.credentials
    key = f"credential.{source.origin}"
    # The empty helper drops the user's own, which would answer first, and would store the credentials.
    ours = _with_settings(env, (f"{key}.helper", ""), (f"{key}.helper", GIVE_CREDENTIALS))
    ours |= {"ZOT_GIT_USER": name, "ZOT_GIT_PASSWORD": password}
    return [ours] if password else [ours, _with_settings(env, (f"{key}.username", name))]


def _with_settings(env: dict[str, str], *settings: tuple[str, str]) -> dict[str, str]:
    given = env.get("GIT_CONFIG_COUNT", "")
    count = int(given) if given.isdecimal() else 0
    env = {**env, "GIT_CONFIG_COUNT": str(count + len(settings))}
    for number, (key, value) in enumerate(settings, count):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env


def _umask() -> int:
    """The mask of this process, which has no threads."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _die_with_parent() -> None:
    """Runs in the child: the kernel then kills the child when zot dies."""
    import ctypes

    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, int(signal.SIGKILL), 0, 0, 0)
