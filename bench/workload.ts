/**
 * A workload, and the numbers it is fed. The lists are in `gpu-workloads.ts` and `cpu-workloads.ts`,
 * which have the names, sizes and inputs of the peers' benchmarks; timing is in `gpu-measure.ts` and
 * `cpu-measure.ts`.
 */
import { arange, concat, type DType, type Lazy } from '../src/index.js';

export type Scale = 'full' | 'small';
/** One of two values, by the scale. */
export type Size = <T>(full: T, small: T) => T;

/** An array of `uniform` numbers. */
export interface Input {
  readonly shape: readonly number[];
  readonly seed: number;
  readonly low?: number;
  readonly high?: number;
  readonly dtype?: DType;
  /** The numbers are in ascending order. */
  readonly isSorted?: boolean;
  /** The numbers are 0 and the multiples of this one, in order. */
  readonly every?: number;
  /**
   * The array is so many equal pieces along its first axis, whose seeds are `seed` and the numbers after it.
   */
  readonly pieces?: number;
}

/** The inputs that the pieces of one are. */
export const piecesOf = ({ pieces = 1, ...whole }: Input): Input[] => {
  const shape = [whole.shape[0]! / pieces, ...whole.shape.slice(1)];
  return Array.from({ length: pieces }, (_, piece) => ({ ...whole, shape, seed: whole.seed + piece }));
};

export interface Workload {
  readonly name: string;
  readonly dtype: DType;
  /** As the peers print it. */
  readonly shape: readonly number[];
  readonly inputs: readonly Input[];
  /** The expression as a user writes it; it is compiled, so that the first call alone builds it. */
  readonly expression: (...inputs: Lazy[]) => Lazy;
  /** Bytes that have to be moved (each input read once, each output written once), for a rate in GB/s. */
  readonly bytes?: number;
  /** Operations of the expression as written, for a rate in operations per second. */
  readonly flops?: number;
  /** Inputs come from host memory and the result goes back to it in every call, on a GPU too. */
  readonly fromHost?: boolean;
  /** Inputs lie in `.npy` files (on the CPU), which every call reads. */
  readonly fromFile?: boolean;
  /** Calls that are started together and timed as a group (on a GPU). */
  readonly inner?: number;
  /** Seconds of repeats, where it is not the default. */
  readonly budgetSeconds?: number;
}

/** A workload in float32, unless `rest` says otherwise. */
export const makeWorkload = (
  name: string,
  shape: readonly number[],
  inputs: readonly Input[],
  expression: Workload['expression'],
  rest: Partial<Workload>,
): Workload => ({ name, dtype: 'float32', shape, inputs, expression, ...rest });

export const elementCount = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

/**
 * float32 numbers in [low, high): a hash of index + seed · 0x9E3779B9 in uint32 (Chris Wellons, "Hash
 * Prospector"), its top 24 bits over 2^24. The peers' CPU benchmark makes the very same numbers.
 */
export function uniform(input: Input): Lazy {
  const { shape, seed, low = 0, high = 1, dtype = 'float32', pieces = 1, isSorted = false } = input;
  if (input.every !== undefined)
    return arange(elementCount(shape)).mul(input.every).astype(dtype).reshape(shape);
  if (pieces > 1) return concat(piecesOf(input).map(uniform));
  const offset = Math.imul(seed, 0x9e3779b9) >>> 0;
  let hash = arange(elementCount(shape), undefined, undefined, { dtype: 'uint32' }).add(offset);
  hash = hash.bitwiseXor(hash.bitwiseRightShift(16)).mul(0x7feb352d);
  hash = hash.bitwiseXor(hash.bitwiseRightShift(15)).mul(0x846ca68b);
  hash = hash.bitwiseXor(hash.bitwiseRightShift(16));
  const unit = hash
    .bitwiseRightShift(8)
    .astype('float32')
    .mul(2 ** -24);
  const numbers = unit
    .mul(high - low)
    .add(low)
    .reshape([...shape])
    .astype(dtype);
  return isSorted ? numbers.sort() : numbers;
}
