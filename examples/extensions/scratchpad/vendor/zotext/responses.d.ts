/** Answers of slash commands. */
import type { CommandResponseFrame, PanelFields } from './frames.js';
/** An answer, made by one of the functions below. */
export type CommandResponse = Omit<CommandResponseFrame, 'type' | 'id'>;
/** The return value of a command's handler: a response, a text to display, or nothing. */
export type CommandOutput = CommandResponse | string | undefined | void;
/** Gives the text to the model, as if the user had typed it. */
export declare function prompt(value: string): CommandResponse;
/** Puts the text into the input line. */
export declare function insert(value: string): CommandResponse;
/** Shows the text to the user; the model does not see it. */
export declare function display(value: string): CommandResponse;
/** Does nothing. */
export declare function noop(): CommandResponse;
/** Opens a panel; its keys go to `onPanelKey`. */
export declare function openPanel(id: string, fields?: PanelFields): CommandResponse;
/** Tells the user that the command has failed. To throw an error does the same. */
export declare function fail(message: string): CommandResponse;
/** The response that is sent to the host. Throws a TypeError for any other value. */
export declare function toResponse(output: CommandOutput): CommandResponse;
