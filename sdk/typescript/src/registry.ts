/** The registrations of an extension, and their frames. */

import type { CommandOutput } from './responses.js';
import type { ToolOutput } from './content.js';
import type { ExtensionFrame, Exposure, GuardedName, KeyName } from './frames.js';
import { isObject, type JsonObject } from './json.js';
import { Sessions, type Session } from './sessions.js';
import type { Verdict } from './verdicts.js';

/** A call under way, as its handler sees it. */
export interface CommandCall extends Session {
  readonly id: string;
  readonly name: string;
  /** Aborted when the host no longer waits: the call was cancelled or took too long, or the host stops. */
  readonly signal: AbortSignal;
}

export interface ToolCall extends CommandCall {
  /** Reports progress to the user. Resolves when the frame is written. */
  progress(text: string): Promise<void>;
}

export interface ToolOptions {
  description?: string;
  /** Seconds that a call may take; default: the manifest's `timeouts.tool_call`. */
  timeoutS?: number;
  /** The host may repeat a call that a crash has cut short. */
  idempotent?: boolean;
  /** The tool changes nothing, so several calls may run at the same time. */
  readOnly?: boolean;
  /** The model is offered it only once a result of this extension has named it in `activate`. */
  deferred?: boolean;
  /** As in zot; counts before `deferred`. */
  exposure?: Exposure;
  /** JSON Schema of `structured` in its results, for programs. An object that it returns is then sent as JSON, too. */
  outputSchema?: JsonObject;
  /** A call waits for a person, without a time limit. */
  interactive?: boolean;
}

type Awaitable<T> = T | Promise<T>;
export type ToolHandler<Args> = (args: Args, call: ToolCall) => Awaitable<ToolOutput>;
export type CommandHandler = (args: string, call: CommandCall) => Awaitable<CommandOutput>;
export type EventHandler = (event: never) => unknown;
export type Guard = (subject: never) => Awaitable<Verdict<never>>;

export interface PanelHandlers {
  key?: (key: KeyName, text: string, sessionId: string) => unknown;
  resize?: (width: number, height: number, sessionId: string) => unknown;
  close?: (sessionId: string) => unknown;
}

export type LeaseHandler = (lease: Session) => unknown;

export interface RegisteredTool {
  readonly options: ToolOptions;
  readonly schema: JsonObject;
  /** The schema was made by `s`: arguments are checked before the handler gets them. */
  readonly isTyped: boolean;
  readonly handler: ToolHandler<never>;
}

const TOOL_NAME = /^[A-Za-z0-9_-]{1,128}$/;
const LONGEST_S = 86_400;
const EXPOSURES: readonly Exposure[] = ['direct', 'deferred', 'codemode', 'model-only'];

export class Registry {
  readonly tools = new Map<string, RegisteredTool>();
  readonly commands = new Map<string, { description: string; handler: CommandHandler }>();
  readonly events = new Map<string, EventHandler[]>();
  readonly guards = new Map<GuardedName, Guard[]>();
  readonly panels = new Map<string, PanelHandlers>();
  readonly shutdownHooks: (() => unknown)[] = [];
  readonly leaseHandlers: { begin: LeaseHandler[]; end: LeaseHandler[] } = { begin: [], end: [] };
  readonly sessions = new Sessions();

  addTool(name: string, tool: RegisteredTool): ExtensionFrame {
    requireNew('tool', name, this.tools);
    if (!TOOL_NAME.test(name)) throw new TypeError(`tool ${name}: a name has 1 to 128 letters, digits, _ or -`);
    const { timeoutS } = tool.options;
    if (timeoutS !== undefined && !(timeoutS > 0 && timeoutS <= LONGEST_S)) {
      throw new RangeError(`tool ${name}: timeoutS is above 0 and at most ${LONGEST_S} seconds, not ${timeoutS}`);
    }
    checkOptions(name, tool.options);
    this.tools.set(name, tool);
    return toolFrame(name, tool);
  }

  addCommand(name: string, description: string, handler: CommandHandler): ExtensionFrame {
    requireNew('command', name, this.commands);
    this.commands.set(name, { description, handler });
    return { type: 'register_command', name, description };
  }

  /** Returns the frame to send; undefined if that event is observed already. Without a handler it is only observed. */
  addListener(event: string, ...handlers: EventHandler[]): ExtensionFrame | undefined {
    const isNew = !this.events.has(event);
    this.events.set(event, [...(this.events.get(event) ?? []), ...handlers]);
    return isNew ? { type: 'subscribe', events: [event] } : undefined;
  }

  addGuard(event: GuardedName, guard: Guard): ExtensionFrame | undefined {
    const isNew = !this.guards.has(event);
    this.guards.set(event, [...(this.guards.get(event) ?? []), guard]);
    return isNew ? { type: 'subscribe', intercept: [event] } : undefined;
  }

  addPanelHandlers(id: string, handlers: PanelHandlers): void {
    this.panels.set(id, { ...this.panels.get(id), ...handlers });
  }

  /** The frames of all registrations so far. */
  frames(): ExtensionFrame[] {
    const frames: ExtensionFrame[] = [];
    for (const [name, { description }] of this.commands) frames.push({ type: 'register_command', name, description });
    for (const [name, tool] of this.tools) frames.push(toolFrame(name, tool));
    const [events, intercept] = [[...this.events.keys()], [...this.guards.keys()]];
    if (events.length + intercept.length > 0) {
      frames.push({
        type: 'subscribe',
        ...(events.length > 0 ? { events } : {}),
        ...(intercept.length > 0 ? { intercept } : {}),
      });
    }
    return frames;
  }
}

function requireNew(kind: string, name: string, names: ReadonlyMap<string, unknown>): void {
  if (typeof name !== 'string' || name === '') throw new TypeError(`a ${kind} needs a name`);
  if (names.has(name)) throw new Error(`${kind} ${name} is registered already`);
}

function checkOptions(name: string, { deferred, exposure, outputSchema, interactive }: ToolOptions): void {
  if (exposure !== undefined && !EXPOSURES.includes(exposure)) {
    throw new TypeError(`tool ${name}: exposure is one of ${EXPOSURES.join(', ')}, not ${exposure}`);
  }
  if (outputSchema !== undefined && !isObject(outputSchema)) {
    throw new TypeError(`tool ${name}: outputSchema is an object, not ${JSON.stringify(outputSchema)}`);
  }
  for (const [option, value] of Object.entries({ deferred, interactive })) {
    if (value === undefined || typeof value === 'boolean') continue;
    throw new TypeError(`tool ${name}: ${option} is true or false, not ${JSON.stringify(value)}`);
  }
}

function toolFrame(name: string, { options, schema }: RegisteredTool): ExtensionFrame {
  return {
    type: 'register_tool',
    name,
    description: options.description ?? '',
    schema,
    ...(options.timeoutS === undefined ? {} : { timeout_s: options.timeoutS }),
    ...(options.idempotent === undefined ? {} : { idempotent: options.idempotent }),
    ...(options.readOnly === undefined ? {} : { read_only: options.readOnly }),
    ...(options.deferred === undefined ? {} : { deferred: options.deferred }),
    ...(options.exposure === undefined ? {} : { exposure: options.exposure }),
    ...(options.outputSchema === undefined ? {} : { output_schema: options.outputSchema }),
    ...(options.interactive === undefined ? {} : { interactive: options.interactive }),
  };
}
