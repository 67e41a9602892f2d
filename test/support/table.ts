/**
 * The tables as plain data: which dtypes each op and reduction takes and what it gives for them.
 *
 * `scripts/dump-ops.mjs` stores it for the fixture script; the conformance suite compares the stored copy
 * with the live tables, so that a new row fails until its fixtures are made.
 */
import { DTYPES, type DType, promote } from '../../src/graph/dtype.js';
import type { Signature } from '../../src/graph/op-row.js';
import { OP_NAMES, type OpName, opRow } from '../../src/graph/ops.js';
import { REDUCTIONS, type ReductionName, reductionRow } from '../../src/graph/reductions.js';

export interface OpDescription {
  readonly arity: number;
  /** NumPy's name, or null where NumPy has no such function. */
  readonly numpy: string | null;
  /** The dtype of the first argument, where it is another than that of the rest. */
  readonly first?: DType;
  readonly domain: readonly [number, number];
  readonly ulp: number;
  /** The signature for arguments that all have one dtype (but for a first one of another). */
  readonly signatures: Readonly<Partial<Record<DType, Signature>>>;
}

export interface TableDescription {
  readonly dtypes: readonly DType[];
  readonly promotion: readonly (readonly DType[])[];
  readonly ops: Readonly<Record<string, OpDescription>>;
  readonly reductions: Readonly<Record<string, Partial<Record<DType, { arg: DType; result: DType }>>>>;
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The argument dtypes with which a row is tried for one dtype. */
export const argumentDTypes = (op: string, arity: number, dtype: DType): DType[] => {
  const { first = dtype } = opRow(op as OpName);
  return Array.from({ length: arity }, (_, i) => (i === 0 ? first : dtype));
};

export function describeTables(): TableDescription {
  const ops: Record<string, OpDescription> = {};
  for (const op of OP_NAMES) {
    const row = opRow(op);
    const signatures: Partial<Record<DType, Signature>> = {};
    for (const dtype of DTYPES) {
      const signature = row.dtype(argumentDTypes(op, row.arity, dtype));
      if (signature !== undefined) signatures[dtype] = signature;
    }
    const numpy = row.numpy === undefined ? snakeCase(op) : row.numpy;
    const first = row.first === undefined ? {} : { first: row.first };
    const { domain, ulp } = row.sample;
    ops[op] = { arity: row.arity, numpy, ...first, domain, ulp, signatures };
  }
  const reductions: Record<string, Partial<Record<DType, { arg: DType; result: DType }>>> = {};
  for (const name of Object.keys(REDUCTIONS) as ReductionName[]) {
    if (name === 'monoid') continue; // `user-monoids.test.ts`
    const accepted: Partial<Record<DType, { arg: DType; result: DType }>> = {};
    for (const dtype of DTYPES) {
      const signature = reductionRow(name).dtype(dtype);
      if (signature !== undefined) accepted[dtype] = { ...signature };
    }
    reductions[name] = accepted;
  }
  const promotion = DTYPES.map((a) => DTYPES.map((b) => promote(a, b)));
  return { dtypes: DTYPES, promotion, ops, reductions };
}
