/**
 * The signatures of ops, each worked out once: nodes are made by the thousand with the same few dtypes.
 * Called by `map` (`infer.ts`).
 */
import { type DType, dtypeCode } from './dtype.js';
import type { Signature } from './op-row.js';
import { OPS, type OpName, opRow } from './ops.js';

/** Above every dtype's code. */
const BASE = 16;

type Signatures = Map<number, Signature>;
const known = Object.fromEntries(Object.keys(OPS).map((op) => [op, new Map()])) as Record<OpName, Signatures>;

/** The signature of an op for arguments of these dtypes; `undefined` for dtypes that it does not take. */
export function signatureOf(op: OpName, dtypes: readonly DType[]): Signature | undefined {
  let key = 0;
  for (let k = 0; k < dtypes.length; k++) key = key * BASE + dtypeCode(dtypes[k]!);
  const signatures = known[op];
  const signature = signatures.get(key);
  if (signature !== undefined) return signature;
  const found = opRow(op).dtype(dtypes);
  if (found !== undefined) signatures.set(key, found);
  return found;
}
