/** Write extensions for zot in TypeScript or JavaScript. See README.md. */
export { extension, Extension, type ExtensionOptions } from './extension.js';
export { s, type Infer, type ObjectSchema, type OptionalSchema, type Schema } from './schema.js';
export { errorResult, image, text, type CalledResult, type ToolOutput, type ToolResult } from './content.js';
export { display, fail, insert, noop, openPanel, prompt, type CommandOutput, type CommandResponse, } from './responses.js';
export { addContext, allow, ask, block, rewrite, type AddContext, type Allow, type Ask, type Block, type Rewrite, type Verdict, } from './verdicts.js';
export { CancelledError } from './calls.js';
export type { Conversation, Link, Patience } from './conversation.js';
export type { AgentStart, Event, Events, ToolAnswered, ToolCalled } from './events.js';
export type { HostInfo } from './host_info.js';
export type { Json, JsonObject } from './json.js';
export type { CommandCall, CommandHandler, ToolCall, ToolHandler, ToolOptions } from './registry.js';
export type { RunOptions } from './process.js';
export type { Session } from './sessions.js';
export type { ContentBlock, EventName, Exposure, ExtensionFrame, GuardedName, HostFrame, ImageBlock, KeyName, LogLevel, NoteLevel, Outcome, PanelFields, TextBlock, } from './frames.js';
