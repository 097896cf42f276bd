// The least that an extension has.

import { joinSession } from "@github/copilot-sdk/extension";

await joinSession({ tools: [], hooks: {} });
