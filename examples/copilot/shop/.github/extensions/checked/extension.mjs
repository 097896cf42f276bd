// checked: code that was changed is checked before the run ends, and nothing is pushed.
import { execFile } from "node:child_process";
import { relative } from "node:path";
import { joinSession } from "@github/copilot-sdk/extension";

let unchecked = new Set();

/** Runs the project's checks: what they print, and whether all pass. */
function runChecks(folder) {
  return new Promise((resolve) => {
    execFile("python3", ["-B", "check.py"], { cwd: folder }, (error, stdout, stderr) => {
      resolve({ passed: !error, text: stdout + stderr });
    });
  });
}

const session = await joinSession({
  tools: [
    {
      name: "run_checks",
      description: "Run the checks of this project and say which of them fail.",
      parameters: { type: "object", properties: {} },
      handler: async () => {
        const { passed, text } = await runChecks(process.cwd());
        unchecked = new Set();
        await session.log(passed ? "all checks pass" : "some checks fail", { level: passed ? "info" : "warning" });
        return { textResultForLlm: text, resultType: passed ? "success" : "failure" };
      },
    },
  ],
  hooks: {
    onPreToolUse: async ({ toolName, toolArgs }) => {
      if (toolName === "bash" && /\bgit\s+push\b/.test(toolArgs.command)) {
        return { permissionDecision: "deny", permissionDecisionReason: "a person pushes" };
      }
    },
    onPostToolUse: async ({ cwd, toolName, toolArgs }) => {
      if (toolName === "edit" || toolName === "create") unchecked.add(relative(cwd, toolArgs.path));
    },
  },
});

// Nothing runs and nothing waits: is there something that nobody has checked?
session.on("session.idle", () => {
  if (unchecked.size === 0) return;
  const changed = [...unchecked].join(", ");
  unchecked = new Set();
  session.send({ prompt: `You have changed ${changed}. Call run_checks, and mend what fails.` });
});
