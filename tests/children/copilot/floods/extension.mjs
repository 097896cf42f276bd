// Logs and sends without an end once its tool is called: it waits for no answer.

import { joinSession } from "@github/copilot-sdk/extension";

const session = await joinSession({
  tools: [
    {
      name: "flood",
      description: "Floods the host: `what` is log, send or both, `times` is how often",
      handler: (args) => {
        for (let turn = 0; turn < (args.times ?? 10_000); turn++) {
          if (args.what !== "send") session.log(`line ${turn}`).catch(() => {});
          if (args.what !== "log") session.send({ prompt: `prompt ${turn}` }).catch(() => {});
        }
        return "flooded";
      },
    },
  ],
});
