/**
 * The table of calls: what libraries and routines of Weft's own do as a whole, a row each (`call-row.ts`).
 */
import type { CallName, CallStep } from './call.js';
import type { CallRow } from './call-row.js';
import { MATMUL } from './matmul.js';

type Rows = { readonly [Name in CallName]: CallRow<Extract<CallStep, { readonly call: Name }>> };

export const CALLS: Rows = { matmul: MATMUL };

/** The row of a step. */
export const callRow = <Step extends CallStep>({ call }: Step): CallRow<Step> =>
  CALLS[call] as unknown as CallRow<Step>;

/** The call that computes a node of the graph. */
export const callOf = { contract: 'matmul' } as const satisfies Readonly<Record<string, CallName>>;
