/** The predicted times of calls on a GPU, held to measured ones, and what they follow. */
import { describe, expect, it } from 'vitest';
import { callCase, callCases } from '../../bench/call-corpus.js';
import { apart, callsAnew, callsOf } from '../../bench/cost-predictions.js';
import { median } from '../../bench/statistics.js';
import { USUAL_RATES } from '../../src/codegen/cuda/launch-seconds.js';
import { CALLS } from '../../src/exec/calls/table.js';
import { CUDA_CALL_RATES } from '../../src/exec/targets/cuda-call-rates.js';
import { launchedWith, secondsOfCudaCall } from '../../src/exec/targets/cuda-call-seconds.js';
import { limitsOf } from '../../src/exec/targets/cuda-device.js';
import { gpuOf } from '../../src/exec/targets/device.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { byteLengthOf } from '../../src/graph/dtype.js';
import { fft, type Lazy, linalg, placeholder } from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';

const FOLDER = 'bench/results';
const GPU = gpuOf('sm_90');
/** Of the H200 that they were measured on, as its driver tells it. */
const MEMORY_RATE = 4.917e12;

/** The seconds of the calls of an expression. */
function secondsOf(x: Lazy, rates = USUAL_RATES, part = 1): number {
  const { plan } = planOnDevice(canonicalize([x.expr]), GPU, { destination: 'device' });
  const launchedAs = launchedWith(limitsOf(GPU));
  return plan.steps.reduce(
    (sum, step) => sum + (step.kind === 'call' ? secondsOfCudaCall(step, part, launchedAs, rates)! : 0),
    0,
  );
}

describe('the times of calls on a GPU', () => {
  // The kernels of attention have changed in the evening of the 28th.
  it.each([
    ['2026-11-27-h200-calls/fitted', 4, 0.02],
    ['2026-11-27-h200-calls/held-out', 2, 0.02],
    ['2026-11-28-h200-calls/held-out', 1, 0.01],
    ['2026-11-28-h200-calls-held-out/seed-35', 1, 0.01],
    ['2026-11-28-h200-calls-held-out/seed-139', 1, 0.02],
    ['2026-11-28-h200-calls-held-out/seed-40-evening', 1, 0.001],
    ['2026-11-28-h200-calls-held-out/seed-140-evening', 1, 0.001],
    ['2026-11-29-h200-calls/seed-40', 1, 0.005],
    ['2026-11-29-h200-calls/seed-240', 1, 0.001],
    ['2026-11-29-h200-calls/seed-41', 1, 0.001],
    ['2026-11-29-h200-calls/seed-241', 1, 0.001],
    ['2026-11-29-h200-calls/seeds-42-242', 1, 0.004],
  ] as const)('are predicted within 1.25 at the median, of all but few within 2: %s', (file, every, most) => {
    const ratios = callsAnew(`${FOLDER}/${file}.jsonl`, GPU, {
      isWanted: (_, k) => k % every === 1 % every,
      memoryRate: MEMORY_RATE,
    })
      .filter(({ family }) => family !== 'attention' || file.endsWith('evening'))
      .map(apart);
    expect(ratios.length).toBeGreaterThan(150);
    expect(median(ratios)).toBeLessThan(1.25);
    expect(ratios.filter((ratio) => ratio > 2).length / ratios.length).toBeLessThan(most);
  });

  // Microseconds of an H200.
  it.each([
    ['running sum of columns', 'float32', '1511x3323', 0, 18.4],
    ['running sum of columns', 'float64', '63127x48', 0, 27.2],
    ['running sum of columns', 'float64', '95x43317', 0, 23],
    ['running sum of columns', 'float32', '237791x23', 0, 35.7],
    ['inverse', 'complex64', '40x40', 6, 46.6],
  ] as const)('follow what moves and what waits: %s of %s %s', (family, dtype, size, at, measured) => {
    const calls = callsOf(callCase(family, dtype, size)!, GPU);
    const { step } = calls.find(({ label }) => label.endsWith(` ${at}`))!;
    const seconds = secondsOfCudaCall(step, 1, launchedWith(limitsOf(GPU)), {
      ...USUAL_RATES,
      memoryRate: MEMORY_RATE,
    })!;
    expect((1e6 * seconds) / measured).toBeGreaterThan(0.75);
    expect((1e6 * seconds) / measured).toBeLessThan(1.33);
  });

  it('have rates of calls that there are', () => {
    expect(Object.keys(CUDA_CALL_RATES).filter((call) => !(call in CALLS))).toEqual([]);
  });

  it('have rates of the kernels and libraries that calls have', () => {
    const launchedAs = launchedWith(limitsOf(GPU));
    const unseen = new Set(
      Object.entries(CUDA_CALL_RATES).flatMap(([call, ways]) =>
        Object.keys(ways).map((by) => `${call}: ${by}`),
      ),
    );
    for (const one of callCases(false)) {
      if (unseen.size === 0) break;
      // Kernels of wide dtypes have the same names.
      if (byteLengthOf(one.dtype) > 4 && one.dtype !== 'complex64') continue;
      for (const { step } of callsOf(one, GPU)) unseen.delete(`${step.call}: ${launchedAs(step).by}`);
    }
    expect([...unseen]).toEqual([]);
  });

  it('grow with stacks and shrink with multiprocessors, but not those of one matrix', () => {
    const factors = (...shape: number[]): Lazy => linalg.cholesky(placeholder(shape, 'float64'));
    const [one, many] = [factors(1, 20, 20), factors(20_000, 20, 20)];
    const half = { ...USUAL_RATES, multiprocessors: USUAL_RATES.multiprocessors / 2 };
    expect(secondsOf(many)).toBeGreaterThan(3 * secondsOf(one));
    expect(secondsOf(many, half)).toBeGreaterThan(1.5 * secondsOf(many));
    expect(secondsOf(one, half)).toBeLessThan(1.1 * secondsOf(one));
  });

  it('of columns follow whole tiles, whose axis may end before', () => {
    const sums = (rows: number, columns: number): number =>
      secondsOf(placeholder([rows, columns], 'float64').cumulativeSum(0));
    expect(sums(3, 200_000) / sums(30, 200_000)).toBeGreaterThan(0.7);
    expect(sums(3, 32) / sums(3, 4000)).toBeGreaterThan(0.9);
    expect(sums(129, 3_000)).toBeGreaterThan(1.2 * sums(128, 3_000));
  });

  it('of triangles in blocks follow the right sides of a warp', () => {
    const lower = (sides: number): number =>
      secondsOf(
        linalg.solveTriangular(placeholder([60, 60], 'float64'), placeholder([60, sides], 'float64'), {
          lower: true,
        }),
      );
    expect(lower(4) / lower(1)).toBeCloseTo(1, 1);
    expect(lower(16)).toBeGreaterThan(3 * lower(4));
  });

  it('of triangles and small systems follow their right sides', () => {
    const matrix = placeholder([1, 20, 20], 'float32');
    const solved = (sides: number): number =>
      secondsOf(linalg.solve(matrix, placeholder([1, 20, sides], 'float32')));
    expect(solved(20)).toBeGreaterThan(3 * solved(1));
    const large = placeholder([400, 400], 'float64');
    const lower = (sides: number): number =>
      secondsOf(linalg.solveTriangular(large, placeholder([400, sides], 'float64'), { lower: true }));
    expect(lower(400)).toBeGreaterThan(2 * lower(1));
  });

  it('follow the blocks that small matrices, and the threads that short rows, fill up', () => {
    const product = (n: number): number =>
      secondsOf(placeholder([2000, n, n], 'float64').matmul(placeholder([2000, n, n], 'float64')));
    expect(product(33)).toBeGreaterThan(1.5 * product(32));
    expect(product(63) / product(64)).toBeCloseTo(1, 1);
    const ordered = (n: number): number => secondsOf(placeholder([20, n], 'float32').argsort(1));
    expect(ordered(257)).toBeGreaterThan(1.5 * ordered(256));
    expect(ordered(257) / ordered(512)).toBeGreaterThan(0.8);
    const sums = (n: number): number => secondsOf(placeholder([8, n], 'float32').cumulativeSum(1));
    expect(sums(1000)).toBeGreaterThan(1.3 * sums(1100));
  });

  it('follow slower kernels of libraries: of transforms with large primes, halves at odd places, few rows', () => {
    const transformed = (n: number): number => secondsOf(fft.fft(placeholder([50, n], 'complex64')));
    expect(transformed(1009)).toBeGreaterThan(1.5 * transformed(1024));
    const halves = (n: number): number =>
      secondsOf(placeholder([n, n], 'float16').matmul(placeholder([n, n], 'float16')));
    expect(halves(1001)).toBeGreaterThan(2 * halves(1000));
    const factors = (rows: number): number =>
      secondsOf(linalg.qr(placeholder([10, rows, 90], 'complex128')).r);
    expect(factors(128)).toBeGreaterThan(1.5 * factors(140));
  });

  it('of many rows in order follow the launches that order them together', () => {
    const ordered = (rows: number): number => secondsOf(placeholder([rows, 20_000], 'float64').argsort(1));
    expect(ordered(64)).toBeLessThan(40 * ordered(1));
  });

  it('of a library follow its calls, a matrix each, and parts of a stack', () => {
    const factors = (count: number): Lazy => linalg.qr(placeholder([count, 300, 300], 'float32')).r;
    expect(secondsOf(factors(8)) / secondsOf(factors(1))).toBeCloseTo(8, 1);
    expect(secondsOf(factors(8), USUAL_RATES, 0.5) / secondsOf(factors(4))).toBeCloseTo(1, 1);
  });

  it('follow the rate of memory where bytes decide', () => {
    const sums = placeholder([2 ** 24], 'float32').cumulativeSum();
    const slow = { ...USUAL_RATES, memoryRate: USUAL_RATES.memoryRate / 4 };
    expect(secondsOf(sums, slow)).toBeGreaterThan(2 * secondsOf(sums));
  });
});
