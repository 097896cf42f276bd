/** The host's side of a conversation, for tests: sends frames, keeps those of the extension, waits with deadlines. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type {
  EventName, ExtensionFrame, GuardedName, HostFrame, KeyName, LogLevel, NoteLevel, PanelFields,
} from './frames.js';
import { errorResult, toResult } from './content.js';
import { brief } from './errors.js';
import type { JsonObject } from './json.js';
import type { CommandResponse } from './responses.js';
import type { CallOutcome, Fields, HostOptions, Judged, Pending } from './test_answers.js';

const FEATURES = [
  'additional_context', 'ask', 'cancel', 'error_event', 'error_intercept', 'idle_event', 'log', 'panels', 'ping',
  'session_end_event', 'session_end_intercept', 'session_start_intercept', 'tool_flags', 'tool_progress',
  'tool_result_event',
  'tool_result_intercept', 'tool_timeout', 'unregister_tool', 'user_prompt_event', 'user_prompt_intercept',
];

type Frame<Type extends ExtensionFrame['type']> = Extract<ExtensionFrame, { type: Type }>;
interface Waiter {
  /** Whether an awaited frame has come. */
  look: () => boolean;
  fail: (error: Error) => void;
}

export abstract class TestHost {
  /** All frames of the extension, in order. */
  readonly frames: ExtensionFrame[] = [];
  /** Lines on its stdout that are not frames. */
  readonly junk: string[] = [];
  readonly deadlineMs: number;
  /** The extension's folder for state: that of the options, else a new one, which is removed at the end. */
  readonly dataDir: string;
  readonly #greeting: HostFrame;
  readonly #hostTools: HostOptions['hostTools'];
  readonly #waiters = new Set<Waiter>();
  readonly #session = new AsyncLocalStorage<{ session_id: string; cwd: string }>();
  #ids = 0;
  #removeFolder: () => void = () => {};
  #ended: Error | undefined;

  constructor({ deadlineMs = 5000, host = {}, hostTools }: HostOptions) {
    this.deadlineMs = deadlineMs;
    this.#hostTools = hostTools;
    const { zotVersion = '0.0.0-test', provider = 'test', model = 'test', cwd = process.cwd() } = host;
    const { extensionDir = process.cwd(), features = FEATURES } = host;
    const { dataDir = this.#newFolder() } = host;
    this.dataDir = dataDir;
    this.#greeting = {
      type: 'hello_ack', protocol_version: 1, zot_version: zotVersion, provider, model, cwd,
      extension_dir: extensionDir, data_dir: dataDir, features, capabilities: hostTools ? ['call_tool'] : [],
    };
  }

  /** Sends any frame. */
  abstract send(frame: HostFrame): void;
  /** Sends `shutdown` and waits for the end. */
  abstract stop(): Promise<void>;
  /** Text that explains a failed wait. */
  protected abstract evidence(): string;

  // --- reading ----------------------------------------------------------------------------------------------

  /** The registered tools, by name. */
  get tools(): Map<string, Frame<'register_tool'>> {
    const tools = new Map<string, Frame<'register_tool'>>();
    for (const frame of this.frames) {
      if (frame.type === 'register_tool') tools.set(frame.name, frame);
      else if (frame.type === 'unregister_tool') tools.delete(frame.name);
    }
    return tools;
  }

  /** The commands and their descriptions. */
  get commands(): Map<string, string> {
    return new Map(this.said('register_command').map(({ name, description }) => [name, description ?? '']));
  }

  /** The notes that a user would see now. */
  get notes(): { level: NoteLevel; message: string }[] {
    const shown = this.frames.filter((frame) => this.#isShown(frame));
    const cleared = shown.findLastIndex((frame) => frame.type === 'clear_notes');
    return shown.slice(cleared + 1).flatMap((frame) => (frame.type === 'notify' ? [pick(frame)] : []));
  }

  /** The prompts that it has submitted. */
  get prompts(): string[] {
    return this.said('submit').filter((frame) => this.#isShown(frame)).map(({ text }) => text);
  }

  get logs(): { level: LogLevel; message: string; fields?: JsonObject }[] {
    return this.said('log').map(({ type: _, ...line }) => ({ level: 'info', ...line }));
  }

  /** The content that `panel_render` frames have drawn in the panel; undefined before the first. */
  panel(id: string): PanelFields | undefined {
    const drawn = this.said('panel_render').filter((frame) => frame.panel_id === id && this.#isShown(frame));
    const fields = drawn.map(({ type: _, panel_id: __, session_id: ___, ...changed }) => changed);
    return fields.length === 0 ? undefined : Object.assign({}, ...fields);
  }

  /** All frames of that type so far. */
  said<Type extends ExtensionFrame['type']>(type: Type): Frame<Type>[] {
    return this.frames.filter((frame): frame is Frame<Type> => frame.type === type);
  }

  // --- sessions -----------------------------------------------------------------------------------------------

  /**
   * Sends the frames of `work` as those of one of several runs that share the extension; in it, `notes`, `prompts` and
   * `panel` leave out those of other sessions.
   */
  inSession<T>({ sessionId, cwd = '' }: { sessionId: string; cwd?: string }, work: () => T): T {
    return this.#session.run({ session_id: sessionId, cwd }, work);
  }

  /** Leases it to one run for `work`, in a session: waits for its `lease_ready` before, and ends both after it. */
  async lease<T>({ sessionId, cwd = '' }: { sessionId: string; cwd?: string }, work: () => Promise<T>): Promise<T> {
    const id = this.#ask((id) => ({ type: 'lease_begin', id, session_id: sessionId, cwd }));
    await this.#answer('lease_ready', id, 'lease_begin');
    return this.inSession({ sessionId, cwd }, async () => {
      try {
        await this.event('session_start');
        return await work();
      } finally {
        await this.event('session_end', { reason: 'shutdown' });
        this.send({ type: 'lease_end', id, session_id: sessionId });
        await this.handled();
      }
    });
  }

  // --- requests -----------------------------------------------------------------------------------------------

  async callTool(name: string, args: JsonObject = {}): Promise<CallOutcome> {
    return this.beginTool(name, args).outcome;
  }

  /** Starts a call and does not wait, so that the test can watch and cancel it. */
  beginTool(name: string, args: JsonObject = {}): Pending<CallOutcome> {
    const id = this.#ask((id) => ({ type: 'tool_call', id, name, args, ...this.#session.getStore() }));
    const outcome = this.#answer('tool_result', id, `tool ${name}`).then((frame) => ({
      text: frame.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n'),
      content: frame.content,
      isError: frame.is_error ?? false,
      progress: this.said('tool_progress').filter((frame) => frame.id === id).map(({ text }) => text),
      ...(frame.activate_tools === undefined ? {} : { activate: frame.activate_tools }),
      ...(frame.structured_content === undefined ? {} : { structured: frame.structured_content }),
    }));
    return { id, outcome, cancel: (reason) => this.#cancel(id, reason) };
  }

  async runCommand(name: string, args = ''): Promise<CommandResponse> {
    return this.beginCommand(name, args).outcome;
  }

  beginCommand(name: string, args = ''): Pending<CommandResponse> {
    const id = this.#ask((id) => ({ type: 'command_invoked', id, name, args, ...this.#session.getStore() }));
    const answer = this.#answer('command_response', id, `command ${name}`);
    const outcome = answer.then(({ type: _, id: __, ...said }) => said);
    return { id, outcome, cancel: (reason) => this.#cancel(id, reason) };
  }

  /** Asks the guards. The fields are those of the wire: `tool_name`, `tool_args`, `step`, `text`, `content`. */
  async intercept(event: GuardedName, fields: Fields<'event_intercept'> = {}): Promise<Judged> {
    const id = this.#ask((id) => ({ type: 'event_intercept', id, event, ...this.#session.getStore(), ...fields }));
    const said = await this.#answer('event_intercept_response', id, `guard of ${event}`);
    const { block = false, reason, modified_args: args, replace_text: text, modified_result: result } = said;
    const isError = result?.is_error;
    return {
      blocked: block,
      ...(said.ask ? { asks: true as const } : {}),
      ...(said.additional_context === undefined ? {} : { context: said.additional_context }),
      ...(reason === undefined ? {} : { reason }),
      ...(args === undefined ? {} : { args }),
      ...(text === undefined ? {} : { text }),
      ...(said.system_prompt === undefined ? {} : { systemPrompt: said.system_prompt }),
      ...(result && { result: { content: result.content, ...(isError === undefined ? {} : { isError }) } }),
    };
  }

  /** Sends an event. In-process it resolves when the handlers are done; for a process, when it is sent. */
  async event(event: EventName, fields: Fields<'event'> = {}): Promise<void> {
    this.send({ type: 'event', event, ...this.#session.getStore(), ...fields });
    await this.handled();
  }

  async pressKey(panelId: string, key: KeyName, text?: string): Promise<void> {
    const typed = text === undefined ? {} : { text };
    this.send({ type: 'panel_key', panel_id: panelId, key, ...typed, ...this.#session.getStore() });
    await this.handled();
  }

  async resizePanel(panelId: string, width: number, height: number): Promise<void> {
    this.send({ type: 'panel_resize', panel_id: panelId, width, height, ...this.#session.getStore() });
    await this.handled();
  }

  async closePanel(panelId: string): Promise<void> {
    this.send({ type: 'panel_close', panel_id: panelId, ...this.#session.getStore() });
    await this.handled();
  }

  /** Resolves when it has answered a ping: then it has read all earlier frames. */
  async ping(): Promise<void> {
    const id = this.#ask((id) => ({ type: 'ping', id }));
    await this.#answer('pong', id, 'ping');
  }

  /** Waits for a frame that matches. Earlier frames count, too. */
  waitFor<T extends ExtensionFrame>(what: string, matches: (frame: ExtensionFrame) => frame is T): Promise<T>;
  waitFor(what: string, matches: (frame: ExtensionFrame) => boolean): Promise<ExtensionFrame>;
  waitFor(what: string, matches: (frame: ExtensionFrame) => boolean): Promise<ExtensionFrame> {
    return new Promise((resolve, reject) => {
      let seen = 0;
      const done = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        look: () => {
          for (; seen < this.frames.length; seen += 1) {
            const frame = this.frames[seen]!;
            if (!matches(frame)) continue;
            done();
            resolve(frame);
            return true;
          }
          return false;
        },
        fail: (error) => {
          done();
          reject(new Error(`waited for ${what}: ${error.message}${this.evidence()}`));
        },
      };
      const timer = setTimeout(() => waiter.fail(new Error(`not within ${this.deadlineMs} ms`)), this.deadlineMs);
      if (waiter.look()) return;
      this.#waiters.add(waiter);
      if (this.#ended) waiter.fail(this.#ended);
    });
  }

  /** Waits for `ready`: then all first registrations are known. */
  async ready(): Promise<this> {
    await this.waitFor('ready', (frame) => frame.type === 'ready');
    return this;
  }

  // --- for the links ----------------------------------------------------------------------------------------

  protected async handled(): Promise<void> {}

  /** Handles one line of the extension. */
  protected heard(line: string): void {
    let frame: ExtensionFrame;
    try {
      frame = JSON.parse(line);
      if (typeof frame?.type !== 'string') throw new TypeError('no frame');
    } catch {
      this.junk.push(line);
      return;
    }
    this.frames.push(frame);
    if (frame.type === 'hello') this.send(this.#greeting);
    if (frame.type === 'call_tool') void this.#answerCall(frame);
    for (const waiter of [...this.#waiters]) waiter.look();
  }

  /** No more frames will come: every wait fails. */
  protected ended(why: string): void {
    this.#ended = new Error(why);
    for (const waiter of [...this.#waiters]) waiter.fail(this.#ended);
    this.#removeFolder();
  }

  #newFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'zotext-data-'));
    const remove = (): void => rmSync(folder, { recursive: true, force: true });
    process.once('exit', remove);
    this.#removeFolder = () => {
      process.removeListener('exit', remove);
      remove();
    };
    return folder;
  }

  async #answerCall({ id, name, args }: Frame<'call_tool'>): Promise<void> {
    const tool = this.#hostTools?.[name];
    if (tool === null) return;
    const work = async () => toResult(tool ? await tool(args) : errorResult(`there is no tool ${name}`));
    const { content, isError } = await work().catch((error) => errorResult(brief(error)));
    this.send({ type: 'tool_result', id, name, content, ...(isError === undefined ? {} : { is_error: isError }) });
  }

  #ask(frame: (id: string) => HostFrame): string {
    this.#ids += 1;
    const id = String(this.#ids);
    this.send(frame(id));
    return id;
  }

  #cancel(id: string, reason?: string): void {
    this.send({ type: 'cancel', id, ...(reason === undefined ? {} : { reason }) });
  }

  /** Whether a frame is not about another session than that of the work under way. */
  #isShown(frame: ExtensionFrame): boolean {
    const here = this.#session.getStore()?.session_id;
    return here === undefined || !('session_id' in frame) || frame.session_id === here;
  }

  async #answer<Type extends 'tool_result' | 'command_response' | 'event_intercept_response' | 'lease_ready' | 'pong'>(
    type: Type,
    id: string,
    what: string,
  ): Promise<Frame<Type>> {
    const matches = (frame: ExtensionFrame): frame is Frame<Type> =>
      frame.type === type && 'id' in frame && frame.id === id;
    return this.waitFor(`the answer of ${what}`, matches);
  }
}

function pick({ level, message }: Frame<'notify'>): { level: NoteLevel; message: string } {
  return { level, message };
}
