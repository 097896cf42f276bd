/** What an extension offers, and the frames that say so. */
import type { CommandOutput } from './responses.js';
import type { ToolOutput } from './content.js';
import type { ExtensionFrame, GuardedName, KeyName } from './frames.js';
import type { JsonObject } from './json.js';
import type { Verdict } from './verdicts.js';
/** A call under way, as its handler sees it. */
export interface CommandCall {
    readonly id: string;
    readonly name: string;
    /** Aborted when nobody waits for the answer any more: the call was cancelled or took too long, or the host stops. */
    readonly signal: AbortSignal;
}
export interface ToolCall extends CommandCall {
    /** Tells how far the call has come, for whoever watches. Resolves once it has been written. */
    progress(text: string): Promise<void>;
}
export interface ToolOptions {
    description?: string;
    /** Seconds that a call may take; the manifest's `timeouts.tool_call` if nothing is said. */
    timeoutS?: number;
    /** A call that a crash has cut short may be made again. */
    idempotent?: boolean;
    /** Changes nothing, so that calls of one turn may run at the same time. */
    readOnly?: boolean;
}
type Awaitable<T> = T | Promise<T>;
export type ToolHandler<Args> = (args: Args, call: ToolCall) => Awaitable<ToolOutput>;
export type CommandHandler = (args: string, call: CommandCall) => Awaitable<CommandOutput>;
export type EventHandler = (event: never) => unknown;
export type Guard = (happening: never) => Awaitable<Verdict<never>>;
export interface PanelHandlers {
    key?: (key: KeyName, text: string) => unknown;
    resize?: (width: number, height: number) => unknown;
    close?: () => unknown;
}
export interface RegisteredTool {
    readonly options: ToolOptions;
    readonly schema: JsonObject;
    /** Made by `s`: arguments are checked before the handler is called, which relies on their types. */
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
    addTool(name: string, tool: RegisteredTool): ExtensionFrame;
    addCommand(name: string, description: string, handler: CommandHandler): ExtensionFrame;
    /** The frame to be sent, if nobody has listened to that event before. */
    addListener(event: string, handler: EventHandler): ExtensionFrame | undefined;
    addGuard(event: GuardedName, guard: Guard): ExtensionFrame | undefined;
    addPanelHandlers(id: string, handlers: PanelHandlers): void;
    /** All that is registered so far. */
    frames(): ExtensionFrame[];
}
export {};
