/**
 * Reductions and scans by monoids of the user's own on the CPU and GPUs: elements keep their order along any axes, in one kernel with
 * what is around it, and bits do not depend on budgets.
 */
import { describe, expect, it } from 'vitest';
import { arange, elementwise, type Lazy, lazy, reduction, scan } from '../../src/index.js';
import { backends } from '../support/backends.js';

const devices = backends().filter((device) => device === 'cpu' || device.startsWith('cuda'));
const PRIME = 8191;
type Affine = readonly [scale: number, offset: number];
/** Composition of affine functions modulo a prime: associative and exact, and does not commute. */
const composed = reduction({
  identity: [1, 0],
  map: (x: number): Affine => [2, x],
  combine: ([a, b]: Affine, [c, d]: Affine): Affine => [(a * c) % PRIME, (b * c + d) % PRIME],
  finish: ([, offset]: Affine) => offset,
  captures: { PRIME },
});
/** Horner's rule along the axes of a shape, by a loop. */
function composedByLoop(
  data: readonly number[],
  shape: readonly number[],
  axes: readonly number[],
): number[] {
  const results: number[] = [];
  const strides = shape.map((_, k) => shape.slice(k + 1).reduce((a, b) => a * b, 1));
  const walk = (order: readonly number[], at: number, each: (at: number) => void): void => {
    const [axis, ...rest] = order;
    if (axis === undefined) each(at);
    else for (let k = 0; k < shape[axis]!; k++) walk(rest, at + k * strides[axis]!, each);
  };
  walk(
    shape.map((_, k) => k).filter((k) => !axes.includes(k)),
    0,
    (row) => {
      let value = 0;
      walk(axes, row, (at) => {
        value = (2 * value + data[at]!) % PRIME;
      });
      results.push(value);
    },
  );
  return results;
}

type Moments = readonly [count: number, mean: number, squares: number];
/** Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979. */
const moments = reduction({
  identity: [0, 0, 0],
  map: (x: number): Moments => [1, x, 0],
  combine: ([n, m, s]: Moments, [k, l, t]: Moments): Moments => {
    const [all, d] = [n + k, l - m];
    const share = all > 0 ? k / all : 0;
    return [all, m + d * share, s + t + d * d * n * share];
  },
  finish: ([n, m, s]: Moments): [number, number] => [m, s / n],
});

describe.each(backends().filter((device) => device === 'cpu' || device.startsWith('cuda')))(
  'monoids of the user on %s',
  (device) => {
    const elements = async (x: Lazy): Promise<number[]> =>
      Array.from((await x.compute({ device })).data, Number);

    it.each([
      [[33], [0]],
      [[5003], [0]],
      [[70, 1030], [1]],
      [[513, 7], [0]],
      [[300, 64], [0]],
      [[9, 40, 6], [1]],
      [
        [6, 50, 4],
        [0, 2],
      ],
      [
        [5, 9, 11],
        [0, 1, 2],
      ],
    ] as const)('keep the order of elements of %s along %s', async (shape, axes) => {
      const size = shape.reduce((a: number, b) => a * b, 1);
      const data = Array.from({ length: size }, (_, k) => (k * 7 + 3) % 23);
      const x = lazy(Float64Array.from(data)).reshape([...shape]);
      expect(await elements(composed(x, [...axes]))).toEqual(composedByLoop(data, shape, axes));
    });

    it('keep the order of elements that lie otherwise in memory', async () => {
      const data = Array.from({ length: 60 * 50 }, (_, k) => (k * 5 + 1) % 29);
      const x = lazy(Float64Array.from(data)).reshape([60, 50]);
      const turned = Array.from({ length: 50 * 60 }, (_, k) => data[(k % 60) * 50 + Math.floor(k / 60)]!);
      expect(await elements(composed(x.T, 1))).toEqual(composedByLoop(turned, [50, 60], [1]));
      expect(await elements(composed(x.T, null))).toEqual(composedByLoop(turned, [50, 60], [0, 1]));
      const back = Array.from(data).reverse();
      expect(await elements(composed(x.flip(), null))).toEqual(composedByLoop(back, [60, 50], [0, 1]));
    });

    it('are reductions of the table where they combine as these do', async () => {
      const range = reduction({
        identity: [0, Number.NEGATIVE_INFINITY],
        map: (x: number): [number, number] => [x, x],
        combine: (a: [number, number], b: [number, number]): [number, number] => [
          a[0] + b[0],
          Math.max(a[1], b[1]),
        ],
      });
      const x = lazy(new Float32Array([1, -2, 5, 4]));
      const [sum, most] = range(x);
      const { optimizedGraph } = sum.add(most).explain({ device });
      expect(String(optimizedGraph)).toContain('max over [0]');
      expect(await elements(sum.add(most))).toEqual([13]);
    });

    it('are one kernel with the maps around them, and one for all of their results', async () => {
      const x = lazy(Float32Array.from({ length: 4096 }, (_, k) => Math.sin(k))).reshape([4, 1024]);
      const scaled = elementwise((a: number) => a * 3 + 1)(x);
      const [mean, variance] = moments(scaled, 1);
      const score = mean.div(variance.sqrt());
      expect(score.explain({ device }).steps).toHaveLength(1);
      const wanted = scaled.mean(1).div(scaled.std(1));
      const [found, expected] = [await elements(score), await elements(wanted)];
      expect(found.map((value, k) => Math.abs(value / expected[k]! - 1) < 1e-4)).not.toContain(false);
    });

    it('have the same bits within a budget', async () => {
      const x = lazy(Float32Array.from({ length: 2 ** 17 }, (_, k) => Math.sin(k))).reshape([32, 4096]);
      for (const axis of [0, 1]) {
        const [mean] = moments(x, axis);
        const whole = await elements(mean);
        const limits = device === 'cpu' ? { hostMemory: 2 ** 20 } : { memory: 2 ** 18 };
        const { data } = await mean.compute({ device, ...limits });
        expect(Array.from(data, Number)).toEqual(whole);
      }
    });

    it('take integers, booleans, halves, and parts that are not used', async () => {
      const last = reduction({
        identity: [false, 0],
        map: (x: number): [boolean, number] => [x > 2, x],
        combine: (a: [boolean, number], b: [boolean, number]): [boolean, number] => [
          a[0] || b[0],
          b[0] ? b[1] : a[1],
        ],
        finish: ([, value]: [boolean, number]) => value,
      });
      expect(await elements(last(lazy(new Int32Array([1, 5, 4, 0, 2]))))).toEqual([4]);
      const half = reduction({ identity: 0, combine: (a: number, b: number) => a + b });
      const sum = half(lazy([1, 2, 3, 4.5]).astype('float16'));
      expect(sum.dtype).toBe('float16');
      expect(await elements(sum.astype('float64'))).toEqual([10.5]);
      expect(await elements(half(arange(100000).reshape([100, 1000]), 0).slice([0, 3]))).toEqual([
        4950000, 4950100, 4950200,
      ]);
    });
  },
);

describe.each(devices)('scans of the user on %s', (device) => {
  const elements = async (x: Lazy): Promise<number[]> =>
    Array.from((await x.compute({ device })).data, Number);
  const recurrence = scan({
    identity: [1, 0],
    map: (a: number, b: number): Affine => [a, b],
    combine: ([a, b]: Affine, [c, d]: Affine): Affine => [(a * c) % PRIME, (b * c + d) % PRIME],
    finish: ([, y]: Affine) => y,
    captures: { PRIME },
  });
  const byLoop = (a: readonly number[], b: readonly number[]): number[] => {
    let y = 0;
    return a.map((scale, k) => {
      y = (scale * y + b[k]!) % PRIME;
      return y;
    });
  };

  it.each(device === 'cpu' ? [1, 8, 9, 100, 5000] : [70])(
    'are linear recurrences of %s elements, from either end, with or without their own',
    async (n) => {
      const [a, b] = [2, 3].map((by) => Array.from({ length: n }, (_, k) => (k * by + 1) % 17)) as [
        number[],
        number[],
      ];
      const [x, y] = [a, b].map((values) => lazy(Float64Array.from(values))) as [Lazy, Lazy];
      const forward = byLoop(a, b);
      const backward = byLoop([...a].reverse(), [...b].reverse()).reverse();
      expect(await elements(recurrence(x, y))).toEqual(forward);
      if (device !== 'cpu') return; // the same kernels
      expect(await elements(recurrence(x, y, { exclusive: true }))).toEqual([0, ...forward.slice(0, -1)]);
      expect(await elements(recurrence(x, y, { reverse: true }))).toEqual(backward);
    },
  );

  it('go along any axis, and keep dtypes', async () => {
    const total = scan({ identity: 0, combine: (a: number, b: number) => a + b });
    const x = arange(3 * 20 * 2).reshape([3, 20, 2]);
    for (const axis of device === 'cpu' ? [1, -1, null] : [1])
      expect(await elements(total(x, axis))).toEqual(await elements(x.cumulativeSum(axis)));
    expect(total(x.astype('float32'), 1).dtype).toBe('float32');
    const most = scan({
      identity: [Number.NEGATIVE_INFINITY, 1],
      map: (a: number): [number, number] => [a % 7, a % 2 === 0 ? 1 : -1],
      combine: ([a, b]: [number, number], [c, d]: [number, number]): [number, number] => [
        Math.max(a, c),
        b * d,
      ],
    });
    const [largest, signs] = most(x, { axis: 1, reverse: true }) as [Lazy, Lazy];
    expect(await elements(largest)).toEqual(
      await elements(x.remainder(7).cumulativeMax(1, { reverse: true })),
    );
    expect((await elements(signs)).slice(-4)).toEqual([1, 1, 1, -1]);
    expect(await elements(total(x.slice([0, 0]), 1))).toEqual([]);
  });
});
