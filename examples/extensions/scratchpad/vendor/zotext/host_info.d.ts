/** What the host said of itself in its `hello_ack`. */
import type { HelloAckFrame } from './frames.js';
export interface HostInfo {
    readonly protocolVersion: number;
    readonly zotVersion: string;
    readonly provider: string;
    readonly model: string;
    /** The folder that the agent works in. The extension's own working directory is its own folder. */
    readonly cwd: string;
    readonly extensionDir: string;
    /** A folder for state, which exists and which an update of the extension leaves alone. */
    readonly dataDir: string;
    /** What the host knows beyond protocol 1, such as `cancel` or `tool_progress`. Empty for zot. */
    readonly features: ReadonlySet<string>;
}
export declare function toHostInfo(frame: HelloAckFrame): HostInfo;
