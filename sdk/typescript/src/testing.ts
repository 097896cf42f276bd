/** Tests of extensions without a host: in the same process (`harness`) or as a process of its own (`launch`). */

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
  /** Milliseconds that calls may take to finish once it is stopped; default 200, the same again once aborted. */
  finishMs?: number;
}

/** Runs the extension in this process. All that is said goes through JSON, as on a pipe. */
export class Harness extends TestHost {
  /** What the extension reported about failed handlers; a process writes it to stderr. */
  readonly reports: string[] = [];
  /** The answer to the hello, which is said while the conversation is being made. */
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

  /** Gives it a line that need not be a frame. */
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

/** Starts the extension in this process. Stop it at the end: an extension has one conversation at a time. */
export async function harness(extension: Extension, options: HarnessOptions = {}): Promise<Harness> {
  return new Harness(extension, options).ready();
}
