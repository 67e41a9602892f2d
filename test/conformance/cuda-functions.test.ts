/**
 * elementwiseCuda() and reductionCuda(): functions in CUDA C, with versions for the CPU, on every backend; those of
 * CuPy's user guide among them.
 */
import { describe, expect, it } from 'vitest';
import { lazy } from '../../src/api/creation.js';
import { elementwiseCuda } from '../../src/api/cuda-functions.js';
import { reductionCuda } from '../../src/api/cuda-reductions.js';
import { elementwise } from '../../src/api/element-functions.js';
import type { Lazy } from '../../src/api/lazy.js';
import { arange } from '../../src/api/ranges.js';
import { run } from '../support/api.js';
import { backends } from '../support/backends.js';
import { toScalars } from '../support/host.js';

const difference = (x: number, y: number): number => (x - y) * (x - y);
const squaredDiff = elementwiseCuda('T x, T y', 'T z', 'z = (x - y) * (x - y)', {
  name: 'squared_diff',
  cpu: difference,
});
const l2norm = reductionCuda('T x', 'T y', 'x * x', 'a + b', 'y = sqrt(a)', '0', {
  name: 'l2norm',
  cpu: {
    map: (x: number) => x * x,
    combine: (a: number, b: number) => a + b,
    finish: (a: number) => Math.sqrt(a),
  },
});
/** The largest, by a function of the preamble; CUDA's `max` has another order of zeros and NaN than `Math.max`. */
const larger = (a: number, b: number): number => {
  if (a > b) return a;
  return b;
};
const largest = reductionCuda(
  'T x',
  'T y, float64 mean',
  'x',
  'larger(a, b)',
  'y = a; mean = double(a) / _in_ind.size()',
  -1000,
  {
    preamble: 'static __device__ T larger(T a, T b) {\n  return a > b ? a : b;\n}\n#define UNUSED 7',
    cpu: { map: (x: number) => x, combine: larger, finish: (a: number, n: number) => [a, a / n] },
  },
);

/** The element farthest from 0, the first of equal ones, with its place: an accumulator of two numbers. */
const farther = ([a, i]: [number, number], [b, j]: [number, number]): [number, number] => {
  if (Math.abs(b) > Math.abs(a)) return [b, j];
  return [a, i];
};
const farthest = reductionCuda(
  'T x',
  'T most, int64 at, U half',
  '{x, i}',
  'farther(a, b)',
  'most = a.value; at = a.at; half = fabs((double)a.value) / 2',
  [0, -1],
  {
    reduceType: 'T value, int64 at',
    preamble: `__device__ accumulator farther(const accumulator& a, const accumulator& b) {
  return fabs((double)b.value) > fabs((double)a.value) ? b : a;
}`,
    cpu: {
      map: (x: number, i: number) => [x, i],
      combine: farther,
      finish: ([x, i]: [number, number]) => [x, i, Math.abs(x) / 2],
    },
  },
);

describe.each(backends())('functions in CUDA C on %s', (device) => {
  const isCuda = device.startsWith('cuda');
  const isPlanned = isCuda || device === 'cpu';
  const whyNotPlanned = isPlanned ? '' : ' (skipped: this backend has no plans, and no budgets)';
  const whyNotCuda = isCuda ? '' : ' (skipped: raw parameters have no version for the CPU)';
  const numbersOf = async (...arrays: Lazy[]): Promise<number[][]> =>
    (await run(device, arrays)).map((x) => toScalars(x).map(Number));

  it('compute each element, in one kernel with what is around them, for any dtype', async () => {
    const x = arange(12, { dtype: 'float32' }).reshape([3, 4]);
    const y = lazy([1, 2, 3, 4]).astype('float32');
    const z = squaredDiff(x.add(1), y).sum(1);
    const whole = squaredDiff(lazy([1n, 2n]).astype('int64'), 5);
    const half = squaredDiff(lazy([1, 2.5]).astype('float16'), 0.5);
    expect([z.dtype, whole.dtype, half.dtype]).toEqual(['float32', 'int64', 'float16']);
    expect(await numbersOf(z, whole, half)).toEqual([
      [0, 64, 256],
      [16, 9],
      [0.25, 4],
    ]);
    if (isPlanned) expect(z.explain({ device }).steps).toHaveLength(1);
  });

  it('have several results, empty arrays, scalars, a place and a size', async () => {
    const both = elementwiseCuda('T x, U y', 'T s, int64 at', 's = x + (T)y; at = n - 1 - i;', {
      cpu: (x: number, y: number, i: number, n: number) => [x + y, n - 1 - i],
    });
    const [s, at] = both(lazy([[1], [2]]), lazy([1n, 2n, 3n]).astype('int64')) as [Lazy, Lazy];
    expect(await numbersOf(s, at)).toEqual([
      [2, 3, 4, 3, 4, 5],
      [5, 4, 3, 2, 1, 0],
    ]);
    expect(await numbersOf(squaredDiff(lazy([]), 1), squaredDiff(5, 3))).toEqual([[], [4]]);
  });

  it('have the arithmetic of complex numbers, and booleans', async () => {
    const turned = elementwiseCuda(
      'T x, bool b',
      'T z, bool c',
      'z = b ? x * T(0, 1) : conj(x) + 1; c = !b && real(x) > 1',
      {
        cpu: ((x: number, b: boolean) => [x, !b]) as never,
      },
    );
    if (!isCuda) return;
    const x = lazy([
      { re: 1, im: 2 },
      { re: 3, im: -4 },
    ]).astype('complex64');
    const [z, c] = turned(x, lazy([true, false])) as [Lazy, Lazy];
    const [found, flags] = await run(device, [z, c]);
    expect([toScalars(found!), toScalars(flags!)]).toEqual([
      [
        { re: -2, im: 1 },
        { re: 4, im: 4 },
      ],
      [false, true],
    ]);
  });

  it('may be called by functions of scalars, in loops too', async () => {
    const half = elementwiseCuda('T x', 'T z', 'z = x / 2', { cpu: (x: number) => x / 2 });
    const halvings = (x: number): number => {
      let n = 0;
      let v = x;
      while (v > 1) {
        v = (half as unknown as (x: number) => number)(v);
        n++;
      }
      return n;
    };
    const steps = elementwise(halvings, { captures: { half } });
    expect(await numbersOf(steps(lazy([0.5, 2, 9, 1000])))).toEqual([[0, 1, 4, 10]]);
  });

  it.skipIf(!isPlanned)(`reduce over any axes, in one kernel${whyNotPlanned}`, async () => {
    const x = arange(24, { dtype: 'float32' }).reshape([2, 3, 4]);
    const norms = l2norm(x.mul(2), [0, 2]);
    const [y, mean] = largest(x, { axis: 1, keepdims: true }) as [Lazy, Lazy];
    expect([norms.dtype, y.shape, mean.dtype]).toEqual(['float32', [2, 1, 4], 'float64']);
    const [found, most, means] = await numbersOf(norms, y, mean);
    expect(found).toEqual([0, 1, 2].map((j) => Math.fround(Math.sqrt(sumOf(j)))));
    expect(most).toEqual([8, 9, 10, 11, 20, 21, 22, 23]);
    expect(means).toEqual(most!.map((v) => v / 24));
    expect(norms.explain({ device }).steps).toHaveLength(1);
    expect(await numbersOf(l2norm(lazy(new Float64Array(0)), null), l2norm([3, 4], 0))).toEqual([[0], [5]]);
  });

  it.skipIf(!isPlanned)(`reduce accumulators of several numbers, in one kernel${whyNotPlanned}`, async () => {
    const x = lazy([
      [3, -7, 9, 1, 9],
      [2, 2, -8, 0, 1],
    ]).astype('float32');
    const [most, at, size] = farthest(x, { axis: 1, dtypes: { U: 'float64' } }) as unknown as [
      Lazy,
      Lazy,
      Lazy,
    ];
    expect([most.dtype, at.dtype, size.dtype]).toEqual(['float32', 'int64', 'float64']);
    expect(await numbersOf(most, at, size)).toEqual([
      [9, -8],
      [2, 7],
      [4.5, 4],
    ]);
    expect(most.add(size).explain({ device }).steps).toHaveLength(1);
    expect(
      await numbersOf(farthest(lazy(new Float32Array(0)), { axis: 0, dtypes: { U: 'float32' } })[1]!),
    ).toEqual([[-1]]);
  });

  it.skipIf(!isCuda)(`may read arrays as a whole, also within a budget${whyNotCuda}`, async () => {
    const addReverse = elementwiseCuda('T x, raw T y', 'T z', 'z = x + y[_ind.size() - i - 1]', {
      name: 'add_reverse',
    });
    const x = arange(1000, { dtype: 'float32' });
    const reversed = addReverse(x, x.mul(10));
    const wanted = Array.from({ length: 1000 }, (_, k) => k + 10 * (999 - k));
    expect(await numbersOf(reversed)).toEqual([wanted]);
    const edges = elementwiseCuda('raw T y', 'T z', 'z = i < y.size() ? y[y.shape()[1] + i] : T(-1)');
    expect(
      await numbersOf(
        edges(
          lazy([
            [1, 2],
            [3, 4],
          ]).astype('float16'),
          { shape: 2 },
        ),
      ),
    ).toEqual([[3, 4]]);
    const places = elementwiseCuda('', 'float64 z', 'z = i * 0.5');
    expect(await numbersOf(places({ shape: [3] }))).toEqual([[0, 0.5, 1]]);
  });
});

/** The sum of squares of 2 x[:, j, :]. */
function sumOf(j: number): number {
  let sum = 0;
  for (const i of [0, 1]) for (const k of [0, 1, 2, 3]) sum += (2 * (12 * i + 4 * j + k)) ** 2;
  return sum;
}
