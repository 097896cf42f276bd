// Guards and listeners: verdicts, several guards, a guard that fails, the order of events.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { addContext, allow, ask, block, errorResult, extension, rewrite } from '../dist/index.js';
import { harness } from '../dist/testing.js';

async function running(t, ext, options) {
  const host = await harness(ext, options);
  t.after(() => host.stop());
  return host;
}

const CALL = { tool_id: 't1', tool_name: 'bash', tool_args: { command: 'ls' } };
const ABOUT = { tool_id: 't1', tool_name: 'bash' };
const TOOL = { toolId: 't1', toolName: 'bash' };
const RESULT = { tool_id: 't1', tool_name: 'bash', is_error: false, content: [{ type: 'text', text: 'secret' }] };

test('each kind of guard is asked with its own fields, and may block', async (t) => {
  const seen = [];
  const look = (happening) => { seen.push(happening); return block('no'); };
  const ext = extension('x').interceptToolCall(look).interceptTurnStart(look).interceptAssistantMessage(look)
    .interceptUserPrompt(look).interceptToolResult(look);
  const host = await running(t, ext);
  assert.deepEqual(host.said('subscribe'), [{
    type: 'subscribe', intercept: ['tool_call', 'turn_start', 'assistant_message', 'user_prompt', 'tool_result'] }]);
  for (const [event, fields] of [
    ['tool_call', CALL], ['turn_start', { step: 2 }], ['assistant_message', { text: 'a' }], ['user_prompt', { text: 'b' }],
    ['tool_result', RESULT]]) {
    assert.deepEqual(await host.intercept(event, fields), { blocked: true, reason: 'no' });
  }
  assert.deepEqual(seen.map(({ sessionId, cwd, ...own }) => own), [
    { event: 'tool_call', toolId: 't1', toolName: 'bash', args: { command: 'ls' } },
    { event: 'turn_start', step: 2 },
    { event: 'assistant_message', text: 'a' },
    { event: 'user_prompt', text: 'b' },
    { event: 'tool_result', toolId: 't1', toolName: 'bash', isError: false, content: RESULT.content }]);
});

for (const [what, verdict] of [['nothing', undefined], ['null', null], ['allow()', allow()]]) {
  test(`${what} lets it pass unchanged`, async (t) => {
    const host = await running(t, extension('x').interceptToolCall(async () => verdict));
    assert.deepEqual(await host.intercept('tool_call', CALL), { blocked: false });
    assert.deepEqual(Object.keys(host.said('event_intercept_response')[0]), ['type', 'id']);
  });
}

test('a guard that nobody wrote allows', async (t) => {
  assert.deepEqual(await (await running(t, extension('x'))).intercept('tool_call', CALL), { blocked: false });
});

test('each kind may be rewritten', async (t) => {
  const ext = extension('x').interceptToolCall(({ args }) => rewrite({ ...args, timeout: 1 }))
    .interceptAssistantMessage(({ text }) => rewrite(text.toUpperCase()))
    .interceptUserPrompt(({ text }) => rewrite(`${text}?`))
    .interceptToolResult(() => rewrite('[removed]'));
  const host = await running(t, ext);
  assert.deepEqual((await host.intercept('tool_call', CALL)).args, { command: 'ls', timeout: 1 });
  assert.equal((await host.intercept('assistant_message', { text: 'a' })).text, 'A');
  assert.equal((await host.intercept('user_prompt', { text: 'a' })).text, 'a?');
  assert.deepEqual((await host.intercept('tool_result', RESULT)).result, { content: [{ type: 'text', text: '[removed]' }] });
});

test('a result may be made an error', async (t) => {
  const host = await running(t, extension('x').interceptToolResult(() => rewrite(errorResult('bad'))));
  assert.deepEqual((await host.intercept('tool_result', RESULT)).result, { content: [{ type: 'text', text: 'bad' }], isError: true });
});

test('a text that is taken away altogether is blocked: empty means unchanged on the wire', async (t) => {
  const host = await running(t, extension('x').interceptAssistantMessage(() => rewrite('')));
  assert.equal((await host.intercept('assistant_message', { text: 'secret' })).blocked, true);
});

for (const [what, guard, reason] of [
  ['throws', () => { throw new Error('broken'); }, /^the guard of tool_call failed: broken$/],
  ['rejects', async () => { throw new RangeError('broken'); }, /RangeError: broken$/],
  ['returns false', () => false, /a guard must return/],
  ['returns a text', () => 'no', /a guard must return/],
  ['returns an object of its own', () => ({ block: true }), /a guard must return/],
  ['rewrites to no object', () => rewrite('ls'), /takes an object/],
  ['rewrites to what JSON cannot say', () => rewrite({ a: 1n }), /BigInt/],
]) {
  test(`a guard that ${what} blocks`, async (t) => {
    const host = await running(t, extension('x').interceptToolCall(guard));
    const judged = await host.intercept('tool_call', CALL);
    assert.equal(judged.blocked, true);
    assert.match(judged.reason, reason);
    assert.match(host.reports.join(), /guard of tool_call failed/);
  });
}

test('a turn cannot be rewritten', async (t) => {
  const host = await running(t, extension('x').interceptTurnStart(() => rewrite(2)));
  assert.match((await host.intercept('turn_start', { step: 1 })).reason, /only be allowed or blocked/);
});

test('several guards: rewrites chain, the first block wins, later ones are not asked', async (t) => {
  const seen = [];
  const ext = extension('x')
    .interceptUserPrompt(({ text }) => rewrite(`${text}1`))
    .interceptUserPrompt(({ text }) => { seen.push(text); return text.includes('stop') ? block('stop') : rewrite(`${text}2`); })
    .interceptUserPrompt(({ text }) => { seen.push(text); });
  const host = await running(t, ext);
  assert.deepEqual(await host.intercept('user_prompt', { text: 'a' }), { blocked: false, text: 'a12' });
  assert.deepEqual(await host.intercept('user_prompt', { text: 'stop' }), { blocked: true, reason: 'stop' });
  assert.deepEqual(seen, ['a1', 'a12', 'stop1']);
});

test('a request of the host that cannot be read is refused, not left open', async (t) => {
  const host = await running(t, extension('x').interceptToolCall(() => allow()).tool('it', {}, () => ''));
  host.write('{"type":"event_intercept","id":"7","event":3}');
  host.write('{"type":"tool_call","id":"8","name":"it","args":[]}');
  host.write('{"type":"command_invoked","id":"9"}');
  await host.ping();
  assert.deepEqual(host.frames.slice(-4, -1), [
    { type: 'event_intercept_response', id: '7', block: true, reason: 'bad event_intercept frame: event is no string' },
    { type: 'tool_result', id: '8', content: [{ type: 'text', text: 'bad tool_call frame: args is no object' }], is_error: true },
    { type: 'command_response', id: '9', action: 'noop', error: 'bad command_invoked frame: name is missing' }]);
});

test('every event is told with its fields', async (t) => {
  const seen = [];
  const ext = extension('x');
  const told = [
    ['session_start', {}, {}],
    ['user_prompt', { text: 'hi' }, { text: 'hi' }],
    ['turn_start', { step: 1 }, { step: 1 }],
    ['assistant_message', {}, { text: '' }],
    ['tool_call', CALL, { toolId: 't1', toolName: 'bash', args: { command: 'ls' } }],
    ['tool_result', RESULT, {
      ...TOOL, isError: false, content: RESULT.content, args: {}, status: '', executed: false, truncated: false }],
    ['tool_result', { tool_id: 't1', tool_name: 'bash', tool_args_raw: '{', status: 'failed', executed: true,
      result: { content: RESULT.content, is_error: true, truncated: true }, origin_extension: 'other' }, {
      ...TOOL, isError: true, content: RESULT.content, args: {}, argsRaw: '{', status: 'failed', executed: true,
      truncated: true, originExtension: 'other' }],
    ['tool_result', { tool_id: 't1', tool_name: 'bash', result: { content: 'x' } }, {
      ...TOOL, isError: false, content: [], args: {}, status: '', executed: false, truncated: false }],
    ['user_prompt_submit', { text: 'hi', queued: true, image_count: 2 }, { text: 'hi', queued: true, imageCount: 2 }],
    ['tool_confirmation_requested', { ...ABOUT, tool_preview: 'ls' }, { ...TOOL, preview: 'ls' }],
    ['permission_decision', { ...ABOUT, decision: 'denied', source: 'policy', stage: 'pre_execution', reason: 'no' }, {
      ...TOOL, decision: 'denied', source: 'policy', stage: 'pre_execution', reason: 'no' }],
    ['pre_compact', { compaction_id: 'c', message_count: 3, token_estimate: 40 }, {
      compactionId: 'c', messageCount: 3, tokenEstimate: 40 }],
    ['post_compact', { compaction_id: 'c', status: 'failed', error: 'lost' }, {
      compactionId: 'c', messageCount: 0, tokenEstimate: 0, status: 'failed', error: 'lost' }],
    ['subagent_start', { agent_id: 'a', agent_run_id: 'r' }, { agentId: 'a', agentRunId: 'r' }],
    ['subagent_stop', { agent_id: 'a', status: 'completed' }, { agentId: 'a', agentRunId: '', status: 'completed' }],
    ['turn_end', { stop: 'end_turn' }, { stop: 'end_turn' }],
    ['turn_end', { stop: 'error', error: 'lost' }, { stop: 'error', error: 'lost' }],
    ['error', { error: 'lost' }, { error: 'lost' }],
    ['idle', {}, {}],
    ['session_end', {}, { reason: '' }],
    ['session_end', { reason: 'shutdown' }, { reason: 'shutdown' }]];
  for (const event of new Set(told.map(([event]) => event))) ext.on(event, (happening) => seen.push(happening));
  const host = await running(t, ext);
  const where = { session_id: 's', cwd: '/work', sequence: 7 };
  for (const [event, fields] of told) await host.event(event, { ...where, ...fields });
  const known = { sessionId: 's', cwd: '/work', sequence: 7 };
  assert.deepEqual(seen, told.map(([event, , fields]) => ({ event, ...fields, ...known })));
});

test('events are handled in order, one after another, also slow and failing ones', async (t) => {
  const seen = [];
  const ext = extension('x').on('turn_start', async ({ step }) => {
    for (let ticks = 5 - step; ticks > 0; ticks -= 1) await Promise.resolve();
    seen.push(step);
    if (step === 2) throw new Error('broken');
  });
  const host = await running(t, ext);
  await Promise.all([1, 2, 3, 4].map((step) => host.event('turn_start', { step })));
  assert.deepEqual(seen, [1, 2, 3, 4]);
  assert.match(host.reports.join(), /handler of turn_start failed: Error: broken/);
});

test('a second listener of an event does not subscribe again; a late one does', async (t) => {
  const ext = extension('x').on('turn_end', () => {}).on('turn_end', () => {});
  const host = await running(t, ext);
  ext.on('turn_end', () => {}).on('turn_start', () => {}).interceptToolCall(() => block('late'));
  assert.deepEqual(host.said('subscribe').map(({ events, intercept }) => events ?? intercept), [['turn_end'], ['turn_start'], ['tool_call']]);
  assert.equal((await host.intercept('tool_call', CALL)).reason, 'late');
});

test('guards may ask a person and add context for the model', async (t) => {
  const ext = extension('x')
    .interceptToolCall(({ toolName }) => (toolName === 'read' ? addContext('one') : ask('it writes')))
    .interceptToolCall(({ toolName }) => (toolName === 'write' ? rewrite({ b: 1 }) : addContext('two')))
    .interceptToolCall(({ toolName }) => (toolName === 'rm' ? block('never') : undefined));
  const host = await running(t, ext);
  const about = (tool_name) => host.intercept('tool_call', { ...CALL, tool_name });
  assert.deepEqual(await about('read'), { blocked: false, context: 'one\n\ntwo' });
  assert.deepEqual(await about('write'), { blocked: false, asks: true, reason: 'it writes', args: { b: 1 } });
  assert.deepEqual(await about('rm'), { blocked: true, reason: 'never' });
});

test('a host that knows no questions gets a block', async (t) => {
  const host = await running(t, extension('x').interceptTurnStart(() => ask('twice?')), { host: { features: [] } });
  assert.deepEqual(await host.intercept('turn_start', { step: 1 }), { blocked: true, reason: 'twice?' });
});

test('context where no model reads it blocks', async (t) => {
  const host = await running(t, extension('x').interceptTurnStart(() => addContext('x')));
  assert.equal((await host.intercept('turn_start', { step: 1 })).blocked, true);
});

test('an event with a field of a wrong type is left out, and reported', async (t) => {
  const seen = [];
  const host = await running(t, extension('x').on('session_end', (event) => seen.push(event)));
  await host.event('session_end', { sequence: 'first' });
  assert.deepEqual(seen, []);
  assert.match(host.reports.join(), /bad event frame: sequence is no number/);
});

test('a system prompt is replaced by each guard in turn', async (t) => {
  const seen = [];
  const ext = extension('x')
    .interceptBeforeAgentStart((start) => void seen.push(start))
    .interceptBeforeAgentStart(async ({ systemPrompt }) => `${systemPrompt} Be brief.`)
    .interceptBeforeAgentStart(({ model }) => (model === 'tiny' ? '' : null));
  const host = await running(t, ext);
  const fields = { session_id: 's', agent_run_id: 'r', cwd: '/work', provider: 'p', model: 'm', system_prompt: 'Help.' };
  assert.deepEqual(await host.intercept('before_agent_start', fields), { blocked: false, systemPrompt: 'Help. Be brief.' });
  assert.deepEqual(await host.intercept('before_agent_start', { model: 'tiny' }), { blocked: false, systemPrompt: '' });
  assert.deepEqual(seen[0], {
    event: 'before_agent_start', sessionId: 's', agentRunId: 'r', cwd: '/work', provider: 'p', model: 'm',
    systemPrompt: 'Help.' });
});

for (const [what, said] of [['a block', block('no')], ['a rewrite', rewrite('Help.')], ['a number', 3], ['a list', ['a']]]) {
  test(`${what} is no system prompt: it changes nothing, and is named`, async (t) => {
    const ext = extension('x').interceptBeforeAgentStart(() => 'First.').interceptBeforeAgentStart(() => said);
    const host = await running(t, ext);
    const { blocked, systemPrompt, reason } = await host.intercept('before_agent_start', { system_prompt: 'Help.' });
    assert.deepEqual([blocked, systemPrompt], [false, 'First.']);
    assert.match(reason, /^the guard of before_agent_start failed: TypeError: it must return the whole new system prompt/);
    assert.equal(host.reports.length, 1);
  });
}
