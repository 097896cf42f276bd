/**
 * Builds the JSON Schema of a tool's arguments, and the TypeScript type of the same arguments with it.
 *
 *     const place = s.object({ city: s.string('Name of the city'), days: s.optional(s.integer()) });
 *     type Place = Infer<typeof place>;  // { city: string; days?: number }
 */
function make(json, description, rules = {}) {
    return { json: { ...json, ...(description === undefined ? {} : { description }), ...rules } };
}
/** Makes schemas. The description is for the model; the rules are keywords of JSON Schema. */
export const s = {
    string: (description, rules = {}) => make({ type: 'string' }, description, rules),
    number: (description, rules = {}) => make({ type: 'number' }, description, rules),
    integer: (description, rules = {}) => make({ type: 'integer' }, description, rules),
    boolean: (description, rules = {}) => make({ type: 'boolean' }, description, rules),
    /** One of these texts. */
    enum: (values, description) => make({ type: 'string', enum: [...values] }, description),
    /** Exactly this value. */
    literal: (value, description) => make({ const: value }, description),
    array: (items, description, rules = {}) => make({ type: 'array', items: items.json }, description, rules),
    /** An object with any names, whose values are all of one kind. */
    record: (values, description) => make({ type: 'object', additionalProperties: values.json }, description),
    /** Any of these schemas. */
    union: (options, description) => make({ anyOf: options.map((one) => one.json) }, description),
    nullable: (schema) => make({ anyOf: [schema.json, { type: 'null' }] }),
    /** Whatever JSON can say. */
    any: (description) => make({}, description),
    /** A property that may be left out. Only for the properties of `s.object`. */
    optional: (schema) => ({ optional: schema }),
    /** An object with these properties and no others. */
    object: (properties, description) => {
        const json = {};
        const required = [];
        for (const [name, one] of Object.entries(properties)) {
            if ('optional' in one) {
                json[name] = one.optional.json;
            }
            else {
                json[name] = one.json;
                required.push(name);
            }
        }
        const rules = { properties: json, ...(required.length > 0 ? { required } : {}), additionalProperties: false };
        return make({ type: 'object' }, description, rules);
    },
};
