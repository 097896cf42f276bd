// Every example of the documents is run as it stands there.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const sdk = fileURLToPath(new URL('..', import.meta.url));
const guide = join(sdk, '..', '..', 'docs', 'sdk-typescript.md');
const folder = mkdtempSync(join(tmpdir(), 'zotext-examples-'));
const home = process.cwd();
mkdirSync(join(folder, 'node_modules'));
symlinkSync(sdk, join(folder, 'node_modules', 'zotext'));
process.chdir(folder);
after(() => {
  process.chdir(home);
  rmSync(folder, { recursive: true, force: true });
});

/** The code blocks of a language, with the heading above each. */
function blocks(file, language) {
  const found = [];
  let heading = '';
  for (const [, title, info, code] of readFileSync(file, 'utf8').matchAll(/^#+ (.*)$|^```(.*)\n([^]*?)^```$/gm)) {
    if (title) heading = title;
    else if (info.split(' ')[0] === language) found.push({ heading, info, code });
  }
  return found;
}

test('docs/sdk-typescript.md', { skip: existsSync(guide) ? false : 'the documents are not here' }, async (t) => {
  const [prelude, ...examples] = blocks(guide, 'js');
  assert.ok(prelude.info.endsWith('prelude') && examples.length >= 12);
  for (const [n, { heading, code }] of examples.entries()) {
    await t.test(heading, async () => {
      const file = join(folder, `example${n}.mjs`);
      writeFileSync(file, `${prelude.code}\n${code}\nawait host.stop();\n`);
      await import(pathToFileURL(file).href);
    });
  }
});

test('docs/sdk-typescript.md names every call', { skip: !existsSync(guide) }, async () => {
  const library = await import('../dist/index.js');
  const { TestHost, Harness, ProcessHost } = await import('../dist/testing.js');
  const text = readFileSync(guide, 'utf8');
  const names = [library.Extension, TestHost, Harness, ProcessHost]
    .flatMap((one) => Object.getOwnPropertyNames(one.prototype))
    .concat(Object.keys(library.s), Object.keys(library));
  const inner = new Set(['constructor', 'heard', 'ended', 'handled', 'evidence', 'ready', 'Extension', 'CancelledError']);
  const missing = names.filter((name) => !inner.has(name) && !new RegExp(`\\b${name}\\b`).test(text));
  assert.deepEqual(missing, []);
});

test('README.md', () => {
  const [{ code }] = blocks(join(sdk, 'README.md'), 'sh');
  const lines = code.replace('/path/to/this/folder', sdk).split('\n').filter((line) => !line.startsWith('zot '));
  const script = lines.join('\n').replace('node --test', 'env -u NODE_TEST_CONTEXT node --test');
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', script], { cwd: folder, encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /^# pass 1$/m);
});
