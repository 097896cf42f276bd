// Builds dist/ from src/, or with --check says whether the committed dist/ is what src/ gives.
// Exit status: 0 done or up to date, 1 not, 3 TypeScript is not installed (run `npm ci --ignore-scripts` here first).
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const compiler = join(here, 'node_modules', 'typescript', 'bin', 'tsc');
const check = process.argv.includes('--check');

if (!existsSync(compiler)) {
  console.error('TypeScript is not installed here; run: npm ci --ignore-scripts');
  process.exit(3);
}

/** Compiles into the folder. A folder of its own holds no file that src/ no longer gives. */
function build(folder) {
  const { status } = spawnSync(process.execPath, [compiler, '-p', here, '--outDir', folder], { stdio: 'inherit' });
  if (status !== 0) process.exit(1);
  const { name, version, type, license } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
  // A copy of dist/ works in any folder: without this file Node takes its .js for CommonJS.
  const marker = { name, version, license, type, exports: { '.': './index.js', './testing': './testing.js' } };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(marker, null, 2)}\n`);
}

const dist = join(here, 'dist');
if (!check) {
  rmSync(dist, { recursive: true, force: true });
  build(dist);
} else {
  const fresh = mkdtempSync(join(tmpdir(), 'zotext-dist-'));
  try {
    build(fresh);
    const names = new Set([...readdirSync(fresh), ...(existsSync(dist) ? readdirSync(dist) : [])]);
    const text = (folder, name) => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : null);
    const stale = [...names].filter((name) => text(fresh, name) !== text(dist, name));
    if (stale.length > 0) {
      console.error(`dist/ is not what src/ gives: ${stale.sort().join(', ')}; run: npm run build`);
      process.exitCode = 1;
    }
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}
