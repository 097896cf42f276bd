// Sends one prompt to `zot rpc` and prints the answer as it comes. Node without any package.
//
//     node client.mjs "what does this project do?" [FLAG...]
//
// The flags go to `zot rpc`. Ctrl-C aborts the prompt. A token in ZOTCORE_RPC_TOKEN is said first. The exit status is
// that of the prompt.

import { spawn } from "node:child_process";
import { once } from "node:events";

// The lines of a stream. Only a line feed ends one: node:readline of Node 24 also splits at U+2028, which JSON allows.
async function* linesOf(stream) {
  let rest = "";
  for await (const text of stream.setEncoding("utf8")) {
    const lines = text.split("\n");
    lines[0] = rest + lines[0];
    rest = lines.pop();
    yield* lines;
  }
}

const [message, ...flags] = process.argv.slice(2);
if (message === undefined) {
  console.error("usage: node client.mjs PROMPT [FLAG...]");
  process.exit(2);
}
// detached: a Ctrl-C is for this client only
const agent = spawn("zot", ["rpc", ...flags], { stdio: ["pipe", "pipe", "inherit"], detached: true });
const ended = once(agent, "exit");
agent.stdin.on("error", () => {}); // a server that has ended shows at its stdout
const send = (request) => agent.stdin.write(JSON.stringify(request) + "\n");

let started, isDone;
let status = 1;
process.on("SIGINT", () => send({ type: "abort" }));
send({ id: 1, type: "hello", token: process.env.ZOTCORE_RPC_TOKEN });
send({ id: 2, type: "prompt", message });
for await (const line of linesOf(agent.stdout)) {
  const record = JSON.parse(line);
  if (record.type === "response") {
    if (!record.success) {
      console.error(record.error);
      isDone = true;
      agent.stdin.end();
    }
    if (record.id === 2) started = record.data?.prompt;
  } else if (started === undefined || record.prompt !== started) {
    continue; // a record of the session or of an extension
  } else if (record.type === "text_delta") {
    process.stdout.write(record.delta);
  } else if (record.type === "result") {
    status = record.exit_code;
    console.log(record.status === "ok" ? "" : `\n${record.status}: ${record.reason}`);
  } else if (record.type === "done") {
    isDone = true;
    agent.stdin.end(); // the end of stdin ends the process
  }
}
const [code, signal] = await ended;
if (!isDone) {
  console.error(`zot rpc has ended: ${signal ?? `exit status ${code}`}`);
  status = 1;
}
process.exitCode = status;
