// `errands` as in errands.py, for Node: its functions become machine code while it runs. argv: NAME.
'use strict';
const { execFileSync } = require('child_process');
const fs = require('fs');
const net = require('net');
const os = require('os');
const path = require('path');
const readline = require('readline');
const { Worker } = require('worker_threads');

const SEVEN = '0061736d010000000105016000017f0302010007090105736576656e00000a0601040041070b'; // WebAssembly

const send = (frame) => process.stdout.write(JSON.stringify(frame) + '\n');
const ended = (emitter, event) => new Promise((resolve, reject) => emitter.on('error', reject).on(event, resolve));
let told = {};

async function errands(args) {
  const done = [];
  fs.writeFileSync(path.join(told.data_dir, 'kept'), 'kept\n');
  done.push('data');
  fs.writeFileSync(path.join(told.cwd, 'of-node'), 'kept\n');
  done.push('project');
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'errands-'));
  fs.rmSync(folder, { recursive: true });
  done.push('temporary');
  execFileSync(process.execPath, ['-e', '0'], { stdio: 'ignore' });
  await ended(new Worker('0', { eval: true }), 'exit');
  done.push('child');
  await ended(net.connect(args.port, '127.0.0.1').end('node\n'), 'finish');
  done.push('loopback');
  let sum = 0;
  for (let i = 0; i < 1e7; i++) sum = (sum + i * i) % 1000003;
  const { instance } = await WebAssembly.instantiate(Buffer.from(SEVEN, 'hex'));
  if (instance.exports.seven() !== 7) throw new Error('machine code computes wrongly');
  done.push('jit');
  return done.join(' ');
}

send({ type: 'hello', name: process.argv[2], version: '1.0.0' });
send({ type: 'register_tool', name: `${process.argv[2]}_errands`, description: '', schema: { type: 'object' } });
send({ type: 'ready' });
readline.createInterface({ input: process.stdin, crlfDelay: Infinity }).on('line', async (line) => {
  const frame = JSON.parse(line);
  if (frame.type === 'hello_ack') {
    told = frame;
  } else if (frame.type === 'tool_call') {
    const [text, failed] = await errands(frame.args).then((said) => [said, false], (error) => [String(error), true]);
    send({ type: 'tool_result', id: frame.id, content: [{ type: 'text', text }], is_error: failed });
  } else if (frame.type === 'shutdown') {
    process.stdout.write('{"type":"shutdown_ack"}\n', () => process.exit(0));
  }
});
