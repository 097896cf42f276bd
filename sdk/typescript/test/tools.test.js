// Tools and commands: what a handler returns, what it throws, progress, cancelling, and one answer for each request.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CancelledError, display, errorResult, extension, fail, image, insert, noop, openPanel, prompt, s, text } from '../dist/index.js';
import { harness } from '../dist/testing.js';

/** Resolves with what the function told, whenever it does. */
function deferred() {
  let settle;
  const promise = new Promise((resolve, reject) => (settle = { resolve, reject }));
  return { promise, ...settle };
}

async function running(t, ext, options) {
  const host = await harness(ext, options);
  t.after(() => host.stop());
  return host;
}

/** The result of one tool whose handler returns that. */
async function resultOf(t, handler) {
  const host = await running(t, extension('x').tool('it', {}, handler));
  return { host, ...(await host.callTool('it')) };
}

test('a tool is registered with all that was said of it', async (t) => {
  const parameters = s.object({ city: s.string('Its name') });
  const ext = extension('weather', '2.0.0').tool(
    'weather', { description: 'Tells it', parameters, timeoutS: 7, idempotent: true, readOnly: false }, () => 'sun');
  const host = await running(t, ext);
  assert.deepEqual(host.frames[0], {
    type: 'hello', name: 'weather', version: '2.0.0', capabilities: [
      'commands', 'tools', 'events', 'panels', 'cancel', 'tool_cancel', 'call_tool', 'ping'] });
  assert.deepEqual(host.tools.get('weather'), {
    type: 'register_tool', name: 'weather', description: 'Tells it', timeout_s: 7, idempotent: true, read_only: false,
    schema: {
      type: 'object', properties: { city: { type: 'string', description: 'Its name' } }, required: ['city'],
      additionalProperties: false } });
});

test('arguments that do not fit a typed schema do not reach the handler', async (t) => {
  let called = 0;
  const ext = extension('x').tool('it', { parameters: s.object({ n: s.integer() }) }, ({ n }) => { called += 1; return n; });
  const host = await running(t, ext);
  const { isError, text } = await host.callTool('it', { n: 'one' });
  assert.deepEqual([isError, text, called], [true, 'invalid arguments: /n must be an integer', 0]);
  assert.equal((await host.callTool('it', { n: 1 })).text, '1');
});

test('a plain JSON Schema is passed on as it is', async (t) => {
  const parameters = { type: 'object', properties: { json: { type: 'string' } } };
  const host = await running(t, extension('x').tool('it', { parameters }, ({ json }) => json));
  assert.deepEqual(host.tools.get('it').schema, parameters);
  assert.equal((await host.callTool('it', { json: 'yes' })).text, 'yes');
});

for (const [what, output, content] of [
  ['a text', 'hi', [{ type: 'text', text: 'hi' }]],
  ['a block', text('hi'), [{ type: 'text', text: 'hi' }]],
  ['several', ['one', text('two')], [{ type: 'text', text: 'one' }, { type: 'text', text: 'two' }]],
  ['a picture', image('image/png', new Uint8Array([1, 2, 255])), [{ type: 'image', mime_type: 'image/png', data: 'AQL/' }]],
  ['a picture in base64', image('image/png', 'AQL/'), [{ type: 'image', mime_type: 'image/png', data: 'AQL/' }]],
  ['nothing', undefined, []],
  ['an object', { degrees: 3 }, [{ type: 'text', text: '{"degrees":3}' }]],
  ['a list of objects', [{ a: 1 }], [{ type: 'text', text: '[{"a":1}]' }]],
  ['an object with a type of its own', { type: 'text' }, [{ type: 'text', text: '{"type":"text"}' }]],
  ['a number', 0, [{ type: 'text', text: '0' }]],
  ['half a character', 'a\ud83d!', [{ type: 'text', text: 'a\ufffd!' }]],
]) {
  test(`a handler may return ${what}`, async (t) => {
    const result = await resultOf(t, () => output);
    assert.deepEqual(result.content, content);
    assert.equal(result.isError, false);
  });
}

test('errorResult is an error', async (t) => {
  const { isError, text } = await resultOf(t, async () => errorResult('no such city'));
  assert.deepEqual([isError, text], [true, 'no such city']);
});

for (const [what, handler, said] of [
  ['throws', () => { throw new Error('no luck'); }, 'no luck'],
  ['rejects', async () => { throw new TypeError('no luck'); }, 'TypeError: no luck'],
  ['throws what is no error', () => { throw 'luck'; }, 'luck'],
  ['throws nothing', () => { throw undefined; }, 'undefined'],
  ['returns a cycle', () => { const one = {}; one.self = one; return one; }, /circular/],
  ['returns a BigInt in a block', () => ({ content: [{ type: 'text', text: 'x', more: 1n }] }), /cannot be sent.*BigInt/],
]) {
  test(`a handler that ${what} gives one clean error`, async (t) => {
    const { host, isError, text } = await resultOf(t, handler);
    assert.equal(isError, true);
    typeof said === 'string' ? assert.equal(text, said) : assert.match(text, said);
    assert.doesNotMatch(text, /\n +at /, "no stack");
    await host.ping();
    assert.equal(host.said('tool_result').length, 1);
  });
}

test('the stack of an error is in the log', async (t) => {
  const { host } = await resultOf(t, () => { throw new Error('no luck'); });
  assert.match(host.reports.join(), /it failed: Error: no luck\n +at /);
});

test('an unknown tool and an unknown command are errors', async (t) => {
  const host = await running(t, extension('x'));
  assert.deepEqual((await host.callTool('gone')).text, 'there is no tool named gone');
  assert.equal((await host.runCommand('gone')).error, 'there is no command named gone');
});

test('a slow tool does not delay another, nor a guard', async (t) => {
  const { promise, resolve } = deferred();
  const ext = extension('x').tool('slow', {}, () => promise).tool('quick', {}, () => 'quick').interceptToolCall(() => {});
  const host = await running(t, ext);
  const slow = host.beginTool('slow');
  assert.equal((await host.callTool('quick')).text, 'quick');
  assert.equal((await host.intercept('tool_call')).blocked, false);
  assert.equal(host.said('tool_result').length, 1);
  resolve('at last');
  assert.equal((await slow.outcome).text, 'at last');
});

test('progress is told while the call runs, and not after', async (t) => {
  let late;
  const ext = extension('x').tool('it', {}, async (_, call) => {
    late = call;
    await call.progress('half');
    await call.progress('nearly');
    return 'done';
  });
  const host = await running(t, ext);
  assert.deepEqual((await host.callTool('it')).progress, ['half', 'nearly']);
  await late.progress('too late');
  await host.ping();
  assert.equal(host.said('tool_progress').length, 2);
});

test('a host that knows no progress is told none', async (t) => {
  const host = await running(t, extension('x').tool('it', {}, (_, call) => call.progress('half')), { host: { features: [] } });
  assert.deepEqual((await host.callTool('it')).progress, []);
});

test('a cancelled call has its signal aborted, and is answered once', async (t) => {
  const ext = extension('x').tool('wait', {}, (_, { signal }) => new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  }));
  const host = await running(t, ext);
  const call = host.beginTool('wait');
  const other = host.beginTool('wait');
  call.cancel('the user gave up');
  const { isError, text } = await call.outcome;
  assert.deepEqual([isError, text], [true, 'cancelled: the user gave up']);
  assert.deepEqual(host.reports, [], 'nothing went wrong');
  assert.equal(host.said('tool_result').length, 1, 'the other one goes on');
  other.cancel();
  await other.outcome;
});

test('the reason of a cancelled signal is an AbortError', () => {
  assert.equal(new CancelledError('x').name, 'AbortError');
});

test('a cancel for a call that is over is nothing', async (t) => {
  const { host } = await resultOf(t, () => 'done');
  host.send({ type: 'cancel', id: '1' });
  host.send({ type: 'cancel', id: 'never' });
  await host.ping();
});

test('a second request with an id in use is left out', async (t) => {
  const { promise, resolve } = deferred();
  const host = await running(t, extension('x').tool('it', {}, () => promise));
  const call = host.beginTool('it');
  host.send({ type: 'tool_call', id: call.id, name: 'it', args: {} });
  resolve('once');
  await call.outcome;
  await host.ping();
  assert.equal(host.said('tool_result').length, 1);
  assert.match(host.reports.join(), /its id is in use/);
});

test('a tool can come and go while it runs', async (t) => {
  const ext = extension('x');
  ext.tool('more', {}, () => void ext.tool('late', {}, () => 'late').unregisterTool('more'));
  const host = await running(t, ext);
  await host.callTool('more');
  assert.deepEqual([...host.tools.keys()], ['late']);
  assert.equal((await host.callTool('late')).text, 'late');
  assert.equal((await host.callTool('more')).isError, true);
  ext.unregisterTool('never was');
  assert.equal(host.said('unregister_tool').length, 1);
});

test('a name is registered once', () => {
  const ext = extension('x').tool('a', {}, () => '').command('a', '', () => '');
  assert.throws(() => ext.tool('a', {}, () => ''), /tool a is registered already/);
  assert.throws(() => ext.command('a', '', () => ''), /command a is registered already/);
  assert.throws(() => ext.command('', '', () => ''), /a command needs a name/);
  assert.throws(() => ext.tool('a b', {}, () => ''), /a name has 1 to 128 letters/);
  assert.throws(() => ext.tool('b', { timeoutS: 0 }, () => ''), /timeoutS is above 0/);
  assert.throws(() => extension(''), /an extension needs a name/);
});

for (const [what, output, response] of [
  ['a prompt', prompt('go'), { action: 'prompt', prompt: 'go' }],
  ['an insert', insert('go'), { action: 'insert', insert: 'go' }],
  ['a display', display('go'), { action: 'display', display: 'go' }],
  ['a text', 'go', { action: 'display', display: 'go' }],
  ['noop', noop(), { action: 'noop' }],
  ['nothing', undefined, { action: 'noop' }],
  ['a failure', fail('no'), { action: 'noop', error: 'no' }],
  ['a panel', openPanel('p', { title: 'P', lines: ['a'] }), { action: 'open_panel', open_panel: { id: 'p', title: 'P', lines: ['a'] } }],
]) {
  test(`a command may answer ${what}`, async (t) => {
    const host = await running(t, extension('x').command('it', 'Does it', () => output));
    assert.equal(host.commands.get('it'), 'Does it');
    assert.deepEqual(await host.runCommand('it'), response);
  });
}

test('a command gets its arguments; errors and nonsense are clean errors', async (t) => {
  const ext = extension('x')
    .command('say', '', (args, { name }) => `${name} ${args}.`)
    .command('throw', '', () => { throw new Error('broken'); })
    .command('odd', '', () => 42);
  const host = await running(t, ext);
  assert.equal((await host.runCommand('say', 'a b')).display, 'say a b.');
  assert.equal((await host.runCommand('say')).display, 'say .');
  assert.deepEqual(await host.runCommand('throw'), { action: 'noop', error: 'broken' });
  assert.match((await host.runCommand('odd')).error, /a command must return/);
});

test('a deferred tool, and one that offers it', async (t) => {
  const outputSchema = { type: 'object', properties: { bytes: { type: 'integer' } } };
  const ext = extension('x')
    .tool('measure', { deferred: true, outputSchema }, () => ({ bytes: 3 }))
    .tool('load', { exposure: 'model-only', interactive: true }, () => ({
      content: [text('*now*', { markdown: true })], activate: ['measure'], structured: [1] }));
  const host = await running(t, ext);
  const { deferred, output_schema } = host.tools.get('measure');
  assert.deepEqual([deferred, output_schema], [true, outputSchema]);
  const { exposure, interactive } = host.tools.get('load');
  assert.deepEqual([exposure, interactive], ['model-only', true]);
  const loaded = await host.callTool('load');
  assert.deepEqual([loaded.activate, loaded.structured, loaded.content], [
    ['measure'], [1], [{ type: 'text', text: '*now*', format: 'markdown' }]]);
  const measured = await host.callTool('measure');
  assert.deepEqual([measured.text, measured.structured, measured.activate], ['{"bytes":3}', { bytes: 3 }, undefined]);
});

for (const [options, said] of [
  [{ exposure: 'both' }, 'exposure is one of direct, deferred, codemode, model-only, not both'],
  [{ outputSchema: 'object' }, 'outputSchema is an object, not "object"'],
  [{ deferred: 'yes' }, 'deferred is true or false, not "yes"'],
  [{ interactive: 1 }, 'interactive is true or false, not 1'],
]) {
  test(`${JSON.stringify(options)} of a tool throws at once`, () => {
    assert.throws(() => extension('x').tool('t', options, () => ''), { name: 'TypeError', message: `tool t: ${said}` });
  });
}

test('names of tools to activate are texts', async (t) => {
  const host = await running(t, extension('x').tool('load', {}, () => ({ content: [], activate: [1] })));
  const { isError, text: said } = await host.callTool('load');
  assert.deepEqual([isError, said], [true, 'TypeError: activate is a list of names of tools, not [1]']);
});
