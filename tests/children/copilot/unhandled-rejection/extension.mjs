// A promise that nobody waits for rejects in the middle of a call: Node ends the process.

import { joinSession } from "@github/copilot-sdk/extension";

const session = await joinSession({
  tools: [
    {
      name: "forget",
      description: "Forgets a promise, and never returns",
      handler: () => {
        Promise.reject(new Error("nobody waits for this"));
        return new Promise(() => {});
      },
    },
    {
      name: "forget_rpc",
      description: "Asks the host for something that it does not have, forgets the answer, and never returns",
      handler: () => {
        session.rpc.mode.get();
        return new Promise(() => {});
      },
    },
  ],
});
