/** Verdicts of guards, and how several of them are put together. Pure. */
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
/** What a guard may return. undefined means allow. */
export type Verdict<T = never> = Allow | Block | Rewrite<T> | undefined | void;
/** It goes on, unchanged. */
export declare function allow(): Allow;
/** Refuses it. The model or the user sees the reason. */
export declare function block(reason: string): Block;
/** It goes on, changed: with other arguments, another text or another result, by the point of the guard. */
export declare function rewrite<T>(to: T): Rewrite<T>;
export type VerdictFields = Omit<VerdictFrame, 'type' | 'id'>;
/**
 * The fields of the answer for one verdict. Throws a TypeError for any other value, which then blocks: a guard that
 * returns `false` or a text may have meant to block.
 */
export declare function toFields(event: GuardedName, verdict: Verdict<unknown>): VerdictFields;
/** The event as the next guard sees it. */
export declare function asRewritten<T extends object>(subject: T, fields: VerdictFields): T;
