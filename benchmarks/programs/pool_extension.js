// As `pool_extension.py`, for Node, without guard and MCP. argv: name, the folder of `started`.
'use strict';
const fs = require('fs');
const readline = require('readline');

const [name, folder] = process.argv.slice(2);
fs.appendFileSync(`${folder}/started`, `${process.pid}\n`);
const send = (frame) => process.stdout.write(JSON.stringify(frame) + '\n');

send({ type: 'hello', name, version: '1.0.0', features: ['leases'] });
send({ type: 'subscribe', events: ['turn_start', 'turn_end'] });
send({ type: 'register_tool', name: `echo_${name}`, description: 'Returns its text.', schema: { type: 'object' } });
send({ type: 'ready' });
readline.createInterface({ input: process.stdin, crlfDelay: Infinity }).on('line', (line) => {
  const frame = JSON.parse(line);
  if (frame.type === 'tool_call') {
    send({ type: 'tool_result', id: frame.id, content: [{ type: 'text', text: frame.args.text }] });
  } else if (frame.type === 'lease_begin') {
    send({ type: 'lease_ready', id: frame.id });
  } else if (frame.type === 'shutdown') {
    process.stdout.write('{"type":"shutdown_ack"}\n', () => process.exit(0));
  }
});
