/** Rows in bins on exact values, slowly and obviously: the routines `bins` and `histogram`. */
import { BIN_MODES, BIN_OPS, type BinMode, type BinOp, binUnits } from '../../src/graph/bin-units.js';
import type { DType, Scalar } from '../../src/graph/dtype.js';
import { FLAG_FIELD } from '../../src/graph/exact-sums.js';
import { reduceValues } from './reference-reduce.js';
import { castScalar } from './scalar.js';

/** An input of a routine. */
export interface RoutineInput {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly values: readonly Scalar[];
}

/** The partial results of each unit, [units, parts, bins · width]. */
export function binValues(
  hasEdges: boolean,
  parameters: readonly number[],
  inputs: readonly RoutineInput[],
): Scalar[] {
  const [place, bins, width, mode, parts, bits] = parameters as readonly [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const op = BIN_OPS[place]!;
  const keys = inputs[0]!;
  const [values, scales] = inputs.slice(hasEdges ? 2 : 1) as [RoutineInput?, RoutineInput?];
  const rows = keys.shape[0]!;
  const { units, unitRows } = binUnits(rows, bins, width, op);
  const slots = bins * width;
  const result: Scalar[] = [];
  for (let unit = 0; unit < units; unit++) {
    const own = Array.from({ length: parts }, () =>
      new Array<Scalar>(slots).fill(identityOf(op, values?.dtype)),
    );
    for (let row = unit * unitRows; row < Math.min(rows, (unit + 1) * unitRows); row++) {
      const key = keys.values[row]!;
      const bin = hasEdges
        ? between(inputs[1]!.values.map(Number), Number(key))
        : binOf(BIN_MODES[mode]!, BigInt(key as number | bigint), BigInt(bins));
      if (bin < 0) continue;
      for (let j = 0; j < width; j++) {
        const slot = bin * width + j;
        const value = values?.values[row * width + j];
        gather(op, own, slot, value, row, values?.dtype, Number(scales?.values[slot] ?? 0), bits);
      }
    }
    result.push(...own.flat());
  }
  return result;
}

function binOf(mode: BinMode, key: bigint, bins: bigint): number {
  const at = {
    within: key,
    raise: key,
    fromEnd: key < 0n ? key + bins : key,
    raiseFromEnd: key < 0n ? key + bins : key,
    wrap: ((key % bins) + bins) % bins,
    clip: key < 0n ? 0n : key < bins ? key : bins - 1n,
  }[mode];
  return at >= 0n && at < bins ? Number(at) : -1;
}

function between(edges: readonly number[], x: number): number {
  if (!(x >= edges[0]! && x <= edges.at(-1)!)) return -1;
  return Math.min(edges.filter((edge) => edge <= x).length, edges.length - 1) - 1;
}

function identityOf(op: BinOp, dtype: DType | undefined): Scalar {
  if (op === 'last') return -1n;
  if (op !== 'min' && op !== 'max') return 0n;
  if (dtype === 'float32' || dtype === 'float64')
    return op === 'min' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  const bits = dtype!.endsWith('64') ? 64n : 32n;
  const [least, most] = dtype!.startsWith('u')
    ? [0n, (1n << bits) - 1n]
    : [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n];
  return op === 'min' ? most : least;
}

function gather(
  op: BinOp,
  own: Scalar[][],
  slot: number,
  value: Scalar | undefined,
  row: number,
  dtype: DType | undefined,
  scale: number,
  bits: number,
): void {
  const [first, second] = own as [Scalar[], Scalar[]];
  const before = first[slot]!;
  switch (op) {
    case 'count':
      first[slot] = (before as bigint) + 1n;
      return;
    case 'last':
      first[slot] = BigInt(row);
      return;
    case 'sum': {
      const type = dtype!.startsWith('u') ? 'uint64' : 'int64';
      first[slot] = castScalar(BigInt(before as bigint) + BigInt(value as bigint), type);
      return;
    }
    case 'min':
    case 'max':
      first[slot] = reduceValues(op, [before, value!], dtype!);
      return;
    case 'scale':
      first[slot] = BigInt(Math.max(Number(before), scaleOf(Number(value))));
      return;
    case 'fixed': {
      const [whole, rest] = fixed(Number(value), scale, bits);
      first[slot] = BigInt.asIntN(64, (before as bigint) + whole);
      second[slot] = BigInt.asIntN(64, (second[slot] as bigint) + rest);
      return;
    }
    case 'exact':
      addExact(own as bigint[][], slot, Number(value), bits);
  }
}

/** See `graph/exact-sums.ts`. */
function addExact(own: bigint[][], slot: number, value: number, bits: number): void {
  const last = own.length - 1;
  const flag = [Infinity, -Infinity, Number.NaN, 0, -0].findIndex((each) => Object.is(each, value));
  if (flag >= 0) {
    own[last]![slot]! |= 1n << BigInt(FLAG_FIELD * flag);
    return;
  }
  // Those of float32, from that of the least number on, which subnormal ones have as well.
  const exponent = Math.max(0, exponentOf(value) - 1023 + 126);
  const whole = BigInt(value * 2 ** (149 - exponent));
  const window = Math.floor(exponent / bits);
  own[window]![slot]! += whole << BigInt(exponent % bits);
}

/** See `graph/fixed-sums.ts`. */
function scaleOf(value: number): number {
  if (Number.isNaN(value)) return 8192;
  if (!Number.isFinite(value)) return 4096;
  if (Object.is(value, -0)) return 0;
  return exponentOf(value) + 1;
}

function exponentOf(value: number): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return (view.getUint16(0) >> 4) & 2047;
}

/** A value as a rational number, times a power of two, rounded to even. */
function fixed(value: number, scale: number, bits: number): [bigint, bigint] {
  if (scale >= 4096) {
    return [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map((infinity) =>
      scale === 4096 && value === infinity ? 1n : 0n,
    ) as [bigint, bigint];
  }
  const shift = bits + 1022 - Math.max(scale - 1, 1);
  const half = Math.floor(shift / 2);
  const scaled = value * 2 ** half * 2 ** (shift - half);
  const whole = evenRound(scaled);
  return [BigInt(whole), BigInt(evenRound((scaled - whole) * 2 ** bits))];
}

function evenRound(x: number): number {
  const below = Math.floor(x);
  const fraction = x - below;
  if (fraction === 0.5) return below % 2 === 0 ? below : below + 1;
  return fraction < 0.5 ? below : below + 1;
}
