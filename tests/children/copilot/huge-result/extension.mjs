// Returns as many characters as it is asked for, 64 MiB unless said.

import { joinSession } from "@github/copilot-sdk/extension";

await joinSession({
  tools: [
    {
      name: "huge",
      description: "Returns much",
      parameters: { type: "object", properties: { size: { type: "integer" } } },
      handler: (args) => "x".repeat(args.size ?? 64 * 2 ** 20),
    },
    { name: "small", description: "Returns little", handler: () => "small" },
  ],
});
