/**
 * The ops on integers and booleans, for the reference interpreter. Integers are bigints of any size; the
 * caller wraps what is returned to the result's dtype. Booleans come as booleans.
 */
import type { DType } from '../../src/graph/dtype.js';
import type { OpName } from '../../src/graph/ops.js';
import { philox4x32 } from './reference-random.js';
import { bitsOf } from './scalar.js';

export type IntegerOp = (args: readonly bigint[], dtype: DType) => bigint | boolean;
export type BooleanOp = (args: readonly boolean[]) => boolean;

const same = ([x]: readonly bigint[]): bigint => x!;

const larger = (a: bigint, b: bigint): bigint => {
  if (a > b) return a;
  return b;
};

function floorDivide(a: bigint, b: bigint): bigint {
  if (b === 0n) return 0n;
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}

function power(a: bigint, b: bigint, dtype: DType): bigint {
  if (b < 0n) return a === 1n ? 1n : a === -1n ? (b % 2n === 0n ? 1n : -1n) : 0n;
  // Square and multiply among the low bits, which is all that wrapping keeps.
  const bits = bitsOf(dtype);
  let result = 1n;
  let factor = a;
  for (let rest = b; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = BigInt.asUintN(bits, result * factor);
    factor = BigInt.asUintN(bits, factor * factor);
  }
  return result;
}

const shiftOut = (b: bigint, dtype: DType): boolean => b < 0n || b >= BigInt(bitsOf(dtype));

const WORD = 0xffffffffn;

const TURNS = [
  [13n, 15n, 26n, 6n],
  [17n, 29n, 16n, 24n],
] as const;

/** Threefry 2x32-20: both words, the first above the second. */
function threefry2x32(counter: bigint, key: bigint): bigint {
  const [k0, k1] = [key >> 32n, key & WORD];
  const keys = [k0, k1, 0x1bd11bdan ^ k0 ^ k1];
  let [x0, x1] = [((counter >> 32n) + k0) & WORD, ((counter & WORD) + k1) & WORD];
  for (let five = 0; five < 5; five++) {
    for (const turn of TURNS[five % 2]!) {
      x0 = (x0 + x1) & WORD;
      x1 = (((x1 << turn) | (x1 >> (32n - turn))) & WORD) ^ x0;
    }
    x0 = (x0 + keys[(five + 1) % 3]!) & WORD;
    x1 = (x1 + keys[(five + 2) % 3]! + BigInt(five) + 1n) & WORD;
  }
  return (x0 << 32n) | x1;
}

export const INTEGER_OPS: Readonly<Partial<Record<OpName, IntegerOp>>> = {
  add: ([a, b]) => a! + b!,
  subtract: ([a, b]) => a! - b!,
  multiply: ([a, b]) => a! * b!,
  floorDivide: ([a, b]) => floorDivide(a!, b!),
  remainder: ([a, b]) => (b === 0n ? 0n : a! - floorDivide(a!, b!) * b!),
  pow: ([a, b], dtype) => power(a!, b!, dtype),
  negative: ([x]) => -x!,
  positive: same,
  abs: ([x]) => (x! < 0n ? -x! : x!),
  sign: ([x]) => (x! > 0n ? 1n : x! < 0n ? -1n : 0n),
  square: ([x]) => x! * x!,
  reciprocal: ([x]) => (x === 1n || x === -1n ? x : 0n),
  maximum: ([a, b]) => larger(a!, b!),
  minimum: ([a, b]) => -larger(-a!, -b!),
  round: same,
  floor: same,
  ceil: same,
  trunc: same,
  conj: same,
  real: same,
  imag: () => 0n,
  equal: ([a, b]) => a === b,
  notEqual: ([a, b]) => a !== b,
  less: ([a, b]) => a! < b!,
  lessEqual: ([a, b]) => a! <= b!,
  greater: ([a, b]) => a! > b!,
  greaterEqual: ([a, b]) => a! >= b!,
  isnan: () => false,
  isinf: () => false,
  isfinite: () => true,
  bitwiseAnd: ([a, b]) => a! & b!,
  bitwiseOr: ([a, b]) => a! | b!,
  bitwiseXor: ([a, b]) => a! ^ b!,
  bitwiseInvert: ([x]) => ~x!,
  bitwiseLeftShift: ([a, b], dtype) => (shiftOut(b!, dtype) ? 0n : a! << b!),
  bitwiseRightShift: ([a, b], dtype) => (shiftOut(b!, dtype) ? (a! < 0n ? -1n : 0n) : a! >> b!),
  philox4x32: ([index, key]) => philox4x32(index!, key!),
  threefry2x32: ([counter, key]) => threefry2x32(counter!, key!),
};

export const BOOLEAN_OPS: Readonly<Partial<Record<OpName, BooleanOp>>> = {
  add: ([a, b]) => a! || b!,
  multiply: ([a, b]) => a! && b!,
  abs: ([x]) => x!,
  floor: ([x]) => x!,
  ceil: ([x]) => x!,
  trunc: ([x]) => x!,
  real: ([x]) => x!,
  imag: () => false,
  maximum: ([a, b]) => a! || b!,
  minimum: ([a, b]) => a! && b!,
  equal: ([a, b]) => a === b,
  notEqual: ([a, b]) => a !== b,
  less: ([a, b]) => !a! && b!,
  lessEqual: ([a, b]) => !a! || b!,
  greater: ([a, b]) => a! && !b!,
  greaterEqual: ([a, b]) => a! || !b!,
  isnan: () => false,
  isinf: () => false,
  isfinite: () => true,
  logicalAnd: ([a, b]) => a! && b!,
  logicalOr: ([a, b]) => a! || b!,
  logicalXor: ([a, b]) => a !== b,
  logicalNot: ([x]) => !x!,
  bitwiseAnd: ([a, b]) => a! && b!,
  bitwiseOr: ([a, b]) => a! || b!,
  bitwiseXor: ([a, b]) => a !== b,
  bitwiseInvert: ([x]) => !x!,
};
