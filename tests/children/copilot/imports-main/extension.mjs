// Imports the main entry of the SDK beside the one for extensions, and all of both.

import { approveAll, defineTool } from "@github/copilot-sdk";
import * as main from "@github/copilot-sdk";
import * as entry from "@github/copilot-sdk/extension";

await entry.joinSession({
  onPermissionRequest: approveAll,
  tools: [
    defineTool("names", {
      description: "Names of what the SDK exports",
      parameters: { type: "object", properties: {} },
      handler: () => JSON.stringify({ main: Object.keys(main), extension: Object.keys(entry) }),
    }),
  ],
});
