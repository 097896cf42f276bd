// The session of a handler: known to it, put into its frames, with a state of its own; and leases.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { extension } from '../dist/index.js';
import { harness } from '../dist/testing.js';

const A = { sessionId: 'a', cwd: '/of/a' };
const B = { sessionId: 'b', cwd: '/of/b' };

async function running(t, ext, options) {
  const host = await harness(ext, options);
  t.after(() => host.stop());
  return host;
}

const where = ({ sessionId, cwd }) => `${sessionId} in ${cwd}`;

test('each handler knows the session and the folder of its frame', async (t) => {
  const seen = [];
  const note = (subject) => void seen.push(where(subject));
  const ext = extension('x').tool('look', {}, (_, call) => where(call)).command('show', '', (_, call) => where(call))
    .interceptToolCall(note).on('turn_end', note).onPanelKey('p', (key, text, id) => void seen.push(id))
    .onPanelResize('p', (width, height, id) => void seen.push(id)).onPanelClose('p', (id) => void seen.push(id));
  const host = await running(t, ext);
  for (const session of [A, B]) {
    seen.length = 0;
    await host.inSession(session, async () => {
      assert.equal((await host.callTool('look')).text, where(session));
      assert.equal((await host.runCommand('show')).display, where(session));
      await host.intercept('tool_call', { tool_name: 'bash' });
      await host.event('turn_end');
      await host.pressKey('p', 'up');
      await host.resizePanel('p', 1, 1);
      await host.closePanel('p');
    });
    const { sessionId } = session;
    assert.deepEqual(seen, [where(session), where(session), sessionId, sessionId, sessionId]);
  }
});

test('a frame without a session is about the one of the last event, and its folder is the host\'s', async (t) => {
  const host = await running(t, extension('x').tool('look', {}, (_, call) => where(call)), { host: { cwd: '/here' } });
  assert.equal((await host.callTool('look')).text, ' in /here');
  await host.event('session_start', { session_id: 's1', cwd: '/there' });
  assert.equal((await host.callTool('look')).text, 's1 in /there');
});

test('two sessions at the same time: frames carry the session of their handler, answers carry none', async (t) => {
  const ext = extension('x');
  let both;
  const together = new Promise((resolve) => { both = resolve; });
  let begun = 0;
  ext.tool('speak', {}, async () => {
    if ((begun += 1) === 2) both();
    await together;
    await ext.notify('info', 'hi');
    await ext.clearNotes();
    await ext.openPanel('p');
    await ext.renderPanel('p', {});
    await ext.closePanel('p');
    await ext.submit('go on');
    return (await ext.callTool('other')).text;
  });
  const host = await running(t, ext, { hostTools: { other: () => 'done' } });
  const answers = await Promise.all([A, B].map((session) => host.inSession(session, () => host.callTool('speak'))));
  assert.deepEqual(answers.map(({ text }) => text), ['done', 'done']);
  for (const type of ['notify', 'clear_notes', 'open_panel', 'panel_render', 'panel_close', 'submit', 'call_tool']) {
    assert.deepEqual(host.said(type).map((frame) => frame.session_id).sort(), ['a', 'b'], type);
  }
  assert.deepEqual(host.said('tool_result').map((frame) => 'session_id' in frame), [false, false]);
  host.inSession(A, () => assert.deepEqual(host.prompts, ['go on']));
});

test('code of no handler speaks for no session, and the listener of a signal for that of its call', async (t) => {
  const ext = extension('x');
  ext.tool('wait', {}, (_, { signal, progress }) => new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(ext.notify('warn', 'cancelled')));
    void progress('waits');
  }));
  const host = await running(t, ext);
  await ext.notify('info', 'of no session');
  const pending = host.inSession(A, () => host.beginTool('wait'));
  await host.waitFor('progress', ({ type }) => type === 'tool_progress');
  await host.event('turn_end', { session_id: 'b' });
  pending.cancel();
  await pending.outcome;
  assert.deepEqual(host.said('notify').map((frame) => frame.session_id), [undefined, 'a']);
});

test('a state for each session is dropped at its end', async (t) => {
  const ext = extension('x');
  const notes = ext.sessionState(() => []);
  ext.tool('add', {}, ({ text }) => { notes().push(text); return notes().join(' '); });
  ext.on('session_end', () => ext.notify('info', notes().join(' ')));
  const host = await running(t, ext);
  assert.deepEqual(host.said('subscribe')[0].events, ['session_start', 'session_end']);
  const add = (session, text) => host.inSession(session, async () => (await host.callTool('add', { text })).text);
  assert.equal(await add(A, 'one'), 'one');
  assert.equal(await add(B, 'two'), 'two');
  assert.equal(await add(A, 'three'), 'one three');
  await host.inSession(A, () => host.event('session_end'));
  assert.equal(host.notes[0].message, 'one three');
  assert.equal(await add(A, 'four'), 'four');
  assert.equal(await add(B, 'five'), 'two five');
  assert.throws(notes, /known in handlers only/);
});

test('a run of its own has one state until the session changes', async (t) => {
  const ext = extension('x');
  const notes = ext.sessionState(() => []);
  ext.tool('add', {}, ({ text }) => { notes().push(text); return notes().join(' '); });
  const host = await running(t, ext);
  await host.event('session_start', { session_id: 's1' });
  await host.callTool('add', { text: 'one' });
  assert.equal((await host.callTool('add', { text: 'two' })).text, 'one two');
  await host.event('session_end', { session_id: 's1' });
  await host.event('session_start', { session_id: 's2' });
  assert.equal((await host.callTool('add', { text: 'three' })).text, 'three');
});

// --- leases ---------------------------------------------------------------------------------------------------

test('handlers of leases are announced and answered', async (t) => {
  const told = [];
  const ext = extension('x');
  const notes = ext.sessionState(() => []);
  ext.onLeaseBegin(async (lease) => void told.push(`begin ${where(lease)} ${notes().length}`));
  ext.onLeaseEnd((lease) => void told.push(`end ${where(lease)} ${notes().length}`));
  ext.tool('add', {}, async (_, call) => { notes().push('x'); await ext.notify('info', 'hi'); return where(call); });
  const host = await running(t, ext);
  assert.deepEqual(host.said('hello')[0].features, ['leases']);
  for (const session of [A, B, A]) {
    await host.lease(session, async () => assert.equal((await host.callTool('add')).text, where(session)));
  }
  assert.deepEqual(host.said('notify').map((frame) => frame.session_id), ['a', 'b', 'a']);
  assert.deepEqual(told, [A, B, A].flatMap((session) => [`begin ${where(session)} 0`, `end ${where(session)} 0`]));
  assert.throws(() => ext.onLeaseEnd(() => {}), /before run/);
});

test('the next lease begins when the handlers of the last one have ended', async (t) => {
  const ext = extension('x').onLeaseBegin(() => ext.notify('info', 'begins'));
  let go;
  const gone = new Promise((resolve) => { go = resolve; });
  ext.tool('linger', {}, async (_, { progress }) => {
    await progress('working');
    await gone;
    await ext.notify('info', 'last words');
  });
  const host = await running(t, ext);
  host.send({ type: 'lease_begin', id: '1', session_id: 'a', cwd: '/of/a' });
  host.beginTool('linger');
  await host.waitFor('progress', ({ type }) => type === 'tool_progress');
  host.send({ type: 'lease_end', id: '1', session_id: 'a' });
  host.send({ type: 'lease_begin', id: '2', session_id: 'b', cwd: '/of/b' });
  await host.ping();
  assert.equal(host.said('lease_ready').length, 1);
  go();
  await host.waitFor('lease', ({ type, id }) => type === 'lease_ready' && id === '2');
  const said = host.said('notify').map((frame) => [frame.message, frame.session_id]);
  assert.deepEqual(said, [['begins', 'a'], ['last words', 'a'], ['begins', 'b']]);
});

test('a handler that fails leaves the lease unanswered; without one the hello is as ever', async (t) => {
  const host = await running(t, extension('x').onLeaseBegin(() => { throw new Error('no room'); }), { deadlineMs: 100 });
  await assert.rejects(host.lease(A, async () => {}), /not within 100 ms[^]*onLeaseBegin failed: Error: no room/);
  assert.equal('features' in (await running(t, extension('y'))).said('hello')[0], false);
});
