/** Values at the edges of the dtypes, on every backend: what the tables of fixtures leave out. */
import { describe, expect, it } from 'vitest';
import type { DType, Scalar } from '../../src/graph/dtype.js';
import { type Lazy, lazy } from '../../src/index.js';
import { run } from '../support/api.js';
import { backends } from '../support/backends.js';
import { type HostArray, toScalars } from '../support/host.js';

const complexOf = (pairs: readonly (readonly [number, number])[], dtype: 'complex64' | 'complex128'): Lazy =>
  lazy(dtype === 'complex64' ? new Float32Array(pairs.flat()) : new Float64Array(pairs.flat()), { dtype });
const pairsOf = (result: HostArray): (readonly [number, number])[] =>
  toScalars(result).map((z: Scalar) => {
    const { re, im } = z as { re: number; im: number };
    return [re, im] as const;
  });

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

/** Arguments of expm1 and what the array API standard has it give. */
const EXPM1: readonly (readonly [readonly [number, number], readonly [number, number]])[] = [
  [[0, 0], [0, 0]],
  [[-0, 0], [-0, 0]],
  [[0, -0], [0, -0]],
  [[inf, 0], [inf, 0]],
  [[inf, 1], [inf, inf]],
  [[inf, 2.5], [-inf, inf]],
  [[inf, inf], [inf, nan]],
  [[inf, nan], [inf, nan]],
  [[-inf, 1], [-1, 0]],
  [[-inf, -1], [-1, -0]],
  [[-inf, inf], [-1, 0]],
  [[-inf, nan], [-1, 0]],
  [[nan, 0], [nan, 0]],
  [[nan, 1], [nan, nan]],
  [[nan, nan], [nan, nan]],
  [[1, inf], [nan, nan]],
  [[1, nan], [nan, nan]],
]; // biome-ignore format: a table

describe.each(backends())('special values on %s', (device) => {
  it.each([
    [2, 3, 2],
    [80, 70, 90],
  ])('are those of terms where a factor is the same along the summed axis: %i × %i × %i', async (m, k, n) => {
    const same = lazy(Float64Array.from({ length: m }, (_, i) => (i === 0 ? inf : i === 1 ? 1e-30 : 2)));
    const right = lazy(
      Float64Array.from({ length: k * n }, (_, i) => (i % n === 0 ? 3e38 : Math.floor(i / n) === 0 ? -1 : 1)),
    );
    const left = same.reshape([m, 1]).astype('float32').broadcastTo([m, k]);
    const [product] = await run(device, [left.matmul(right.reshape([k, n]).astype('float32'))]);
    const all = toScalars(product!).map(Number);
    expect([all[0], all[1]]).toEqual([inf, nan]);
    expect(all[n]! / (k * 3e8)).toBeCloseTo(1, 5);
    expect(all[n + 1]! / ((k - 2) * 1e-30)).toBeCloseTo(1, 5);
  });

  it.each(['complex64', 'complex128'] as const)('expm1 of %s has those of exp less 1', async (dtype) => {
    const [result] = await run(device, [
      complexOf(
        EXPM1.map(([z]) => z),
        dtype,
      ).expm1(),
    ]);
    expect(pairsOf(result!)).toEqual(EXPM1.map(([, w]) => w));
  });

  it.each(['complex64', 'complex128'] as const)(
    'parts of %s are kept, the signs of zeros too',
    async (dtype) => {
      const parts = [0, -0, 1, -2.5, inf, -inf, nan];
      const z = parts.flatMap((re) => parts.map((im) => [re, im] as const));
      const x = complexOf(z, dtype);
      const [same, numbers] = await run(device, [
        x.nanToNum({ nan, posinf: inf, neginf: -inf }),
        x.nanToNum({ nan: 7, posinf: 8, neginf: -inf }),
      ]);
      expect(pairsOf(same!)).toEqual(z);
      const replaced = (part: number): number => (Number.isNaN(part) ? 7 : part === inf ? 8 : part);
      expect(pairsOf(numbers!)).toEqual(z.map(([re, im]) => [replaced(re), replaced(im)]));
    },
  );

  it('expm1 is finite where exp of the real part alone is not', async () => {
    const z = [[709.9, Math.PI / 2 - 1e-3]] as const;
    const [result] = await run(device, [complexOf(z, 'complex128').expm1()]);
    const [[re, im]] = pairsOf(result!) as [[number, number]];
    expect(Math.log(re)).toBeCloseTo(709.9 + Math.log(Math.sin(1e-3)), 8);
    expect(im).toBe(inf);
  });

  it('log1p of a real zero keeps its sign', async () => {
    const [result] = await run(device, [
      complexOf(
        [
          [-0, 0],
          [0, -0],
        ],
        'complex128',
      ).log1p(),
    ]);
    expect(pairsOf(result!)).toEqual([
      [-0, 0],
      [0, -0],
    ]);
  });

  it.each(['float16', 'float32', 'float64'] as const)(
    'lgamma of infinities in %s is infinity',
    async (dtype) => {
      const [result] = await run(device, [lazy([-inf, inf, nan], { dtype }).lgamma()]);
      expect(toScalars(result!)).toEqual([inf, inf, nan]);
    },
  );

  it.each(['float32', 'float64'] as const)(
    'the variance of large equal numbers in %s is 0',
    async (dtype) => {
      const most = dtype === 'float32' ? 3.4e38 : 1.7e308;
      const wholes = [1, 2, 3, 4, 64, 1000, 5000].map((n) =>
        lazy(Array<number>(n).fill(most), { dtype }).var(),
      );
      const results = await run(device, wholes);
      expect(results.flatMap(toScalars)).toEqual(wholes.map(() => 0));
    },
  );
});

/** The result of `x[op](y)` for each element of an int64 or uint64 array, in exact arithmetic. */
const COMPARED: Readonly<Record<string, (a: bigint, b: bigint) => boolean>> = {
  equal: (a, b) => a === b,
  notEqual: (a, b) => a !== b,
  less: (a, b) => a < b,
  lessEqual: (a, b) => a <= b,
  greater: (a, b) => a > b,
  greaterEqual: (a, b) => a >= b,
};

const NEAR = [
  0n,
  1n,
  -1n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 53n + 1n,
  -(2n ** 53n) - 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
];

describe.each(backends())('integers of 64 bits on %s', (device) => {
  const signed = NEAR;
  const unsigned = [...NEAR.filter((n) => n >= 0n), 2n ** 63n, 2n ** 64n - 1n];
  const arrays: readonly (readonly [DType, readonly bigint[], Lazy])[] = [
    ['int64', signed, lazy(BigInt64Array.from(signed))],
    ['uint64', unsigned, lazy(BigUint64Array.from(unsigned))],
  ];

  it.each(Object.keys(COMPARED))('%s compares exactly with numbers that are integers', async (op) => {
    const numbers = [0, -1, 2 ** 53, -(2 ** 53), 2 ** 60, 2 ** 63, -(2 ** 63), 2 ** 64, 2 ** 70, -1e300];
    const cases = arrays.flatMap(([, values, x]) => numbers.map((n) => ({ values, x, n })));
    const compare = op as 'less';
    const results = await run(
      device,
      cases.map(({ x, n }) => x[compare](n)),
    );
    cases.forEach(({ values, n }, k) => {
      const exact = values.map((value) => COMPARED[op]!(value, BigInt(n)));
      expect([n, toScalars(results[k]!)]).toEqual([n, exact]);
    });
  });

  it.each(Object.keys(COMPARED))('%s compares signed with unsigned ones exactly', async (op) => {
    const [[, a, x], [, b, y]] = arrays as [(typeof arrays)[number], (typeof arrays)[number]];
    const compare = op as 'less';
    const results = await run(device, [x.reshape([-1, 1])[compare](y), y.reshape([-1, 1])[compare](x)]);
    const table = (p: readonly bigint[], q: readonly bigint[]): boolean[] =>
      p.flatMap((u) => q.map((v) => COMPARED[op]!(u, v)));
    expect(results.map(toScalars)).toEqual([table(a, b), table(b, a)]);
  });

  it('maximum, minimum and clip keep all bits beside 2 ** 53', async () => {
    const x = arrays[0]![2];
    const bound = 2n ** 53n;
    const results = await run(device, [x.maximum(2 ** 53), x.minimum(2 ** 53), x.clip(-(2 ** 53), 2 ** 60)]);
    const clipped = (n: bigint): bigint => (n < -bound ? -bound : n > 2n ** 60n ? 2n ** 60n : n);
    expect(results.map((r) => r.dtype)).toEqual(['int64', 'int64', 'int64']);
    expect(results.map(toScalars)).toEqual([
      signed.map((n) => (n > bound ? n : bound)),
      signed.map((n) => (n < bound ? n : bound)),
      signed.map(clipped),
    ]);
  });

  it('isclose takes differences of integers that do not wrap around', async () => {
    const [result] = await run(device, [
      lazy(new Uint8Array([3, 5, 255])).isclose(lazy(new Uint8Array([5, 5, 0]))),
    ]);
    expect(toScalars(result!)).toEqual([false, true, false]);
  });
});
