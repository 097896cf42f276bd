// Throws while it is imported, before it joins.

import { joinSession } from "@github/copilot-sdk/extension";

const settings = undefined;
await joinSession({ tools: settings.tools });
