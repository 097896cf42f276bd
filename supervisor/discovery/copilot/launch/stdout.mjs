// Keeps stdout for the messages of the protocol. All else that is written to it goes to stderr, which zot keeps in the
// extension's log.

import { Console } from "node:console";

const HEADERS = /^(?:[\w-]+: [^\r\n]*\r\n)+\r\n/;
const LENGTH = /^Content-Length: (\d+)\r$/im;
const LONGEST_HEADERS = 1024; // bytes
const MOST_WAITING = 100;

/** Sends `console` to stderr, and what is written to `process.stdout` as well, but for messages.
 *
 * The SDK writes the headers of a message first and its body in a later turn of the loop. Other writes may come between
 * the two, which would break the message: so headers wait for a body of their length, and both are written as one. What
 * only looks like headers waits as well, and goes to stderr at the next message. */
export function keepStdoutForMessages() {
  for (const [name, method] of Object.entries(new Console(process.stderr, process.stderr))) {
    if (typeof method === "function" && typeof console[name] === "function") console[name] = method;
  }
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  let waiting = []; // headers without a body: {bytes, bodyLength}

  function writeMessage(headers, body, done) {
    const others = waiting.filter((each) => each !== headers);
    waiting = [];
    for (const { bytes } of others) stderr.write(bytes);
    return write(Buffer.concat([headers.bytes, body]), done);
  }

  stdout.write = (chunk, encoding, callback) => {
    const done = typeof encoding === "function" ? encoding : callback;
    if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) return write(chunk, encoding, callback); // throws
    const name = typeof encoding === "string" ? encoding : "utf8";
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, name) : chunk;

    const itsHeaders = isBody(bytes) && waiting.find((headers) => headers.bodyLength === bytes.length);
    if (itsHeaders) return writeMessage(itsHeaders, bytes, done);
    const headers = headersIn(bytes);
    if (!headers) return stderr.write(bytes, done);
    const body = bytes.subarray(headers.bytes.length);
    if (body.length === headers.bodyLength && isBody(body)) return write(bytes, done); // others go on waiting
    if (body.length > 0) return stderr.write(bytes, done);
    waiting.push(headers);
    if (waiting.length > MOST_WAITING) stderr.write(waiting.shift().bytes);
    if (done) process.nextTick(done);
    return true;
  };
}

/** Tells zot something of which the SDK knows nothing. Also once the SDK has closed its connection. */
export function notify(method) {
  const body = JSON.stringify({ jsonrpc: "2.0", method });
  process.stdout.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

function isBody(bytes) {
  return bytes[0] === 0x7b; // {
}

/** The headers with which the bytes begin: `bytes`, and `bodyLength` in bytes. Undefined if there are none. */
function headersIn(bytes) {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, LONGEST_HEADERS)).toString("latin1");
  const text = HEADERS.exec(start)?.[0];
  const length = text && LENGTH.exec(text)?.[1];
  return length && { bytes: Buffer.from(text, "latin1"), bodyLength: Number(length) };
}
