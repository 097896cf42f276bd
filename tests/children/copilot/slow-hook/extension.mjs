// A hook that never returns for tool `bash`, and returns at once for others. Its tool never returns either.

import { joinSession } from "@github/copilot-sdk/extension";

await joinSession({
  hooks: {
    onPreToolUse: (input) => (input.toolName === "bash" ? new Promise(() => {}) : { additionalContext: "in time" }),
  },
  tools: [{ name: "slow", description: "Never returns", handler: () => new Promise(() => {}) }],
});
