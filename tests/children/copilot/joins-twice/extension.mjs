// Joins a second time with other tools.

import { joinSession } from "@github/copilot-sdk/extension";

await joinSession({ tools: [{ name: "first_join", description: "Of the first join", handler: () => "first" }] });
await joinSession({ tools: [{ name: "second_join", description: "Of the second join", handler: () => "second" }] });
