/** Weighted sums of neighbours, on a torus, beside zeros and inside of the array, beside loops over the elements. */
import { describe, expect, it } from 'vitest';
import { type DType, type Lazy, lazy } from '../../src/index.js';
import { backends } from '../support/backends.js';
import { generator } from '../support/random.js';

/** What lies beyond an edge: the other end, zeros, or nothing, so that results are shorter. */
type Edge = 'wrap' | 'pad' | 'slice';

interface Window {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly edges: readonly Edge[];
  readonly offsets: readonly (readonly number[])[];
  readonly weights: readonly number[];
  readonly values: Float64Array;
  readonly reach: number;
}

const DTYPES = ['float32', 'float64', 'float16', 'uint8', 'int32'] as const;
const ERRORS: Partial<Record<DType, number>> = { float32: 2e-6, float64: 1e-14, float16: 0.03 };

function drawn(seed: number): Window {
  const random = generator(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const axes = 1 + below(3);
  const dtype = pick(DTYPES);
  const reach = pick(
    [
      [1, 2, 8, 32, 64],
      [1, 2, 4],
      [1, 2],
    ][axes - 1]!,
  );
  const width = 2 * reach + 1;
  const most = [2000, 70, 12][axes - 1]!;
  const shape = Array.from({ length: axes }, () => width + 1 + below(most));
  if (random() < 0.5) shape[axes - 1] = Math.ceil(shape[axes - 1]! / 8) * 8;
  const edges = shape.map(() => pick<Edge>(['wrap', 'wrap', 'pad', 'slice']));
  let offsets: number[][] = [[]];
  for (let k = 0; k < axes; k++)
    offsets = offsets.flatMap((o) => Array.from({ length: width }, (_, d) => [...o, d - reach]));
  if (random() < 0.3) offsets = offsets.filter((o) => o.filter((d) => d !== 0).length <= 1);
  const isWhole = dtype === 'uint8' || dtype === 'int32';
  const scale = isWhole ? 1 : 1024;
  const values = Float64Array.from({ length: shape.reduce((a, b) => a * b) }, () => below(200) / scale);
  const weights = offsets.map(() => (1 + below(3)) / (isWhole ? 1 : 4));
  return { shape, dtype, edges, offsets, weights, values, reach };
}

function written({ shape, dtype, edges, offsets, weights, values, reach }: Window): Lazy {
  const padded = lazy(values, { shape })
    .astype(dtype)
    .pad(edges.map((edge) => (edge === 'pad' ? [reach, reach] : [0, 0])));
  const wrapped = edges.flatMap((edge, axis) => (edge === 'wrap' ? [axis] : []));
  const terms = offsets.map((offset, k) => {
    const rolled = padded.roll(
      wrapped.map((axis) => -offset[axis]!),
      wrapped,
    );
    const ranges = edges.map((edge, axis): readonly [number, number] | null => {
      const first = reach + offset[axis]!;
      const size = shape[axis]!;
      return edge === 'wrap' ? null : [first, first + (edge === 'pad' ? size : size - 2 * reach)];
    });
    return rolled.slice(...ranges).mul(weights[k]!);
  });
  return terms.reduce((sum, term) => sum.add(term));
}

/** The sums, and those of absolute values. */
function byLoop({
  shape,
  edges,
  offsets,
  weights,
  values,
  reach,
}: Window): readonly (readonly [number, number])[] {
  const sizes = shape.map((size, axis) => (edges[axis] === 'slice' ? size - 2 * reach : size));
  const count = sizes.reduce((a, b) => a * b);
  return Array.from({ length: count }, (_, element) => {
    let [sum, size] = [0, 0];
    for (const [k, offset] of offsets.entries()) {
      let [place, stride, rest] = [0, 1, element];
      for (let axis = shape.length - 1; axis >= 0; axis--) {
        const n = shape[axis]!;
        const at = (rest % sizes[axis]!) + offset[axis]! + (edges[axis] === 'slice' ? reach : 0);
        rest = Math.floor(rest / sizes[axis]!);
        const isOutside = at < 0 || at >= n;
        place = isOutside && edges[axis] === 'pad' ? Number.NaN : place + ((at + n) % n) * stride;
        stride *= n;
      }
      const term = Number.isNaN(place) ? 0 : values[place]! * weights[k]!;
      sum += term;
      size += term;
    }
    return [sum, size] as const;
  });
}

const RUN = backends().filter((device) => device === 'cpu' || device.startsWith('cuda'));

describe.each(RUN)('sums of neighbours on %s', (device) => {
  it.each(Array.from({ length: 24 }, (_, seed) => seed + 1))('as drawn by %d', async (seed) => {
    const window = drawn(seed);
    const wanted = byLoop(window);
    // Arrays of halves hold their bits.
    const sums = written(window);
    const { data } = await (window.dtype === 'float16' ? sums.astype('float64') : sums).compute({ device });
    expect(data).toHaveLength(wanted.length);
    const error = ERRORS[window.dtype];
    wanted.forEach(([sum, size], k) => {
      const value = Number(data[k]);
      if (error !== undefined)
        expect(Math.abs(value - sum)).toBeLessThanOrEqual(error * Math.max(size, 1e-3));
      else expect(value).toBe(window.dtype === 'uint8' ? sum % 256 : sum);
    });
  });

  it.each([2, 17, 64, 129])('of squares of %d elements', async (width) => {
    const values = Float64Array.from({ length: 1003 }, (_, k) => ((k * 37) % 101) / 64);
    for (const dtype of ['float32', 'float64'] as const) {
      const squares = lazy(values).astype(dtype).square();
      const count = values.length - width + 1;
      const sums = Array.from({ length: width }, (_, k) => squares.slice([k, k + count])).reduce((a, b) =>
        a.add(b),
      );
      const { data } = await sums.compute({ device });
      for (let k = 0; k < count; k++) {
        const sum = values.subarray(k, k + width).reduce((total, value) => total + value * value, 0);
        expect(Math.abs(Number(data[k]) - sum)).toBeLessThanOrEqual(2e-6 * sum);
      }
    }
  });

  it.each([[4, 40], [40], [4, 1], [1, 40], [1], []])(
    'of products by an array of shape %j',
    async (...shape) => {
      const numbers = (...sizes: number[]): Lazy =>
        lazy(
          Float32Array.from({ length: sizes.reduce((a, b) => a * b, 1) }, (_, k) => ((k * 37) % 101) / 64),
          { shape: sizes },
        );
      const [x, factor] = [numbers(4, 40), numbers(...shape)];
      const sumOf = (values: Lazy): Lazy =>
        Array.from({ length: 17 }, (_, k) => values.slice(null, [k, k + 24])).reduce((a, b) => a.add(b));
      const { data } = await sumOf(x.mul(factor)).compute({ device });
      const apart = await x.mul(factor).compute({ device: 'cpu' });
      for (let k = 0; k < data.length; k++) {
        const first = Math.floor(k / 24) * 40 + (k % 24);
        const sum = Array.from(apart.data.slice(first, first + 17), Number).reduce((a, b) => a + b);
        expect(Math.abs(Number(data[k]) - sum)).toBeLessThanOrEqual(1e-5 * sum);
      }
    },
  );
});
