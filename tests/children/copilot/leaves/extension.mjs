// Leaves its session inside a call.

import { joinSession } from "@github/copilot-sdk/extension";

const session = await joinSession({
  tools: [
    {
      name: "leave",
      description: "Leaves the session, and says so",
      handler: async () => {
        await session.disconnect();
        return "left";
      },
    },
  ],
  commands: [{ name: "leave", description: "Leaves the session", handler: () => session.disconnect() }],
  onPermissionRequest: () => ({ kind: "approve-once" }),
});
