/** Linear algebra on every backend: NumPy's values where there is one, else what factors multiply to; errors; bits. */
import { describe, expect, it, vi } from 'vitest';
import { exprOf } from '../../src/api/lazy.js';
import { computeTargetOf, devicesOf } from '../../src/exec/run/compute-target.js';
import { programOf } from '../../src/exec/run/program.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { segmentsBelow } from '../../src/fusion/passes/segment.js';
import { withLevels } from '../../src/graph/depth.js';
import { exponentialByProducts } from '../../src/graph/matrix-exponential.js';
import { compile, compute, eye, Lazy, LinalgError, lazy, linalg, random } from '../../src/index.js';
import { failuresOf, run } from '../support/api.js';
import { isSimulated, runsOthers, whyNotOthers } from '../support/backends.js';
import { casesByCall, prepareCases } from '../support/composite-cases.js';
import {
  adjoint,
  dtypesOn,
  EPSILON,
  expectSmall,
  LINEAR_BACKENDS,
  type LinearDType,
  matrices,
  orthonormal,
} from '../support/linear.js';

vi.setConfig({ testTimeout: 300_000 });

const cases = casesByCall('linear');
const functions = linalg as unknown as Readonly<Record<string, (...args: readonly unknown[]) => Lazy>>;
const casesOn = (device: string, call: string) =>
  cases
    .get(call)!
    .filter(
      ({ inputs: [a] }) =>
        !isSimulated(device) ||
        (dtypesOn(device).includes(a!.dtype as LinearDType) && a!.shape.every((size) => size < 6)),
    );

describe.each(LINEAR_BACKENDS)('linear algebra on %s', (device) => {
  it.each([...cases.keys()])('%s gives what NumPy gives', async (call) => {
    expect(
      await failuresOf(
        device,
        prepareCases(casesOn(device, call), (name) => functions[name]!),
      ),
    ).toEqual([]);
  });

  it.each(dtypesOn(device))('lu multiplies to the matrix: %s', async (dtype) => {
    const differences = [
      [1, 1],
      [7, 7],
      [2, 9, 4],
      [3, 33, 20],
      [5, 30],
      [2, 32, 32],
      [41, 41],
    ].map((shape, seed) => {
      const a = matrices(dtype, shape, seed);
      const { p, l, u } = linalg.lu(a);
      const { p: places } = linalg.lu(a, { pIndices: true });
      const product = l.matmul(u);
      const rows = product.takeAlongAxis(places.expandDims(-1), -2);
      return [p.astype(dtype).matmul(product).sub(a), rows.sub(a)];
    });
    await expectSmall(device, dtype, differences.flat());
  });

  it.each(['float64', 'complex64'] as const)('factors solve again and again: %s', async (dtype) => {
    // A GPU has a warp for the first, a block for the second, a library for the last.
    const differences = [20, 35, 91].flatMap((n) => {
      const a = matrices(dtype, [2, n, n], 1).add(matrices(dtype, [n, n], 2));
      const b = matrices(dtype, [2, n, 3], 3);
      const factors = linalg.luFactor(a);
      const turned = { N: a, T: a.matrixTranspose(), C: adjoint(a) } as const;
      return (['N', 'T', 'C'] as const).map((trans) =>
        turned[trans].matmul(linalg.luSolve(factors, b, { trans })).sub(b),
      );
    });
    await expectSmall(device, dtype, differences, 4096);
  });
});

describe.each(LINEAR_BACKENDS)('matrices of more rows than a warp has lanes on %s', (device) => {
  it('have solutions, whatever the order of their rows', async () => {
    // Zeros above, so that each pivot is another row.
    const a = matrices('float32', [3, 70, 70], 1).tril().flip(-2);
    const b = matrices('float32', [3, 70, 41], 2);
    const x = linalg.solve(a.add(eye(70).astype('float32').flip(-2).mul(9)), b);
    await expectSmall(
      device,
      'float32',
      [a.add(eye(70).astype('float32').flip(-2).mul(9)).matmul(x).sub(b)],
      4096,
    );
  });

  it('have factors', async () => {
    const a = matrices('complex128', [2, 34, 34], 3);
    const positive = a.matmul(adjoint(a));
    const upper = linalg.cholesky(positive, { upper: true });
    const { p, l, u } = linalg.lu(a);
    const differences = [
      adjoint(upper).matmul(upper).sub(positive),
      upper.tril(-1),
      p.matmul(l).matmul(u).sub(a),
    ];
    const shapes = [
      [2, 44, 34],
      [2, 34, 50],
    ];
    for (const shape of shapes) {
      const given = matrices('complex128', shape, 4);
      const { q, r } = linalg.qr(given);
      differences.push(q.matmul(r).sub(given), orthonormal(q), r.tril(-1));
    }
    await expectSmall(device, 'complex128', differences, 1024);
  });

  it('are an error where they are singular or not positive', async () => {
    const good = matrices('float64', [3, 40, 40], 5);
    const column = lazy(
      new Float64Array(120).map((_, k) => (k === 47 ? 0 : 1)),
      { shape: [3, 1, 40] },
    );
    await expect(linalg.solve(good.mul(column), good).compute({ device })).rejects.toMatchObject({
      matrix: 1,
    });
    const positive = good.matmul(good.matrixTranspose()).mul(lazy([1, 1, -1]).reshape([3, 1, 1]));
    await expect(linalg.cholesky(positive).compute({ device })).rejects.toMatchObject({ matrix: 2 });
    const determinants = await linalg.det(good.mul(column)).compute({ device });
    expect(determinants.data[1]).toBe(0);
    expect(determinants.data[0]).not.toBe(0);
  });
});

describe.each(LINEAR_BACKENDS)('matrices without solutions on %s', (device) => {
  const singular = lazy([
    [
      [1, 2],
      [3, 4],
    ],
    [
      [1, 2],
      [2, 4],
    ],
  ]);
  it.each([
    ['solve', () => linalg.solve(singular, [1, 1]), 1],
    ['inv', () => linalg.inv(singular.slice(1)), 0],
    [
      'cholesky',
      () =>
        linalg.cholesky(
          lazy([
            [4, 2],
            [2, 1],
          ]),
        ),
      0,
    ],
    [
      'solveTriangular',
      () =>
        linalg.solveTriangular(
          lazy([
            [1, 2],
            [0, 0],
          ]),
          [1, 1],
        ),
      0,
    ],
  ] as const)('are an error of %s, with the matrix and the line', async (name, make, matrix) => {
    const failure = make().compute({ device });
    await expect(failure).rejects.toThrow(LinalgError);
    await expect(failure).rejects.toMatchObject({ matrix });
    await expect(failure).rejects.toThrow(new RegExp(`^\\[linalg.${name}\\] expected .*\\n.*linalg.test`));
    await expect(make().persist({ device })).rejects.toThrow(LinalgError);
  });

  it('are an error of compiled functions, which run again', async () => {
    const solve = compile((a: Lazy, b: Lazy) => linalg.solve(a, b), { device });
    const [a, b] = [
      lazy([
        [2, 0],
        [0, 4],
      ]),
      lazy([2, 4]),
    ];
    const zero = lazy([
      [2, 0],
      [0, 0],
    ]);
    for (let round = 0; round < 3; round++) {
      expect((await solve(a, b)).toArray()).toEqual([1, 1]);
      await expect(solve(zero, b)).rejects.toThrow(LinalgError);
      await expect(solve.persist(zero, b)).rejects.toThrow(LinalgError);
    }
    const stored = await solve.persist(a, b);
    expect((await stored.compute()).toArray()).toEqual([1, 1]);
    stored.dispose();
  });

  it('are an error of a part of a deep graph', async () => {
    const deep = (a: Lazy): Lazy =>
      withLevels(8, () => {
        let x = linalg.solve(a, [1, 1]);
        for (let k = 0; k < 40; k++) x = x.add(k);
        return x;
      });
    const x = deep(singular.slice(0));
    expect(segmentsBelow(canonicalize([x.expr])).length).toBeGreaterThan(0);
    const { data } = await x.compute({ device });
    expect(Array.from(data as Float64Array, Math.round)).toEqual([779, 781]);
    await expect(deep(singular).compute({ device })).rejects.toThrow(LinalgError);
  });

  it('come to the host with the run of results that stay on a device', async () => {
    const x = linalg.solve(singular, [1, 1]);
    const canonical = canonicalize([exprOf('solve', x)]);
    const target = computeTargetOf(devicesOf(canonical, { device }), {}, 'device');
    const { one, outputs } = await programOf(canonical, target);
    expect(outputs.map((k) => one!.options.device.outputs[k])).toEqual(['device', 'host']);
  });

  it('have determinants, and NaN goes on', async () => {
    const nan = lazy([
      [Number.NaN, 1],
      [1, 2],
    ]);
    const values = [linalg.det(singular), linalg.solve(nan, [1, 1]), linalg.cholesky(nan)];
    const [det, solution, factor] = await run(device, values);
    expect(Array.from(det!.data as Float64Array)[1]).toBe(0);
    expect(Number.isNaN(Number(solution!.data[0]))).toBe(true);
    expect(Number.isNaN(Number(factor!.data[0]))).toBe(true);
  });
});

describe.each(LINEAR_BACKENDS)('determinants on %s', (device) => {
  /** Of a diagonal matrix whose first rows are exchanged. */
  const ofDiagonal = (values: readonly number[], dtype: LinearDType, unit?: Lazy): readonly Lazy[] => {
    const n = values.length;
    const order = Array.from(values, (_, k) => (k === 0 ? 1 : k === 1 ? 0 : k));
    const rows = order.map((row) => values.map((value, k) => (k === row ? value : 0)));
    const plain = lazy(Float64Array.from(rows.flat()), { shape: [n, n] });
    const x = (unit === undefined ? plain : plain.mul(unit)).astype(dtype);
    const { sign, logabsdet } = linalg.slogdet(x);
    return [linalg.det(x), sign, logabsdet];
  };
  const numbersOf = async (values: readonly Lazy[]): Promise<number[]> =>
    (await run(device, values)).map(({ data }) => Number(data[0]));

  it.each([
    ['float64', [1e300, 1e300, 1e-300, 2e-300], -2, -1, Math.log(2)],
    ['float64', [1e-300, 1e-300, 1e300, -3e300], 3, 1, Math.log(3)],
    ['float64', [1e300, 1e300], Number.NEGATIVE_INFINITY, -1, 600 * Math.log(10)],
    ['float64', [2e-300, -1e-300], 0, 1, Math.log(2) - 600 * Math.log(10)],
    ['float64', [3, 0, 5], 0, 0, Number.NEGATIVE_INFINITY],
    ['float64', [Number.NaN, 2, 0], Number.NaN, Number.NaN, Number.NaN],
    ['float32', [1e30, 1e30, 1e-30, 2e-30], -2, -1, Math.log(2)],
    // A product of the first ones is denormal, and so is a factor.
    ['float32', [3e-25, 1e-20, 1e30, 5e-41, 1e38], -3e-25 * 1e-20 * 1e30 * Math.fround(5e-41) * 1e38, -1],
    ['float64', [3e-200, 1e-120, 1e200, 7], -21e-120, -1],
    // With more rows than a warp has.
    ['float64', [3e-200, 1e-120, 1e200, 7, ...Array(30).fill(1)], -21e-120, -1],
    ['float64', [1e300, 1e300, 1e-300, 2e-300, ...Array(30).fill(1)], -2, -1],
    ['float64', [2e-300, -1e-300, ...Array(32).fill(1)], 0, 1],
    ['float64', [3, 0, Number.NaN, ...Array(32).fill(1)], Number.NaN, Number.NaN],
  ] as const)('of %s, %s, whatever their products are on the way', async (dtype, values, ...wanted) => {
    if (!dtypesOn(device).includes(dtype)) return;
    const found = await numbersOf(ofDiagonal(values, dtype));
    for (const [k, value] of found.slice(0, wanted.length).entries()) {
      const expected = Number(wanted[k]);
      if (!Number.isFinite(expected) || expected === 0) expect(value).toBe(expected);
      else expect(Math.abs(value / expected - 1)).toBeLessThan((k === 0 ? 8 : 8192) * EPSILON[dtype]);
    }
  });

  it('of complex numbers', async () => {
    const found = ofDiagonal([1e200, 1e-200, 2], 'complex128', lazy([0, 1]).mul({ re: 0, im: 1 }).slice(1));
    const [det, sign, logarithm] = await run(device, found);
    // -(i³ 2) = 2 i
    for (const [x, size] of [
      [det, 2],
      [sign, 1],
    ] as const) {
      expect(Math.abs(Number(x!.data[0]))).toBeLessThan(1e-12);
      expect(Math.abs(Number(x!.data[1]) - size)).toBeLessThan(1e-12);
    }
    expect(Number(logarithm!.data[0])).toBeCloseTo(Math.log(2), 12);
  });

  it('of complex numbers, products of whose parts overflow', async () => {
    const unit = lazy([1, 1]).mul({ re: 1, im: 1 }).slice(1);
    const found = ofDiagonal([1e150, 1e200, 1e-300], 'complex128', unit);
    const [det, sign, logarithm] = await run(device, found);
    // -(1 + i)³ = 2 - 2 i
    for (const [x, size] of [
      [det, 2e50],
      [sign, Math.SQRT1_2],
    ] as const) {
      expect(Math.abs(Number(x!.data[0]) / size - 1)).toBeLessThan(1e-12);
      expect(Math.abs(Number(x!.data[1]) / size + 1)).toBeLessThan(1e-12);
    }
    expect(Number(logarithm!.data[0])).toBeCloseTo(1.5 * Math.LN2 + 50 * Math.LN10, 10);
  });
});

describe.each(LINEAR_BACKENDS)('empty matrices on %s', (device) => {
  it('have the results of NumPy', async () => {
    const none = lazy(new Float64Array(0), { shape: [0, 0] });
    const stack = lazy(new Float64Array(0), { shape: [0, 3, 3] });
    const { sign, logabsdet } = linalg.slogdet(none);
    const values = [
      linalg.det(none),
      sign,
      logabsdet,
      linalg.inv(stack),
      linalg.cholesky(none),
      linalg.det(stack),
    ];
    const results = await compute([...values, linalg.solve(none, lazy(new Float64Array(0)))], { device });
    expect(results.map(({ shape }) => shape)).toEqual([[], [], [], [0, 3, 3], [0, 0], [0], [0]]);
    expect(results.slice(0, 3).map((x) => x.item())).toEqual([1, 1, 0]);
  });
});

describe.each(LINEAR_BACKENDS)('exponentials on %s', (device) => {
  /** Norms for which each approximant is chosen, and such as need squarings. */
  const NORMS = [0.01, 0.2, 0.9, 2, 5, 60];
  const sizes = isSimulated(device) ? [3] : [2, 17, 40, 200];

  it.each(dtypesOn(device))('of Hermitian matrices of %s are those of their eigenvalues', async (dtype) => {
    for (const n of sizes) {
      const x = matrices(dtype, [NORMS.length, n, n], 71 + n);
      const hermitian = x.add(adjoint(x));
      const norms = lazy(NORMS).astype('float32').reshape([-1, 1, 1]);
      const a = hermitian
        .mul(norms)
        .div(linalg.matrixNorm(hermitian, { ord: 1, keepdims: true }))
        .astype(dtype);
      const { eigenvalues, eigenvectors } = linalg.eigh(a);
      const wanted = eigenvectors
        .mul(eigenvalues.exp().reshape([NORMS.length, 1, n]))
        .matmul(adjoint(eigenvectors));
      const size = wanted.abs().max([-2, -1], { keepdims: true }).mul(norms.add(1));
      await expectSmall(device, dtype, [linalg.expm(a).sub(wanted).div(size)]);
    }
  });

  it('of nilpotent, triangular and infinite matrices, of numbers and of NaN', async () => {
    const given = [
      [0, 1e30, 0, 0],
      [2, 1e4, 0, 2],
      [Number.NaN, 0, 0, 1],
      [Number.POSITIVE_INFINITY, 0, 0, 1],
    ];
    const stack = lazy(given.flat()).astype('float64').reshape([4, 2, 2]);
    const numbers = lazy([[[Number.NEGATIVE_INFINITY]], [[1]]]).astype('float64');
    const [found, single] = await run(device, [linalg.expm(stack), linalg.expm(numbers)]);
    const e2 = Math.exp(2);
    const wanted = [1, 1e30, 0, 1, e2, 1e4 * e2, 0, e2, ...Array.from({ length: 8 }, () => Number.NaN)];
    for (const [k, value] of wanted.entries()) {
      if (Number.isNaN(value)) expect(found!.data[k]).toBeNaN();
      else expect(Math.abs(Number(found!.data[k]) - value)).toBeLessThanOrEqual(1e-13 * value);
    }
    expect(single!.data[0]).toBe(0);
    expect(single!.data[1]).toBeCloseTo(Math.E, 14);
  });

  it('of numbers whose exponentials are 0 or 1 long before they are squared for the last time', async () => {
    const [found] = await run(device, [
      linalg.expm(lazy([0, 0, 0, -1e300, -1e300, 0, -1e300, -1e300]).astype('float64').reshape([2, 2, 2])),
    ]);
    for (const [k, wanted] of [1, 0, 0, 0, 0, 0, 0, 0].entries())
      expect(found!.data[k]).toBeCloseTo(wanted, 14);
  });

  it('are those of finite columns whose sum is none', async () => {
    for (const [dtype, most] of [
      ['float32', 3e38],
      ['float64', 1.5e308],
    ] as const) {
      const given = lazy([-most, 0, most, 0, -most, 0, -most, 0]).astype(dtype).reshape([2, 2, 2]);
      const [found] = await run(device, [linalg.expm(given)]);
      for (const [k, wanted] of [0, 0, 1, 1, 0, 0, -1, 1].entries())
        expect(Number(found!.data[k])).toBeCloseTo(wanted, 6);
    }
  });
});

describe.runIf(runsOthers)(`exponentials on the CPU${whyNotOthers}`, () => {
  it('by products are those of finite columns whose powers have no norms', async () => {
    const n = 240;
    const a = eye(n).mul(0.01).add(0.99).mul(-3.3e38).astype('float32').reshape([1, n, n]);
    const product = new Lazy(exponentialByProducts(exprOf('expm', a)));
    const [largest] = await run('cpu', [product.abs().max()]);
    expect(largest!.data[0]).toBe(0);
  });

  it('have the bits of a stack in tiles, each in memory for seven matrices and a product', async () => {
    const n = 120;
    const stack = matrices('float64', [6, n, n], 6).mul(0.1);
    const [whole] = await compute([linalg.expm(stack)], { device: 'cpu' });
    const plan = linalg.expm(stack.slice([0, 1])).plan({ device: 'cpu' });
    expect(plan.peakBytes).toBeLessThan(8.5 * n * n * 8);
    const [tiled] = await compute([linalg.expm(stack)], { device: 'cpu', memory: 2 * plan.peakBytes });
    expect(tiled!.data).toEqual(whole!.data);
  });
});

describe.each(LINEAR_BACKENDS)('the bits of matrices on %s', (device) => {
  it('are those of each alone', async () => {
    const stack = matrices('float64', [9, 21, 21], 4);
    const b = matrices('float64', [9, 21, 2], 5);
    const positive = stack.matmul(stack.matrixTranspose()).add(1);
    const whole = [linalg.solve(stack, b), linalg.cholesky(positive)];
    const alone = [linalg.solve(stack.slice(4), b.slice(4)), linalg.cholesky(positive.slice(4))];
    const [x, l, one, factor] = await compute([...whole, ...alone], { device });
    expect((await lazy(x!).slice(4).compute()).data).toEqual(one!.data);
    expect((await lazy(l!).slice(4).compute()).data).toEqual(factor!.data);
  });
});

describe('mistakes in linear algebra', () => {
  const square = lazy(new Float64Array(9), { shape: [3, 3] });
  it.each([
    ['no values', () => linalg.svds(square, 0), /from 1 to 3/],
    ['a stack', () => linalg.pca(square.reshape([1, 3, 3]), 1), /a matrix/],
    [
      'a covariance of other sizes',
      () => random.multivariateNormal(random.key(1), [2], [0, 0], square),
      /a covariance of n rows/,
    ],
    ['one array', () => linalg.multiDot([square]), /two arrays or more/],
    ['a chain that does not fit', () => linalg.multiDot([square, [1, 2]]), /as many rows/],
    ['a row that has no square', () => linalg.expm(lazy([[1, 2]])), /\[linalg.expm\] expected square/],
    ['a vector', () => linalg.inv(lazy([1, 2])), /\[linalg.inv\] expected matrices/],
    [
      'matrices that are not square',
      () => linalg.det(lazy(new Float64Array(6), { shape: [2, 3] })),
      /square/,
    ],
    ['right sides of other sizes', () => linalg.solve(square, [1, 2]), /as many rows on the right/],
    ['options', () => linalg.cholesky(square, { lower: true } as object), /options/],
    ['transposes', () => linalg.solveTriangular(square, square, { trans: 'X' as 'T' }), /trans/],
    ['factors', () => linalg.luSolve(square as never, square), /factors/],
  ])('are refused where they are written: %s', (_, make, message) => {
    expect(make).toThrow(message);
  });
});
