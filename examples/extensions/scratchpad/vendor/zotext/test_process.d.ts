/** Runs an extension as its own process, as a host does. */
import type { HostFrame } from './frames.js';
import type { HostOptions } from './test_answers.js';
import { TestHost } from './test_host.js';
export interface LaunchOptions extends HostOptions {
    /** Working directory; default: the extension's folder. */
    cwd?: string;
    /** Added to the environment. */
    env?: Record<string, string>;
}
/** How a process ended. */
export interface Exit {
    code: number | null;
    signal: string | null;
}
export declare class ProcessHost extends TestHost {
    #private;
    /** Resolves when the process has ended. */
    readonly exited: Promise<Exit>;
    constructor(command: string[], cwd: string, { env, ...options }: LaunchOptions);
    /** The last 64 KiB that it wrote to stderr. */
    get stderr(): string;
    get pid(): number | undefined;
    send(frame: HostFrame): void;
    /** Writes anything to its stdin, for tests of bad input. */
    write(data: string | Uint8Array): void;
    /** Closes its stdin, as the death of a host does. */
    hangUp(): void;
    signal(name: 'SIGTERM' | 'SIGKILL' | 'SIGINT' | 'SIGHUP' | 'SIGQUIT' | 'SIGUSR1' | 'SIGUSR2'): void;
    /** Says `shutdown` and waits for the exit. One that does not exit in time is killed, and the promise rejects. */
    stop(withinMs?: number): Promise<void>;
    protected evidence(): string;
}
/**
 * Starts an extension and waits until it is ready. The target is its folder, with `extension.json`; a file that node
 * runs; or a whole command. Stop it at the end of the test: `t.after(() => host.stop())`.
 */
export declare function launch(target: string | string[], options?: LaunchOptions): Promise<ProcessHost>;
