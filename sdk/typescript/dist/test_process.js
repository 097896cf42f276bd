/** Runs an extension as its own process, as a host does. */
import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { encode } from './json.js';
import { LineSplitter } from './lines.js';
import { TestHost } from './test_host.js';
const STDERR_KEPT = 64 * 1024;
/** Milliseconds after the exit in which the rest of the pipes is read. */
const REST_MS = 250;
export class ProcessHost extends TestHost {
    /** Resolves when the process has ended. */
    exited;
    #child;
    #stderr = '';
    #exit;
    constructor(command, cwd, { env = {}, ...options }) {
        super({ ...options, host: { extensionDir: cwd, ...options.host } });
        const [program = '', ...args] = command;
        const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
        this.#child = child;
        const splitter = new LineSplitter();
        child.stdout.on('data', (chunk) => {
            for (const line of splitter.feed(chunk))
                this.heard(typeof line === 'string' ? line : `(${line.size} bytes)`);
        });
        child.stderr.on('data', (chunk) => {
            this.#stderr = (this.#stderr + chunk.toString()).slice(-STDERR_KEPT);
        });
        child.stdin.on('error', () => { }); // it has ended; `exited` says so
        const killed = () => void child.kill('SIGKILL');
        process.once('exit', killed);
        this.exited = new Promise((resolve) => {
            const over = (why, exit) => {
                process.removeListener('exit', killed);
                this.#exit = exit;
                this.ended(why);
                resolve(exit);
            };
            child.on('error', (error) => over(`cannot be started: ${error.message}`, { code: null, signal: null }));
            child.on('exit', (code, signal) => {
                const closed = () => over(`it ended with ${signal ?? `exit status ${code}`}`, { code, signal });
                const timer = setTimeout(closed, REST_MS); // one of its own children may hold the pipes open
                child.on('close', () => {
                    clearTimeout(timer);
                    closed();
                });
            });
        });
    }
    /** The last 64 KiB that it wrote to stderr. */
    get stderr() {
        return this.#stderr;
    }
    get pid() {
        return this.#child.pid;
    }
    send(frame) {
        this.write(`${encode(frame)}\n`);
    }
    /** Writes anything to its stdin, for tests of bad input. */
    write(data) {
        if (!this.#exit)
            this.#child.stdin.write(data);
    }
    /** Closes its stdin, as the death of a host does. */
    hangUp() {
        this.#child.stdin.end();
    }
    signal(name) {
        this.#child.kill(name);
    }
    /** Says `shutdown` and waits for the exit. One that does not exit in time is killed, and the promise rejects. */
    async stop(withinMs = this.deadlineMs) {
        if (!this.#exit)
            this.send({ type: 'shutdown' });
        let timer;
        const late = new Promise((resolve) => {
            timer = setTimeout(() => resolve('late'), withinMs);
        });
        const outcome = await Promise.race([this.exited, late]);
        clearTimeout(timer);
        if (outcome !== 'late')
            return;
        this.#child.kill('SIGKILL');
        await this.exited;
        throw new Error(`it did not exit within ${withinMs} ms of shutdown, and was killed${this.evidence()}`);
    }
    evidence() {
        return this.#stderr === '' ? '' : `\nstderr:\n${this.#stderr.trimEnd().split('\n').slice(-20).join('\n')}`;
    }
}
/**
 * Starts an extension and waits until it is ready. The target is its folder, with `extension.json`; a file that node
 * runs; or a whole command. Stop it at the end of the test: `t.after(() => host.stop())`.
 */
export async function launch(target, options = {}) {
    const { command, folder } = commandOf(target);
    const host = new ProcessHost(command, options.cwd ?? folder, options);
    try {
        return await host.ready();
    }
    catch (error) {
        host.signal('SIGKILL');
        await host.exited;
        throw error;
    }
}
function commandOf(target) {
    if (Array.isArray(target))
        return { command: target, folder: process.cwd() };
    const path = resolve(target);
    if (!statSync(path).isDirectory())
        return { command: [process.execPath, path], folder: dirname(path) };
    const { exec, args = [] } = JSON.parse(readFileSync(join(path, 'extension.json'), 'utf8'));
    const program = exec === 'node' ? process.execPath : exec.includes('/') ? resolve(path, exec) : exec;
    return { command: [program, ...args], folder: path };
}
