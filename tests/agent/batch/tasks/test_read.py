"""Tasks from JSON Lines and CSV, files and pipes; and every fault with its place."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.batch.tasks import csv_rows, json_lines
from agent.batch.tasks.faults import SHOWN, TasksError
from agent.batch.tasks.read import read_tasks
from wire.batch import task
from wire.batch.task import Task


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(folder, name, content, template=None):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_tasks(name, template=template, base=folder)


def faults(folder, name, content, template=None):
    with pytest.raises(TasksError) as caught:
        read(folder, name, content, template)
    return str(caught.value).splitlines()


# --- JSON Lines ---------------------------------------------------------------------------------------------


def test_tasks_have_ids_places_and_absolute_paths(folder):
    found = read(
        folder,
        "t.jsonl",
        '{"id":"a","prompt":"x","cwd":"p","files":["f","/g"],"replay":"../c","output_schema":"s.json","ext":["e"]}\n'
        '\n  \n{"prompt":"y","output_schema":{"type":"object"}}\r\n',
    )
    first, second = found.tasks
    assert (first.id, first.cwd, first.files) == ("a", f"{folder}/p", (f"{folder}/p/f", "/g"))
    assert (first.replay, first.output_schema, first.ext) == (f"{folder}/c", f"{folder}/p/s.json", (f"{folder}/p/e",))
    assert (second.id, second.cwd, second.output_schema) == ("4", str(folder), {"type": "object"})
    assert found.lines == {"a": "t.jsonl:1", "4": "t.jsonl:4"}


def test_all_faults_are_told_at_once(folder):
    said = faults(folder, "t.jsonl", '{"prompt":"x"}\n{"id":"b"}\nx=1\n{"prompt":"y","timeut_s":3}\n')
    assert said == [
        "t.jsonl:2: prompt is required",
        "t.jsonl:3: not JSON: invalid character (column 1)",
        "t.jsonl:4: timeut_s: no such field; did you mean 'timeout_s'?",
    ]


def test_of_many_faults_the_first_are_named_and_all_are_counted(folder):
    with pytest.raises(TasksError) as caught:
        read(folder, "t.jsonl", "{}\n" * 1000)
    assert str(caught.value).splitlines()[SHOWN:] == ["and 980 more faults"]
    assert (len(caught.value.faults), caught.value.count) == (SHOWN, 1000)


def test_a_fault_in_each_line_is_explained_once(folder, monkeypatch):
    explained = []
    monkeypatch.setattr(task, "explain", lambda struct, said: explained.append(said) or "explained")
    task._explain.cache_clear()
    assert faults(folder, "t.jsonl", '{"timeut_s":1}\n' * 3000)[0] == "t.jsonl:1: explained"
    assert len(explained) == 1
    task._explain.cache_clear()


def test_an_id_that_is_there_twice_names_both_lines(folder):
    said = faults(
        folder, "t.jsonl", '{"id":"a","prompt":"x"}\n{"id":"3","prompt":"x"}\n{"prompt":"x"}\n{"id":"a","prompt":"x"}'
    )
    assert said == [
        "t.jsonl:3: id: '3' is the id of line 2, too (a task without an id has the number of its line)",
        "t.jsonl:4: id: 'a' is the id of line 1, too",
    ]


def test_a_field_that_is_there_twice_is_a_fault_and_a_name_in_a_text_is_not(folder):
    said = faults(
        folder, "t.jsonl", '{"prompt":"x","model":"a","model":"b"}\n{"prompt":"\\"id\\"","meta":{"id":1,"prompt":2}}'
    )
    assert said == ["t.jsonl:1: model: the line has it twice; leave one out"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[{"prompt":"x"}]', "t.jsonl:1: this is a JSON array; each task stands on a line of its own:"
         " jq -c '.[]' FILE > tasks.jsonl"),
        ('{\n"prompt":"x"}', "t.jsonl:1: this is an object over several lines; each task stands on one line:"
         " jq -c . FILE > tasks.jsonl"),
        ("", "t.jsonl: it is empty: there is no task"),
        (" \n\n", "t.jsonl: it is empty: there is no task"),
        ('{"prompt":"x\0"}', "t.jsonl:1: the line has a NUL byte, which JSON cannot have: save the file as UTF-8"),
        ('{"prompt":"x"}'.encode("utf-16"), "t.jsonl:1: it is UTF-16: save it as UTF-8"),
        (b'{"prompt":"x"}\n{"prompt":"\xe9"}', "t.jsonl:2: not JSON: this is not UTF-8 (column 12)"),
    ],
)  # fmt: skip
def test_what_is_no_json_lines_is_told_with_what_to_do(folder, content, said):
    assert faults(folder, "t.jsonl", content) == [said]


def test_a_line_that_is_too_long_is_a_fault_and_the_next_one_is_read(folder, monkeypatch):
    monkeypatch.setattr(json_lines, "LINE_LIMIT", 40)
    said = faults(folder, "t.jsonl", '{"prompt":"%s"}\n{}' % ("x" * 40))
    assert said[0] == "t.jsonl:1: the line has 53 bytes; the limit is 40: put long texts into `files`"
    assert said[1] == "t.jsonl:2: prompt is required"


def test_a_byte_order_mark_has_no_meaning(folder):
    assert read(folder, "t.jsonl", b'\xef\xbb\xbf{"prompt":"x"}').tasks[0].prompt == "x"
    assert read(folder, "t.csv", b"\xef\xbb\xbfprompt\nx\n").tasks[0].prompt == "x"


@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_there_are_tasks_or_faults(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("any")
    for name, template in (("t.jsonl", None), ("t.csv", None), ("t", "{prompt}")):
        (folder / name).write_bytes(data)
        try:
            told = [str(bool(read_tasks(str(folder / name), template=template, base=folder).tasks))]
        except TasksError as error:
            told = list(error.faults)
        assert all(each == "True" or each.startswith(f"{folder / name}:") for each in told)


# --- where they come from -----------------------------------------------------------------------------------


def test_stdin_is_read_to_its_end(folder):
    found = read_tasks("-", template=None, base=folder, stdin=io.BytesIO(b'{"prompt":"x"}\n{"prompt":"y"}'))
    assert found.lines == {"1": "stdin:1", "2": "stdin:2"}


def test_csv_from_stdin_is_told_by_the_template(folder):
    found = read_tasks("-", template="Say {word}", base=folder, stdin=io.BytesIO(b"word\nhello\n"))
    assert found.tasks[0].prompt == "Say hello"


def test_a_terminal_is_not_waited_for(folder):
    main, terminal = os.openpty()
    try:
        with os.fdopen(terminal, "rb") as stdin, pytest.raises(TasksError, match="stdin is a terminal: pipe"):
            read_tasks("-", template=None, base=folder, stdin=stdin)
    finally:
        os.close(main)


def test_a_named_pipe_is_read_to_its_end(folder):
    os.mkfifo("tasks")
    with subprocess.Popen([sys.executable, "-c", "open('tasks', 'w').write('{\"prompt\":\"x\"}')"]):
        assert read_tasks("tasks", template=None, base=folder).tasks[0].prompt == "x"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("absent.jsonl", "absent.jsonl: no such file"),
        (".", ".: it is a folder; name a file with tasks"),
        ("/dev/zero", "/dev/zero: it is neither a file nor a pipe"),
        ("a\0b", r"'a\x00b': cannot be read: embedded null byte"),
        ("x" * 300, f"{'x' * 300}: cannot be read: File name too long"),
    ],
)
def test_what_cannot_be_read_is_told(folder, name, said):
    with pytest.raises(TasksError) as caught:
        read_tasks(name, template=None, base=folder)
    assert str(caught.value) == said


def test_a_file_that_never_ends_is_bounded(folder, monkeypatch):
    monkeypatch.setattr("agent.batch.tasks.read.SIZE_LIMIT", 2**20)
    (folder / "t.jsonl").write_bytes(b" " * (2**20 + 1))
    with pytest.raises(TasksError, match=r"t\.jsonl: it is larger than 1 MiB: split it"):
        read_tasks("t.jsonl", template=None, base=folder)


# --- CSV ----------------------------------------------------------------------------------------------------


def test_columns_set_fields_or_go_into_meta(folder):
    found = read(
        folder,
        "t.csv",
        "id,prompt,max_steps,timeout_s,tools,files,env,topic,output_schema\n"
        'a,"Say ""x"",\nplease",3,1.5,"read, bash","[""a,b""]","{""A"":""1""}",tea,"{""type"":""object""}"\n'
        "b,y,,,,,,,s.json\n",
    )
    first, second = found.tasks
    assert (first.prompt, first.max_steps, first.timeout_s) == ('Say "x",\nplease', 3, 1.5)
    assert (first.tools, first.files, first.env) == (("read", "bash"), (f"{folder}/a,b",), {"A": "1"})
    assert (first.meta, first.output_schema) == ({"topic": "tea"}, {"type": "object"})
    assert second == Task(id="b", prompt="y", cwd=str(folder), output_schema=f"{folder}/s.json", meta={"topic": ""})
    assert found.lines == {"a": "t.csv:2", "b": "t.csv:4"}, "a row counts with its first line"


def test_each_kind_of_field_is_read_from_a_cell():
    texts = {
        "id",
        "prompt",
        "cwd",
        "model",
        "provider",
        "base_url",
        "system_prompt",
        "setup",
        "check",
        "score",
        "replay",
    }
    kinds = csv_rows.LISTS | csv_rows.JSON | csv_rows.TEXT_OR_JSON | texts | {"meta"}
    assert kinds == set(Task.__struct_fields__)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\n1,2\n", ["t.csv:1: there is no column 'prompt': add one, or say with --template how the"
                       " columns make a prompt"]),
        ("prompt,a,a\n", ["t.csv:1: 'a': the column stands there twice"]),
        ("prompt,\nx,y\n", ["t.csv:1: column 2 has no name"]),
        ("prompt,meta\nx,{}\n", ["t.csv:1: 'meta': no column may be named so: every column that is no field of a"
                                 " task goes into its meta"]),
        ("prompt,a\nx\ny,1\nz,1,2\n", ["t.csv:2: the row has 1 cells, and the first row 2",
                                          "t.csv:4: the row has 3 cells, and the first row 2"]),
        ('prompt\n"x\ny', ['t.csv:2: a quote (") opens in this row, and none closes it']),
        ('prompt\nx\n"a" b\n', ["t.csv:3: not CSV: ',' expected after '\"'; a quote (\") within a quoted cell is"
                                  " written twice; no further row was read"]),
        ("prompt\n", ["t.csv: there is no task in it"]),
        ("prompt,max_steps\nx,many\n", ["t.csv:2: max_steps: expected int | null, got str"]),
        ("prompt,env\nx,A=1\n", ["t.csv:2: env: expected object, got str"]),
        ("prompt,a\n ,1\n", ["t.csv:2: prompt is required"]),
        (b"prompt\nx\n\xe9\n", ["t.csv:3: this is not UTF-8: save the file as UTF-8"]),
        ("prompt\nx\0\n", ["t.csv:2: the line has a NUL character"]),
        ("prompt,id\nx,a\ny,a\n", ["t.csv:3: id: 'a' is the id of line 2, too"]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_table_is_told_with_its_line(folder, content, said):
    assert faults(folder, "t.csv", content) == said


def test_a_column_that_looks_like_a_field_is_pointed_out(folder):
    found = read(folder, "t.csv", "prompt,timeut_s,topic\nx,3,tea\n")
    assert found.remarks == ("t.csv:1: the column 'timeut_s' goes into meta; did you mean 'timeout_s'?",)


def test_a_fault_is_one_line_of_bounded_length(folder):
    columns = ",".join(f"column{n}" for n in range(900))
    said = faults(folder, "t.csv", f'"a\nb","c\x1b[31m",{columns}\n1,2\n', "{word}")
    assert len(said) == 1
    assert said[0].startswith("t.csv:1: --template: {word}: no such column; there are a b, c, column0")
    assert len(said[0]) <= 1000


# --- templates ----------------------------------------------------------------------------------------------


def test_a_template_makes_the_prompts_of_a_table(folder):
    found = read(folder, "t.csv", "id,city name\na,São Paulo {x}\n", "Weather in {city name}, {{as}} JSON ({id})?")
    assert found.tasks[0].prompt == "Weather in São Paulo {x}, {as} JSON (a)?"
    assert found.tasks[0].meta == {"city name": "São Paulo {x}"}


def test_a_template_makes_the_prompts_of_json_lines_from_fields_and_meta(folder):
    found = read(folder, "t.jsonl", '{"id":"a","meta":{"n":[1,2],"id":"meta","none":null}}', "{id} {n}{none}")
    assert found.tasks[0].prompt == "a [1,2]"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"prompt":"x"}', "prompt: --template makes the prompt: name {prompt} in it, or leave the field out"),
        ('{"meta":{"wrd":"x"}}', "--template: {word}: no such field, in the task or in its meta; did you mean 'wrd'?"),
        ('{"word":"x"}', "word: no such field; it has"),
        ('{"meta":[1]}', "--template: {word}: no such field, in the task or in its meta; there are meta"),
        ("[", "this is a JSON array"),
        ("3", 'a task is an object, such as {"id": "a", "meta": {"topic": "tea"}}'),
    ],
)
def test_a_line_that_does_not_fit_the_template_is_told(folder, content, said):
    assert faults(folder, "t.jsonl", content, "Say {word}")[0].startswith(f"t.jsonl:1: {said}")


def test_a_prompt_can_go_into_the_template(folder):
    assert read(folder, "t.jsonl", '{"prompt":"x"}', "Briefly: {prompt}").tasks[0].prompt == "Briefly: x"


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{a", "--template: line 1, column 1: '{' stands alone; write '{{' for a brace"),
        ("x\n a}", "--template: line 2, column 3: '}' stands alone; write '}}' for a brace"),
        ("{}", "--template: line 1, column 1: '{}' names no value; write '{{}}' for a pair of braces"),
        (" ", "--template: it is empty; write the prompt, with {name} where a value goes"),
        ("@absent", "--template @absent: cannot be read: No such file or directory"),
        ("{wrd}", "t.csv:1: --template: {wrd}: no such column; did you mean 'word'?"),
    ],
)
def test_a_faulty_template_is_told(folder, template, said):
    assert faults(folder, "t.csv", "word\nx\n", template) == [said]


def test_nothing_in_a_template_is_evaluated(folder):
    assert faults(folder, "t.csv", "a\nx\n", "{a.__class__}{a!r}{a:9}") == [
        "t.csv:1: --template: {a.__class__}: no such column; there are a",
        "t.csv:1: --template: {a!r}: no such column; did you mean 'a'?",
        "t.csv:1: --template: {a:9}: no such column; did you mean 'a'?",
    ]


def test_a_template_can_be_a_file(folder):
    (folder / "t.txt").write_text("Say\n{word}\n")
    assert read(folder, "t.csv", "word\nx\n", "@t.txt").tasks[0].prompt == "Say\nx\n"
