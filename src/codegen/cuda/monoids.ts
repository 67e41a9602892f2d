/**
 * The reductions as monoids printed in CUDA C: what an accumulator holds, what it starts from, how an element
 * and how another accumulator joins it, and the result. One case per row of `graph/reductions.ts`.
 */

import { CUDA_TYPE } from '../../graph/cuda-expressions.js';
import { byteLengthOf, DTYPE_INFO, type DType, isComplex } from '../../graph/dtype.js';
import { type OpName, opRow } from '../../graph/ops.js';
import type { ReductionName } from '../../graph/reductions.js';
import { highestLiteral, lowestLiteral, oneLiteral, zeroLiteral } from './literals.js';

export interface Monoid {
  /** The accumulator's members. */
  readonly components: readonly DType[];
  /** The accumulator's CUDA C type. */
  readonly type: string;
  readonly identity: string;
  /** The accumulator of one element. */
  lift(args: readonly string[]): string;
  /** An accumulator with one more element. */
  push(accumulator: string, args: readonly string[]): string;
  combine(a: string, b: string): string;
  /** `part`: of a user's monoid, whose results are several. */
  finish(accumulator: string, part: number): string;
  /** Whether several elements are best turned into one accumulator at once, by `weft_moments_of`. */
  readonly chunked: boolean;
  /** Whether elements keep their order: `combine` takes the earlier one first. */
  readonly isOrdered?: true;
  /** Whether the last bit of two accumulators' combination depends on which one comes first. */
  readonly isDirected?: boolean;
}

/** Bytes of an accumulator, with the padding of a C struct. */
export function accumulatorByteLength({ components }: Monoid): number {
  let end = 0;
  let align = 1;
  for (const dtype of components) {
    const bytes = byteLengthOf(dtype);
    align = Math.max(align, bytes);
    end = Math.ceil(end / bytes) * bytes + bytes;
  }
  return Math.ceil(end / align) * align;
}

/** A monoid that is an op of the table. */
function byOp(op: OpName, dtype: DType, identity: string): Monoid {
  const combine = (a: string, b: string): string => opRow(op).cuda([a, b], dtype);
  return {
    components: [dtype],
    type: CUDA_TYPE[dtype],
    identity,
    lift: ([x]) => x!,
    push: (accumulator, [x]) => combine(accumulator, x!),
    combine,
    finish: (accumulator) => accumulator,
    chunked: false,
  };
}

function best(dtype: DType, index: 'int32' | 'int64', least: boolean): Monoid {
  const type = `weft_best<${CUDA_TYPE[dtype]}, ${CUDA_TYPE[index]}>`;
  const lift = ([x, i]: readonly string[]): string => `${type}{${x}, (${CUDA_TYPE[index]})${i}}`;
  const combine = (a: string, b: string): string => `weft_first_${least ? 'least' : 'greatest'}(${a}, ${b})`;
  // No element comes after this index, so that even an infinity replaces the start.
  const identity = `${type}{${least ? highestLiteral(dtype) : lowestLiteral(dtype)}, ${highestLiteral(index)}}`;
  return {
    components: [dtype, index],
    type,
    identity,
    lift,
    push: (accumulator, args) => combine(accumulator, lift(args)),
    combine,
    finish: (accumulator) => `(long long)${accumulator}.index`,
    chunked: false,
  };
}

function moments(dtype: DType): Monoid {
  const { component } = DTYPE_INFO[dtype];
  const type = `weft_moments<${CUDA_TYPE[dtype]}, ${CUDA_TYPE[component]}>`;
  const combine = (a: string, b: string): string => `weft_combine(${a}, ${b})`;
  const lift = ([x]: readonly string[]): string =>
    `${type}{${oneLiteral(component)}, ${x}, weft_undefined_of(${x})}`;
  return {
    components: [component, dtype, component],
    type,
    identity: `${type}{${zeroLiteral(component)}, ${zeroLiteral(dtype)}, ${zeroLiteral(component)}}`,
    lift,
    push: (accumulator, args) => combine(accumulator, lift(args)),
    combine,
    finish: (accumulator) => `${accumulator}.deviations`,
    chunked: true,
    isDirected: true,
  };
}

/** The greatest value with the sum of exponentials, of which `finish` makes the result. */
function exponentials(dtype: DType, finish: Monoid['finish']): Monoid {
  const type = `weft_logsum<${CUDA_TYPE[dtype]}>`;
  return {
    components: [dtype, dtype],
    type,
    identity: `${type}{${lowestLiteral(dtype)}, ${zeroLiteral(dtype)}}`,
    lift: ([x]) => `${type}{${x}, ${oneLiteral(dtype)}}`,
    push: (accumulator, [x]) => `weft_push(${accumulator}, ${x})`,
    combine: (a, b) => `weft_combine(${a}, ${b})`,
    finish,
    chunked: false,
  };
}

/**
 * Counts of at most 2^31 - 1 elements, in half the registers of int64: a thread holds several of each. Of what is true
 * and false, which is cast to int64 before.
 */
export const COUNTS: Monoid = {
  ...byOp('add', 'int32', '0'),
  lift: ([x]) => `(int)${x}`,
  push: (accumulator, [x]) => `${accumulator} + (int)${x}`,
  finish: (accumulator) => `(long long)${accumulator}`,
};

/** The monoid of a reduction of values of `dtype`. `wide`: indices need 64 bits. */
export function monoidOf(reduction: Exclude<ReductionName, 'monoid'>, dtype: DType, wide: boolean): Monoid {
  switch (reduction) {
    case 'sum':
      return byOp('add', dtype, zeroLiteral(dtype));
    case 'prod':
      return { ...byOp('multiply', dtype, oneLiteral(dtype)), isDirected: isComplex(dtype) };
    case 'min':
      return byOp('minimum', dtype, highestLiteral(dtype));
    case 'max':
      return byOp('maximum', dtype, lowestLiteral(dtype));
    case 'any':
      // Not ||: its right side may be a shuffle, which every lane has to reach.
      return byOp('bitwiseOr', 'bool', 'false');
    case 'all':
      return byOp('bitwiseAnd', 'bool', 'true');
    case 'argmin':
      return best(dtype, wide ? 'int64' : 'int32', true);
    case 'argmax':
      return best(dtype, wide ? 'int64' : 'int32', false);
    case 'squaredDeviations':
      return moments(dtype);
    case 'logsumexp':
      return exponentials(dtype, (a) => `weft_log_of(${a})`);
    case 'sumexp':
      // NaN of an infinity.
      return exponentials(dtype, (a) => `(${a}.sum + (${a}.greatest - ${a}.greatest))`);
  }
}
