/** The tool calls and commands under way. Each can be cancelled, and is answered exactly once. */

import { AsyncResource } from 'node:async_hooks';

import type { CommandResponseFrame, ToolResultFrame } from './frames.js';

/** The reason of a call's aborted signal. Its name is the platform's own: `error.name === 'AbortError'` holds. */
export class CancelledError extends Error {
  override readonly name = 'AbortError';
}

export type Answer = ToolResultFrame | CommandResponseFrame;

export class Call {
  readonly id: string;
  readonly #controller = new AbortController();
  readonly #refused: (message: string) => Answer;
  readonly #send: (answer: Answer) => void;
  #answered = false;

  constructor(id: string, refused: (message: string) => Answer, send: (answer: Answer) => void) {
    this.id = id;
    this.#refused = refused;
    this.#send = send;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isAnswered(): boolean {
    return this.#answered;
  }

  /** Listeners of the signal run as a part of the call: their notes are for its session. */
  readonly cancel = AsyncResource.bind((reason: string): void => {
    this.#controller.abort(new CancelledError(reason));
  });

  /** Sends the first answer and drops later ones. If JSON cannot hold it, an error that says so is sent instead. */
  answer(answer: Answer): void {
    if (this.#answered) return;
    this.#answered = true;
    try {
      this.#send(answer);
    } catch (error) {
      this.#send(this.#refused(`the answer cannot be sent: ${(error as Error).message}`));
    }
  }

  refuse(message: string): void {
    this.answer(this.#refused(message));
  }
}

export class Calls {
  readonly #calls = new Map<string, { call: Call; done: Promise<void> }>();

  has(id: string): boolean {
    return this.#calls.has(id);
  }

  /** Starts the work at once and keeps the call until it has settled. The work must not throw. */
  run(call: Call, work: (call: Call) => Promise<void>): void {
    const entry = { call, done: Promise.resolve() };
    this.#calls.set(call.id, entry);
    entry.done = work(call).finally(() => this.#calls.delete(call.id));
  }

  cancel(id: string, reason: string): void {
    this.#calls.get(id)?.call.cancel(reason);
  }

  cancelAll(reason: string): void {
    for (const { call } of this.#calls.values()) call.cancel(reason);
  }

  refuseAll(message: string): void {
    for (const { call } of this.#calls.values()) call.refuse(message);
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#calls.values()].map(({ done }) => done));
  }
}
