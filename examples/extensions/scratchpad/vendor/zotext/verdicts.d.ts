/** Verdicts of guards, and how several of them are put together. Pure. */
import type { GuardedName, VerdictFrame } from './frames.js';
export interface Allow {
    readonly verdict: 'allow';
}
export interface Block {
    readonly verdict: 'block';
    readonly reason: string;
}
export interface Ask {
    readonly verdict: 'ask';
    readonly reason: string;
}
export interface AddContext {
    readonly verdict: 'context';
    readonly text: string;
}
export interface Rewrite<T> {
    readonly verdict: 'rewrite';
    readonly to: T;
}
/** The return value of a guard. undefined means allow. */
export type Verdict<T = never> = Allow | Block | Ask | AddContext | Rewrite<T> | undefined | void;
/** The event goes on, unchanged. */
export declare function allow(): Allow;
/** Refuses the event. The model or the user sees the reason. */
export declare function block(reason: string): Block;
/** A person has to decide. If no person can be asked, the event is refused, unless the user lets such events pass. */
export declare function ask(reason: string): Ask;
/** The event goes on, and the model gets this text behind the prompt, or behind the tool's result. */
export declare function addContext(text: string): AddContext;
/** The event goes on, changed: with other arguments, another text or another result, by the point of the guard. */
export declare function rewrite<T>(to: T): Rewrite<T>;
/** The points at which a guard gives a verdict. One of `before_agent_start` gives a text. */
export type JudgedName = Exclude<GuardedName, 'before_agent_start'>;
export type VerdictFields = Omit<VerdictFrame, 'type' | 'id'>;
/**
 * The fields of the answer for one verdict. Throws a TypeError for any other value, which then blocks: a guard that
 * returns `false` or a text may have meant to block.
 */
export declare function toFields(event: JudgedName, verdict: Verdict<unknown>): VerdictFields;
/** The answer of several guards: what they add is put together, the first question counts, and else the last one. */
export declare function together(before: VerdictFields, said: VerdictFields): VerdictFields;
/** The event as the next guard sees it. */
export declare function asRewritten<T extends object>(subject: T, fields: VerdictFields): T;
