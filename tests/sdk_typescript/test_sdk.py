"""The TypeScript SDK: its own tests, its types, its committed build, and an extension under the real supervisor."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.host import Host
from wire import frames

SDK = Path(__file__).parents[2] / "sdk" / "typescript"
NODE = shutil.which("node") or ""

pytestmark = pytest.mark.skipif(not NODE, reason="no node here, which runs the TypeScript SDK")
needs_typescript = pytest.mark.skipif(
    not (SDK / "node_modules" / "typescript").exists(),
    reason="no TypeScript here: npm ci --prefix sdk/typescript --ignore-scripts",
)


def node(*argv: str | Path) -> None:
    """Runs node; fails the test with all its output if the exit status is not 0."""
    run = subprocess.run([NODE, *argv], cwd=SDK, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr


def extension(folder: Path, code: str) -> list[str]:
    """The command of an extension `ext` with that code."""
    script = folder / "extension.mjs"
    head = f"import {{ block, extension, rewrite, s }} from {json.dumps((SDK / 'dist' / 'index.js').as_uri())};"
    script.write_text(f"{head}\nconst ext = extension('sdk', '1.0.0');\n{code}\nawait ext.run();\n")
    return [NODE, str(script)]


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted(path.name for path in (SDK / "test").glob("*.test.js")))
def test_the_sdk_passes_its_own_tests(module: str):
    node("--test", f"test/{module}")


@needs_typescript
def test_the_types_are_what_authors_rely_on():
    node(SDK / "node_modules" / "typescript" / "bin" / "tsc", "-p", "test/types")


@needs_typescript
def test_the_committed_build_is_what_the_source_gives():
    node("build.mjs", "--check")


def test_the_package_needs_nothing_and_names_no_registry():
    package = json.loads((SDK / "package.json").read_text())
    assert not {"dependencies", "peerDependencies", "optionalDependencies"} & set(package)
    lock = (SDK / "package-lock.json").read_text()
    assert "resolved" not in lock


def test_an_extension_under_the_supervisor(tmp_path: Path):
    code = """
    let stopped = () => {};
    ext.tool('shout', { description: 'Upper-cases', parameters: s.object({ text: s.string() }) }, ({ text }) => {
      console.log('not a frame');
      return text.toUpperCase();
    });
    ext.tool('broken', {}, () => { throw new Error('no luck'); });
    ext.tool('wait', {}, () => new Promise((resolve) => (stopped = resolve)));
    ext.tool('more', {}, () => { ext.tool('late', {}, () => 'late'); stopped('over'); });
    ext.interceptToolCall(({ toolName, args }) => toolName === 'bash' ? block('no bash') : rewrite({ ...args, n: 1 }));
    ext.interceptTurnStart(() => { throw new Error('broken guard'); });
    ext.on('session_start', () => ext.notify('info', 'begun'));
    ext.onShutdown(() => process.stderr.write('cleaned up\\n'));
    """
    with Host(tmp_path) as host:
        host._add("sdk", extension(tmp_path, code), {"on_failure": "allow"})
        host.start()
        assert host.tools() == {"shout", "broken", "wait", "more"}
        assert host.text("shout", text="grüße\u2028") == "GRÜSSE\u2028"
        failed = host.call("broken").frame
        assert failed is not None
        assert (failed.is_error, failed.content) == (True, [frames.ContentBlock("text", "no luck")])
        host.call("more")
        host.until(lambda: "late" in host.tools())
        assert host.ask(tool_name="bash").reason == "no bash"
        rewritten = host.ask()
        assert not rewritten.is_blocked
        assert json.loads(rewritten.args or b"") == {"path": "a", "n": 1}
        assert "broken guard" in host.ask("turn_start", step=1).reason
        host.supervisor.tell(frames.Event("session_start"))
        host.until(lambda: ("sdk", "info", "begun") in host.notes)
        host.stop()
        assert "cleaned up" in host.log("sdk")
        assert "not a frame" in host.log("sdk")
        assert host.cost("sdk").junk_lines == 0
        assert host.said_of("sdk") == []
