/**
 * Builds the JSON Schema of a tool's arguments together with their TypeScript type.
 *
 *     const place = s.object({ city: s.string('Name of the city'), days: s.optional(s.integer()) });
 *     type Place = Infer<typeof place>;  // { city: string; days?: number }
 */
import type { Json, JsonObject } from './json.js';
declare const TYPE: unique symbol;
/** A schema whose values have the type T. */
export interface Schema<T> {
    readonly json: JsonObject;
    /** Exists only in the type. */
    readonly [TYPE]?: T;
}
/** A property that may be left out. */
export interface OptionalSchema<T> {
    readonly optional: Schema<T>;
}
/** The type of a schema's values. */
export type Infer<S> = S extends Schema<infer T> ? T : S extends OptionalSchema<infer T> ? T | undefined : never;
export type Properties = Record<string, Schema<any> | OptionalSchema<any>>;
type Shape<T> = {
    [K in keyof T]: T[K];
} & {};
/** The type of an object with these properties. */
export type InferObject<P extends Properties> = Shape<{
    [K in keyof P as P[K] extends OptionalSchema<any> ? never : K]: Infer<P[K]>;
} & {
    [K in keyof P as P[K] extends OptionalSchema<any> ? K : never]?: P[K] extends OptionalSchema<infer T> ? T : never;
}>;
/** The schema of an object, such as the arguments of a tool. */
export interface ObjectSchema<T> extends Schema<T> {
    readonly json: JsonObject & {
        type: 'object';
    };
}
export interface StringRules {
    minLength?: number;
    maxLength?: number;
    pattern?: string;
    format?: string;
    default?: string;
    examples?: string[];
}
export interface NumberRules {
    minimum?: number;
    maximum?: number;
    exclusiveMinimum?: number;
    exclusiveMaximum?: number;
    multipleOf?: number;
    default?: number;
    examples?: number[];
}
export interface ArrayRules {
    minItems?: number;
    maxItems?: number;
    uniqueItems?: boolean;
}
/** Makes schemas. The description is for the model; the rules are keywords of JSON Schema. */
export declare const s: {
    string: (description?: string, rules?: StringRules) => Schema<string>;
    number: (description?: string, rules?: NumberRules) => Schema<number>;
    integer: (description?: string, rules?: NumberRules) => Schema<number>;
    boolean: (description?: string, rules?: {
        default?: boolean;
    }) => Schema<boolean>;
    /** One of these texts. */
    enum: <const T extends string>(values: readonly T[], description?: string) => Schema<T>;
    /** Exactly this value. */
    literal: <const T extends string | number | boolean | null>(value: T, description?: string) => Schema<T>;
    array: <T>(items: Schema<T>, description?: string, rules?: ArrayRules) => Schema<T[]>;
    /** An object with any property names; all values have this schema. */
    record: <T>(values: Schema<T>, description?: string) => Schema<Record<string, T>>;
    /** Any of these schemas. */
    union: <S extends readonly Schema<any>[]>(options: S, description?: string) => Schema<Infer<S[number]>>;
    nullable: <T>(schema: Schema<T>) => Schema<T | null>;
    /** Any JSON value. */
    any: (description?: string) => Schema<Json>;
    /** A property that may be left out. Only for the properties of `s.object`. */
    optional: <T>(schema: Schema<T>) => OptionalSchema<T>;
    /** An object with these properties and no others. */
    object: <P extends Properties>(properties: P, description?: string) => ObjectSchema<InferObject<P>>;
};
export {};
