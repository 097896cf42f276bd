"""Extensions with skills, and without a program: what the model is told of them, what starts, and what users see."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.test_trust import Asked
from tests.support.extension_folder import extension
from tests.support.host_process import hosting
from tests.support.mcp_served_client import McpClient
from tests.support.messages_server import MessagesServer, text_reply, tool_reply
from tests.support.replay_script import Script
from tests.support.zot_process import Zot
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Outcome

THEME = "a theme; it has no effect here"


def skill(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)


def pack(folder: Path, name: str, *, body: str = "Body.", **manifest: Any) -> Path:
    """An extension that has a skill `use`, and no program."""
    skill(folder / "skills" / "use", f"---\nname: use\ndescription: Use {name}.\n---\n{body}\n")
    (folder / "extension.json").write_text(json.dumps({"name": name, "skills": ["skills"], **manifest}))
    return folder


def of_project(zot: Zot, name: str, **manifest: Any) -> Path:
    return pack(zot.cwd / ".zot" / "extensions" / name, name, **manifest)


def of_user(zot: Zot, name: str, **manifest: Any) -> Path:
    return pack(zot.home / "extensions" / name, name, **manifest)


def listed(body: dict[str, Any]) -> list[str]:
    """The lines of the skills in the system prompt."""
    text = body["system"][0]["text"]
    return [line for line in text.splitlines() if line.startswith("- ") and "]: " in line]


def run(zot: Zot, *flags: str | Path, calls: Any = ()) -> tuple[Outcome, list[dict[str, Any]]]:
    """A run in which the model makes these calls, and its requests."""
    with MessagesServer(*([tool_reply(calls)] if calls else []), text_reply("Done.")) as server:
        outcome = zot.run("--json", "--base-url", server.base_url, "--ext-wait", "120", *flags, "go").check(Status.OK)
        return outcome, [request.body for request in server.requests]


def test_the_model_gets_the_skills_of_all_extensions_that_it_may_and_nothing_starts(zot: Zot):
    of_user(zot, "Git Tools", body="Commit often.")
    of_user(zot, "off", enabled=False)
    of_user(zot, "both")
    of_project(zot, "both")
    secret = of_project(zot, "unseen", body="Obey me.")
    zot.run("ext", "trust", "both")
    explicit = extension(zot.folder, "echo", skills=["SKILL.md"])
    (explicit / "SKILL.md").write_text("---\nname: shout\n---\nLoud.\n")
    calls = [("skill", {"name": name}) for name in ("git-tools:use", "unseen:use")]
    outcome, bodies = run(zot, "-e", explicit, calls=calls)
    assert [line.partition(" [")[0] for line in listed(bodies[0])] == [
        "- both:use", "- echo:shout", "- git-tools:use", "- write-zot-extension",
    ]  # fmt: skip
    assert "- both:use [.zot/extensions/both/skills/use/SKILL.md]: Use both." in listed(bodies[0])
    found, refused = outcome.tool_texts()
    assert found == "# Skill: git-tools:use\n\nUse Git Tools.\n\n---\n\nCommit often.\n"
    assert refused.startswith('skill: no skill named "unseen:use"')
    assert outcome.records[0].extensions == ("echo",)
    assert outcome.warnings == [
        "zot: extension unseen of this project is not trusted (never seen): not started; zot ext trust unseen, or "
        "--trust-project"
    ]
    assert all(text not in json.dumps(bodies) for text in ("Obey me", str(secret)))


def test_of_an_extension_whose_files_have_changed_the_model_gets_nothing(zot: Zot):
    folder = of_project(zot, "pack")
    zot.run("ext", "trust", "pack")
    assert len(listed(run(zot)[1][0])) == 2
    (folder / "skills" / "use" / "SKILL.md").write_text("Other words.\n")
    outcome, (body,) = run(zot)
    assert len(listed(body)) == 1
    assert "extension pack of this project is not trusted (its files have changed)" in outcome.stderr


@pytest.mark.slow
def test_the_answer_to_the_question_counts_for_this_very_run(zot: Zot):
    of_project(zot, "pack")
    with MessagesServer(text_reply("Done.")) as server:
        asked = Asked(zot, "-p", "--no-session", "--base-url", server.base_url, "go")
        question = asked.wait_for("[s]how its files: ")
        assert "runs    nothing" in question
        assert "skills  skills: instructions to the model" in question
        assert "The model would follow its skills. Use it, now and until it changes?" in question
        asked.answer("y\n")
        assert asked.end()[0] == 0
        assert listed(server.requests[0].body)[0].startswith("- pack:use [")


@pytest.mark.parametrize(
    ("flags", "offered"),
    [
        ((), ["pack:use", "write-zot-extension"]),
        (("--with-skills",), ["mine", "pack:use", "write-zot-extension"]),
        (("--no-ext",), ["write-zot-extension"]),
        (("--no-ext", "-e"), ["lone:use", "write-zot-extension"]),
        (("--no-skill",), []),
    ],
)
def test_flags(zot: Zot, flags: tuple[str, ...], offered: list[str]):
    of_user(zot, "pack")
    skill(zot.cwd / ".zot" / "skills" / "mine", "Mine.\n")
    lone = pack(zot.folder / "lone", "lone")
    _, (body,) = run(zot, *flags, *([lone] if "-e" in flags else []))
    assert [line.partition(" [")[0][2:] for line in listed(body)] == offered


def test_the_first_of_one_name_wins_and_the_other_is_told(zot: Zot):
    of_user(zot, "pack")
    twin = pack(zot.folder / "twin", "Pack")
    skill(zot.cwd / ".zot" / "skills" / "use", "---\nname: pack:use\n---\n")
    outcome, (body,) = run(zot, "-e", twin, "--with-skills")
    assert [line for line in listed(body) if "pack:use" in line] == [
        f"- pack:use [{twin}/skills/use/SKILL.md]: Use Pack."
    ]
    where = zot.home / "extensions" / "pack" / "skills" / "use" / "SKILL.md"
    assert set(outcome.warnings) == {
        f"zot: extension pack: skill {where}: is hidden: extension Pack has a skill 'pack:use'",
        f"zot: skill {zot.cwd}/.zot/skills/use/SKILL.md: is hidden: extension Pack has a skill 'pack:use'",
    }


def test_faults_are_a_line_each_with_the_extension_and_the_place(zot: Zot):
    folder = of_user(zot, "pack", skills=["nope", "skills", "../x"])
    skill(folder / "skills" / "bad", "---\nname: [\n---\n")
    skill(folder / "skills" / "twin", "---\nname: use\n---\n")
    outcome, (body,) = run(zot)
    assert len(listed(body)) == 2
    assert [line for line in outcome.warnings if "bad" not in line] == [
        "zot: extension pack: skills[0] 'nope' is not there; name a folder, or a SKILL.md",
        "zot: extension pack: skills[2] '../x' leads out of its folder; put the skills into it",
        f"zot: extension pack: skill {folder}/skills/use/SKILL.md: is hidden: extension pack has a skill 'pack:use'",
    ]
    (bad,) = [line for line in outcome.warnings if "bad" in line]
    assert bad.startswith(f"zot: extension pack: skill {folder}/skills/bad/SKILL.md:3: not YAML")
    assert bad.endswith("; the skill is skipped")


def test_a_cassette_plays_where_the_extension_lies_elsewhere(tmp_path: Path):
    def machine(parent: Path) -> Zot:
        parent.mkdir(parents=True)
        zot = Zot(parent)
        of_user(zot, "pack")
        return zot

    zot = machine(tmp_path / "one")
    cassette = zot.folder / "cassette.jsonl"
    run(zot, "--record", cassette)
    assert "{{zot_home}}/extensions/pack/skills/use/SKILL.md" in cassette.read_text()
    machine(tmp_path / "else" / "two").run("--json", "--replay", cassette, "go").check(Status.OK)


# --- required -------------------------------------------------------------------------------------------------------


def test_one_that_is_required_needs_no_start_but_trust(zot: Zot):
    of_project(zot, "pack", required=True, on_failure="deny")
    failed = zot.replay(Script(zot.cwd).answer("Hi")).check(Status.REQUIRED_EXTENSION)
    assert failed.result.reason.startswith("extension pack is required and not trusted (never seen)")
    zot.run("ext", "trust", "pack")
    outcome, (body,) = run(zot)
    assert (outcome.warnings, len(listed(body))) == ([], 2)


# --- hosts ------------------------------------------------------------------------------------------------------------


def test_a_host_starts_nothing_for_it_and_says_nothing(zot: Zot):
    of_user(zot, "pack", required=True)
    (of_user(zot, "look", skills=[]) / "theme.json").write_text("{}")
    with hosting(zot) as host:
        assert host.stats() == {}
        assert "pack" not in host.running.errors()
        assert "0 extensions" in host.running.errors()
        status = zot.run("ext", "status", "pack")
        assert (status.status, status.text.splitlines()[:3]) == (
            0, ["pack: nothing to start", "why         skills only, no program", "to do       nothing"],
        )  # fmt: skip


def test_mcp_serve_offers_the_others(zot: Zot):
    of_user(zot, "pack", required=True)
    extension(zot.home / "extensions", "echo")
    with McpClient(zot) as client:
        assert [tool["name"] for tool in client.ask("tools/list")["tools"]] == ["echo"]
        assert "pack" not in client.running.errors()


# --- zot ext ----------------------------------------------------------------------------------------------------


def test_it_is_installed_listed_examined_updated_and_removed_like_any_other(zot: Zot):
    source = pack(zot.folder / "source", "pack", version="1")
    assert "command line  skills only, no program" in zot.run("ext", "install", source).stderr
    (row,) = zot.run("ext", "list", "--json").json_lines
    assert (row["without_program"], row["broken"], row["version"]) == ("skills only, no program", None, "1")
    assert "pack skills only, no program" in " ".join(zot.run("ext", "list").text.split())
    info = zot.run("ext", "info", "pack").text
    assert ("command line  skills only, no program" in info, "log" in info) == (True, False)
    doctor = zot.run("ext", "doctor")
    assert (doctor.status, doctor.text.splitlines()[1].split(maxsplit=1)) == (
        0,
        ["skills", "1 skill, no program: pack:use"],
    )
    assert "0 found; without a program: pack" in zot.run("doctor").text
    (found, _) = zot.run("skill", "list", "--json").json_lines
    path = f"{zot.home}/extensions/pack/skills/use/SKILL.md"
    assert (found["name"], found["source"], found["extension"]) == ("pack:use", path, "pack")
    assert "extension pack" in zot.run("skill", "list").text
    assert zot.run("skill", "show", "pack:use").text.startswith("# Skill: pack:use\n")
    assert zot.run("ext", "disable", "pack").status == 0
    assert len(zot.run("skill", "list", "--json").json_lines) == 1
    assert zot.run("ext", "enable", "pack").status == 0
    skill(source / "skills" / "more", "More.\n")
    assert zot.run("ext", "update", "pack").status == 0
    assert {row["name"] for row in zot.run("skill", "list", "--json").json_lines} >= {"pack:use", "pack:more"}
    refused = zot.run("ext", "test", source)
    assert (refused.status, refused.stderr) == (
        2, f"zot ext test: {source}: pack has nothing to start: skills only, no program\n",
    )  # fmt: skip
    assert zot.run("ext", "remove", "--yes", "pack").status == 0
    assert not (zot.home / "extensions" / "pack").exists()


@pytest.mark.parametrize("path", ["theme.json", "themes/theme.json"])
def test_a_theme_alone_is_no_fault(zot: Zot, path: str):
    folder = zot.home / "extensions" / "look"
    (folder / path).parent.mkdir(parents=True)
    (folder / path).write_text("{}")
    (folder / "extension.json").write_text('{"name": "look"}')
    assert run(zot)[0].warnings == []
    assert f"look {THEME}" in " ".join(zot.run("ext", "list").text.split())
    doctor = zot.run("ext", "doctor")
    assert (doctor.status, doctor.text.splitlines()[1].split(maxsplit=1)) == (0, ["theme", THEME])
    (folder / path).unlink()
    outcome, _ = run(zot)
    why = "manifest: exec is required, or skills, or a theme.json"
    assert outcome.warnings == [f"zot: extension load: {folder}: {why}"]
