/** Tests an extension without a host: in the process of the test (`harness`) or as its own process (`launch`). */

import type { Conversation } from './conversation.js';
import type { Extension } from './extension.js';
import type { HostFrame } from './frames.js';
import { encode } from './json.js';
import type { HostOptions } from './test_answers.js';
import { TestHost } from './test_host.js';

export { launch, ProcessHost, type Exit, type LaunchOptions } from './test_process.js';
export { TestHost } from './test_host.js';
export type { CallOutcome, HostOptions, Judged, Pending } from './test_answers.js';

export interface HarnessOptions extends HostOptions {
  /** Milliseconds for calls to finish after `stop`, and again as many after they are aborted; default 200. */
  finishMs?: number;
}

/** Runs the extension in this process. All frames go through JSON, as on a pipe. */
export class Harness extends TestHost {
  /** Reports about failed handlers. A process writes them to stderr. */
  readonly reports: string[] = [];
  /** Frames that are sent while the conversation is being made: the answer to the hello. */
  readonly #early: HostFrame[] = [];
  readonly #over: Promise<void>;
  #conversation: Conversation | undefined;

  constructor(extension: Extension, { finishMs = 200, ...options }: HarnessOptions) {
    super(options);
    const link = {
      write: async (line: string) => this.heard(line),
      report: (message: string) => void this.reports.push(message),
    };
    const conversation = extension.converse(link, { finish: finishMs, abort: finishMs, hooks: 500 });
    this.#conversation = conversation;
    this.#early.splice(0).forEach((frame) => this.send(frame));
    this.#over = conversation.over.then(() => this.ended('the conversation is over'));
  }

  override send(frame: HostFrame): void {
    if (this.#conversation) this.#conversation.receiveLine(encode(frame));
    else this.#early.push(frame);
  }

  /** Sends a line that need not be a frame. */
  write(line: string): void {
    this.#conversation?.receiveLine(line);
  }

  override async stop(): Promise<void> {
    this.send({ type: 'shutdown' });
    await this.#over;
  }

  protected override async handled(): Promise<void> {
    await this.#conversation?.handled();
  }

  protected override evidence(): string {
    return this.reports.length === 0 ? '' : `\nreported:\n${this.reports.join('\n')}`;
  }
}

/** Starts the extension in this process. Stop it at the end: an extension has only one conversation at a time. */
export async function harness(extension: Extension, options: HarnessOptions = {}): Promise<Harness> {
  return new Harness(extension, options).ready();
}
