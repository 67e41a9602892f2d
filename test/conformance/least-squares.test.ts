/** Least squares on every backend: long, wide, square and deficient matrices, stacks, special values, bits. */
import { describe, expect, it } from 'vitest';
import { compute, explain, eye, type Lazy, LinalgError, lazy, linalg } from '../../src/index.js';
import { run, toLazy } from '../support/api.js';
import { backends, isSimulated } from '../support/backends.js';
import { randomValues } from '../support/random.js';

// Simulated GPUs, which have singular vectors instead, compile for long: `linalg.test.ts` has them.
const onDevices = backends().filter(
  (device) => device !== 'reference' && device !== 'interpreted' && !isSimulated(device),
);

const EPSILON = { float32: 2 ** -23, float64: 2 ** -52, complex64: 2 ** -23, complex128: 2 ** -52 } as const;
type LinearDType = keyof typeof EPSILON;
const matrices = (dtype: LinearDType, shape: readonly number[], seed: number): Lazy =>
  toLazy(randomValues(dtype, shape, seed, -1, 1));
const adjoint = (x: Lazy): Lazy => x.matrixTranspose().conj();
const largest = (x: Lazy): Lazy => x.abs().max().astype('float64');

async function expectSmall(device: string, dtype: LinearDType, differences: readonly Lazy[], most: number) {
  const values = await run(device, differences.map(largest));
  const sizes = values.map(({ data }) => Number(data[0]));
  expect(sizes.filter((size) => !(size < most * EPSILON[dtype]))).toEqual([]);
}

/** A = B C of a rank, and right sides. */
const deficient = (dtype: LinearDType, m: number, n: number, rank: number): readonly [Lazy, Lazy] => [
  matrices(dtype, [m, rank], 1).matmul(matrices(dtype, [rank, n], 2)),
  matrices(dtype, [m, 2], 3),
];

describe.each(onDevices)('least squares on %s', (device) => {
  const dtypes = Object.keys(EPSILON) as LinearDType[];

  it.each(dtypes)('leave what is orthogonal to the columns, and have the least norm: %s', async (dtype) => {
    const shapes = [
      [1, 1],
      [2, 9, 4],
      [40, 38],
      [3, 38, 40],
      [70, 33],
      [33, 70],
      [210, 200],
    ];
    const differences = shapes.flatMap((shape, seed) => {
      const a = matrices(dtype, shape, seed);
      const b = matrices(dtype, [...shape.slice(0, -1), 3], seed + 1);
      const { x, s, rank } = linalg.lstsq(a, b);
      const [m, n] = shape.slice(-2) as [number, number];
      return [
        m >= n ? adjoint(a).matmul(a.matmul(x).sub(b)) : a.matmul(x).sub(b),
        // By the rows alone: x is A^H of something.
        ...(m < n ? [x.sub(adjoint(a).matmul(linalg.lstsq(adjoint(a), x).x))] : []),
        s.sub(linalg.svdvals(a)),
        rank.sub(Math.min(m, n)),
      ];
    });
    await expectSmall(device, dtype, differences, 2 ** 14);
  });

  it.each(dtypes)('of matrices that lack columns are those of the pseudo-inverse: %s', async (dtype) => {
    const shapes = [
      [7, 5, 2],
      [5, 7, 3],
      [45, 40, 31],
      [30, 60, 20],
    ];
    const differences = (shapes as [number, number, number][]).flatMap(([m, n, rank]) => {
      const [a, b] = deficient(dtype, m, n, rank);
      const rcond = 1e-4;
      const found = linalg.lstsq(a, b, { rcond });
      const wanted = linalg.pinv(a, { rtol: rcond }).matmul(b);
      const left = b.sub(a.matmul(wanted)).abs().square().sum(0);
      return [
        found.x.sub(wanted),
        found.rank.sub(rank),
        ...(m > n ? [found.residuals.sub(left)] : [found.residuals]),
      ];
    });
    await expectSmall(device, dtype, differences, 2 ** 14);
  });

  it('take one matrix with a stack of right sides, vectors, and stacks that meet', async () => {
    const a = matrices('float64', [6, 3], 1);
    const stack = matrices('float64', [2, 4, 6, 2], 2);
    const shared = linalg.lstsq(a, stack);
    const both = linalg.lstsq(matrices('float64', [4, 6, 3], 3), stack);
    const one = linalg.lstsq(a, stack.slice([0, 1], [0, 1], [], [0, 1]).reshape([6]));
    expect([shared.x.shape, shared.residuals.shape, shared.rank.shape, shared.s.shape]).toEqual([
      [2, 4, 3, 2],
      [2, 4, 2],
      [],
      [3],
    ]);
    expect([both.x.shape, both.rank.shape, both.s.shape]).toEqual([[2, 4, 3, 2], [4], [4, 3]]);
    expect([one.x.shape, one.residuals.shape]).toEqual([[3], []]);
    const turned = matrices('float64', [4, 6, 3], 3).matrixTranspose();
    await expectSmall(
      device,
      'float64',
      [
        a.transpose().matmul(a.matmul(shared.x).sub(stack)),
        turned.matmul(turned.matrixTranspose().matmul(both.x).sub(stack)),
        one.x.sub(shared.x.slice([0, 1], [0, 1], [], [0, 1]).reshape([3])),
        one.residuals.sub(shared.residuals.slice([0, 1], [0, 1], [0, 1]).reshape([])),
      ],
      1024,
    );
  });

  it('count nothing of zeros, take a negative part for the precision, and refuse NaN in the matrix', async () => {
    const zeros = linalg.lstsq(lazy(new Float64Array(12), { shape: [4, 3] }), matrices('float64', [4], 1));
    const tiny = lazy([
      [1, 0],
      [0, 2 ** -51],
    ]);
    const [x, rank, counted, usual] = await compute(
      [
        zeros.x,
        zeros.rank,
        linalg.lstsq(tiny, lazy([1, 1]), { rcond: -1 }).rank,
        linalg.lstsq(tiny, lazy([1, 1])).rank,
      ],
      { device },
    );
    expect([x.toArray(), Number(rank.item()), Number(counted.item()), Number(usual.item())]).toEqual([
      [0, 0, 0],
      0,
      2,
      1,
    ]);
    const nan = eye(3).mul(Number.NaN);
    await expect(linalg.lstsq(nan, lazy([1, 2, 3])).x.compute({ device })).rejects.toThrow(LinalgError);
    const sides = lazy([
      [1, Number.NaN],
      [2, 1],
      [3, 1],
    ]);
    const beside = await linalg.lstsq(eye(3), sides).x.compute({ device });
    const first = (beside.toArray() as number[][]).map(([value]) => Math.round(value! * 1e9) / 1e9);
    expect(first).toEqual([1, 2, 3]);
  });
});

describe('the routine of least squares', () => {
  it('has the bits of a matrix alone, in a stack and in tiles, by a call of its own', async () => {
    const [a, b] = [matrices('float64', [9, 30, 24], 1), matrices('float64', [9, 30, 2], 2)];
    const of = (first: Lazy, second: Lazy): readonly [Lazy, Lazy] => {
      const { x, s } = linalg.lstsq(first, second);
      return [x, s];
    };
    const whole = await compute(of(a, b), { device: 'cpu' });
    const tiled = await compute(of(a, b), { device: 'cpu', memory: 2 ** 18 });
    const alone = await compute(of(a.slice([4, 5]), b.slice([4, 5])), { device: 'cpu' });
    expect(tiled.map(({ data }) => data)).toEqual(whole.map(({ data }) => data));
    expect(alone[0].data).toEqual(whole[0].data.slice(4 * 48, 5 * 48));
    const text = explain([...of(a, b)], { device: 'cpu' }).toString();
    expect(text).toContain('leastSquares');
    expect(text).not.toMatch(/^step .*svd/m);
  });
});
