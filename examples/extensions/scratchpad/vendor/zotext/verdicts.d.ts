/** What a guard may say, and what several guards say together. Pure. */
import type { GuardedName, VerdictFrame } from './frames.js';
export interface Allow {
    readonly verdict: 'allow';
}
export interface Block {
    readonly verdict: 'block';
    readonly reason: string;
}
export interface Rewrite<T> {
    readonly verdict: 'rewrite';
    readonly to: T;
}
/** What a guard may return; nothing means allow. */
export type Verdict<T = never> = Allow | Block | Rewrite<T> | undefined | void;
/** Lets it pass unchanged. */
export declare function allow(): Allow;
/** Refuses it; the reason goes to the model or the user. */
export declare function block(reason: string): Block;
/** Lets it pass changed: other arguments, another text, another result, according to what is judged. */
export declare function rewrite<T>(to: T): Rewrite<T>;
export type VerdictFields = Omit<VerdictFrame, 'type' | 'id'>;
/**
 * The fields of the answer for one verdict. Throws a TypeError for what is none, so that a guard which returns `false`
 * or a bare text does not let pass what it may have meant to stop.
 */
export declare function toFields(event: GuardedName, verdict: Verdict<unknown>): VerdictFields;
/** The same happening as the next guard is to see it. */
export declare function asRewritten<T extends object>(happening: T, fields: VerdictFields): T;
