// Has a tool `the_same`, and so has another extension: they cannot both join.

import { joinSession } from "@github/copilot-sdk/extension";

await joinSession({
  tools: [
    { name: "the_same", description: "Says whose it is", handler: () => "second" },
    { name: "only_second", description: "Says whose it is", handler: () => "second" },
  ],
});
