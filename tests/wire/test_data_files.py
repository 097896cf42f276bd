"""`data` of a manifest covers what it names, and nothing that the extension runs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.data_files import ENDINGS, NEVER_DATA, covers, entry_for
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
        ("*.json", ["日本.json"], ["pac\u212aage.json", "package\u200d.json", "t\u017fconfig.json", "日.deps.json"]),
        ("*.txt", ["asked.txt"], ["requirements-dev.txt", "constraints.txt", "meson_options.txt"]),
        ("x.db", ["x.db", "x.db-wal", "x.db-shm", "x.db-journal", "x.db.tmp"], ["x.db-", "x-wal", "x.db-wal-wal"]),
        ("*.sqlite", ["a.sqlite-wal"], ["-wal", "a.txt-wal", "a.sqlite.txt"]),
        ("x.json", ["x.json.tmp"], ["x.json-wal", "x.tmp", "x.json.tmp.tmp", "x.json~", "package.json.tmp"]),
    ],
)
def test_which_files_an_entry_covers(entry, covered, left):
    manifest = parse_manifest(text(data=[entry]))
    assert [path for path in (*covered, *left) if manifest.is_data(path)] == covered


@given(
    st.sampled_from(NEVER_DATA).map(lambda name: name.replace("*", "-x")),
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from("\u200d\u00ad\ufe0f\u0301\u034f")), max_size=3),
    st.sampled_from([str, str.upper, str.title]),
    st.sampled_from(["", "lib/"]),
    st.sampled_from(["", ".tmp"]),
)
def test_no_spelling_makes_data_of_what_runs(name, invisible, spell, folder, end):
    for at, character in invisible:
        name = name[:at] + character + name[at:]
    everything = [f"{above}*{ending}" for above in ("", "lib/") for ending in (*ENDINGS, *map(str.upper, ENDINGS))]
    for spelled in (spell(name), spell(name.replace("k", "\u212a").replace("s", "\u017f").replace("fi", "\ufb01"))):
        assert not covers([*everything, f"{folder}{spelled}"], f"{folder}{spelled}{end}")


WORDS = [
    ["x.json"],
    ["./X.json"],
    ["--config=lib/../x.json"],
    ["-cx.json"],
    ["--config=/home/me/a/x.json"],
    ["../a/x.json"],
    ["-c", "cd lib && python3 'x.json'"],
    ["-c", ". ./x.json; exec node main.js"],
    ["-c", "A=x.json;python3 $A"],
]


@pytest.mark.parametrize("args", WORDS, ids=str)
def test_what_the_command_line_names_is_no_data(args):
    manifest = parse_manifest(text(args=args, data=["*.json"]))
    assert [path for path in ("x.json", "x.json.tmp", "y.json", "ax.json") if manifest.is_data(path)] == [
        "y.json",
        "ax.json",
    ]
    assert "is named by exec or args" in all_faults(text(args=args, data=["y.json", "x.json"]))[0].message


def test_a_program_with_an_ending_of_data_is_no_data():
    manifest = parse_manifest(text(exec="./run.txt", args=["conf/x.json"], data=["*.txt", "*.json", "*/x.json"]))
    covered = {path: manifest.is_data(path) for path in ("run.txt", "conf/x.json", "x.json", "state/x.json")}
    assert covered == {"run.txt": False, "conf/x.json": False, "x.json": True, "state/x.json": True}


@given(st.text(max_size=12), st.sampled_from([*ENDINGS, ".db-wal", ".json.tmp", ".py"]))
def test_what_is_advised_as_an_entry_is_one(start, ending):
    path = start + ending
    entry = entry_for(path, ("./a",))
    assert not entry or parse_manifest(text(data=[entry])).is_data(path)


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
        (["./x.json"], "data[0]: './x.json' is no plain path; write it as todos.json"),
        (["~/x.json"], "data[0]: '~/x.json' leads out of the extension's folder"),
        (["a/../../x.json"], "data[0]: 'a/../../x.json' leads out of the extension's folder"),
        (["a\0.json"], "is no plain path"),
        (["a\n.json"], "is no plain path"),
        (["**/x.json"], "data[0]: '**/x.json' has more than one * in a name"),
        (["main.js"], "data[0]: 'main.js' must end in one of"),
        (["lib.so"], "data[0]: 'lib.so' must end in one of"),
        (["state"], "data[0]: 'state' must end in one of"),
        (["x.json "], "must end in one of"),
        (["x.db-wal"], "data[0]: 'x.db-wal' must end in one of"),
        (["pac\u212aage.json"], "is part of the program, never data"),
        (["package\u200d.json"], "is part of the program, never data"),
        (["*.deps.json"], "data[0]: '*.deps.json' is part of the program"),
        (["Rules.json"], "data[0]: 'Rules.json' is named by exec or args"),
        (["x" * 10_000 + ".py"], "x …' must end in one of"),
        (["x.json"] * 1000, "data: more than 100 entries; use a pattern, such as *.log"),
        ([["x.json"]], "data[0]: expected str"),
        ([None], "data[0]: expected str"),
        (None, "data: expected array"),
        (True, "data: expected array"),
        ({"x.json": 1}, "data: expected array"),
        (["x.json"] * 101, "data: more than 100 entries; use a pattern, such as *.log"),
        ([1], "data[0]: expected str"),
        ("x.json", "data: expected array"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_bad_entry_is_named(data, wanted):
    bad = text(data=data, args=["rules.json", "--conf=./conf/../conf/rules.json"])
    with pytest.raises(ManifestError) as failed:
        parse_manifest(bad)
    assert wanted in str(failed.value)
    assert wanted in all_faults(bad)[0].message
