// Notes, logs, panels, what the host said of itself, and how a conversation ends.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';

import { extension, openPanel } from '../dist/index.js';
import { harness } from '../dist/testing.js';

async function running(t, ext, options) {
  const host = await harness(ext, options);
  t.after(() => host.stop());
  return host;
}

test('notes are shown and taken back', async (t) => {
  const ext = extension('x').command('clear', '', () => ext.clearNotes());
  const host = await running(t, ext);
  await ext.notify('warn', 'careful');
  assert.deepEqual(host.notes, [{ level: 'warn', message: 'careful' }]);
  await host.runCommand('clear');
  await ext.notify('success', 'done');
  assert.deepEqual(host.notes, [{ level: 'success', message: 'done' }]);
});

test('what is said before the start follows after ready', async (t) => {
  const ext = extension('x');
  void ext.notify('info', 'early');
  const host = await running(t, ext);
  assert.deepEqual(host.frames.map((one) => one.type), ['hello', 'ready', 'notify']);
});

test('a log line has a level and fields', async (t) => {
  const ext = extension('x');
  const host = await running(t, ext);
  await ext.log('warn', 'slow', { ms: 12 });
  await ext.log('info', 'plain');
  assert.deepEqual(host.logs, [{ level: 'warn', message: 'slow', fields: { ms: 12 } }, { level: 'info', message: 'plain' }]);
});

test('a log line goes to stderr where the host does not take it, or JSON cannot say it', async (t) => {
  const ext = extension('x');
  const host = await running(t, ext, { host: { features: [] } });
  const { write } = process.stderr;
  const written = [];
  process.stderr.write = (text) => written.push(text);
  try {
    await ext.log('warn', 'slow', { ms: 12 });
  } finally {
    process.stderr.write = write;
  }
  assert.deepEqual([host.logs, written], [[], ['[x] warn: slow {"ms":12}\n']]);
});

test('a frame that JSON cannot say does no harm', async (t) => {
  const ext = extension('x');
  const host = await running(t, ext);
  const { write } = process.stderr;
  const written = [];
  process.stderr.write = (text) => written.push(text);
  try {
    await ext.log('info', 'odd', { one: 1n });
  } finally {
    process.stderr.write = write;
  }
  assert.match(written.join(), /a log frame cannot be sent: .*BigInt/);
  assert.deepEqual(host.logs, []);
});

test('a panel: opened by a command, drawn, its keys in order, closed by either side', async (t) => {
  const seen = [];
  const ext = extension('x').command('open', '', () => openPanel('list', { title: 'List', lines: ['a'], footer: 'q quits' }));
  ext.onPanelKey('list', async (key, text) => {
    await Promise.resolve();
    seen.push([key, text]);
    if (text === 'q') await ext.closePanel('list');
    else await ext.renderPanel('list', { lines: [`${seen.length}`] });
  });
  ext.onPanelResize('list', (width, height) => seen.push([width, height]));
  ext.onPanelClose('list', () => seen.push('closed'));
  const host = await running(t, ext);
  assert.deepEqual((await host.runCommand('open')).open_panel, { id: 'list', title: 'List', lines: ['a'], footer: 'q quits' });
  assert.equal(host.panel('list'), undefined);
  await host.resizePanel('list', 80, 24);
  await host.pressKey('list', 'down');
  assert.deepEqual(host.panel('list'), { lines: ['2'] });
  await host.pressKey('list', 'rune', 'q');
  await host.pressKey('other', 'up');
  assert.deepEqual(host.said('panel_close'), [{ type: 'panel_close', panel_id: 'list' }]);
  await host.closePanel('list');
  assert.deepEqual(seen, [[80, 24], ['down', ''], ['rune', 'q'], 'closed']);
});

test('a panel handler that fails is reported, and the next key is handled', async (t) => {
  const ext = extension('x').onPanelKey('p', (key) => { if (key === 'up') throw new Error('broken'); void ext.notify('info', key); });
  const host = await running(t, ext);
  await host.pressKey('p', 'up');
  await host.pressKey('p', 'down');
  assert.match(host.reports.join(), /onPanelKey of p failed: Error: broken/);
  assert.deepEqual(host.notes, [{ level: 'info', message: 'down' }]);
});

test('the host is known once it has said hello', async (t) => {
  const ext = extension('x');
  assert.throws(() => ext.host, /has not said hello yet/);
  const { greeted } = ext;
  await running(t, ext, { host: { zotVersion: '1.2', provider: 'p', model: 'm', cwd: '/c', extensionDir: '/e', dataDir: '/d', features: ['log'] }, hostTools: {} });
  const known = {
    protocolVersion: 1, zotVersion: '1.2', provider: 'p', model: 'm', cwd: '/c', extensionDir: '/e', dataDir: '/d',
    features: new Set(['log']), capabilities: new Set(['call_tool']) };
  assert.deepEqual(ext.host, known);
  assert.deepEqual(await greeted, known);
});

test('a host that says little of itself is known all the same', async (t) => {
  const ext = extension('x');
  const host = await running(t, ext);
  host.write('{"type":"hello_ack","features":null,"extension_dir":"/e"}');
  assert.equal(ext.host.dataDir, '/e');
  assert.equal(ext.host.features.size, 0);
});

test('unknown frames and bad lines are skipped', async (t) => {
  const host = await running(t, extension('x'));
  for (const line of ['', '  ', 'junk', '[]', '"text"', 'null', '{}', '{"type":7}', '{"type":"from_the_future"}', '{"type":"toString"}', '{"type":"cancel"}', '{"type":"event"']) host.write(line);
  await host.ping();
  assert.equal(host.reports.length, 8, host.reports.join('\n'));
  assert.match(host.reports[0], /skipped a line of the host: not JSON/);
});

test('a stop lets calls finish, and runs the hooks, then says goodbye', async () => {
  const order = [];
  let finish;
  const ext = extension('x').tool('it', {}, () => new Promise((resolve) => (finish = resolve)).then(() => 'done'));
  ext.onShutdown(async () => { await Promise.resolve(); order.push('first'); });
  ext.onShutdown(() => { throw new Error('broken'); });
  ext.onShutdown(() => order.push('last'));
  const host = await harness(ext);
  const call = host.beginTool('it');
  const stopped = host.stop();
  assert.equal((await host.callTool('it')).text, 'the extension is stopping');
  finish();
  assert.equal((await call.outcome).text, 'done');
  await stopped;
  assert.deepEqual(order, ['first', 'last']);
  assert.match(host.reports.join(), /onShutdown hook failed: Error: broken/);
  assert.equal(host.frames.at(-1).type, 'shutdown_ack');
});

test('a stop aborts what does not finish, and gives up what does not abort', async () => {
  const ext = extension('x').tool('deaf', {}, () => new Promise(() => {}))
    .tool('polite', {}, (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('saved'))));
  const host = await harness(ext, { finishMs: 20 });
  const [deaf, polite] = [host.beginTool('deaf'), host.beginTool('polite')];
  await host.stop();
  assert.equal((await polite.outcome).text, 'saved');
  assert.deepEqual([(await deaf.outcome).isError, (await deaf.outcome).text], [true, 'the extension is stopping']);
  assert.equal(host.said('tool_result').length, 2);
});

test('an answer that comes after it was given up is dropped', async () => {
  let finish;
  const host = await harness(extension('x').tool('deaf', {}, () => new Promise((resolve) => (finish = resolve))), { finishMs: 5 });
  const call = host.beginTool('deaf');
  await host.stop();
  assert.equal((await call.outcome).isError, true);
  finish('too late');
  await new Promise(setImmediate);
  assert.equal(host.said('tool_result').length, 1);
});

test('an extension can be run again, but not twice at once', async () => {
  const ext = extension('x').tool('it', {}, () => 'again');
  const first = await harness(ext);
  await assert.rejects(harness(ext), /x is running already/);
  await first.stop();
  await first.stop();
  const second = await harness(ext);
  assert.equal((await second.callTool('it')).text, 'again');
  await second.stop();
});

test('state has a folder of its own, which goes with the host', async () => {
  const ext = extension('x').tool('where', {}, () => ext.host.dataDir);
  const host = await harness(ext);
  const { text } = await host.callTool('where');
  assert.equal(text, host.dataDir);
  assert.ok(existsSync(text));
  await host.stop();
  assert.ok(!existsSync(text));
});

test('waits of a test have a deadline, and say what was waited for', async (t) => {
  const host = await running(t, extension('x').tool('deaf', {}, () => new Promise(() => {})), { deadlineMs: 20 });
  await assert.rejects(host.callTool('deaf'), /waited for the answer of tool deaf: not within 20 ms/);
});

test('prompts and panels may be sent at any time', async (t) => {
  const ext = extension('x', '1.0.0', { latePrompts: true });
  void ext.submit('early');
  const host = await running(t, ext);
  assert.ok(host.frames[0].capabilities.includes('submit'));
  await ext.submit('go on');
  assert.deepEqual(host.prompts, ['early', 'go on']);
  await ext.openPanel('p', { lines: ['a'] });
  assert.deepEqual(host.said('open_panel'), [{ type: 'open_panel', panel: { id: 'p', lines: ['a'] } }]);
  assert.ok(!(await running(t, extension('y'))).frames[0].capabilities.includes('submit'));
});

for (const [what, wrong, said] of [
  ['a prompt that is no text', (ext) => ext.submit(3), 'submit takes a text, not 3'],
  ['no prompt', (ext) => ext.submit(), 'submit takes a text, not undefined'],
  ['a blank prompt', (ext) => ext.submit(' \n'), 'submit: the prompt is blank, which a host ignores'],
  ['a panel without an id', (ext) => ext.openPanel(), 'openPanel takes the id of a panel, not undefined'],
  ['a panel with a number as id', (ext) => ext.openPanel(7), 'openPanel takes the id of a panel, not 7'],
  ['lines that are no texts', (ext) => ext.openPanel('p', { lines: [1] }), 'openPanel: lines is a list of texts'],
  ['a title that is no text', (ext) => ext.openPanel('p', { title: 1 }), 'openPanel: title is a text'],
]) {
  test(`${what} throws at once`, async (t) => {
    const ext = extension('x');
    const host = await running(t, ext);
    assert.throws(() => wrong(ext), { name: 'TypeError', message: said });
    assert.deepEqual(host.frames.map(({ type }) => type), ['hello', 'ready']);
  });
}
