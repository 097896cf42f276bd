"""Failures of Ray in plain words."""

from __future__ import annotations

import platform

import pytest

from agent.batch.cluster.ray.reasons import SHOWN, explain_end, explain_failure, explain_loss, version_fault

HERE = {"host": "h", "python": platform.python_version(), "zot": "1.0"}


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({}, ""),
        ({"zot": ""}, "h has no zot in the Python of its Ray: pip install pyzot==1.0 there"),
        ({"zot": "0.9"}, "h has zot 0.9, and here is 1.0: pip install pyzot==1.0 there"),
        ({"python": "3.9.1"}, f"h has Python 3.9.1, and here is {platform.python_version()}: both must be the same"),
    ],
)
def test_versions_that_differ_are_named_with_the_way_out(other, said):
    assert version_fault(HERE | other, "1.0") == said


def error_of_ray(kind: str, text: str) -> Exception:
    return type(kind, (Exception,), {})(text)


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("NodeDiedError", "", "the machine h has left the cluster, or cannot be reached"),
        ("ActorDiedError", "The actor died because its node has died.", "the machine h has left the cluster"),
        ("ActorDiedError", "its worker process has died", "the process of Ray that carries its bytes on h has died"),
        ("OddError", "two\nlines\x1b[1m", "OddError on h: two lines"),
    ],
)
def test_a_loss_is_told_in_plain_words(kind, text, said):
    told = explain_loss(error_of_ray(kind, text), "h")
    assert told.startswith(said)
    assert told.isprintable()


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("", "the process for Ray has ended (signal SIGKILL)"),
        ("oh no", "the process for Ray has ended (signal SIGKILL): oh no"),
        (
            "[x E 1 2] rpc_client.h:204: Failed to connect to GCS within 60 seconds. G…",
            "the head of the Ray cluster is",
        ),
    ],
)
def test_the_end_of_the_process_for_ray_is_told_in_plain_words(last, said):
    assert explain_end("signal SIGKILL", last).startswith(said)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ImportError("no ray"), "--engine ray needs Ray: pip install 'pyzot[ray]' (no ray)"),
        (ConnectionError("x"), "no Ray cluster runs on this machine: start one"),
        (RuntimeError("Version mismatch: 1 and 2"), "the Ray cluster at auto has other versions: Version mismatch"),
        (RuntimeError("x" * 5000), "no connection to the Ray cluster at auto: xxx"),
    ],
)
def test_a_cluster_that_is_not_reached_is_told_in_plain_words(error, said):
    told = explain_failure(error, "auto")
    assert told.startswith(said)
    assert len(told) < SHOWN + 100
