"""`zot ext doctor`: which extensions it starts, and what it finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.extension_folder import extension
from tests.support.extension_scripts import PATIENT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot


def installed(zot: Zot, child: str, *args: str, **manifest: Any) -> Path:
    return extension(zot.home / "extensions", child, *args, **{"timeouts": PATIENT, **manifest})


def faults(record: dict[str, Any]) -> set[str]:
    """Topics of its findings. Slow readiness is left out: a busy machine delays every extension."""
    return {
        finding["topic"]
        for finding in record["findings"]
        if finding["level"] != "ok" and "to be ready" not in finding["message"]
    }


def test_without_names_doctor_examines_all_installed_extensions(zot):
    installed(zot, "echo")
    installed(zot, "junk_between", env=["NO_SUCH_VARIABLE"])
    installed(zot, "bad_tools")
    installed(zot, "no_ready", enabled=False)
    broken = zot.home / "extensions" / "broken"
    broken.mkdir()
    (broken / "extension.json").write_text("{")
    outcome = zot.run("ext", "doctor", "--json")
    assert outcome.status == 1
    assert outcome.leftovers == []
    found = {record["name"]: record for record in outcome.json_lines}
    assert [found[name]["level"] for name in ("bad_tools", "broken")] == ["fail", "fail"]
    assert {name: faults(record) for name, record in found.items()} == {
        "echo": set(),
        "junk_between": {"stdout", "env"},
        "bad_tools": {"register", "frames"},
        "broken": {"manifest"},
        "ext-no_ready": set(),
    }
    assert found["ext-no_ready"]["skipped"] == "disabled"
    assert found["echo"]["tools"] == ["echo"]
    assert found["echo"]["exit"] == 0
    assert found["echo"]["shutdown_ack"] is True
    assert found["junk_between"]["missing_env"] == ["NO_SUCH_VARIABLE"]


def test_doctor_examines_the_named_extensions(zot, tmp_path):
    installed(zot, "echo", enabled=False)
    mute = extension(tmp_path, "silent", timeouts={"hello": 0.2})
    outcome = zot.run("ext", "doctor", "echo", mute)
    assert outcome.status == 1
    assert "tool echo; guards tool_call" in outcome.text
    assert "said no hello within 0.2 s" in outcome.text
    assert outcome.text.splitlines()[-1].endswith(", 1 failed")
    assert zot.run("ext", "doctor", "ext-echo").status == 0  # by the folder's name
    unknown = zot.run("ext", "doctor", "ecko")
    assert unknown.status == 2
    assert "no such extension: 'ecko'; did you mean 'echo'?" in unknown.stderr


def test_doctor_does_not_start_untrusted_extensions(zot, tmp_path):
    """The project's extension writes a mark when it starts."""
    mark = tmp_path / "mark"
    extension(zot.cwd / ".zot" / "extensions", "lives", str(mark), timeouts=PATIENT)
    outcome = zot.run("ext", "doctor")
    assert outcome.status == 0
    assert "not trusted" in outcome.text
    assert list(tmp_path.glob("mark*")) == []
    assert zot.run("ext", "doctor", zot.cwd / ".zot" / "extensions" / "ext-lives").status == 0  # named by its path
    assert list(tmp_path.glob("mark*")) != []


def test_doctor_examines_the_users_own_where_an_untrusted_one_has_its_name(zot, tmp_path):
    installed(zot, "echo")
    extension(zot.cwd / ".zot" / "extensions", "lives", str(tmp_path / "mark"), name="echo")
    records = zot.run("ext", "doctor", "--json").json_lines
    assert {(record["folder"], bool(record["skipped"])) for record in records} == {
        (str(zot.home / "extensions" / "ext-echo"), False),
        (str(zot.cwd / ".zot" / "extensions" / "ext-echo"), True),
    }


def test_an_installed_name_wins_over_a_folder_of_that_name(zot, tmp_path):
    mark = tmp_path / "mark"
    extension(zot.cwd, "lives", str(mark), timeouts=PATIENT).rename(zot.cwd / "echo")
    installed(zot, "echo")
    (record,) = zot.run("ext", "doctor", "echo", "--json").json_lines
    assert record["folder"] == str(zot.home / "extensions" / "ext-echo")
    assert list(tmp_path.glob("mark*")) == []
    (zot.cwd / "echo").rename(zot.cwd / "other")
    assert zot.run("ext", "doctor", "other").status == 0


def test_without_extensions_doctor_succeeds_and_says_so(zot):
    outcome = zot.run("ext", "doctor")
    assert outcome.status == 0
    assert "no extensions are installed" in outcome.text
