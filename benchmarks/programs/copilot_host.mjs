// The least that a host of Copilot's extensions can be, in Node: it starts COUNT of them, lets them join, and prints one
// line of JSON: the seconds that took, its own CPU seconds meanwhile, its memory (RSS) in bytes, its pid and theirs.
// Then it reads lines "hook N" and "call N" from stdin, asks the first extension so often, one after another, and writes
// the nanoseconds of each round trip as a uint64; again and again, until the end of its input. No deadline, no limit.
//
// argv: COUNT BOOTSTRAP; the environment is that of the extensions.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [count, bootstrap] = process.argv.slice(2);
const sessionId = process.env.SESSION_ID;
const COMMAND = "git status --short && git diff --stat";

class Extension {
    constructor() {
        this.child = spawn(process.execPath, [bootstrap], { stdio: ["pipe", "pipe", "inherit"] });
        this.pending = Buffer.alloc(0);
        this.number = 0;
        this.answered = null;
        this.joined = new Promise((resolve) => (this.join = resolve));
        this.child.stdout.on("data", (data) => this.read(data));
    }

    read(data) {
        this.pending = this.pending.length ? Buffer.concat([this.pending, data]) : data;
        for (;;) {
            const end = this.pending.indexOf("\r\n\r\n");
            if (end < 0) return;
            const size = Number(/Content-Length: (\d+)/i.exec(this.pending.toString("latin1", 0, end))[1]);
            if (this.pending.length < end + 4 + size) return;
            const body = this.pending.toString("utf8", end + 4, end + 4 + size);
            this.pending = this.pending.subarray(end + 4 + size);
            this.take(JSON.parse(body));
        }
    }

    take(message) {
        const { id, method } = message;
        if (method === "connect") this.write({ id, result: { ok: true, protocolVersion: 3, version: "0" } });
        else if (method === "ping") this.write({ id, result: { message: "", timestamp: 0, protocolVersion: 3 } });
        else if (method === "session.resume") {
            this.write({ id, result: { sessionId, capabilities: {} } });
            this.join();
        } else if (method === "session.tools.handlePendingToolCall") {
            this.write({ id, result: { success: true } });
            this.answered(message.params.result);
        } else if (method === undefined) this.answered(message.result);
    }

    write(message) {
        const body = JSON.stringify({ jsonrpc: "2.0", ...message });
        this.child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    }

    hook() {
        const input = { sessionId, timestamp: Date.now(), cwd: "/", toolName: "bash", toolArgs: { command: COMMAND } };
        this.write({ id: ++this.number, method: "hooks.invoke", params: { sessionId, hookType: "preToolUse", input } });
    }

    call() {
        const requestId = String(++this.number);
        const data = { requestId, sessionId, toolCallId: requestId, toolName: "echo", arguments: { text: COMMAND } };
        const event = { id: requestId, timestamp: new Date().toISOString(), parentId: null, data };
        event.type = "external_tool.requested";
        this.write({ method: "session.event", params: { sessionId, event } });
    }

    roundTrip(what) {
        return new Promise((resolve) => {
            this.answered = resolve;
            this[what]();
        });
    }
}

const began = process.hrtime.bigint();
const cpu = process.cpuUsage();
const extensions = Array.from({ length: Number(count) }, () => new Extension());
await Promise.all(extensions.map((each) => each.joined));
const used = process.cpuUsage(cpu);
console.log(
    JSON.stringify({
        ready_s: Number(process.hrtime.bigint() - began) / 1e9,
        cpu_s: (used.user + used.system) / 1e6,
        rss: process.memoryUsage.rss(),
        pid: process.pid,
        servers: extensions.map((each) => each.child.pid),
    }),
);
for await (const line of createInterface({ input: process.stdin })) {
    const [what, number] = line.split(" ");
    const samples = new BigUint64Array(Number(number));
    for (let at = 0; at < samples.length; at++) {
        const start = process.hrtime.bigint();
        await extensions[0].roundTrip(what);
        samples[at] = process.hrtime.bigint() - start;
    }
    process.stdout.write(Buffer.from(samples.buffer));
}
for (const each of extensions) each.child.stdin.end();
