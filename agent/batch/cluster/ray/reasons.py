"""Failures of Ray in plain words: why a machine cannot be used, why it was lost, why there is no cluster."""

from __future__ import annotations

import platform
import re

from wire.text import one_line

INSTALL = "--engine ray needs Ray: pip install 'pyzot[ray]'"
LEFT = "the machine {} has left the cluster, or cannot be reached"
OF_MACHINE = re.compile(r"node (has )?died|node was terminated", re.IGNORECASE)
"""In the text of an error of Ray that names the actor only."""
HEAD_IS_GONE = "Failed to connect to GCS"
SHOWN = 300
"""Maximum of characters of an error of Ray in a message."""


def short(error: object) -> str:
    """The text of an error in one line."""
    return one_line(str(error), SHOWN)


def version_fault(there: dict[str, str], zot: str) -> str:
    """Why a machine with these versions cannot be used; empty if it can."""
    host, own = there["host"], platform.python_version()
    if there["python"] != own:
        return f"{host} has Python {there['python']}, and here is {own}: both must be the same"
    if not there["zot"]:
        return f"{host} has no zot in the Python of its Ray: pip install pyzot=={zot} there"
    if there["zot"] != zot:
        return f"{host} has zot {there['zot']}, and here is {zot}: pip install pyzot=={zot} there"
    return ""


def explain_loss(error: Exception, host: str) -> str:
    """The loss of a node in plain words."""
    text, kind = str(error), type(error).__name__
    if kind in ("NodeDiedError", "ActorUnschedulableError", "ActorUnavailableError") or OF_MACHINE.search(text):
        return LEFT.format(host)
    if kind in ("ActorDiedError", "RayActorError", "WorkerCrashedError"):
        return f"the process of Ray that carries its bytes on {host} has died"
    return f"{kind} on {host}: {short(text)}"


def explain_end(status: object, last: str) -> str:
    """The end of the process for Ray, with the last line that it has written to standard error. Ray itself ends it if
    the head does not answer for long."""
    if HEAD_IS_GONE in last:
        return "the head of the Ray cluster is gone, or does not answer: start the cluster anew, or look at it there"
    return f"the process for Ray has ended ({status}){': ' if last else ''}{short(last)}"


def explain_failure(error: BaseException, address: str) -> str:
    """Why the cluster could not be reached, in plain words."""
    text = short(error)
    if isinstance(error, ImportError):
        return f"{INSTALL} ({text})"
    if isinstance(error, OSError) and address != "auto":
        return f"nothing answers at {address} ({text}): check the address, and that Ray runs there (ray status)"
    if isinstance(error, ConnectionError):
        return "no Ray cluster runs on this machine: start one (ray start --head), or name one with --address"
    if "Version mismatch" in str(error) or ("version" in text.lower() and "mismatch" in text.lower()):
        return f"the Ray cluster at {address} has other versions: {text}"
    return f"no connection to the Ray cluster at {address}: {text}"
