// Loads the SDK with require(), for which only a node_modules folder above the extension helps.

import { createRequire } from "node:module";

const { joinSession } = createRequire(import.meta.url)("@github/copilot-sdk/extension");

await joinSession({
  tools: [{ name: "required", description: "Says how it was loaded", handler: () => "by require" }],
});
