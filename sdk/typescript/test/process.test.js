// Extensions as processes of their own: stdout kept clean, ends of all kinds, large frames, a host that does not read.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { LineSplitter } from '../dist/lines.js';
import { launch } from '../dist/testing.js';

const sdk = new URL('../dist/index.js', import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), 'zotext-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

/** A file with an extension `ext`; the code adds what it needs. */
function written(code, end = 'await ext.run();') {
  const file = join(folder, `${(count += 1)}.mjs`);
  writeFileSync(file, `import { block, extension, rewrite, s } from ${JSON.stringify(sdk)};\nconst ext = extension('x', '1');\n${code}\n${end}\n`);
  return file;
}

async function running(t, code, options = {}, end = undefined) {
  const host = await launch(written(code, end), { deadlineMs: 120_000, ...options });
  t.after(async () => {
    host.signal('SIGKILL');
    await host.exited;
  });
  return host;
}

const ECHO = `ext.tool('echo', {}, ({ text }) => text);`;
const WAIT = `ext.tool('wait', {}, (_, { signal, progress }) => new Promise((resolve) => {
  signal.addEventListener('abort', () => resolve('aborted'));
  progress('waiting');
}));`;

test('it serves, and ends with status 0 after shutdown', async (t) => {
  const host = await running(t, ECHO);
  assert.equal((await host.callTool('echo', { text: 'ä€😀\u2028\r\n' })).text, 'ä€😀\u2028\r\n');
  await host.stop();
  assert.deepEqual(await host.exited, { code: 0, signal: null });
  assert.deepEqual([host.frames.at(-1).type, host.junk, host.stderr], ['shutdown_ack', [], '']);
});

test('what others write to stdout goes to stderr', async (t) => {
  const host = await running(t, `
    const { Worker } = await import('node:worker_threads');
    ext.tool('noise', {}, async () => {
    console.log('log %d', 1); console.info('info'); console.debug('debug'); console.table([1]);
    const worker = new Worker('console.log("from a worker")', { eval: true });
    await new Promise((resolve) => worker.on('exit', resolve));
    process.stdout.write('raw\\n');
    return 'quiet';
  });`);
  assert.equal((await host.callTool('noise')).text, 'quiet');
  await host.stop();
  assert.deepEqual(host.junk, []);
  for (const word of ['log 1', 'info', 'debug', 'from a worker', 'raw']) assert.ok(host.stderr.includes(word), word);
});

for (const [what, end] of [['end of stdin', (host) => host.hangUp()], ['SIGTERM', (host) => host.signal('SIGTERM')]]) {
  test(`${what} stops it in order, with open timers and servers`, async (t) => {
    const file = join(folder, `hook-${count}`);
    const host = await running(t, `${WAIT}
      setInterval(() => {}, 1000);
      (await import('node:net')).createServer().listen(0);
      ext.onShutdown(async () => (await import('node:fs/promises')).writeFile(${JSON.stringify(file)}, 'saved'));`,
      {}, 'await ext.run({ stopWithinS: 0.2 });');
    const call = host.beginTool('wait');
    await host.waitFor('progress', (frame) => frame.type === 'tool_progress');
    end(host);
    assert.equal((await call.outcome).text, 'aborted');
    assert.deepEqual(await host.exited, { code: 0, signal: null });
    assert.equal(readFileSync(file, 'utf8'), 'saved');
    assert.equal(host.said('shutdown_ack').length, 0, 'nobody asked');
  });
}

test('calls that never end do not keep it', async (t) => {
  const host = await running(t, `ext.tool('deaf', {}, () => new Promise(() => {}));`, {}, 'await ext.run({ stopWithinS: 0.1 });');
  const call = host.beginTool('deaf');
  await host.ping();
  await host.stop();
  assert.equal((await call.outcome).text, 'the extension is stopping');
});

test('a second SIGTERM ends it at once', async (t) => {
  const host = await running(t, `ext.tool('deaf', {}, () => new Promise(() => {}));
    process.on('SIGTERM', () => ext.notify('info', 'terminated'));`, {}, 'await ext.run({ stopWithinS: 1000 });');
  host.beginTool('deaf').outcome.catch(() => {});
  await host.ping();
  host.signal('SIGTERM');
  await host.waitFor('the note', (frame) => frame.type === 'notify');
  host.signal('SIGTERM');
  assert.deepEqual(await host.exited, { code: 143, signal: null });
});

test('a host that went away is no error', async (t) => {
  const file = written(`setInterval(() => ext.notify('info', 'x'.repeat(10_000)), 1);`);
  const child = spawn(process.execPath, [file], { stdio: ['pipe', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const stderr = [];
  child.stderr.on('data', (chunk) => stderr.push(chunk));
  child.stdout.once('data', () => child.stdout.destroy());
  const [code, signal] = await once(child, 'close');
  assert.deepEqual([code, signal, Buffer.concat(stderr).toString()], [0, null, '']);
});

test('of a host that asks and does not read, no more is read; nothing is lost', async (t) => {
  const calls = 150;
  const file = written(`let seen = 0;
    ext.tool('big', {}, () => { seen += 1; return 'x'.repeat(300_000); });
    process.on('SIGUSR2', () => process.stderr.write(seen + ';'));
    process.stderr.write('up;');`, 'await ext.run({ stopWithinS: 1000 });');
  const child = spawn(process.execPath, [file], { stdio: ['pipe', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stderr, 'data');
  for (let id = 0; id < calls; id += 1) {
    child.stdin.write(`${JSON.stringify({ type: 'tool_call', id: `${id}`, name: 'big', args: { pad: 'y'.repeat(60_000) } })}\n`);
  }
  let seen = -1;
  for (let same = 0; same < 20; ) {
    child.kill('SIGUSR2');
    const [answer] = await once(child.stderr, 'data');
    const now = Number.parseInt(answer.toString());
    same = now > 0 && now === seen ? same + 1 : 0;
    seen = now;
  }
  assert.ok(seen < calls, `${seen} calls were read`);
  const splitter = new LineSplitter();
  const ids = [];
  child.stdin.end();
  for await (const chunk of child.stdout) {
    for (const line of splitter.feed(chunk)) {
      const { type, id } = JSON.parse(line);
      if (type === 'tool_result') ids.push(Number(id));
    }
  }
  assert.deepEqual(ids, Array.from({ length: calls }, (_, id) => id));
});

test('large frames go both ways', async (t) => {
  const host = await running(t, ECHO);
  const text = 'ä€😀'.repeat(400_000);
  assert.equal((await host.callTool('echo', { text })).text, text);
});

test('many calls at once are each answered once', async (t) => {
  const host = await running(t, `ext.tool('echo', {}, async ({ text }) => { await null; return text; });`);
  const texts = Array.from({ length: 2000 }, (_, i) => String(i));
  const outcomes = await Promise.all(texts.map((text) => host.callTool('echo', { text })));
  assert.deepEqual(outcomes.map((one) => one.text), texts);
  assert.equal(host.said('tool_result').length, texts.length);
});

test('bytes that are no frames are skipped', async (t) => {
  const host = await running(t, ECHO);
  host.write(new Uint8Array([0xff, 0xfe, 10, 0, 10]));
  host.write('junk\n{"type":"future"}\n');
  assert.equal((await host.callTool('echo', { text: 'still here' })).text, 'still here');
  await host.stop();
  assert.match(host.stderr, /\[x\] skipped a line of the host: not JSON/);
});

test('a line without LF at the end of stdin is taken', () => {
  const { stdout, status } = spawnSync(process.execPath, [written(ECHO)], {
    input: '{"type":"tool_call","id":"1","name":"echo","args":{"text":"last"}}', encoding: 'utf8' });
  assert.equal(status, 0);
  assert.match(stdout, /"id":"1","content":\[\{"type":"text","text":"last"\}\]/);
});

test('an error outside handlers ends it, and a test is told why', async () => {
  const file = written(`ext.tool('crash', {}, () => { setImmediate(() => { throw new Error('kaboom'); }); return new Promise(() => {}); });`);
  const host = await launch(file);
  await assert.rejects(host.callTool('crash'), /it ended with exit status 1\nstderr:[^]*kaboom/);
});

test('launch says why it did not start', async () => {
  await assert.rejects(launch(['/no/such/program']), /waited for ready: cannot be started/);
  const file = join(folder, 'broken.mjs');
  writeFileSync(file, 'throw new Error("too early")');
  await assert.rejects(launch(file), /ended with exit status 1\nstderr:[^]*too early/);
  const silent = join(folder, 'silent.mjs');
  writeFileSync(silent, 'setInterval(() => {}, 1000)');
  await assert.rejects(launch(silent, { deadlineMs: 50 }), /waited for ready: not within 50 ms/);
});

test('stop kills what does not exit, and says so', async () => {
  const file = join(folder, 'stays.mjs');
  writeFileSync(file, `console.log('{"type":"hello","name":"x"}\\n{"type":"ready"}'); process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);`);
  const host = await launch(file);
  await assert.rejects(host.stop(200), /did not exit within 200 ms of shutdown, and was killed/);
  assert.equal((await host.exited).signal, 'SIGKILL');
});

test('a folder is launched as its manifest says', async (t) => {
  const own = join(folder, 'own');
  mkdirSync(own);
  writeFileSync(join(own, 'extension.json'), '{"name":"x","exec":"node","args":["index.mjs","word"]}');
  writeFileSync(join(own, 'index.mjs'), `import { extension } from ${JSON.stringify(sdk)};
    await extension('x').tool('where', {}, () => [process.cwd(), process.argv[2], process.env.COLOUR]).run();`);
  const host = await launch(own, { env: { COLOUR: 'red' } });
  t.after(() => host.stop());
  assert.equal((await host.callTool('where')).text, `${own}\nword\nred`);
});

test('runIfMain runs what node was started with, and nothing that is imported', async (t) => {
  const file = written(ECHO, 'await ext.runIfMain(import.meta.url);\nexport default ext;');
  const link = join(folder, 'link.mjs');
  symlinkSync(file, link);
  const host = await launch(link);
  t.after(() => host.stop());
  assert.equal((await host.callTool('echo', { text: 'main' })).text, 'main');
  const importer = join(folder, 'importer.mjs');
  writeFileSync(importer, `import ext from ${JSON.stringify(file)}; console.log(ext.name);`);
  const { stdout } = spawnSync(process.execPath, [importer], { encoding: 'utf8' });
  assert.equal(stdout, 'x\n');
});
