/**
 * Jobs larger than a budget, with what their results have to be: arrays of a repeated pattern, whose sums and
 * means are those of the pattern. `peers-out-of-core.py` has the same jobs and the same numbers. Called by
 * `out-of-core.ts`.
 */
import {
  type ComputeOptions,
  chunked,
  type Lazy,
  lazy,
  loadNpy,
  type NDArray,
  pinned,
} from '../src/index.js';

export interface Job {
  /** The expressions, made anew for every repeat. */
  readonly make: () => readonly Lazy[];
  /** Of inputs and results, each counted once. */
  readonly bytes: number;
  readonly options?: ComputeOptions;
  /** Floating-point operations, where they bound the job. */
  readonly flops?: number;
  /** Results stay on the device. */
  readonly stays?: boolean;
  /** Repeats at least: until the memory of large results has been used so often that it is locked. */
  readonly repeats?: number;
  /** The largest error of the results, relative to what is allowed: at most 1 is right. */
  readonly check: (results: readonly NDArray[]) => number;
}

export interface Sizes {
  readonly device: string;
  /** GiB of the large arrays. */
  readonly gib: number;
  /** An array of the pattern in a .npy file, repeated. */
  readonly file?: string | undefined;
  /** Rows and columns of matrices. */
  readonly matrix: number;
  readonly points: number;
}

const GIB = 2 ** 30;
const PATTERN_LENGTH = 2 ** 20;
const PATTERN = Float32Array.from({ length: PATTERN_LENGTH }, (_, i) => ((i * 7919) % 2003) - 301);
/** A typed array of the chunked ones. */
const PIECE = 2 ** 28;

const mean = (f: (value: number) => number): number =>
  PATTERN.reduce((sum, value) => sum + f(value), 0) / PATTERN_LENGTH;

/** Relative to the allowed relative error. */
const off = (value: number, wanted: number, allowed: number): number =>
  Math.abs(value - wanted) / (Math.abs(wanted) * allowed);

/** Results take turns in two or three blocks, each of which is locked after its second use. */
const UNTIL_LOCKED = 16;

/** Whole patterns in so many bytes. */
const lengthOf = (bytes: number): number =>
  Math.max(1, Math.floor(bytes / 4 / PATTERN_LENGTH)) * PATTERN_LENGTH;

function fill(piece: Float32Array): Float32Array {
  for (let at = 0; at < piece.length; at += PATTERN_LENGTH) {
    piece.set(PATTERN.length <= piece.length - at ? PATTERN : PATTERN.subarray(0, piece.length - at), at);
  }
  return piece;
}

/** Numbers of a period, over and over. */
function repeated(length: number, period: number, f: (i: number) => number): Float32Array {
  const array = new Float32Array(length);
  for (let i = 0; i < Math.min(period, length); i++) array[i] = f(i);
  for (let filled = period; filled < length; filled *= 2) array.copyWithin(filled, 0, filled);
  return array;
}

/** Lengths of pieces that make up an array. */
const pieces = (length: number): number[] =>
  Array.from({ length: Math.ceil(length / PIECE) }, (_, k) => Math.min(PIECE, length - k * PIECE));

const ordinary = (length: number): Lazy =>
  chunked(pieces(length).map((count) => fill(new Float32Array(count))));

async function pinnedArray(length: number, device: string): Promise<Lazy> {
  const arrays: Float32Array[] = [];
  for (const count of pieces(length)) {
    const { data } = await pinned([count], 'float32', { device });
    arrays.push(fill(data as Float32Array));
  }
  return chunked(arrays);
}

/** Mean and deviation of sqrt(abs(x)): one pass with two results. */
function moments(x: Lazy, bytes: number): Job {
  const middle = mean((value) => Math.sqrt(Math.abs(value)));
  const deviation = Math.sqrt(mean((value) => (Math.sqrt(Math.abs(value)) - middle) ** 2));
  return {
    make: () => {
      const y = x.abs().sqrt();
      return [y.mean(), y.std()];
    },
    bytes,
    options: { memory: '2GiB' },
    check: ([m, s]) =>
      Math.max(off(m!.item() as number, middle, 1e-5), off(s!.item() as number, deviation, 1e-5)),
  };
}

const sum = (x: Lazy, length: number, wanted: number, memory: string): Job => ({
  make: () => [x.sum()],
  bytes: length * 4,
  options: { memory },
  check: ([total]) => off(total!.item() as number, wanted, 1e-5),
});

function thereAndBack(gib: number): Job {
  const length = lengthOf(Math.min(gib, 4) * GIB); // a result has one ArrayBuffer
  const x = ordinary(length);
  const wanted = Buffer.from(PATTERN.map((value) => 2 * value + 1).buffer);
  return {
    make: () => [x.mul(2).add(1)],
    bytes: 2 * length * 4,
    repeats: UNTIL_LOCKED,
    options: { memory: '1GiB' },
    check: ([y]) => {
      const { buffer, byteOffset, byteLength } = y!.data;
      for (let at = 0; at < byteLength; at += wanted.length) {
        if (!Buffer.from(buffer, byteOffset + at, wanted.length).equals(wanted))
          return Number.POSITIVE_INFINITY;
      }
      return 0;
    },
  };
}

/** (x - mean) / std by column: the array is read twice, and written once. */
function standardize(gib: number): Job {
  const columns = 32;
  const length = lengthOf(Math.min(gib, 2) * GIB);
  const x = ordinary(length).reshape([length / columns, columns]);
  const column = (k: number): number[] => Array.from(PATTERN).filter((_, i) => i % columns === k);
  return {
    make: () => [x.sub(x.mean(0)).div(x.std(0))],
    bytes: 2 * length * 4,
    repeats: UNTIL_LOCKED,
    options: { memory: '512MiB' },
    check: ([y]) => {
      const { data } = y!;
      let worst = 0;
      for (const k of [0, 13]) {
        const values = column(k);
        const middle = values.reduce((a, b) => a + b) / values.length;
        const deviation = Math.sqrt(values.reduce((a, b) => a + (b - middle) ** 2, 0) / values.length);
        for (let row = 0; row < values.length; row += 97) {
          const wanted = (values[row]! - middle) / deviation;
          const last = data.length - (PATTERN_LENGTH - row * columns - k);
          for (const at of [row * columns + k, last])
            worst = Math.max(worst, Math.abs((data[at] as number) - wanted) / 1e-4);
        }
      }
      return worst;
    },
  };
}

/** For each of n points the least squared distance to n others. */
function nearest(n: number): Job {
  const dimensions = 16;
  const a = Float32Array.from({ length: n * dimensions }, (_, i) => Math.sin(i));
  const b = Float32Array.from({ length: n * dimensions }, (_, i) => Math.cos(i));
  const [x, y] = [lazy(a).reshape([n, 1, dimensions]), lazy(b).reshape([1, n, dimensions])];
  const least = (i: number): number => {
    let best = Number.POSITIVE_INFINITY;
    for (let j = 0; j < n; j++) {
      let distance = 0;
      for (let d = 0; d < dimensions; d++) distance += (a[i * dimensions + d]! - b[j * dimensions + d]!) ** 2;
      best = Math.min(best, distance);
    }
    return best;
  };
  return {
    make: () => [x.sub(y).square().sum(2).min(1)],
    bytes: 2 * n * dimensions * 4 + n * 4,
    options: { memory: '256MiB' },
    check: ([found]) => {
      const rows = [0, 1, Math.floor(n / 2), n - 1];
      return Math.max(...rows.map((i) => Math.abs((found!.data[i] as number) - least(i)) / 1e-4));
    },
  };
}

type Product = 'resident' | 'whole' | 'budget';

/**
 * A float32 product: inputs and result on the device, in host memory, and so within a third of what it takes.
 */
async function product(n: number, how: Product, device: string): Promise<Job> {
  const data = [7, 5].map((step) => repeated(n * n, 17, (i) => ((i * step) % 17) / 17));
  const host = data.map((values) => lazy(values).reshape([n, n]));
  const [x, y] = how === 'resident' ? await Promise.all(host.map((each) => each.persist({ device }))) : host;
  const element = (i: number, j: number): number => {
    let total = 0;
    for (let k = 0; k < n; k++) total += data[0]![i * n + k]! * data[1]![k * n + j]!;
    return total;
  };
  return {
    make: () => [x!.matmul(y!)],
    bytes: 3 * n * n * 4,
    flops: 2 * n ** 3,
    stays: how === 'resident',
    ...(how === 'budget' ? { options: { memory: n * n * 4 } } : {}),
    check: ([z]) => {
      const places = Array.from({ length: 64 }, (_, k) => [(k * 7919) % n, (k * 104729) % n] as const);
      return Math.max(...places.map(([i, j]) => off(z!.data[i * n + j] as number, element(i, j), 1e-4)));
    },
  };
}

async function sumOfFile(path: string): Promise<Job> {
  const x = await loadNpy(path);
  return sum(x, x.size, x.size * mean((value) => value), '1GiB');
}

/** The jobs by name; arrays are made when one is asked for. */
export function outOfCoreJobs({
  device,
  gib,
  file,
  matrix,
  points,
}: Sizes): Readonly<Record<string, () => Job | Promise<Job>>> {
  const length = lengthOf(gib * GIB);
  const billion = Math.min(1e9, length);
  const patterns = Math.floor(billion / PATTERN_LENGTH);
  const rest = PATTERN.subarray(0, billion % PATTERN_LENGTH).reduce((a, b) => a + b, 0);
  return {
    'moments of ordinary arrays': () => moments(ordinary(length), length * 4),
    'moments of pinned arrays': async () => moments(await pinnedArray(length, device), length * 4),
    'map there and back': () => thereAndBack(gib),
    'standardize columns': () => standardize(gib),
    'sum of 1e9 in 256 MiB': () =>
      sum(ordinary(billion), billion, patterns * PATTERN_LENGTH * mean((v) => v) + rest, '256MiB'),
    'nearest of pairs in 256 MiB': () => nearest(points),
    'product, resident': () => product(matrix, 'resident', device),
    'product, from the host': () => product(matrix, 'whole', device),
    'product of 3 x the budget': () => product(matrix, 'budget', device),
    ...(file === undefined ? {} : { 'sum of a file': () => sumOfFile(file) }),
  };
}
