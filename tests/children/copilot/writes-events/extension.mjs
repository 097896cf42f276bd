// Writes each event of its session as a line of JSON into `events.jsonl`, in the folder that it runs in.

import { appendFileSync } from "node:fs";
import { joinSession } from "@github/copilot-sdk/extension";

const session = await joinSession();
session.on((event) => appendFileSync("events.jsonl", `${JSON.stringify(event)}\n`));
