/** Tests an extension without a host: in the process of the test (`harness`) or as its own process (`launch`). */
import { encode } from './json.js';
import { TestHost } from './test_host.js';
export { launch, ProcessHost } from './test_process.js';
export { TestHost } from './test_host.js';
/** Runs the extension in this process. All frames go through JSON, as on a pipe. */
export class Harness extends TestHost {
    /** Reports about failed handlers. A process writes them to stderr. */
    reports = [];
    /** Frames that are sent while the conversation is being made: the answer to the hello. */
    #early = [];
    #over;
    #conversation;
    constructor(extension, { finishMs = 200, ...options }) {
        super(options);
        const link = {
            write: async (line) => this.heard(line),
            report: (message) => void this.reports.push(message),
        };
        const conversation = extension.converse(link, { finish: finishMs, abort: finishMs, hooks: 500 });
        this.#conversation = conversation;
        this.#early.splice(0).forEach((frame) => this.send(frame));
        this.#over = conversation.over.then(() => this.ended('the conversation is over'));
    }
    send(frame) {
        if (this.#conversation)
            this.#conversation.receiveLine(encode(frame));
        else
            this.#early.push(frame);
    }
    /** Sends a line that need not be a frame. */
    write(line) {
        this.#conversation?.receiveLine(line);
    }
    async stop() {
        this.send({ type: 'shutdown' });
        await this.#over;
    }
    async handled() {
        await this.#conversation?.handled();
    }
    evidence() {
        return this.reports.length === 0 ? '' : `\nreported:\n${this.reports.join('\n')}`;
    }
}
/** Starts the extension in this process. Stop it at the end: an extension has only one conversation at a time. */
export async function harness(extension, options = {}) {
    return new Harness(extension, options).ready();
}
