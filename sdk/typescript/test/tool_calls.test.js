// Calls of tools of the host: by which handlers, until when, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { extension } from '../dist/index.js';
import { harness } from '../dist/testing.js';

async function running(t, ext, options) {
  const host = await harness(ext, options);
  t.after(() => host.stop());
  return host;
}

const SLOW = { hostTools: { slow: null } };
const READ = { hostTools: { read: async ({ path }) => `<${path}>` } };
const answer = (host, id, text) =>
  host.send({ type: 'tool_result', id, name: 'slow', content: [{ type: 'text', text }] });
const calls = async (host, count) => {
  await host.waitFor(`call ${count}`, () => host.said('call_tool').length >= count);
  return host.said('call_tool');
};

test('handlers call tools of the host, a tool as a part of its own call', async (t) => {
  const ext = extension('x');
  ext.tool('both', {}, async () => {
    const found = await Promise.all(['a', 'b'].map((path) => ext.callTool('read', { path })));
    return found.map(({ text }) => text).join();
  });
  ext.command('show', '', async () => (await ext.callTool('read')).text);
  ext.on('idle', async () => ext.notify('info', (await ext.callTool('read', { path: 'c' })).text));
  const host = await running(t, ext, READ);
  const { id, outcome } = host.beginTool('both');
  assert.equal((await outcome).text, '<a>,<b>');
  assert.equal((await host.runCommand('show')).display, '<undefined>');
  await host.event('idle');
  assert.equal(host.notes[0].message, '<c>');
  const made = host.said('call_tool');
  assert.deepEqual(made.map(({ name, args }) => [name, args]), [
    ['read', { path: 'a' }], ['read', { path: 'b' }], ['read', {}], ['read', { path: 'c' }]]);
  assert.deepEqual(made.map((frame) => frame.parent_id), [id, id, undefined, undefined]);
  assert.equal(new Set(made.map((frame) => frame.id)).size, 4);
});

test('work that outlives its call is no longer a part of it', async (t) => {
  let go;
  const ext = extension('x').tool('later', {}, () => {
    void new Promise((resolve) => (go = resolve)).then(() => ext.callTool('read', { path: 'a' }));
  });
  const host = await running(t, ext, READ);
  await host.callTool('later');
  go();
  assert.equal((await calls(host, 1))[0].parent_id, undefined);
});

test('a result says whether it failed or was cut, and a handler may return it', async (t) => {
  const found = [];
  const ext = extension('x').tool('forward', {}, async ({ name }) => {
    found.push(await ext.callTool(name));
    return found.at(-1);
  });
  const broken = () => { throw new Error('no luck'); };
  const host = await running(t, ext, { hostTools: { broken, slow: null } });
  assert.deepEqual((await host.callTool('forward', { name: 'broken' })).text, 'no luck');
  assert.deepEqual((await host.callTool('forward', { name: 'unknown' })).text, 'there is no tool unknown');
  const { outcome } = host.beginTool('forward', { name: 'slow' });
  const { id } = (await calls(host, 3))[2];
  host.send({ type: 'tool_result', id, name: 'slow', truncated: true });
  assert.deepEqual((await outcome).content, []);
  assert.deepEqual(found.map((one) => [one.isError, one.truncated]), [[true, false], [true, false], [false, true]]);
});

for (const [what, args, said] of [
  ['no name', [], /^callTool takes the name of a tool, not undefined$/],
  ['an empty name', [''], /takes the name of a tool/],
  ['a name that is no text', [3], /takes the name of a tool, not 3/],
  ['a list of arguments', ['read', []], /^callTool read: the arguments are an object, not \[\]$/],
  ['a text as arguments', ['read', 'path'], /the arguments are an object, not "path"/],
  ['null', ['read', null], /the arguments are an object, not null/],
  ['arguments that JSON cannot hold', ['read', { at: 1n }], /BigInt/],
]) {
  test(`${what} rejects at once`, async (t) => {
    const ext = extension('x');
    const host = await running(t, ext, READ);
    await assert.rejects(ext.callTool(...args), { name: 'TypeError', message: said });
    assert.deepEqual(host.said('call_tool'), []);
  });
}

test('where no tool can be called the error says why', async (t) => {
  const ext = extension('x').interceptToolCall(() => ext.callTool('read'))
    .interceptBeforeAgentStart(async () => (await ext.callTool('read')).text);
  await assert.rejects(ext.callTool('read'), /has not said hello/);
  const old = await harness(ext);
  await assert.rejects(ext.callTool('read'), /^Error: callTool read: this host calls no tools for extensions$/);
  await old.stop();
  const host = await running(t, ext, READ);
  assert.match((await host.intercept('tool_call')).reason, /a guard cannot call tools/);
  assert.match((await host.intercept('before_agent_start')).reason, /a guard cannot call tools/);
  assert.deepEqual(host.said('call_tool'), []);
});

for (const type of ['cancel', 'tool_cancel']) {
  test(`a handler that is cancelled by ${type} cancels the call that it waits for`, async (t) => {
    const ext = extension('x').tool('waits', {}, () => ext.callTool('slow'));
    const host = await running(t, ext, SLOW);
    const { id, outcome } = host.beginTool('waits');
    const [call] = await calls(host, 1);
    host.send({ type, id });
    assert.equal((await outcome).text, 'cancelled: cancelled');
    assert.deepEqual(host.said('call_tool_cancel'), [{ type: 'call_tool_cancel', id: call.id }]);
    answer(host, call.id, 'late');
    answer(host, 'unknown', 'late');
    await host.ping();
    assert.deepEqual(host.reports, []);
  });
}

test('answers may come in any order, and twice', async (t) => {
  const ext = extension('x').tool('ask', {}, async ({ to }) => (await ext.callTool('slow', { to })).text);
  const host = await running(t, ext, SLOW);
  const asked = ['a', 'b'].map((to) => host.beginTool('ask', { to }).outcome);
  for (const { id, args } of (await calls(host, 2)).toReversed()) {
    answer(host, id, args.to);
    answer(host, id, 'again');
  }
  assert.deepEqual((await Promise.all(asked)).map(({ text }) => text), ['a', 'b']);
});

test('an answer with fields of a wrong type is left out, and reported', async (t) => {
  const ext = extension('x').tool('ask', {}, () => ext.callTool('slow'));
  const host = await running(t, ext, SLOW);
  const { outcome } = host.beginTool('ask');
  const { id } = (await calls(host, 1))[0];
  for (const odd of [{}, { id: 1 }, { id, content: 'x' }, { id, is_error: 'yes' }]) {
    host.send({ type: 'tool_result', name: 'slow', ...odd });
  }
  host.send({ type: 'tool_result', id, name: 'slow', content: [null, 3, { type: 'text', text: 'right' }] });
  assert.equal((await outcome).text, 'right');
  assert.equal(host.reports.length, 4);
  assert.match(host.reports[2], /bad tool_result frame: content is no array/);
});

test('calls end with the run, and none can be made after it', async () => {
  const ends = [];
  const attempt = async () => { await ext.callTool('slow').catch((error) => ends.push(`${error.name}: ${error.message}`)); };
  const ext = extension('x').on('idle', attempt).onShutdown(attempt);
  const host = await harness(ext, { ...SLOW, finishMs: 20 });
  void host.event('idle');
  await calls(host, 1);
  await host.stop();
  assert.deepEqual(ends, ['AbortError: the extension is stopping', 'AbortError: the extension is stopping']);
  assert.equal(host.said('call_tool').length, 1);
});
