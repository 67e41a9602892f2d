/**
 * Kernels with every row of the op table, for every dtype the row takes, and with every cast: one kernel per
 * dtype. `cuda-ops.test.ts` runs them, `cuda.test.ts` compiles them with the real NVRTC.
 */
import { cudaKernel } from '../../src/codegen/cuda/cuda.js';
import {
  DTYPES,
  type DType,
  isComplex,
  isFloat,
  isHalf,
  isInteger,
  type Scalar,
} from '../../src/graph/dtype.js';
import type { TypedArray } from '../../src/graph/expr.js';
import { OP_NAMES, type OpName, opRow } from '../../src/graph/ops.js';
import type { CudaCase } from '../support/cuda-runner.js';
import { fromScalars } from '../support/host.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { generator } from '../support/random.js';
import { integerRange } from '../support/scalar.js';
import { argumentDTypes } from '../support/table.js';

const RANDOM = 60;

function specials(dtype: DType): Scalar[] {
  if (dtype === 'bool') return [false, true];
  if (isInteger(dtype)) {
    const { least, most } = integerRange(dtype);
    return [0n, 1n, 2n, 3n, least, least + 1n, most, BigInt(dtype.startsWith('u') ? 7 : -1)];
  }
  const real = [0, -0, 1, -1, 0.5, -2.5, Infinity, -Infinity, NaN, 1e-40, 3e38];
  if (!isComplex(dtype)) return real;
  return [0, -0, 1, -0.5, 2].flatMap((re) => [0, -0, 1, -3, Infinity].map((im) => ({ re, im })));
}

/** Values for argument `arg` of an op: every pair of special values, then random ones of the row's domain. */
function values(dtype: DType, arg: number, [low, high]: readonly [number, number]): Scalar[] {
  const special = specials(dtype);
  const next = generator(1000 * arg + low);
  const draw = (): number => low + next() * (high - low);
  const random = (): Scalar => {
    if (dtype === 'bool') return next() < 0.5;
    if (isComplex(dtype)) return { re: draw(), im: draw() };
    if (isFloat(dtype)) return draw();
    const integer = BigInt(Math.round(draw()));
    return dtype.startsWith('u') && integer < 0n ? -integer : integer;
  };
  const pairs = special.flatMap((a) => special.map((b) => (arg === 0 ? a : b)));
  return [...pairs, ...Array.from({ length: RANDOM }, random)];
}

/** Tails of distributions, whose reference is no nearer than an op is where parameters are tiny or huge. */
const isTail = (op: OpName): boolean => opRow(op).sample.ulp >= 2000;
const usual = (value: Scalar): Scalar => (value === 1e-40 ? 0.25 : value === 3e38 ? 7 : value);

export interface OpCase {
  readonly op: OpName;
  readonly compute: DType;
  readonly result: DType;
  /** The positions of the buffers that hold its arguments and its result. */
  readonly args: readonly number[];
  readonly store: number;
}

/** All ops that compute in a dtype, as one map. */
export function opsOf(dtype: DType): { readonly job: CudaCase; readonly ops: OpCase[] } {
  const count = values(dtype, 0, [0, 1]).length;
  const builder = new KernelBuilder([count]);
  const inputs: TypedArray[] = [];
  const ops: OpCase[] = [];
  const results: number[] = [];
  for (const op of OP_NAMES) {
    const row = opRow(op);
    const dtypes = argumentDTypes(op, row.arity, dtype);
    const signature = row.dtype(dtypes);
    // The dtype that an op computes in comes out of the table: int32's sin is a case of float64.
    if (signature === undefined || signature.args.some((d, k) => d !== dtypes[k])) continue;
    const args = dtypes.map((d, arg) => {
      const own =
        op === 'where' && arg === 0
          ? values(dtype, 0, row.sample.domain).map((_, i) => i % 3 === 0)
          : undefined;
      const shift = /Shift/.test(op) && arg === 1 ? ([-2, 70] as const) : undefined;
      const listed = values(d, arg, shift ?? row.sample.domain).map(isTail(op) ? usual : (v) => v);
      // Those of another dtype, as seeds, are not as many.
      const drawn = own ?? Array.from({ length: count }, (_, i) => listed[i % listed.length]!);
      inputs.push(fromScalars(d, [count], drawn).data);
      return builder.load(d, [1], { buffer: `input ${inputs.length - 1}` });
    });
    results.push(builder.map(op, ...args));
    const first = inputs.length - args.length;
    const compute = dtypes.at(-1)!;
    ops.push({
      op,
      compute,
      result: signature.result,
      args: args.map((_, k) => first + k),
      store: ops.length,
    });
  }
  for (const value of results) builder.store(value);
  const kernel = builder.build(`ops_${dtype}`);
  const all = kernel.buffers.map((_, k) => inputs[k]);
  return { job: { kernel, cuda: cudaKernel(kernel), inputs: all }, ops };
}

/** Casts of one dtype to all. */
export function castsOf(dtype: DType): CudaCase {
  const drawn = [...specials(dtype), ...values(dtype, 0, [-300, 300])];
  const builder = new KernelBuilder([drawn.length]);
  const x = builder.load(dtype, [1]);
  for (const to of DTYPES) builder.store(builder.cast(x, to));
  const kernel = builder.build(`casts_${dtype}`);
  const inputs = kernel.buffers.map((_, k) =>
    k === 0 ? fromScalars(dtype, [drawn.length], drawn).data : undefined,
  );
  return { kernel, cuda: cudaKernel(kernel), inputs };
}

/** The dtypes that ops compute in. */
export const COMPUTED = DTYPES.filter((dtype) => !isHalf(dtype));
