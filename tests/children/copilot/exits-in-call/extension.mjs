// Exits, with the status that it is asked for, instead of an answer; in a hook if the tool is `bash`.

import { joinSession } from "@github/copilot-sdk/extension";

await joinSession({
  hooks: { onPreToolUse: (input) => (input.toolName === "bash" ? process.exit(3) : undefined) },
  tools: [{ name: "leave", description: "Exits", handler: (args) => process.exit(args.status ?? 3) }],
});
