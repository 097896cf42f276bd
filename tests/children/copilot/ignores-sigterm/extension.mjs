// Lives on after the end of stdin and after SIGTERM.

import { joinSession } from "@github/copilot-sdk/extension";

process.on("SIGTERM", () => console.error("not now"));
await joinSession({ tools: [{ name: "stubborn", description: "Says its name", handler: () => "stubborn" }] });
setInterval(() => {}, 3_600_000);
