// A well-behaved extension for Node: tool `echo`, allows every tool call. argv: [name].
'use strict';
const readline = require('readline');

const send = (frame) => process.stdout.write(JSON.stringify(frame) + '\n');

send({ type: 'hello', name: process.argv[2] || 'echo', version: '1.0.0' });
send({ type: 'subscribe', intercept: ['tool_call'] });
send({ type: 'register_tool', name: 'echo', description: 'Returns its text.', schema: { type: 'object' } });
send({ type: 'ready' });
readline.createInterface({ input: process.stdin, crlfDelay: Infinity }).on('line', (line) => {
  const frame = JSON.parse(line);
  if (frame.type === 'event_intercept') {
    send({ type: 'event_intercept_response', id: frame.id });
  } else if (frame.type === 'tool_call') {
    const text = frame.args.text === undefined ? '' : frame.args.text;
    send({ type: 'tool_result', id: frame.id, content: [{ type: 'text', text }] });
  } else if (frame.type === 'shutdown') {
    process.stdout.write('{"type":"shutdown_ack"}\n', () => process.exit(0));
  }
});
