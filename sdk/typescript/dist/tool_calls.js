/** Calls of tools that the host carries out for this extension. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { CancelledError } from './calls.js';
import { stamp } from './current_session.js';
import { isObject } from './json.js';
/** Stands for a guard in `current`. */
export const GUARD = 'guard';
/** The call whose handler runs here, with all that it has started; or a guard. */
export const current = new AsyncLocalStorage();
export class ToolCalls {
    #open = new Map();
    #last = 0;
    #ended;
    /** Rejects with a TypeError for wrong arguments, and with a CancelledError with the handler's own call. */
    async begin(send, host, name, args) {
        const caller = current.getStore();
        check(name, args, caller === GUARD, host);
        if (this.#ended !== undefined)
            throw new CancelledError(this.#ended);
        const running = caller === undefined || caller === GUARD || caller.call.isAnswered ? undefined : caller;
        const signal = running?.call.signal;
        signal?.throwIfAborted();
        const id = String((this.#last += 1));
        const parent = running?.isTool ? { parent_id: running.call.id } : {};
        const cancel = () => {
            void send({ type: 'call_tool_cancel', id });
            this.#open.get(id)?.reject(signal.reason);
        };
        try {
            return await new Promise((resolve, reject) => {
                this.#open.set(id, { resolve, reject });
                signal?.addEventListener('abort', cancel);
                send(stamp({ type: 'call_tool', id, name, args, ...parent })).catch(reject);
            });
        }
        finally {
            this.#open.delete(id);
            signal?.removeEventListener('abort', cancel);
        }
    }
    /** Takes an answer of the host. Ignores one that nobody waits for. */
    take({ id, content: told = [], is_error: isError = false, truncated = false }) {
        const content = told.filter(isObject);
        const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
        this.#open.get(id)?.resolve({ content, isError, text, truncated });
    }
    /** Ends the open calls, and all later ones: the host answers no more. */
    end(why) {
        this.#ended = why;
        for (const { reject } of this.#open.values())
            reject(new CancelledError(why));
    }
}
function check(name, args, inGuard, host) {
    if (typeof name !== 'string' || name === '')
        throw new TypeError(`callTool takes the name of a tool, not ${name}`);
    if (!isObject(args))
        throw new TypeError(`callTool ${name}: the arguments are an object, not ${JSON.stringify(args)}`);
    if (inGuard)
        throw new Error(`callTool ${name}: a guard cannot call tools, as such a call waits for guards`);
    if (!host.capabilities.has('call_tool')) {
        throw new Error(`callTool ${name}: this host calls no tools for extensions`);
    }
}
