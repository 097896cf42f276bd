// Keeps stdout for the messages of the protocol. All else that is written to it goes to stderr, which zot keeps in the
// extension's log.

import { Console } from "node:console";

const HEADERS = /^(?:[\w-]+: [^\r\n]*\r\n)+\r\n/;
const LENGTH = /^Content-Length: (\d+)\r$/im;
const LONGEST_HEADERS = 1024; // bytes

/** Sends `console` to stderr, and what is written to `process.stdout` as well, but for messages.
 *
 * The SDK writes the headers of a message first and its body in a later turn of the loop. Other writes may come between
 * the two, which would break the message: so the headers wait for the body, and both are written as one. */
export function keepStdoutForMessages() {
  for (const [name, method] of Object.entries(new Console(process.stderr, process.stderr))) {
    if (typeof method === "function" && typeof console[name] === "function") console[name] = method;
  }
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  let waiting; // the headers of a message, until its body comes

  stdout.write = (chunk, encoding, callback) => {
    const done = typeof encoding === "function" ? encoding : callback;
    if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) return write(chunk, encoding, callback); // throws
    const name = typeof encoding === "string" ? encoding : "utf8";
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, name) : chunk;
    if (waiting && bytes.length === waiting.bodyLength && bytes[0] === 0x7b) {
      const message = Buffer.concat([waiting.headers, bytes]);
      waiting = undefined;
      return write(message, done);
    }
    const { headersLength, bodyLength } = measured(bytes);
    if (headersLength && bytes.length === headersLength + bodyLength) return write(bytes, done);
    if (headersLength !== bytes.length || !headersLength || waiting) return stderr.write(bytes, done);
    waiting = { headers: Buffer.from(bytes), bodyLength };
    if (done) process.nextTick(done);
    return true;
  };
}

/** The lengths of a message's headers and of its body, in bytes, from the bytes that begin with the headers; 0 and 0 if
 * they do not. */
function measured(bytes) {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, LONGEST_HEADERS)).toString("latin1");
  const headers = HEADERS.exec(start)?.[0];
  const length = headers && LENGTH.exec(headers)?.[1];
  return length ? { headersLength: headers.length, bodyLength: Number(length) } : { headersLength: 0, bodyLength: 0 };
}
