"""`zot ext install --json`."""

from __future__ import annotations

from tests.support.forked import run


def test_json_of_an_install_and_a_removal(zot, made):
    (done,) = run(zot, "ext", "install", made, "--json", "--project").json_lines
    folder = zot.cwd / ".zot" / "extensions" / "guard"
    assert done["dir"] == str(folder)
    assert (done["action"], done["scope"], done["trusted"]) == ("installed", "project", True)
    assert (done["argv"], done["env"], done["warnings"], done["kind"]) == ([f"{folder}/run"], [], [], "path")
    (listed,) = run(zot, "ext", "list", "--json").json_lines
    assert listed["trusted"] is True
    outcome = run(zot, "ext", "remove", "guard", "-y", "--json")
    assert outcome.json_lines[0] == {
        "action": "removed", "name": "guard", "scope": "project", "dir": str(folder), "data_dir": None, "moved": [],
        "purged": False,
    }  # fmt: skip
    assert outcome.stderr == ""
