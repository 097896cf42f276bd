"""A pool of processes of which each serves one run at a time."""

from __future__ import annotations

from collections import Counter

from tests.support.host import SOON
from tests.support.leasing_host import limit_to, received
from wire import frames
from wire.dialects import attach

# --- one run after another -------------------------------------------------------------------------------------


def test_one_process_serves_one_run_after_another(leased, record):
    pids = []
    for number in range(5):
        run = leased.run(f"s{number}", f"/p/{number}")
        pids.append(run.call("pid"))
        run.end()
    leased.until(lambda: len(received(record)) == 10)
    assert len(set(pids)) == 1
    assert [(each["type"], each["session_id"]) for each in received(record)] == [
        (kind, f"s{number}") for number in range(5) for kind in ("lease_begin", "lease_end")
    ]
    begun, ended = received(record, "lease_begin"), received(record, "lease_end")
    assert [each["cwd"] for each in begun] == [f"/p/{number}" for number in range(5)]
    assert [each["id"] for each in begun] == [each["id"] for each in ended]
    assert len({each["id"] for each in begun}) == 5
    assert leased.said_of("leased") == []


def test_a_shell_script_is_leased(host, record):
    host.add("lease_holder.sh", record, name="leased", sessions="leased")
    host.start()
    said = []
    for number in range(3):
        run = host.run(f"s{number}")
        said.append(run.text(run.begin("", tool="who")).split())
        run.end()
    assert [session for _, session in said] == ["s0", "s1", "s2"]
    assert len({pid for pid, _ in said}) == 1
    host.until(lambda: len(record.read_text().splitlines()) == 6)
    assert [line.split()[1:] for line in record.read_text().splitlines()] == [
        [word, f"s{number}"] for number in range(3) for word in ("begin", "end")
    ]


def test_runs_at_the_same_time_have_a_process_each_and_later_ones_reuse_them(leased):
    for rnd in range(3):
        runs = [leased.run(f"s{rnd}-{number}") for number in range(4)]
        assert len({run.call("pid") for run in runs}) == 4
        assert len(leased.pids()) == 4
        for run in runs:
            run.end()
        leased.until(lambda: not leased.server.runs)
    assert leased.cost("leased").restarts == 0


def test_many_runs_that_come_at_once(leased):
    runs = [leased.attach(f"s{number}") for number in range(8)]
    for run in runs:
        run.take()
    for run in runs:
        run.until(attach.Registered)
    assert len({run.call("pid") for run in runs}) == 8


def test_the_first_workers_are_those_of_the_manifest(host, record):
    host.add("lease_holder.py", record, name="leased", sessions="leased", workers=3)
    host.start()
    assert len(host.pids()) == 3
    assert len({host.run(f"s{number}").call("pid") for number in range(4)}) == 4


# --- answers and frames go to the run of the process --------------------------------------------------------------


def test_frames_without_a_session_go_to_the_run_of_the_process(leased):
    one, other = leased.run("one"), leased.run("other")
    assert one.call("note", text="hello") == "noted"
    assert one.until(frames.Notify).message == "hello"
    one.call("submit", text="do this")
    assert one.until(frames.Submit).text == "do this"
    call = one.begin("progress")
    assert one.until(frames.ToolProgress, id=call).text == "half"
    one.call("panel")
    assert one.until(frames.OpenPanel).panel.title == "t"
    call = one.begin("call")
    asked = one.until(frames.CallTool)
    assert asked.name == "read"
    one.frame(frames.CalledToolResult(asked.id, "read", [frames.ContentBlock("text", "content of a")]))
    assert "content of a" in one.text(call)
    other.call("pid")
    assert [type(line) for line in other.lines if not isinstance(line, attach.Attached)] == [
        attach.State, attach.Registered, frames.ToolResult
    ]  # fmt: skip
    assert leased.notes == []


def test_a_frame_for_the_session_of_another_run_is_dropped_and_told_off(leased):
    one, other = leased.run("one"), leased.run("other")
    one.call("note", text="hello", session="other")
    other.call("pid")
    one.call("pid")
    assert (one.all(frames.Notify), other.all(frames.Notify)) == ([], [])
    ((_, said),) = leased.said_of("leased")
    assert "sends notify for the session 'other', which does not have it; dropped" in said


def test_late_answers_do_not_reach_the_next_run(leased):
    one = leased.run("one")
    kept = one.begin("keep")
    one.call("pid")
    one.end()
    two = leased.run("two")
    again = two.begin("keep")
    assert two.call("late") == "done"
    assert two.text(again) == "late"
    assert [each.id for each in two.all(frames.ToolResult)] == [again, "two-2"]
    assert kept not in {each.id for each in two.all(frames.ToolResult)}


def test_verdicts_commands_and_events_of_a_run(leased, record):
    run = leased.run("one", "/home/one")
    run.frame(frames.Event("session_start"))
    run.frame(frames.Event("turn_start", step=7, session_id="other"))
    for number, args in enumerate((b'{"path":"good"}', b'{"path":"bad"}')):
        run.frame(frames.EventIntercept(f"v{number}", "tool_call", tool_name="read", tool_args=frames.Raw(args)))
    assert not run.until(frames.InterceptResponse, id="v0").block
    assert run.until(frames.InterceptResponse, id="v1").block
    run.frame(frames.CommandInvoked("c1", "who", ""))
    assert int(run.until(frames.CommandResponse, id="c1").display) in leased.pids()
    events = received(record, "event", "event_intercept")
    assert {(each["session_id"], each["cwd"]) for each in events} == {("one", "/home/one")}
    run.end()
    leased.until(lambda: received(record, "lease_end"))
    ended, lease = received(record, "event", "lease_end")[-2:]
    assert (ended["event"], ended["session_id"], lease["type"]) == ("session_end", "one", "lease_end")


def test_a_run_learns_of_tools_that_its_process_registers_later(leased):
    one, other = leased.run("one"), leased.run("other")
    other.call("tool", text="extra")
    assert any(b'"extra"' in bytes(frame) for frame in other.until(attach.Registered, 2).frames)
    one.call("tool", text="more")
    named = one.until(attach.Registered, 2).frames
    assert any(b'"more"' in bytes(frame) for frame in named)
    assert not any(b'"extra"' in bytes(frame) for frame in named)
    assert len(other.all(attach.Registered)) == 2


# --- runs that end -------------------------------------------------------------------------------------------------


def test_a_run_that_ends_while_its_lease_begins(leased, record):
    bad = leased.attach("bad", "/p/silent")
    bad.take()
    leased.until(lambda: received(record, "lease_begin"))
    bad.end()
    good = leased.run("good")
    assert good.call("pid")
    assert [(each["type"], each["session_id"]) for each in received(record)] == [
        ("lease_begin", "bad"), ("lease_end", "bad"), ("lease_begin", "good"),
    ]  # fmt: skip
    assert leased.cost("leased").timeouts == 0


def test_lease_ready_that_comes_after_the_end_of_its_run(leased, record):
    bad = leased.attach("bad")
    bad.take()
    leased.until(lambda: bad.all(attach.State))  # the process has not read `lease_begin` yet
    bad.end()
    leased.until(lambda: received(record, "lease_end"))
    leased.run_for(0.05)
    assert leased.run("good").call("whose") == "good"


def test_a_run_that_ends_in_mid_call(leased, record):
    one = leased.run("one")
    one.begin("keep")
    pid = one.call("pid")
    one.end()
    two = leased.run("two")
    assert two.call("pid") == pid
    assert leased.extension("leased").lead.requests.pending == {}
    assert leased.cost("leased").unexpected_exits == 0


def test_a_run_that_leaves_by_shutdown_frees_its_process(leased):
    one = leased.run("one")
    pid = one.call("pid")
    one.frame(frames.Shutdown())
    assert leased.run("two").call("pid") == pid


def test_a_run_that_ends_as_another_waits_for_its_process(leased, monkeypatch):
    limit_to(monkeypatch, 1)
    one, two = leased.run("one"), leased.attach("two")
    pid = one.call("pid")
    two.take()
    assert "other runs have all its" in two.until(attach.State, 2, state="starting").reason
    three = leased.attach("three")
    three.take()
    three.until(attach.State, 2, state="starting")
    one.end()
    two.until(attach.Registered)
    assert two.call("pid") == pid
    assert three.all(attach.Registered) == []
    two.end()
    three.until(attach.Registered)
    assert three.call("pid") == pid


# --- who may be leased, and limits -----------------------------------------------------------------------------------


def test_one_whose_hello_does_not_say_leases_is_private(host, record):
    host.add("lease_holder.py", record, "other", name="leased", sessions="leased")
    host.start()
    run = host.attach("one")
    (offer,) = run.attached.extensions
    assert (offer.sessions, offer.why) == ("private", "its hello does not announce the feature leases")
    run.take()
    assert "leases" in run.until(attach.Refused).message


def test_one_that_is_still_starting_becomes_private_for_its_runs(host, tmp_path):
    code = f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)\nhello(); list(frames())"
    host.write("leased", code, sessions="leased")
    host.server.start()
    host.launch()
    run = host.attach("one")
    (offer,) = run.attached.extensions
    assert offer.sessions == "leased"
    run.take()
    run.until(attach.State, state="starting")
    (tmp_path / "go").touch()
    gone = run.until(attach.State, state="gone")
    assert gone.is_private
    assert "leases" in gone.reason


def test_limits_hold_for_each_process(host, record):
    limits = {"rss_mb": 200}
    host.add("lease_holder.py", record, name="leased", sessions="leased", restart=SOON, limits=limits)
    host.start()
    one, other = host.run("one"), host.run("other")
    for run in (one, other):
        run.call("memory", text="60")
    one.begin("memory", text="400")
    assert "rss_mb" in one.until(attach.Told, kind="limit").message
    one.until(attach.Registered, 2)
    assert other.all(attach.Told) == []
    assert other.call("pid")


def test_shares_of_runs_are_their_own(leased):
    one, other = leased.run("one"), leased.run("other")
    for _ in range(3):
        one.call("pid")
    other.call("pid")
    calls = Counter()
    for run in (one, other):
        run.send(attach.UseAsked())
        calls[run.session] = run.until(attach.Use).extensions["leased"].calls
    assert calls == {"one": 3, "other": 1}
