/** Serves an extension on the stdin and stdout of its process. */
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { PATIENCE } from './conversation.js';
import { LineSplitter } from './lines.js';
/** Bytes of unread answers above which stdin is not read: a host that asks and never reads must not fill the memory. */
const UNREAD_LIMIT = 16 * 1024 * 1024;
/** Milliseconds to wait at the end for a reader of stdout and stderr that takes nothing. */
const FLUSH_MS = 1000;
/** Exit status after a second SIGTERM. */
const TERMINATED = 128 + 15;
/** Serves until the host ends the conversation; then ends the process. */
export async function serveProcess(extension, { stopWithinS }) {
    const { stdin, stdout, stderr } = process;
    const write = claimStdout();
    const report = (message) => void stderr.write(`[${extension.name}] ${message}\n`);
    const splitter = new LineSplitter();
    const patience = stopWithinS === undefined
        ? PATIENCE
        : { ...PATIENCE, finish: stopWithinS * 750, abort: stopWithinS * 250 };
    const link = {
        write(line) {
            return new Promise((resolve) => {
                write(`${line}\n`, () => resolve());
                if (stdout.writableLength > UNREAD_LIMIT && !stdin.isPaused()) {
                    stdin.pause();
                    stdout.once('drain', () => stdin.resume());
                }
            });
        },
        report,
    };
    // A broken pipe: the host has gone, so the extension stops.
    stderr.on('error', () => { });
    stdout.on('error', () => void conversation.stop());
    const conversation = extension.converse(link, patience);
    const take = (line) => {
        if (typeof line === 'string')
            conversation.receiveLine(line);
        else if (line)
            report(`skipped a line of the host: it has ${line.size} bytes, more than ${splitter.limit}`);
    };
    const hungUp = () => {
        take(splitter.rest());
        void conversation.stop();
    };
    let wasTerminated = false;
    stdin.on('data', (chunk) => splitter.feed(chunk).forEach(take));
    stdin.on('end', hungUp);
    stdin.on('close', hungUp);
    stdin.on('error', hungUp);
    process.on('SIGTERM', () => {
        if (wasTerminated)
            process.exit(TERMINATED);
        wasTerminated = true;
        void conversation.stop();
    });
    await conversation.over;
    await Promise.race([
        Promise.all([written((done) => write('', done)), written((done) => void stderr.write('', done))]),
        nothingTaken(() => stdout.writableLength + stderr.writableLength),
    ]);
    process.exit();
}
/**
 * Keeps stdout for frames: all other writes to it, also `console.log`, go to stderr from now on. Returns the function
 * that still writes to stdout. It cannot redirect children that inherit stdout, nor `fs.writeSync(1, ...)`.
 */
function claimStdout() {
    const { stdout, stderr } = process;
    const real = stdout.write.bind(stdout);
    stdout.write = stderr.write.bind(stderr);
    console.log = console.info = console.debug = console.error;
    return (text, done) => void real(text, done);
}
/** Resolves when the amount of unwritten data has not changed for FLUSH_MS. */
async function nothingTaken(waiting) {
    for (let before = -1, now = waiting(); now !== before; now = waiting()) {
        before = now;
        await new Promise((resolve) => setTimeout(resolve, FLUSH_MS));
    }
}
function written(write) {
    return new Promise((resolve) => write(() => resolve()));
}
/** Whether this module is the program that node was started with. */
export function isEntryPoint(moduleUrl) {
    const started = process.argv[1];
    if (started === undefined || !moduleUrl.startsWith('file:'))
        return false;
    try {
        const file = createRequire(moduleUrl).resolve(started);
        return realpathSync(file) === realpathSync(fileURLToPath(moduleUrl));
    }
    catch {
        return false;
    }
}
