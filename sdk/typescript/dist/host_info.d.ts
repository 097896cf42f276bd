/** The facts in the host's `hello_ack`. */
import type { HelloAckFrame } from './frames.js';
export interface HostInfo {
    readonly protocolVersion: number;
    readonly zotVersion: string;
    readonly provider: string;
    readonly model: string;
    /** The folder in which the agent works. The extension's working directory is the extension's own folder. */
    readonly cwd: string;
    readonly extensionDir: string;
    /** A folder for state. It exists, and an update of the extension does not change it. */
    readonly dataDir: string;
    /** Features beyond protocol 1, such as `cancel` or `tool_progress`. Empty for zot itself. */
    readonly features: ReadonlySet<string>;
    /** `call_tool` if extensions may call tools. */
    readonly capabilities: ReadonlySet<string>;
}
export declare function toHostInfo(frame: HelloAckFrame): HostInfo;
