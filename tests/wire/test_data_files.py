"""`data` of a manifest covers what it names, and nothing that the extension runs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.data_files import ENDINGS, NEVER_DATA, covers
from wire.manifest import ManifestError, parse_manifest
from wire.settings.manifest_faults import all_faults


def text(**fields: object) -> bytes:
    return json.dumps({"name": "a", "exec": "./a", **fields}).encode()


@pytest.mark.parametrize(
    ("entry", "covered", "left"),
    [
        ("todos.json", ["todos.json"], ["sub/todos.json", "Todos.json", "todos.json.bak"]),
        ("*.log", ["run.log", "a b.log"], [".log", ".run.log", "logs/run.log", "run.log.1"]),
        ("run-*.log", ["run-.log", "run-2026.log"], ["run.log"]),
        ("logs/*.txt", ["logs/a.txt"], ["a.txt", "logs/deep/a.txt"]),
        ("*/state.db", ["x/state.db"], ["state.db", ".git/state.db"]),
        (".state.json", [".state.json"], ["state.json"]),
        ("*.json", ["state.json"], ["package.json", "lib/package.json", "tsconfig.build.json", "Extension.json"]),
        (
            "*.json",
            ["dino.json"],
            ["deno.json", "jsconfig.json", "nodemon.json", "App.Deps.json", "a.runtimeconfig.json"],
        ),
        ("lib/*.txt", ["lib/a.txt"], ["lib/entry_points.txt", "lib/CMakeLists.txt", "lib/a/b.txt"]),
        ("lib/*.json", ["lib/x.json"], ["lib/package.json", "lib/TSCONFIG.JSON"]),
    ],
)
def test_which_files_an_entry_covers(entry, covered, left):
    manifest = parse_manifest(text(data=[entry]))
    assert [path for path in (*covered, *left) if manifest.is_data(path)] == covered


@given(st.lists(st.sampled_from("*ab./-"), max_size=8).map("".join), st.sampled_from(["package.json", *ENDINGS]))
def test_an_entry_is_refused_or_covers_files_of_its_ending_in_the_folder_only(start, ending):
    entry = start + ending
    faults = [fault.message for fault in all_faults(text(data=[entry]))]
    if faults:
        assert faults[0].startswith("data[0]: ")
        return
    manifest = parse_manifest(text(data=[entry]))
    assert manifest.is_data(entry.replace("*", "x"))
    for path in ("a.py", "../x.json", "/x.json", *(name.replace("*", "") for name in NEVER_DATA)):
        assert not manifest.is_data(path)
        assert not covers((entry,), f"lib/{path}") or path == "a.py"


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (["../x.json"], "data[0]: '../x.json' leads out of the extension's folder; name a file in it"),
        (["/tmp/x.json"], "data[0]: '/tmp/x.json' leads out of the extension's folder"),
        (["a.json", "a//b.json"], "data[1]: 'a//b.json' is no plain path; write it as todos.json or logs/*.log"),
        ([""], "data[0]: '' is no plain path"),
        (["[ab].json"], "data[0]: '[ab].json' is no plain path"),
        (["*-*.json"], "data[0]: '*-*.json' has more than one * in a name"),
        (["*"], "data[0]: '*' must end in one of .json .jsonl .ndjson .log .db .sqlite .csv .txt"),
        (["lib.py"], "data[0]: 'lib.py' must end in one of"),
        (["logs/"], "data[0]: 'logs/' is no plain path"),
        (["sub/package.json"], "data[0]: 'sub/package.json' is part of the program, never data"),
        (["tsconfig*.json"], "data[0]: 'tsconfig*.json' is part of the program"),
        (["extension.json"], "data[0]: 'extension.json' is part of the program"),
        ([".mcp.json"], "data[0]: '.mcp.json' is part of the program"),
        (["rules.json"], "data[0]: 'rules.json' is named by exec or args, and so is part of the program"),
        (["conf/rules.json"], "data[0]: 'conf/rules.json' is named by exec or args"),
        (["x.json"] * 101, "data: more than 100 entries; use a pattern, such as *.log"),
        ([1], "data[0]: expected str"),
        ("x.json", "data: expected array"),
    ],
    ids=str,
)
def test_a_bad_entry_is_named(data, wanted):
    bad = text(data=data, args=["rules.json", "--conf=./conf/../conf/rules.json"])
    with pytest.raises(ManifestError) as failed:
        parse_manifest(bad)
    assert wanted in str(failed.value)
    assert wanted in all_faults(bad)[0].message
