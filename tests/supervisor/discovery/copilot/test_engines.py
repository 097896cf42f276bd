"""A Node that is too old, for zot or for the SDK, is told so."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from supervisor.discovery.copilot.sdk import BOOTSTRAP
from tests.support.copilot_folders import copilot_extension, fake_sdk
from tests.support.copilot_nodes import node

JOINS = 'import { joinSession } from "@github/copilot-sdk/extension";\nawait joinSession({});\n'
RANGES = {
    "^20.19.0 || >=22.12.0": {"20.18.3": False, "20.19.0": True, "20.20.2": True, "21.7.0": False, "22.11.9": False,
                              "22.12.0": True, "26.10.0": True, "22.12.0-nightly3": True},
    ">=20.0.0": {"18.20.8": False, "20.0.0": True, "24.0.0": True},
    "~20.5": {"20.4.9": False, "20.5.1": True, "20.6.0": False},
    "20 - 22": {"18.0.0": True},
    ">=20 <22": {"18.0.0": True},
    "*": {"18.0.0": True},
}  # fmt: skip


@pytest.mark.slow
def test_what_a_package_asks_of_node():
    """A range that is not understood asks for no version."""
    cases = [(asked, version) for asked, versions in RANGES.items() for version in versions]
    program = (
        f"import {{ satisfies }} from {json.dumps((BOOTSTRAP.parent / 'engines.mjs').as_uri())};"
        f"console.log(JSON.stringify({json.dumps(cases)}.map((each) => satisfies(...each))));"
    )
    done = subprocess.run([node("system"), "--input-type=module", "-e", program], capture_output=True, check=True)
    expected = [is_met for versions in RANGES.values() for is_met in versions.values()]
    assert list(zip(cases, json.loads(done.stdout), strict=True)) == list(zip(cases, expected, strict=True))


def with_demand(folder, demand):
    package = fake_sdk(folder)
    (package / "dist" / "extension.js").write_text("export const joinSession = async () => ({});\n")
    described = json.loads((package / "package.json").read_text())
    (package / "package.json").write_text(json.dumps({**described, "engines": {"node": demand}}))
    return package


def test_an_sdk_that_asks_for_a_newer_node(running, tmp_path):
    """The SDK may work with an older Node too: the log names the demand, and the reason if the start fails."""
    asks = "@github/copilot-sdk 1.0.0 asks for Node >=99, and this is v"
    package = with_demand(tmp_path, ">=99")
    works = running(copilot_extension(tmp_path, "works", JOINS) / "extension.mjs", sdk=package)
    assert works.exited() == 0
    assert works.stderr.startswith(f"zot: {asks}")
    fails = running(copilot_extension(tmp_path, "fails", f"{JOINS}[].at(0).x;\n") / "extension.mjs", sdk=package)
    assert fails.exited() == 1
    assert f"TypeError: Cannot read properties of undefined (reading 'x') ({asks}" in fails.stderr


@pytest.mark.slow
@pytest.mark.parametrize("demand", [">=16", 16, None])
def test_an_sdk_that_asks_for_no_newer_one(running, tmp_path, demand):
    host = running(copilot_extension(tmp_path, "works", JOINS) / "extension.mjs", sdk=with_demand(tmp_path, demand))
    assert (host.exited(), host.stderr) == (0, "")


def test_an_old_node_can_read_the_program_that_says_it_is_too_old():
    """Node 12 knows none of these."""
    text = re.sub(r"//.*|/\*.*?\*/", "", BOOTSTRAP.read_text())
    assert not re.search(r"\?\.|\?\?|^await|^(?:const|let) .*= await|from \"node:", text, re.MULTILINE)
    assert set(re.findall(r'^import .* from "(.*)";$', text, re.MULTILINE)) == {"fs", "module", "path", "url"}
