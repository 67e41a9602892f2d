/**
 * Jobs for tests of budgets: hand-written ones of each kind of work, then random ones, and what is checked of
 * each: under every budget the bits of the whole, within the memory that its plan says.
 */

import { cpuInfo } from '../../src/exec/native/native.js';
import { readElement } from '../../src/host/elements.js';
import {
  type ComputeOptions,
  chunked,
  compute,
  explain,
  type Lazy,
  lazy,
  MemoryError,
  type NDArray,
  plan,
} from '../../src/index.js';
import { largeGraph } from './large-graph.js';
import { generator } from './random.js';

export interface BudgetJob {
  readonly name: string;
  readonly results: readonly Lazy[];
}

/** Random elements; in pieces, so that they are not in memory as a whole. */
export function randomMatrix(rows: number, columns: number, seed: number, pieces = false): Lazy {
  const random = generator(seed);
  const data = new Float32Array(rows * columns).map(() => random() * 4 - 2);
  const cut = Math.floor(data.length / 3);
  return pieces
    ? chunked([data.subarray(0, cut), data.subarray(cut)], [rows, columns])
    : lazy(data, { shape: [rows, columns] });
}

/** The arrays of the hand-written jobs. */
interface Arrays {
  readonly tall: () => Lazy;
  readonly square: (seed: number) => Lazy;
  /** Squared distances. */
  readonly pairs: () => Lazy;
}

function arraysOf(scale: number): Arrays {
  const side = Math.round(384 * Math.sqrt(scale));
  const points = (n: number, seed: number): Lazy => randomMatrix(Math.round(n * scale), 3, seed, true);
  return {
    tall: () => randomMatrix(Math.round(20_000 * scale), 16, 1, true),
    square: (seed) => randomMatrix(side, side, seed, true),
    pairs: () => points(700, 3).expandDims(1).sub(points(600, 4).expandDims(0)).square().sum(2),
  };
}

const WRITTEN: Readonly<Record<string, (arrays: Arrays) => readonly Lazy[]>> = {
  'a chain of maps': ({ tall }) => [tall().sin().mul(0.5).add(tall().cos()).exp()],
  'rows by indices': ({ tall, square }) => [
    square(1).take(tall().slice(null, 0).abs().mul(90).astype('int32'), 0).tanh().sum(1),
  ],
  'several maps of one array': ({ tall }) => [tall().exp(), tall().abs().sqrt(), tall().astype('float16')],
  'a sum of all': ({ tall }) => [tall().square().sum()],
  'statistics of columns': ({ tall }) => [tall().mean(0), tall().std(0), tall().min(0), tall().argmax(0)],
  'standardized columns': ({ tall }) => [tall().sub(tall().mean(0)).div(tall().std(0))],
  'softmax of rows': ({ tall }) => [tall().softmax(1)],
  'softmax of columns': ({ tall }) => [tall().softmax(0)],
  'layer norm': ({ tall }) => [
    tall()
      .sub(tall().mean(1, { keepdims: true }))
      .div(tall().std(1, { keepdims: true })),
  ],
  'differences of rows': ({ tall }) => [tall().slice('1:').sub(tall().slice(':-1')).square().sum(1)],
  'a stencil': ({ tall }) => {
    const x = tall();
    return [x.slice('2:').add(x.slice('1:-1').mul(2)).add(x.slice(':-2')).div(4)];
  },
  'rows backwards': ({ tall }) => [tall().flip(0).add(1)],
  'rolled rows': ({ tall }) => [tall().roll(1000, 0).sub(tall())],
  'a transpose': ({ square }) => [square(1).transpose().add(1)],
  'an array and its transpose': ({ square }) => [square(1).add(square(1).transpose())],
  'sums of pairs': ({ pairs }) => [pairs().sum(1)],
  'nearest of pairs': ({ pairs }) => [pairs().min(1), pairs().argmin(1)],
  'a product': ({ square }) => [square(1).matmul(square(2))],
  'a product with a map': ({ square }) => [square(1).matmul(square(2)).add(1).tanh()],
  'two layers': ({ tall }) => {
    const x = tall();
    const [v, w] = [randomMatrix(16, 40, 5), randomMatrix(40, 8, 6)];
    return [x.matmul(v).tanh().matmul(w).softmax(1)];
  },
  covariances: ({ tall }) => {
    const x = tall();
    const centered = x.sub(x.mean(0));
    return [centered.transpose().matmul(centered).div(1000)];
  },
  'a sum of a product': ({ square }) => [square(1).matmul(square(2)).sum(0)],
  'a product that is used twice': ({ square }) => {
    const y = square(1).matmul(square(2));
    return [y.sub(y.mean(0)), y.sum()];
  },
  'products of a chain': ({ square }) => [square(1).matmul(square(2)).matmul(square(3))],
  'normalized by the largest': ({ tall }) => [tall().div(tall().abs().max())],
  'a mask': ({ tall }) => [tall().greater(0).where(tall(), 0).sum(0), tall().greater(0).sum()],
};

/** The first are hand-written. `scale`: of the arrays' sizes. */
export function budgetJob(k: number, scale = 1): BudgetJob {
  const written = Object.entries(WRITTEN)[k];
  if (written !== undefined) return { name: written[0], results: written[1](arraysOf(scale)) };
  const seed = k - WRITTEN_JOBS;
  const { results, steps } = largeGraph(seed, { inPieces: seed % 2 === 1, scale });
  return { name: `seed ${seed}: ${steps.join(', ')}`, results };
}
export const WRITTEN_JOBS = Object.keys(WRITTEN).length;
/** All there are. */
export const BUDGET_JOBS = 200;

/** How a device's use of memory is measured. */
export interface Meter {
  /** Forgets what was held at most. */
  readonly begin: () => Promise<void>;
  /** The most bytes held since. */
  readonly peak: () => number;
}

/** The meter of a device; of a simulated one, the simulator counts. */
export async function meterOf(device: string, simulated: boolean): Promise<Meter> {
  const { memory, trim } = await import('../../src/exec/native/native.js');
  if (!simulated) {
    const name = device === 'cuda' ? 'cuda:0' : device;
    const peak = (): number => {
      const report = memory().find((one) => one.device === name);
      if (report === undefined) throw new Error(`${name} has no memory report`);
      return report.workPeak;
    };
    return { begin: trim, peak };
  }
  const { describeSimulator, show, takeProblems } = await import('../sim/simulator.js');
  return {
    begin: async () => {
      await trim();
      const problems = takeProblems().map(show);
      if (problems.length > 0) throw new Error(problems.join('\n'));
    },
    peak: () => describeSimulator().devices[0]!.peak,
  };
}

/** Budgets between none and the least: this many. */
const BETWEEN = 4;
/** How exactly the least budget is found, as a part of it. */
const EXACTLY = 1.1;

/** Budgets with which a job is planned: those that are given, or what its refusal names instead. */
export function enoughFor(results: readonly Lazy[], options: ComputeOptions): ComputeOptions {
  try {
    plan(results, options);
    return options;
  } catch (error) {
    if (error instanceof MemoryError) return { ...options, ...error.needed };
    throw error;
  }
}

/** The least budget that a job can be planned for, about. */
export const leastBudgetOf = (results: readonly Lazy[], options: ComputeOptions): number =>
  enoughFor(results, { ...options, memory: 1 }).memory as number;

/**
 * None (for what needs nothing, no other), the least that a job can be planned for, and some between them.
 */
export function budgetsFor(results: readonly Lazy[], device: string): number[] {
  const whole = plan(results, { device }).peakBytes;
  if (whole === 0) return [Number.POSITIVE_INFINITY];
  const fits = leastBudgetOf(results, { device });
  const ratio = (whole / fits) ** (1 / (BETWEEN + 1));
  const between = Array.from({ length: BETWEEN }, (_, k) => Math.floor(whole / ratio ** (k + 1)));
  // So near the least, blocks of whole units may fit less well.
  const sure = between.filter((bytes) => bytes >= EXACTLY * fits);
  return [...new Set([Number.POSITIVE_INFINITY, ...sure, fits])];
}

export interface BudgetReport {
  readonly job: string;
  readonly budget: number;
  readonly planned: number;
  readonly measured: number;
  readonly tiles: number;
}

export const bitsOf = ({ data }: NDArray): Buffer =>
  Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/**
 * How far elements may be apart where a library orders the sums of products, relative to the largest: halves
 * by one rounding.
 */
const CLOSE = 1e-4;
const CLOSE_HALVES = 2 ** -11;

const numbersOf = ({ data, dtype, size }: NDArray): Float64Array =>
  Float64Array.from({ length: size }, (_, k) => Number(readElement(data, dtype, k)));

function areClose(a: NDArray, b: NDArray): boolean {
  const [x, y] = [a, b].map(numbersOf);
  const scale = x!.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const most = (a.dtype === 'float16' ? CLOSE_HALVES : CLOSE) * scale;
  return x!.every((value, k) => Object.is(value, y![k]) || Math.abs(value - y![k]!) <= most);
}

/** Whether a library multiplies matrices of the job: it orders sums by what suits the shape of a part. */
export const hasVendorProducts = (results: readonly Lazy[], device: string): boolean =>
  (device !== 'cpu' || cpuInfo().blas !== null) &&
  explain(results, { device }).steps.some(({ name }) => name === 'matmul');

/** Computes a job under all its budgets: what each took, and what is wrong. */
export async function checkBudgets(
  { name, results }: BudgetJob,
  device: string,
  { begin, peak }: Meter,
): Promise<{ readonly reports: readonly BudgetReport[]; readonly wrong: readonly string[] }> {
  const reports: BudgetReport[] = [];
  const wrong: string[] = [];
  const vendor = hasVendorProducts(results, device);
  let wanted: readonly NDArray[] | undefined;
  for (const budget of budgetsFor(results, device)) {
    const options = { device, memory: budget };
    let summary: ReturnType<typeof plan>;
    try {
      summary = plan(results, options);
    } catch (error) {
      // A budget above one that fits.
      wrong.push(`${name}: refused at ${budget}: ${(error as Error).message}`);
      continue;
    }
    await begin();
    const found = await compute(results, options);
    const measured = peak();
    wanted ??= found;
    const { peakBytes } = summary;
    const tiles = summary.sweeps.reduce((sum, sweep) => sum + sweep.tiles, 0);
    reports.push({ job: name, budget, planned: peakBytes, measured, tiles });
    const at = `${name}: at ${budget}, planned ${peakBytes}, measured ${measured}`;
    const isSame = (array: NDArray, k: number): boolean =>
      bitsOf(array).equals(bitsOf(wanted![k]!)) || (vendor && areClose(array, wanted![k]!));
    if (!found.every(isSame)) wrong.push(`${at}: other bits`);
    // Where memory is watched, buffers that a plan places over each other are blocks side by side.
    if (process.env.WEFT_POISON === '1') continue;
    if (measured > budget) wrong.push(`${at}: over the budget`);
    if (measured > peakBytes) wrong.push(`${at}: over the plan`);
    if (peakBytes > MOST_OVER * measured) wrong.push(`${at}: the plan says too much`);
  }
  return { reports, wrong };
}

/** The peaks that plans may say, relative to the memory held. */
const MOST_OVER = 1.25;

/** Why less than the least budget is refused. */
export function refusalOf({ results }: BudgetJob, device: string, reports: readonly BudgetReport[]): string {
  const least = Math.min(...reports.map(({ planned: bytes }) => bytes));
  try {
    return `${plan(results, { device, memory: Math.max(1, Math.floor(least / EXACTLY)) }).peakBytes} planned with less`;
  } catch (error) {
    return (error as Error).message.replaceAll(/\n.*/gs, '');
  }
}
