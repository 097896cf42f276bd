/** Answers of slash commands. */

import type { CommandResponseFrame, PanelFields } from './frames.js';
import { isObject } from './json.js';

/** An answer, made by one of the functions below. */
export type CommandResponse = Omit<CommandResponseFrame, 'type' | 'id'>;

/** The return value of a command's handler: a response, a text to display, or nothing. */
export type CommandOutput = CommandResponse | string | undefined | void;

/** Gives the text to the model, as if the user had typed it. */
export function prompt(value: string): CommandResponse {
  return { action: 'prompt', prompt: value };
}

/** Puts the text into the input line. */
export function insert(value: string): CommandResponse {
  return { action: 'insert', insert: value };
}

/** Shows the text to the user; the model does not see it. */
export function display(value: string): CommandResponse {
  return { action: 'display', display: value };
}

/** Does nothing. */
export function noop(): CommandResponse {
  return { action: 'noop' };
}

/** Opens a panel; its keys go to `onPanelKey`. */
export function openPanel(id: string, fields: PanelFields = {}): CommandResponse {
  return { action: 'open_panel', open_panel: { id, ...fields } };
}

/** Tells the user that the command has failed. To throw an error does the same. */
export function fail(message: string): CommandResponse {
  return { action: 'noop', error: message || 'the command failed' };
}

const ACTIONS = new Set(['prompt', 'insert', 'display', 'noop', 'open_panel']);

/** The response that is sent to the host. Throws a TypeError for any other value. */
export function toResponse(output: CommandOutput): CommandResponse {
  if (output === undefined || output === null) return noop();
  if (typeof output === 'string') return display(output);
  if (isObject(output) && ACTIONS.has(output.action)) return output;
  throw new TypeError('a command must return a text or one of prompt, insert, display, noop, openPanel, fail');
}
