"""Tricks of a project that somebody else wrote, so that its code runs or a guard of the user's does not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from supervisor.discovery.admission import Admission, Consent
from supervisor.discovery.discover import McpFiles, discover
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.discovery.skipped_extension import lines_of
from supervisor.discovery.steps import finish
from supervisor.discovery.trust_store import TrustStore
from supervisor.reload.strict_admission import StrictAdmission
from tests.support.copilot_folders import copilot_extension, fake_sdk, write_node

pytestmark = pytest.mark.usefixtures("no_node", "cli_home")


@pytest.fixture
def find(project, home):
    def run(consent=None):
        admit = Admission(home, consent or Consent()).for_one_start()
        return discover((), project, home, admit, McpFiles(project), home)

    return run


@pytest.fixture
def of_project(project):
    made = project / ".github" / "extensions"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def trust_all(find, home):
    """Trusts everything, as a person may do."""

    def now():
        for skipped in find().skipped:
            found = skipped.untrusted
            TrustStore(home).trust(found.place, found.manifest, found=found)

    return now


def test_a_link_gives_no_other_name_to_what_the_user_has_trusted(find, of_project, home, trust_all):
    mine = home / "copilot-extensions"
    for name in ("guard", "greeter"):
        copilot_extension(mine, name)
    trust_all()
    (of_project / "guard").symlink_to(os.path.relpath(mine / "greeter", of_project))
    found = find()
    assert [(each.manifest.name, each.scope) for each in found.found] == [
        ("greeter", Scope.GLOBAL),
        ("guard", Scope.GLOBAL),
    ]
    (skipped,) = found.skipped
    assert skipped.reason.startswith("not trusted (it was trusted under the name greeter): not started")


def test_nor_to_what_runs_by_consent(find, of_project, home):
    copilot_extension(of_project, "greeter")
    copilot_extension(of_project, "guard")
    consent = Consent(whole_project=True)
    strict = StrictAdmission(home, "copilot")
    assert len(finish(strict.first(find(consent))).found) == 2
    (of_project / "guard").rename(of_project.parent / "guard")
    (of_project / "guard").symlink_to("greeter")
    again = finish(strict.again(find(consent)))
    assert [each.manifest.name for each in again.found] == ["greeter"]


def test_one_that_has_ended_is_not_started_again_from_files_that_have_changed(find, of_project, trust_all):
    folder = copilot_extension(of_project, "notes")
    (folder / "lib.mjs").write_text("export const one = 1;\n")
    trust_all()
    (found,) = find().found
    assert found.seal is not None
    assert found.seal.lasts
    (folder / "lib.mjs").write_text("export const one = 2;\n")
    assert found.change == (
        f"{folder / 'lib.mjs'} has changed since it was checked; to run it as it is now: zot ext trust notes, then zot"
        " ext reload notes"
    )


@pytest.mark.parametrize("entry", [".", "", "bin"])
def test_its_own_node_is_not_started_if_path_names_the_working_folder(
    find, of_project, project, trust_all, monkeypatch, entry
):
    copilot_extension(of_project, "notes")
    trust_all()
    (usual,) = find().found
    write_node(project / entry)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", f"{entry}:{os.environ['PATH']}")
    (found,) = find().found
    assert found.program == usual.program
    monkeypatch.setenv("PATH", entry)
    (line,) = lines_of(find().skipped)
    assert "Node.js is not on PATH" in line


SDK = Path("node_modules", "@github", "copilot-sdk")


def link(at: Path, to: Path) -> None:
    at.parent.mkdir(parents=True, exist_ok=True)
    at.symlink_to(os.path.relpath(to, at.parent))


def dependency(folder: Path) -> Path:
    made = folder / "node_modules" / "vscode-jsonrpc"
    made.mkdir(parents=True)
    (made / "node.js").write_text("1\n")
    return made / "node.js"


def in_its_folder_by_a_link(project: Path, folder: Path) -> Path:
    fake_sdk(project / "vendor")
    link(folder / SDK, project / "vendor" / SDK)
    return dependency(project / "vendor")


def below_what_it_needs(project: Path, folder: Path) -> Path:
    fake_sdk(folder.parents[1])
    return dependency(project)


def in_its_folder_below_what_it_needs(project: Path, folder: Path) -> Path:
    fake_sdk(folder)
    return dependency(project)


@pytest.mark.parametrize("arrange", [in_its_folder_by_a_link, below_what_it_needs, in_its_folder_below_what_it_needs])
def test_what_its_sdk_runs_on_is_trusted_together_with_it(find, of_project, project, trust_all, arrange):
    folder = copilot_extension(of_project, "notes")
    needed = arrange(project, folder)
    trust_all()
    (found,) = find().found
    assert not found.set_env["COPILOT_SDK_PATH"].startswith(str(project.parent / "home"))
    needed.write_text("2\n")
    (skipped,) = find().skipped
    assert "its files have changed" in skipped.reason


def test_a_folder_that_holds_the_extension_is_no_sdk(find, of_project, project, home, trust_all):
    """The folder is not hashed: it is the whole project."""
    folder = copilot_extension(of_project, "notes")
    package = fake_sdk(project / "model")
    shutil.copytree(package, project, dirs_exist_ok=True)
    link(folder / SDK, project)
    trust_all()
    (found,) = find().found
    assert found.set_env["COPILOT_SDK_PATH"] == str(home / "copilot-sdk" / SDK)


@pytest.mark.parametrize("is_named", [True, False])
def test_the_sdk_that_it_was_started_with_counts_though_it_would_get_another_one_now(
    find, of_project, project, home, is_named
):
    folder = copilot_extension(project / "tools" if is_named else of_project, "notes")
    (found,) = discover([str(folder)] if is_named else [], project, home).found
    TrustStore(home).trust(folder, found.manifest, found=found)  # with the SDK in $ZOT_HOME
    package = fake_sdk(project)
    strict = StrictAdmission(home, "copilot")
    (found,) = finish(strict.first(discover([str(folder)] if is_named else [], project, home))).found
    assert found.set_env["COPILOT_SDK_PATH"] == str(package)
    assert isinstance(finish(strict.may_run(replace(found, seal=None))), FoundExtension)
    (package / "dist" / "extension.js").write_text("other\n")
    (package / "package.json").write_text('{"version": "0.1.0"}')  # so that it is passed over now
    refused = finish(strict.may_run(replace(found, seal=None)))
    assert refused == "not trusted (its files have changed)"


def test_what_is_too_large_to_be_checked_keeps_none_of_the_user_from_starting(find, of_project, home, trust_all):
    big = copilot_extension(of_project, "big")
    copilot_extension(home / "copilot-extensions", "guard")
    trust_all()
    with (big / "model.bin").open("wb") as file:
        file.truncate(2**40)
    assert [each.manifest.name for each in find().found] == ["guard"]


def test_a_package_of_another_name_is_no_sdk(find, of_project, project, home, trust_all):
    """Node would look for the SDK in the folders above it, of which nothing is hashed."""
    folder = copilot_extension(of_project, "notes")
    described = fake_sdk(project / "vendor") / "package.json"
    described.write_text(described.read_text().replace("@github/copilot-sdk", "other"))
    link(folder / SDK, described.parent)
    trust_all()
    (found,) = find().found
    assert found.set_env["COPILOT_SDK_PATH"] == str(home / "copilot-sdk" / SDK)
