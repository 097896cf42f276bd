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

export function toHostInfo(frame: HelloAckFrame): HostInfo {
  const extensionDir = frame.extension_dir ?? process.cwd();
  return {
    protocolVersion: frame.protocol_version ?? 1,
    zotVersion: frame.zot_version ?? '',
    provider: frame.provider ?? '',
    model: frame.model ?? '',
    cwd: frame.cwd ?? '',
    extensionDir,
    dataDir: frame.data_dir ?? extensionDir,
    features: new Set((frame.features ?? []).filter((one) => typeof one === 'string')),
  };
}
