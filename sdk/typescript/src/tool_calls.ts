/** Calls of tools that the host carries out for this extension. */

import { AsyncLocalStorage } from 'node:async_hooks';

import { CancelledError, type Call } from './calls.js';
import type { CalledResult } from './content.js';
import { stamp } from './current_session.js';
import type { CalledToolResultFrame, ContentBlock, ExtensionFrame } from './frames.js';
import type { HostInfo } from './host_info.js';
import { isObject, type JsonObject } from './json.js';

type CallToolFrame = Extract<ExtensionFrame, { type: 'call_tool' }>;

/** Stands for a guard in `current`. */
export const GUARD = 'guard';

/** The call whose handler runs here, with all that it has started; or a guard. */
export const current = new AsyncLocalStorage<{ call: Call; isTool: boolean } | typeof GUARD>();

export class ToolCalls {
  readonly #open = new Map<string, { resolve: (result: CalledResult) => void; reject: (error: Error) => void }>();
  #last = 0;
  #ended: string | undefined;

  /** Rejects with a TypeError for wrong arguments, and with a CancelledError with the handler's own call. */
  async begin(
    send: (frame: ExtensionFrame) => Promise<void>, host: HostInfo, name: string, args: JsonObject,
  ): Promise<CalledResult> {
    const caller = current.getStore();
    check(name, args, caller === GUARD, host);
    if (this.#ended !== undefined) throw new CancelledError(this.#ended);
    const running = caller === undefined || caller === GUARD || caller.call.isAnswered ? undefined : caller;
    const signal = running?.call.signal;
    signal?.throwIfAborted();
    const id = String((this.#last += 1));
    const parent = running?.isTool ? { parent_id: running.call.id } : {};
    const cancel = (): void => {
      void send({ type: 'call_tool_cancel', id });
      this.#open.get(id)?.reject(signal!.reason);
    };
    try {
      return await new Promise<CalledResult>((resolve, reject) => {
        this.#open.set(id, { resolve, reject });
        signal?.addEventListener('abort', cancel);
        send(stamp<CallToolFrame>({ type: 'call_tool', id, name, args, ...parent })).catch(reject);
      });
    } finally {
      this.#open.delete(id);
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Takes an answer of the host. Ignores one that nobody waits for. */
  take({ id, content: told = [], is_error: isError = false, truncated = false }: CalledToolResultFrame): void {
    const content = told.filter(isObject) as unknown as ContentBlock[];
    const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
    this.#open.get(id)?.resolve({ content, isError, text, truncated });
  }

  /** Ends the open calls, and all later ones: the host answers no more. */
  end(why: string): void {
    this.#ended = why;
    for (const { reject } of this.#open.values()) reject(new CancelledError(why));
  }
}

function check(name: unknown, args: unknown, inGuard: boolean, host: HostInfo): void {
  if (typeof name !== 'string' || name === '') throw new TypeError(`callTool takes the name of a tool, not ${name}`);
  if (!isObject(args)) throw new TypeError(`callTool ${name}: the arguments are an object, not ${JSON.stringify(args)}`);
  if (inGuard) throw new Error(`callTool ${name}: a guard cannot call tools, as such a call waits for guards`);
  if (!host.capabilities.has('call_tool')) {
    throw new Error(`callTool ${name}: this host calls no tools for extensions`);
  }
}
