// Its timers keep it alive after the end of stdin; SIGTERM ends it.

import { joinSession } from "@github/copilot-sdk/extension";

await joinSession({ tools: [{ name: "alive", description: "Says that it lives", handler: () => "alive" }] });
setInterval(() => {}, 3_600_000);
