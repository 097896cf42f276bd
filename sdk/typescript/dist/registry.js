/** The registrations of an extension, and their frames. */
import { isObject } from './json.js';
import { Sessions } from './sessions.js';
const TOOL_NAME = /^[A-Za-z0-9_-]{1,128}$/;
const LONGEST_S = 86_400;
const EXPOSURES = ['direct', 'deferred', 'codemode', 'model-only'];
export class Registry {
    tools = new Map();
    commands = new Map();
    events = new Map();
    guards = new Map();
    panels = new Map();
    shutdownHooks = [];
    leaseHandlers = { begin: [], end: [] };
    sessions = new Sessions();
    addTool(name, tool) {
        requireNew('tool', name, this.tools);
        if (!TOOL_NAME.test(name))
            throw new TypeError(`tool ${name}: a name has 1 to 128 letters, digits, _ or -`);
        const { timeoutS } = tool.options;
        if (timeoutS !== undefined && !(timeoutS > 0 && timeoutS <= LONGEST_S)) {
            throw new RangeError(`tool ${name}: timeoutS is above 0 and at most ${LONGEST_S} seconds, not ${timeoutS}`);
        }
        checkOptions(name, tool.options);
        this.tools.set(name, tool);
        return toolFrame(name, tool);
    }
    addCommand(name, description, handler) {
        requireNew('command', name, this.commands);
        this.commands.set(name, { description, handler });
        return { type: 'register_command', name, description };
    }
    /** Returns the frame to send; undefined if that event is observed already. Without a handler it is only observed. */
    addListener(event, ...handlers) {
        const isNew = !this.events.has(event);
        this.events.set(event, [...(this.events.get(event) ?? []), ...handlers]);
        return isNew ? { type: 'subscribe', events: [event] } : undefined;
    }
    addGuard(event, guard) {
        const isNew = !this.guards.has(event);
        this.guards.set(event, [...(this.guards.get(event) ?? []), guard]);
        return isNew ? { type: 'subscribe', intercept: [event] } : undefined;
    }
    addPanelHandlers(id, handlers) {
        this.panels.set(id, { ...this.panels.get(id), ...handlers });
    }
    /** The frames of all registrations so far. */
    frames() {
        const frames = [];
        for (const [name, { description }] of this.commands)
            frames.push({ type: 'register_command', name, description });
        for (const [name, tool] of this.tools)
            frames.push(toolFrame(name, tool));
        const [events, intercept] = [[...this.events.keys()], [...this.guards.keys()]];
        if (events.length + intercept.length > 0) {
            frames.push({
                type: 'subscribe',
                ...(events.length > 0 ? { events } : {}),
                ...(intercept.length > 0 ? { intercept } : {}),
            });
        }
        return frames;
    }
}
function requireNew(kind, name, names) {
    if (typeof name !== 'string' || name === '')
        throw new TypeError(`a ${kind} needs a name`);
    if (names.has(name))
        throw new Error(`${kind} ${name} is registered already`);
}
function checkOptions(name, { deferred, exposure, outputSchema, interactive }) {
    if (exposure !== undefined && !EXPOSURES.includes(exposure)) {
        throw new TypeError(`tool ${name}: exposure is one of ${EXPOSURES.join(', ')}, not ${exposure}`);
    }
    if (outputSchema !== undefined && !isObject(outputSchema)) {
        throw new TypeError(`tool ${name}: outputSchema is an object, not ${JSON.stringify(outputSchema)}`);
    }
    for (const [option, value] of Object.entries({ deferred, interactive })) {
        if (value === undefined || typeof value === 'boolean')
            continue;
        throw new TypeError(`tool ${name}: ${option} is true or false, not ${JSON.stringify(value)}`);
    }
}
function toolFrame(name, { options, schema }) {
    return {
        type: 'register_tool',
        name,
        description: options.description ?? '',
        schema,
        ...(options.timeoutS === undefined ? {} : { timeout_s: options.timeoutS }),
        ...(options.idempotent === undefined ? {} : { idempotent: options.idempotent }),
        ...(options.readOnly === undefined ? {} : { read_only: options.readOnly }),
        ...(options.deferred === undefined ? {} : { deferred: options.deferred }),
        ...(options.exposure === undefined ? {} : { exposure: options.exposure }),
        ...(options.outputSchema === undefined ? {} : { output_schema: options.outputSchema }),
        ...(options.interactive === undefined ? {} : { interactive: options.interactive }),
    };
}
