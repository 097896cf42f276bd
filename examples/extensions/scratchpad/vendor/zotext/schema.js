/**
 * Builds the JSON Schema of a tool's arguments together with their TypeScript type.
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
    /** An object with any property names; all values have this schema. */
    record: (values, description) => make({ type: 'object', additionalProperties: values.json }, description),
    /** Any of these schemas. */
    union: (options, description) => make({ anyOf: options.map((option) => option.json) }, description),
    nullable: (schema) => make({ anyOf: [schema.json, { type: 'null' }] }),
    /** Any JSON value. */
    any: (description) => make({}, description),
    /** A property that may be left out. Only for the properties of `s.object`. */
    optional: (schema) => ({ optional: schema }),
    /** An object with these properties and no others. */
    object: (properties, description) => {
        const json = {};
        const required = [];
        for (const [name, property] of Object.entries(properties)) {
            if ('optional' in property) {
                json[name] = property.optional.json;
            }
            else {
                json[name] = property.json;
                required.push(name);
            }
        }
        const rules = { properties: json, ...(required.length > 0 ? { required } : {}), additionalProperties: false };
        return make({ type: 'object' }, description, rules);
    },
};
