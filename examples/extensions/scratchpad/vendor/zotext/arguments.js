/**
 * Checks arguments against a schema made by `s`, so that they fit the types of the handler. This host has checked them
 * already; zot's own host does not. Knows only the keywords that `s` writes.
 */
import { isObject } from './json.js';
/** Returns what is wrong with the value, and where; undefined if it fits. */
export function misfit(schema, value, place = '') {
    const wrong = (what) => `${place || 'the arguments'} ${what}`;
    const { type, anyOf } = schema;
    if (Array.isArray(anyOf)) {
        const fits = anyOf.some((option) => misfit(option, value, place) === undefined);
        return fits ? undefined : wrong('fits none of the choices');
    }
    if ('const' in schema && value !== schema['const'])
        return wrong(`must be ${JSON.stringify(schema['const'])}`);
    if (typeof type === 'string' && !isOfType(type, value))
        return wrong(`must be ${ARTICLES[type] ?? type}`);
    if (Array.isArray(schema['enum']) && !schema['enum'].includes(value)) {
        return wrong(`must be one of ${schema['enum'].join(', ')}`);
    }
    for (const [keyword, breaks, what] of RULES) {
        const rule = schema[keyword];
        if (rule !== undefined && breaks(value, rule))
            return wrong(`${what} ${rule}`);
    }
    if (Array.isArray(value) && isObject(schema['items'])) {
        const isUnique = new Set(value.map((item) => JSON.stringify(item))).size === value.length;
        if (schema['uniqueItems'] === true && !isUnique)
            return wrong('must hold nothing twice');
        return firstOf(value.map((item, n) => () => misfit(schema['items'], item, `${place}/${n}`)));
    }
    return type === 'object' && isObject(value) ? objectMisfit(schema, value, place) : undefined;
}
function objectMisfit(schema, value, place) {
    const properties = (schema['properties'] ?? {});
    const others = schema['additionalProperties'];
    for (const name of (schema['required'] ?? [])) {
        if (!Object.hasOwn(value, name))
            return `${place}/${name} is missing`;
    }
    return firstOf(Object.entries(value).map(([name, member]) => () => {
        const rule = Object.hasOwn(properties, name) ? properties[name] : others;
        if (rule === false)
            return `${place}/${name} is not known`;
        return isObject(rule) ? misfit(rule, member, `${place}/${name}`) : undefined;
    }));
}
const ARTICLES = {
    string: 'a string', number: 'a number', integer: 'an integer', boolean: 'true or false', array: 'a list',
    object: 'an object', null: 'null',
};
/** Keyword, whether the value breaks it, and the start of the message. */
const RULES = [
    ['minLength', (value, rule) => [...value].length < rule, 'is shorter than'],
    ['maxLength', (value, rule) => [...value].length > rule, 'is longer than'],
    ['pattern', (value, rule) => !new RegExp(rule, 'u').test(value), 'does not match'],
    ['minimum', (value, rule) => value < rule, 'is less than'],
    ['maximum', (value, rule) => value > rule, 'is more than'],
    ['exclusiveMinimum', (value, rule) => value <= rule, 'is not more than'],
    ['exclusiveMaximum', (value, rule) => value >= rule, 'is not less than'],
    ['multipleOf', (value, rule) => !isMultiple(value, rule), 'is no multiple of'],
    ['minItems', (value, rule) => value.length < rule, 'has fewer items than'],
    ['maxItems', (value, rule) => value.length > rule, 'has more items than'],
];
/** Tolerates the rounding of fractions: 0.3 is a multiple of 0.1. */
function isMultiple(value, of) {
    const quotient = value / of;
    return Math.abs(quotient - Math.round(quotient)) < 1e-9;
}
function isOfType(type, value) {
    switch (type) {
        case 'integer':
            return Number.isInteger(value);
        case 'array':
            return Array.isArray(value);
        case 'object':
            return isObject(value);
        case 'null':
            return value === null;
        default:
            return typeof value === type;
    }
}
function firstOf(checks) {
    for (const check of checks) {
        const found = check();
        if (found !== undefined)
            return found;
    }
    return undefined;
}
