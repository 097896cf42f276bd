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
    features: namesIn(frame.features),
    capabilities: namesIn(frame.capabilities),
  };
}

function namesIn(list: unknown[] = []): ReadonlySet<string> {
  return new Set(list.filter((name) => typeof name === 'string'));
}
