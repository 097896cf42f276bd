/** Calls of tools that the host carries out for this extension. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Call } from './calls.js';
import type { CalledResult } from './content.js';
import type { CalledToolResultFrame, ExtensionFrame } from './frames.js';
import type { HostInfo } from './host_info.js';
import { type JsonObject } from './json.js';
/** Stands for a guard in `current`. */
export declare const GUARD = "guard";
/** The call whose handler runs here, with all that it has started; or a guard. */
export declare const current: AsyncLocalStorage<"guard" | {
    call: Call;
    isTool: boolean;
}>;
export declare class ToolCalls {
    #private;
    /** Rejects with a TypeError for wrong arguments, and with a CancelledError with the handler's own call. */
    begin(send: (frame: ExtensionFrame) => Promise<void>, host: HostInfo, name: string, args: JsonObject): Promise<CalledResult>;
    /** Takes an answer of the host. Ignores one that nobody waits for. */
    take({ id, content: told, is_error: isError, truncated }: CalledToolResultFrame): void;
    /** Ends the open calls, and all later ones: the host answers no more. */
    end(why: string): void;
}
