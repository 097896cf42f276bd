/** The registrations of an extension, and their frames. */
import type { CommandOutput } from './responses.js';
import type { ToolOutput } from './content.js';
import type { ExtensionFrame, Exposure, GuardedName, KeyName } from './frames.js';
import { type JsonObject } from './json.js';
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
export declare class Registry {
    readonly tools: Map<string, RegisteredTool>;
    readonly commands: Map<string, {
        description: string;
        handler: CommandHandler;
    }>;
    readonly events: Map<string, EventHandler[]>;
    readonly guards: Map<GuardedName, Guard[]>;
    readonly panels: Map<string, PanelHandlers>;
    readonly shutdownHooks: (() => unknown)[];
    readonly leaseHandlers: {
        begin: LeaseHandler[];
        end: LeaseHandler[];
    };
    readonly sessions: Sessions;
    addTool(name: string, tool: RegisteredTool): ExtensionFrame;
    addCommand(name: string, description: string, handler: CommandHandler): ExtensionFrame;
    /** Returns the frame to send; undefined if that event is observed already. Without a handler it is only observed. */
    addListener(event: string, ...handlers: EventHandler[]): ExtensionFrame | undefined;
    addGuard(event: GuardedName, guard: Guard): ExtensionFrame | undefined;
    addPanelHandlers(id: string, handlers: PanelHandlers): void;
    /** The frames of all registrations so far. */
    frames(): ExtensionFrame[];
}
export {};
