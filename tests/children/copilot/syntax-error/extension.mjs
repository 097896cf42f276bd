// Cannot be parsed.

import { joinSession } from "@github/copilot-sdk/extension";

await joinSession({ tools: [ });
