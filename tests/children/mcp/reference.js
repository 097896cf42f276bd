// A sound legacy server for Node, which writes `id` last as the TypeScript SDK does. argv: [name].
'use strict';
const readline = require('readline');

const name = process.argv[2] || 'reference-js';
const send = (message) => process.stdout.write(JSON.stringify({ ...message }) + '\n');
const answer = (id, result) => send({ result, jsonrpc: '2.0', id });
const refuse = (id, code, message) => send({ jsonrpc: '2.0', id, error: { code, message } });
const text = (words) => ({ content: [{ type: 'text', text: words }] });
const timers = new Map();
const object = (properties) => ({ type: 'object', properties });

const TOOLS = {
  echo: {
    description: 'Returns its text.',
    inputSchema: object({ text: { type: 'string' } }),
    annotations: { readOnlyHint: true },
    run: (args) => text(args.text === undefined ? '' : args.text),
  },
  slow: {
    description: 'Takes its time.',
    inputSchema: object({ seconds: { type: 'number' } }),
    run: (args, id) =>
      void timers.set(
        id,
        setTimeout(() => {
          timers.delete(id);
          answer(id, text('slept'));
        }, 1000 * (args.seconds === undefined ? 3600 : args.seconds)),
      ),
  },
  big: {
    description: 'Returns `size` bytes, twice.',
    inputSchema: object({ size: { type: 'integer' } }),
    run: (args) => ({ ...text('x'.repeat(args.size)), structuredContent: { text: 'x'.repeat(args.size) } }),
  },
};

const METHODS = {
  initialize: (params) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name, version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({
    tools: Object.entries(TOOLS).map(([tool, { run, ...definition }]) => ({ name: tool, ...definition })),
  }),
  'tools/call': (params, id) => TOOLS[params.name].run(params.arguments, id),
};

readline
  .createInterface({ input: process.stdin, crlfDelay: Infinity })
  .on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === 'notifications/cancelled') {
      clearTimeout(timers.get(params.requestId));
      timers.delete(params.requestId);
    }
    if (id === undefined || method === undefined) return;
    if (!METHODS[method]) return refuse(id, -32601, `Method not found: ${method}`);
    if (method === 'tools/call' && !TOOLS[params.name]) return refuse(id, -32602, `Unknown tool: ${params.name}`);
    const result = METHODS[method](params, id);
    if (result !== undefined) answer(id, result);
  })
  .on('close', () => process.exit(0));
