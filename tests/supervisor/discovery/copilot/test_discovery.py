"""Copilot extensions among the others: names, trust, what the machine lacks, and how few lines tell of it."""

from __future__ import annotations

import pytest

from supervisor.discovery.admission import Admission, Consent
from supervisor.discovery.discover import McpFiles, discover
from supervisor.discovery.environment import extension_environment
from supervisor.discovery.found_extension import Scope
from supervisor.discovery.skipped_extension import lines_of
from supervisor.discovery.trust_store import TrustStore
from supervisor.home.config import Config
from tests.support.copilot_folders import copilot_extension, fake_sdk

pytestmark = pytest.mark.usefixtures("no_node")


@pytest.fixture
def find(project, home):
    """Discovery as a run has it."""

    def run(*explicit, consent=None, cwd=project):
        admit = Admission(home, consent or Consent()).for_one_start()
        return discover(list(map(str, explicit)), cwd, home, admit, McpFiles(cwd), home)

    return run


@pytest.fixture
def of_project(project):
    return project / ".github" / "extensions"


@pytest.fixture
def trust(home):
    def now(found):
        TrustStore(home).trust(found.place, found.manifest, found=found)

    return now


def names(discovery):
    return [found.manifest.name for found in discovery.found]


def lines(discovery):
    return lines_of(discovery.skipped)


def test_how_one_is_started(find, of_project, project, home, trust):
    folder = copilot_extension(of_project, "notes")
    (untrusted,) = [skipped.untrusted for skipped in find().skipped]
    trust(untrusted)
    (found,) = find().found
    assert (found.folder, found.runs_in, found.scope) == (folder, project, Scope.PROJECT)
    assert found.written == ["node", "extension.mjs"]
    assert found.program.endswith("/bin/node")
    assert [path.rpartition("/")[2] for path in found.argv] == ["node", "bootstrap.mjs"]
    sdk = home / "copilot-sdk" / "node_modules" / "@github" / "copilot-sdk"
    host = {"HOME": "/h", "GITHUB_TOKEN": "ghp_1"}
    given = extension_environment(found, Config(), host)
    assert given["EXTENSION_PATH"] == str(folder / "extension.mjs")
    assert given["COPILOT_SDK_PATH"] == str(sdk)
    assert "GITHUB_TOKEN" not in given
    assert given["HOME"] == "/h"


def test_a_variable_that_the_manifest_asks_for(find, of_project):
    copilot_extension(of_project, "notes", env=["GITHUB_TOKEN"])
    (found,) = find(consent=Consent(whole_project=True)).found
    assert extension_environment(found, Config(), {"GITHUB_TOKEN": "t"})["GITHUB_TOKEN"] == "t"


def test_one_below_the_root_is_found_from_a_folder_below(find, of_project, project):
    copilot_extension(of_project, "notes")
    (project / "src").mkdir()
    (found,) = find(cwd=project / "src", consent=Consent(whole_project=True)).found
    assert found.runs_in == project / "src"


def test_only_one_level_and_only_folders_with_a_program(find, of_project):
    copilot_extension(of_project / "node_modules", "deep")
    copilot_extension(of_project / ".hidden", "deep")
    (of_project / "README.md").write_text("x")
    (of_project / "lib").mkdir()
    (of_project / "extension.mjs").write_text("x")
    copilot_extension(of_project, ".notes.0123abcd.new")
    assert find() == discover((), None, None)


def test_a_link_to_a_folder_counts_and_one_that_leads_nowhere_is_told(find, of_project, tmp_path):
    copilot_extension(tmp_path / "elsewhere", "real")
    of_project.mkdir(parents=True)
    (of_project / "linked").symlink_to(tmp_path / "elsewhere" / "real")
    (of_project / "broken").symlink_to("gone")
    (of_project / "circle").symlink_to("circle")
    found = find(consent=Consent(whole_project=True))
    assert names(found) == ["linked"]
    assert [line.partition("; ")[0] for line in lines(found)] == [
        f"extension load: {of_project / 'broken'}: is a link to gone, which does not exist",
        f"extension load: {of_project / 'circle'}: is a link to circle, which does not exist",
    ]


def test_an_untrusted_one_of_the_project(find, of_project):
    copilot_extension(of_project, "notes")
    found = find()
    assert found.found == ()
    assert lines(found) == [
        "Copilot extension notes of this project is not trusted (never seen): not started; zot ext trust notes, or"
        " --trust-project"
    ]


@pytest.mark.parametrize("place", ["zot", "cli"])
def test_one_of_the_user_needs_trust_once_and_after_a_change(find, home, cli_home, trust, place):
    folder = copilot_extension(home / "copilot-extensions" if place == "zot" else cli_home / "extensions", "mine")
    found = find(consent=Consent(whole_project=True))
    assert lines(found) == [
        "Copilot extension mine of yours is not trusted (never seen): not started; zot ext trust mine"
    ]
    trust(found.skipped[0].untrusted)
    assert (names(find()), find().found[0].scope) == (["mine"], Scope.GLOBAL)
    (folder / "extension.mjs").write_text("other")
    assert "its files have changed" in lines(find())[0]


def test_many_are_told_in_one_line(find, of_project, cli_home):
    for number in range(10):
        copilot_extension(cli_home / "extensions", f"tool{number}")
    copilot_extension(of_project, "one")
    copilot_extension(of_project, "two", exec="x")
    copilot_extension(of_project, "my notes")
    assert lines(find()) == [
        "2 Copilot extensions of this project are not trusted: not started: 'my notes', one; zot ext trust NAME, or"
        " --trust-project",
        f"extension load: {of_project / 'two'}: manifest: exec: zot starts extension.mjs itself, and knows its"
        " protocol; leave exec out",
        "10 Copilot extensions of yours are not trusted: not started: tool0, tool1, tool2, tool3, tool4 and 5 more;"
        " zot ext trust NAME",
    ]


def test_without_an_sdk_one_line_says_what_to_do(project, tmp_path, of_project):
    for name in ("one", "two"):
        copilot_extension(of_project, name)
    bare = tmp_path / "bare"
    found = discover((), project, bare, None, McpFiles(project), bare)
    assert found.found == ()
    assert lines(found) == [
        "2 Copilot extensions cannot be started: one, two: they need @github/copilot-sdk, which is not installed: zot"
        " ext install-sdk copilot"
    ]


def test_an_untrusted_one_without_an_sdk_is_only_untrusted(project, tmp_path, of_project):
    copilot_extension(of_project, "one")
    bare = tmp_path / "bare"
    admit = Admission(bare, Consent()).for_one_start()
    (line,) = lines(discover((), project, bare, admit, McpFiles(project), bare))
    assert "not trusted" in line


def test_without_node(find, of_project, monkeypatch):
    copilot_extension(of_project, "one")
    monkeypatch.setenv("PATH", "/nowhere")
    (line,) = lines(find(consent=Consent(whole_project=True)))
    assert line == (
        f"extension load: {of_project / 'one'}: Node.js is not on PATH: install Node 20.6 or newer, or start zot with a"
        " PATH that has it"
    )


def test_one_that_is_named_is_needed(project, tmp_path, monkeypatch):
    folder = copilot_extension(tmp_path / "mine", "notes")
    monkeypatch.setenv("PATH", "/nowhere")
    (skipped,) = discover([str(folder)], project, None, None, McpFiles(project), tmp_path).skipped
    assert skipped.why_needed.startswith("extension notes was named with --ext, and cannot be loaded: Node.js")


@pytest.mark.parametrize("rule", [{"required": True}, {"on_failure": "deny"}])
def test_a_guard_that_cannot_be_started_is_needed(project, home, of_project, monkeypatch, rule):
    copilot_extension(of_project, "guard", **rule)
    monkeypatch.setenv("PATH", "/nowhere")
    (skipped,) = discover((), project, home, None, McpFiles(project), home).skipped
    assert "cannot be loaded" in skipped.why_needed


def test_one_that_is_named_needs_no_trust_and_no_other_discovery(project, home, tmp_path):
    folder = copilot_extension(tmp_path / "mine", "notes")
    admit = Admission(home, Consent()).for_one_start()
    (found,) = discover([str(folder)], None, None, admit, McpFiles(project), home).found
    assert (found.folder, found.scope, found.runs_in) == (folder, Scope.EXPLICIT, project)


def test_a_name_goes_to_the_project_before_the_user(find, of_project, home, cli_home):
    for place in (of_project, home / "copilot-extensions", cli_home / "extensions"):
        copilot_extension(place, "notes")
    found = find(consent=Consent(whole_project=True))
    assert [each.folder.parent for each in found.found] == [of_project]
    assert lines(found) == []


def test_two_of_one_scope_with_one_name(find, project, of_project):
    copilot_extension(of_project, "notes")
    other = project / ".zot" / "extensions" / "x"
    other.mkdir(parents=True)
    (other / "extension.json").write_text('{"name": "notes", "exec": "true"}')
    found = find(consent=Consent(whole_project=True))
    assert [each.folder for each in found.found] == [other]
    assert lines(found) == [f"extension load: {of_project / 'notes'}: the name 'notes' is taken by {other} (project)"]


def test_a_disabled_one_is_left_out(find, of_project):
    copilot_extension(of_project, "notes", enabled=False)
    found = find(consent=Consent(whole_project=True))
    assert (found.found, lines(found)) == ((), [])


def test_the_user_s_home_may_be_a_repository(home, tmp_path, monkeypatch):
    user = tmp_path / "user"
    (user / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.delenv("COPILOT_HOME")
    copilot_extension(user / ".copilot" / "extensions", "mine")
    copilot_extension(user / ".github" / "extensions", "theirs")
    work = user / "work"
    work.mkdir()
    found = discover((), work, home, None, McpFiles(work), home).found
    assert {each.manifest.name: each.scope for each in found} == {"theirs": Scope.PROJECT, "mine": Scope.GLOBAL}


def test_one_folder_under_two_names_is_listed_once(find, of_project, cli_home):
    copilot_extension(of_project, "notes")
    cli_home.mkdir()
    (cli_home / "extensions").symlink_to(of_project)
    found = find(consent=Consent(whole_project=True))
    assert (names(found), found.skipped) == (["notes"], ())


def test_an_exec_gets_nothing_past_trust_in_the_user_s_folder(find, cli_home):
    copilot_extension(cli_home / "extensions", "mine", exec="/bin/sh")
    found = find()
    assert found.found == ()
    assert "leave exec out" in lines(found)[0]


# --- the SDK of a project ------------------------------------------------------------------------------------


def test_the_sdk_of_the_project_comes_first_and_is_trusted_with_it(find, of_project, project, trust):
    copilot_extension(of_project, "notes")
    sdk = fake_sdk(project)
    (skipped,) = find().skipped
    trust(skipped.untrusted)
    (found,) = find().found
    assert found.set_env["COPILOT_SDK_PATH"] == str(sdk)
    (sdk / "dist" / "extension.js").write_text("steal()")
    assert "its files have changed" in lines(find())[0]


def test_the_sdk_in_zot_home_is_no_part_of_it_even_behind_a_link(find, of_project, home, tmp_path):
    folder = copilot_extension(of_project, "notes")
    (home / "copilot-sdk").rename(tmp_path / "elsewhere")
    (home / "copilot-sdk").symlink_to(tmp_path / "elsewhere")
    judged = TrustStore(home).examine(folder, find().skipped[0].untrusted.manifest)
    assert list(judged.content.files) == ["extension.mjs"]


def test_an_sdk_that_comes_into_the_project_later_is_a_change(find, of_project, project, trust):
    copilot_extension(of_project, "notes")
    trust(find().skipped[0].untrusted)
    assert names(find()) == ["notes"]
    fake_sdk(project)
    assert "its files have changed" in lines(find())[0]


def test_one_of_the_user_never_gets_the_sdk_of_a_project(find, project, home, cli_home, trust):
    fake_sdk(project)
    copilot_extension(cli_home / "extensions", "mine")
    trust(find().skipped[0].untrusted)
    (found,) = find().found
    assert found.set_env["COPILOT_SDK_PATH"].startswith(str(home))


def test_a_manifest_that_comes_later_is_a_change(find, of_project, home, trust):
    folder = copilot_extension(of_project, "notes")
    trust(find().skipped[0].untrusted)
    (folder / "extension.json").write_text("{}")
    (skipped,) = find().skipped
    assert "its files have changed" in skipped.reason
    judged = TrustStore(home).examine(folder, skipped.untrusted.manifest, skipped.untrusted)
    assert judged.changes == ("extension.json (new)",)


def test_one_that_is_named_gets_the_sdk_of_its_repository(find, tmp_path):
    (tmp_path / "tools" / ".git").mkdir(parents=True)
    sdk = fake_sdk(tmp_path / "tools")
    folder = copilot_extension(tmp_path / "tools" / "all", "notes")
    assert find(folder).found[0].set_env["COPILOT_SDK_PATH"] == str(sdk)
    (tmp_path / "link").symlink_to(tmp_path / "tools" / "all")
    assert find(tmp_path / "link" / "notes").found[0].set_env["COPILOT_SDK_PATH"] == str(sdk)


def test_an_sdk_that_cannot_be_used_is_named(project, tmp_path, of_project):
    copilot_extension(of_project, "notes")
    sdk = fake_sdk(project, "0.3.0")
    (line,) = lines(discover((), project, tmp_path / "bare", None, McpFiles(project), tmp_path / "bare"))
    assert line.endswith(
        f": it needs @github/copilot-sdk; {sdk} is version 0.3.0, older than 1.0.0: zot ext install-sdk copilot"
    )


def broken_ones(parent):
    """Files that other programs may have left there."""
    copilot_extension(parent, "cut-off").joinpath("extension.json").write_text("{oops")
    copilot_extension(parent, "other", name="An Extension", version=3, required="yes")
    copilot_extension(parent, "is-none").joinpath("extension.json").mkdir()
    (parent / "broken").symlink_to("gone")


def test_what_is_broken_among_those_of_the_user_and_was_never_trusted_is_no_guard(find, cli_home):
    broken_ones(cli_home / "extensions")
    skipped = find().skipped
    assert len(skipped) == 4
    assert [each.why_needed for each in skipped] == [""] * 4
    assert all(each.is_of_others for each in skipped)
    assert lines(find()) == [
        "4 Copilot extensions of yours cannot be used: broken, cut-off, is-none, other: zot ext list says why of each"
    ]


def test_one_that_was_trusted_may_be_needed_once_its_manifest_is_broken(find, cli_home, trust):
    folder = copilot_extension(cli_home / "extensions", "guard", required=True)
    trust(find().skipped[0].untrusted)
    (folder / "extension.json").write_text("{oops")
    (skipped,) = find().skipped
    assert not skipped.is_of_others
    assert skipped.why_needed.startswith("extension guard may be required, or a guard whose failure means deny")


def test_so_may_one_of_the_project(find, of_project):
    copilot_extension(of_project, "guard").joinpath("extension.json").write_text("{oops")
    (skipped,) = find().skipped
    assert "may be required" in skipped.why_needed


def test_a_line_about_several_untrusted_ones_holds_only_those_with_the_same_reason(find, cli_home, trust):
    for name in ("too-big", "changed1", "changed2", "new1", "new2"):
        copilot_extension(cli_home / "extensions", name)
    for skipped in find().skipped:
        if not skipped.name.startswith("new"):
            trust(skipped.untrusted)
    for name in ("changed1", "changed2"):
        (cli_home / "extensions" / name / "extension.mjs").write_text("other")
    with (cli_home / "extensions" / "too-big" / "model.bin").open("wb") as file:
        file.truncate(2**40)
    changed, new, big = lines(find())
    assert "too-big of yours is not trusted (with " in big
    assert "more than 512 MB would be read before each start; the largest file is" in big
    assert changed.startswith("2 Copilot extensions of yours are not trusted (its files have changed): not started: ch")
    assert new.startswith("2 Copilot extensions of yours are not trusted: not started: new1, new2;")
