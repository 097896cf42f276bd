"""What `zot ext doctor` says about the end of an extension."""

from __future__ import annotations

from typing import Any

from tests.support.extension_folder import folder


def test_each_fault_of_an_extension_has_a_finding_with_advice(tmp_path):
    from cli.doctor.finding import Level, worst
    from cli.ext.author.doctor_findings import judge
    from supervisor.harness.checkup import CheckupResult, Force
    from supervisor.harness.program_facts import look
    from supervisor.harness.recorded_process import HandshakePhase
    from supervisor.harness.script_runner import found_in
    from supervisor.home.config import Config
    from supervisor.process.child import ExitStatus

    found = found_in(folder(tmp_path, "x", ["./x"]))

    def topics(**facts: Any) -> dict[str, Level]:
        good: dict[str, Any] = {
            "phase": HandshakePhase.READY,
            "ready_s": 0.1,
            "hello_name": "x",
            "exit": ExitStatus(0, 0.0, 0),
            "stop_s": 0.01,
            "has_acked": True,
        }
        findings = judge(CheckupResult(found, **{**good, **facts}), look(found, Config()))
        assert all(
            finding.advice for finding in findings if finding.level is not Level.OK and finding.topic != "register"
        )
        told = {finding.topic: finding.level for finding in findings if finding.level is not Level.OK}
        assert worst(findings) is (Level.FAIL if Level.FAIL in told.values() else Level.WARN if told else Level.OK)
        return told

    assert topics() == {}
    assert topics(has_acked=False, force=Force.CLOSED_STDIN) == {}
    assert topics(force=Force.SIGTERM, exit=ExitStatus(0, 0.0, 0)) == {"shutdown": Level.FAIL}
    assert topics(force=Force.SIGKILL, exit=ExitStatus(-9, 0.0, 0)) == {"shutdown": Level.FAIL}
    assert topics(exit=ExitStatus(3, 0.0, 0)) == {"shutdown": Level.WARN}
    assert topics(force=Force.NOTHING, exit=ExitStatus(0, 0.0, 0)) == {"shutdown": Level.FAIL}
    assert topics(left=2) == {"processes": Level.WARN}
    assert topics(hello_name="y") == {"name": Level.WARN}
    assert topics(phase=HandshakePhase.SILENT) == {"ready": Level.WARN}
    assert topics(ready_s=2.5) == {"ready": Level.WARN}
    assert topics(phase=HandshakePhase.FAILED, failure="said no hello", ready_s=None) == {"handshake": Level.FAIL}
    assert topics(spawn_error="no such file", exit=None) == {"start": Level.FAIL}
    assert topics(bad_frames=["bad hello frame"]) == {"frames": Level.FAIL}
    assert topics(unknown_frames=["weather"]) == {"frames": Level.WARN}
    assert topics(remarks=["subscribed to 'x', which is not offered; ignored"]) == {"register": Level.WARN}
    assert topics(is_mute=True) == {"stdout": Level.FAIL}
    assert topics(lines=5000) == {"stdout": Level.WARN}
