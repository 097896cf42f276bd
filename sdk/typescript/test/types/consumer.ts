// Compiled, never run: what an author's editor knows. `@ts-expect-error` fails if the line below it is no error.
import { allow, block, display, errorResult, extension, image, openPanel, rewrite, s, text, type Infer } from '../../dist/index.js';
import { harness, launch } from '../../dist/testing.js';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_: Same<A, B>): void {}

const place = s.object({
  city: s.string('Name'),
  days: s.optional(s.integer()),
  unit: s.enum(['c', 'f']),
  tags: s.array(s.string()),
  near: s.optional(s.object({ lat: s.number(), lon: s.nullable(s.number()) })),
  extra: s.record(s.boolean()),
  which: s.union([s.string(), s.literal(3)]),
});
interface Place {
  city: string;
  days?: number;
  unit: 'c' | 'f';
  tags: string[];
  near?: { lat: number; lon: number | null };
  extra: Record<string, boolean>;
  which: string | 3;
}
same<Infer<typeof place>['unit'], 'c' | 'f'>(true);
same<Infer<typeof place>['days'], number | undefined>(true);
const given: Place = {} as Infer<typeof place>;
const back: Infer<typeof place> = given;
void back;

const ext = extension('consumer', '1.0.0');

ext.tool('weather', { description: 'Tells it', parameters: place, timeoutS: 5, readOnly: true }, async (args, call) => {
  same<typeof args.unit, 'c' | 'f'>(true);
  same<typeof args.city, string>(true);
  same<typeof args.days, number | undefined>(true);
  // @ts-expect-error there is no such argument
  args.town;
  await call.progress('half');
  const signal: AbortSignal = call.signal;
  if (signal.aborted) return errorResult('gone');
  return [text('sunny'), image('image/png', new Uint8Array())];
});
ext.tool<{ n: number }>('typed', { parameters: { type: 'object' } }, ({ n }) => n + 1);
ext.tool('untyped', {}, ({ anything }) => anything);
// @ts-expect-error the arguments of a tool are an object
ext.tool('bad', { parameters: s.string() }, () => '');
// @ts-expect-error seconds are a number
ext.tool('bad2', { timeoutS: '5' }, () => '');

ext.command('hello', 'Says hello', (args, { signal }) => (signal.aborted ? undefined : display(args.trim())));
ext.command('panel', 'Opens it', async () => openPanel('p', { lines: ['a'] }));
// @ts-expect-error no response
ext.command('odd', '', () => 42);

ext.tool('later', { deferred: true, exposure: 'deferred', outputSchema: { type: 'object' }, interactive: true }, async () => {
  const { text: found, isError, truncated, content } = await ext.callTool('read', { path: 'a' });
  same<typeof truncated, boolean>(true);
  return isError ? { content, activate: ['weather'], structured: { found } } : text(found, { markdown: true });
});
// @ts-expect-error no such exposure
ext.tool('bad3', { exposure: 'both' }, () => '');
// @ts-expect-error arguments are an object
void ext.callTool('read', ['a']);
ext.interceptBeforeAgentStart(async ({ systemPrompt, agentRunId }) => (agentRunId ? systemPrompt.trim() : null));
// @ts-expect-error a verdict is no system prompt
ext.interceptBeforeAgentStart(() => block('no'));
void ext.submit('go on').then(() => ext.openPanel('p', { lines: ['a'] }));
ext.on('tool_result', ({ status, executed, originExtension, sequence }) => {
  same<typeof status, 'completed' | 'failed' | 'blocked' | 'cancelled' | 'timed_out'>(true);
  same<typeof executed, boolean>(true);
  same<typeof originExtension, string | undefined>(true);
  same<typeof sequence, number>(true);
});
ext.on('subagent_stop', ({ agentId, status }) => ext.log('info', `${agentId}: ${status}`));

ext.on('turn_end', ({ stop, error }) => {
  same<typeof stop, string>(true);
  same<typeof error, string | undefined>(true);
});
ext.on('tool_result', async ({ content, isError, toolName }) => void [content, isError, toolName]);
// @ts-expect-error no such event
ext.on('turn_begin', () => {});

ext.interceptToolCall(({ toolName, args }) => (toolName === 'bash' ? block('no') : rewrite({ ...args, timeout: 1 })));
ext.interceptToolCall(async () => allow());
ext.interceptToolCall(() => {});
ext.interceptAssistantMessage(({ text }) => rewrite(text.trim()));
ext.interceptUserPrompt(({ text }) => (text ? rewrite(text) : undefined));
ext.interceptToolResult(({ content }) => rewrite(content));
ext.interceptTurnStart(({ step }) => (step > 3 ? block('enough') : allow()));
// @ts-expect-error arguments are an object
ext.interceptToolCall(() => rewrite('ls'));
// @ts-expect-error a turn cannot be rewritten
ext.interceptTurnStart(() => rewrite(3));
// @ts-expect-error no verdict
ext.interceptAssistantMessage(() => false);

ext.onPanelKey('p', (key, typed) => {
  if (key === 'rune') void ext.renderPanel('p', { lines: [typed] });
  // @ts-expect-error no such key
  return key === 'f1';
});
ext.onPanelResize('p', (width, height) => width * height);
ext.onPanelClose('p', () => {});
void ext.notify('warn', 'careful');
// @ts-expect-error no such level
void ext.notify('loud', 'careful');
void ext.log('debug', 'message', { n: 1, list: ['a'] });
ext.onShutdown(async () => {});
const features: ReadonlySet<string> = ext.host.features;
void features;
void ext.greeted.then((host) => host.dataDir);

export async function tests(): Promise<void> {
  const host = await harness(ext, { deadlineMs: 100 });
  const outcome = await host.callTool('weather', { city: 'Berlin' });
  same<typeof outcome.isError, boolean>(true);
  const judged = await host.intercept('tool_call', { tool_name: 'bash', tool_args: {} });
  same<typeof judged.blocked, boolean>(true);
  await host.stop();
  await (await launch('.')).stop();
}

const kept = ext.sessionState(() => new Map<string, number>());
same<ReturnType<typeof kept>, Map<string, number>>(true);
ext.onLeaseBegin(({ sessionId, cwd }) => void kept().set(sessionId, cwd.length)).onLeaseEnd(async () => {});
ext.interceptToolCall(({ sessionId, toolName }) => (sessionId === toolName ? block('no') : allow()));
ext.onPanelKey('p', (key, typed, sessionId) => ext.notify('info', sessionId));
