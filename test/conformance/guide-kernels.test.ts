/** The examples of the user guides of CuPy and Numba; those that `user-kernels` and `cuda-functions` have stand there. */
import { describe, expect, it } from 'vitest';
import { lazy } from '../../src/api/creation.js';
import { elementwiseCuda } from '../../src/api/cuda-functions.js';
import { elementwise } from '../../src/api/element-functions.js';
import type { Lazy } from '../../src/api/lazy.js';
import { iterate } from '../../src/api/loops.js';
import { arange } from '../../src/api/ranges.js';
import { reduction } from '../../src/api/user-reductions.js';
import { run } from '../support/api.js';
import { backends } from '../support/backends.js';
import * as guide from '../support/guide-kernels.js';
import { toScalars } from '../support/host.js';

const devices = backends().filter((device) => !['reference', 'interpreted'].includes(device));
const x1 = arange(25, { dtype: 'float32' });

describe.each(devices)("the guides' kernels on %s", (device) => {
  const numbersOf = async (x: Lazy): Promise<number[]> => toScalars((await run(device, [x]))[0]!).map(Number);

  it('of CuPy: a copy by strides of the grid', async () => {
    const x = arange(1000, { dtype: 'float32' });
    expect(await numbersOf(guide.elementwiseCopy(x, 1000))).toEqual([...Array(1000).keys()]);
  });

  const why = device === 'cpu' ? ' (skipped: CUDA C without a version for the CPU)' : '';
  it.skipIf(device === 'cpu')(
    `of CuPy: squared differences, generic or not, and two kernels of a module${why}`,
    async () => {
      const text = 'z = (x - y) * (x - y)';
      const plain = elementwiseCuda('float32 x, float32 y', 'float32 z', text, { name: 'squared_diff' });
      const generic = elementwiseCuda('X x, Y y', 'X z', text, { name: 'squared_diff_generic' });
      const x = arange(10, { dtype: 'float32' }).reshape([2, 5]);
      const y = arange(5, { dtype: 'float32' });
      const wanted = [0, 0, 0, 0, 0, 25, 25, 25, 25, 25];
      expect(await numbersOf(plain(x, y))).toEqual(wanted);
      expect(await numbersOf(plain(x, 5))).toEqual([25, 16, 9, 4, 1, 0, 1, 4, 9, 16]);
      expect(await numbersOf(generic(x, y.astype('int64')))).toEqual(wanted);
      const [sum, product] = [guide.ofModule('test_sum'), guide.ofModule('test_multiply')];
      const both = sum(x1, x1, 25).add(product(x1, x1, 25));
      expect(await numbersOf(both)).toEqual([...Array(25).keys()].map((k) => 2 * k + k * k));
    },
  );

  it('of Numba: functions of elements and of rows, and a reduction', async () => {
    const f = elementwise((x: number, y: number) => x + y);
    const a = arange(6, { dtype: 'int64' }).reshape([2, 3]);
    expect(await numbersOf(f(a, a))).toEqual([0, 2, 4, 6, 8, 10]);
    expect(await numbersOf(guide.rowsPlus(a, arange(2, { dtype: 'int64' }).add(10n)))).toEqual([
      10, 11, 12, 14, 15, 16,
    ]);
    const sumReduce = reduction({ identity: 0, combine: (x: number, y: number) => x + y });
    expect(await numbersOf(sumReduce(arange(1234, { dtype: 'float64' }).add(1), null))).toEqual([
      (1234 * 1235) / 2,
    ]);
  });

  it('of Numba: vectors, a function of both, heat in a rod and sessions of users', async () => {
    const [a, b] = [arange(70), arange(70).mul(0.5)];
    expect(await numbersOf(guide.vectorSum(a, b))).toEqual(await numbersOf(a.add(b)));
    const [found, wanted] = await Promise.all([
      numbersOf(guide.applied(a, b, b)),
      numbersOf(elementwise(guide.businessLogic)(a, b, b)),
    ]);
    expect(
      found.map((value, k) => Math.abs(value - wanted[k]!) <= 1e-9 * Math.abs(wanted[k]!)),
    ).not.toContain(false);
    const rod = Float64Array.from({ length: 66 }, (_, k) => (k === 33 ? 1024 : 0));
    let u = [...rod];
    for (let step = 0; step < 5; step++)
      u = u.map((x, k) => (k === 0 || k === 65 ? x : x + 0.25 * (u[k - 1]! - 2 * x + u[k + 1]!)));
    expect(await numbersOf(iterate(5, lazy(rod), (x: Lazy) => guide.cooled(x) as Lazy))).toEqual(u);
    const ids = lazy([1, 1, 1, 2, 2, 2, 2, 3, 3].map(BigInt)).astype('int64');
    const times = lazy([0, 10, 400, 0, 100, 150, 600, 0, 5].map(BigInt)).astype('int64');
    expect(await numbersOf(guide.sessions(ids, times, 120))).toEqual([0, 0, 2, 3, 3, 3, 6, 7, 7]);
  });

  it('of Numba: products, a transposition, points in a circle and Laplace’s equation', async () => {
    const a = arange(24, { dtype: 'float64' }).reshape([4, 6]);
    const b = arange(30, { dtype: 'float64' }).reshape([6, 5]);
    expect(await numbersOf(guide.product(a, b))).toEqual(await numbersOf(a.matmul(b)));
    const x = arange(13 * 19, { dtype: 'float32' }).reshape([13, 19]);
    expect(await numbersOf(guide.transposed(x))).toEqual(await numbersOf(x.permuteDims()));
    const inside = await numbersOf(guide.pointsInside(200).sum());
    expect(inside).toEqual([pointsInside(128, 200)]);
    const plate = lazy(
      Float64Array.from({ length: 100 }, (_, k) => (k % 10 === 0 ? 1 : 0)),
      { shape: [10, 10] },
    );
    const found = await numbersOf(iterate(20, plate, (t: Lazy) => guide.relaxed(t) as Lazy));
    expect(found).toEqual(laplace(20));
  });
});

/** The same draws in JavaScript. */
function pointsInside(threads: number, points: number): number {
  let count = 0;
  for (let i = 0; i < threads; i++) {
    let state = Math.imul(i + 1, 2654435769);
    const drawn = (): number => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 8) / 16777216;
    };
    for (let k = 0; k < points; k++) {
      const [x, y] = [drawn(), drawn()];
      if (x * x + y * y <= 1) count++;
    }
  }
  return count;
}

/** The same steps in JavaScript. */
function laplace(steps: number): number[] {
  let a = Array.from({ length: 100 }, (_, k): number => (k % 10 === 0 ? 1 : 0));
  for (let step = 0; step < steps; step++)
    a = a.map((v, k) => {
      const [i, j] = [Math.floor(k / 10), k % 10];
      if (i === 0 || j === 0 || i === 9 || j === 9) return v;
      return 0.25 * (a[k + 1]! + a[k - 1]! + a[k - 10]! + a[k + 10]!);
    });
  return a;
}
