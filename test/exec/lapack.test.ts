/**
 * LAPACK on the CPU: the simulated one in two forms (32-bit integers, whose general eigenvalues never converge; 64-bit
 * ones, without general eigenvalues), and a real one where `WEFT_TEST_BLAS` names it. Matrices have sizes of their own
 * for each library, for programs that were made with another one are kept.
 */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { cpuInfo } from '../../src/exec/native/native.js';
import { compute, explain, eye, type Lazy, LinalgError, lazy, linalg } from '../../src/index.js';
import { SIM_FOLDER } from '../sim/environment.js';
import { toLazy } from '../support/api.js';
import { randomValues } from '../support/random.js';

/** Settings are made here for the process, which `native-addon.ts` does once from the environment. */
const addon = createRequire(import.meta.url)(
  resolve(import.meta.dirname, '../../build/Release/weft.node'),
) as {
  configureCpu(settings: { poison: boolean; threads?: number; blas?: string; lapack?: string }): void;
};
const { threads } = cpuInfo();
const use = (lapack: string): void => addon.configureCpu({ poison: true, blas: 'none', lapack });
afterAll(() => addon.configureCpu({ poison: false, lapack: 'none', threads }));

const real = process.env.WEFT_TEST_BLAS;
const LIBRARIES: readonly (readonly [name: string, file: string, n: number])[] = [
  ['with 32-bit integers', `${SIM_FOLDER}/libweft-sim-lapack.so`, 36],
  ['with 64-bit integers', `${SIM_FOLDER}/libweft-sim-lapack64.so`, 37],
  ...(real === undefined ? [] : [['that is named', real, 64] as const]),
];

const EPSILON = { float32: 2 ** -23, float64: 2 ** -52, complex64: 2 ** -23, complex128: 2 ** -52 } as const;
type LinearDType = keyof typeof EPSILON;
const DTYPES = Object.keys(EPSILON) as LinearDType[];

const matrices = (dtype: LinearDType, shape: readonly number[], seed: number): Lazy =>
  toLazy(randomValues(dtype, shape, seed, -1, 1));
const adjoint = (x: Lazy): Lazy => x.matrixTranspose().conj();
const scaled = (x: Lazy, by: Lazy): Lazy => x.mul(by.expandDims(-2));
const orthonormal = (q: Lazy): Lazy =>
  adjoint(q)
    .matmul(q)
    .sub(eye(q.shape.at(-1)!));

/** Differences that are 0 but for rounding, of all that the library does. */
function differences(dtype: LinearDType, n: number): Record<string, Lazy> {
  const a = matrices(dtype, [2, n, n], 1);
  const b = matrices(dtype, [2, n, 3], 2);
  const positive = a.matmul(adjoint(a)).add(eye(n).mul(n).astype(dtype));
  const factor = linalg.cholesky(positive);
  const upper = linalg.cholesky(positive, { upper: true });
  const { p, l, u } = linalg.lu(a.slice([], [], [0, n - 3]));
  const tall = a.slice([], [], [0, n - 3]);
  const reduced = linalg.qr(tall);
  const complete = linalg.qr(tall, { mode: 'complete' });
  const hermitian = a.add(adjoint(a));
  const eigh = linalg.eigh(hermitian);
  const svd = linalg.svd(tall, { fullMatrices: false });
  const wide = linalg.svd(adjoint(tall), { fullMatrices: false });
  const eig = linalg.eig(a);
  const sides = matrices(dtype, [2, n, 2], 4);
  const { x: least } = linalg.lstsq(tall, sides);
  const { x: short, s: values } = linalg.lstsq(adjoint(tall), sides.slice([], [0, n - 3]));
  const system = linalg.luFactor(a);
  return {
    solve: a.matmul(linalg.solve(a, b)).sub(b),
    inv: a.matmul(linalg.inv(a)).sub(eye(n)),
    transposed: a
      .matrixTranspose()
      .matmul(linalg.luSolve(system, b, { trans: 'T' }))
      .sub(b),
    adjoint: adjoint(a)
      .matmul(linalg.luSolve(system, b, { trans: 'C' }))
      .sub(b),
    triangle: factor.matmul(linalg.solveTriangular(factor, b, { lower: true })).sub(b),
    turned: adjoint(factor)
      .matmul(linalg.solveTriangular(factor, b, { lower: true, trans: 'C' }))
      .sub(b),
    lu: p
      .astype(dtype)
      .matmul(l)
      .matmul(u)
      .sub(a.slice([], [], [0, n - 3])),
    cholesky: factor.matmul(adjoint(factor)).sub(positive),
    upper: adjoint(upper).matmul(upper).sub(positive),
    qr: reduced.q.matmul(reduced.r).sub(tall),
    q: orthonormal(reduced.q),
    complete: complete.q.matmul(complete.r).sub(tall),
    completeQ: orthonormal(complete.q),
    eigh: hermitian.matmul(eigh.eigenvectors).sub(scaled(eigh.eigenvectors, eigh.eigenvalues)),
    eigenvectors: orthonormal(eigh.eigenvectors),
    eigvalsh: linalg.eigvalsh(hermitian).sub(eigh.eigenvalues),
    svd: scaled(svd.u, svd.s).matmul(svd.vh).sub(tall),
    wide: scaled(wide.u, wide.s).matmul(wide.vh).sub(adjoint(tall)),
    u: orthonormal(svd.u),
    v: orthonormal(adjoint(svd.vh)),
    svdvals: linalg.svdvals(tall).sub(svd.s),
    // What is left is orthogonal to the columns; a solution of least norm is a sum of rows.
    lstsq: adjoint(tall).matmul(tall.matmul(least).sub(sides)),
    wideLstsq: adjoint(tall)
      .matmul(short)
      .sub(sides.slice([], [0, n - 3])),
    leastNorm: short.sub(linalg.pinv(adjoint(tall)).matmul(sides.slice([], [0, n - 3]))),
    lstsqValues: values.sub(svd.s),
    eig: a.matmul(eig.eigenvectors).sub(scaled(eig.eigenvectors, eig.eigenvalues)),
    det: linalg.slogdet(factor).logabsdet.mul(2).sub(linalg.slogdet(positive).logabsdet).div(n),
  };
}

const LETTERS = { float32: 's', float64: 'd', complex64: 'c', complex128: 'z' } as const;
/** The functions of LAPACK that `explain()` names. */
const namesIn = (text: string): string[] => [...new Set(text.match(/\b[sdcz][a-z]{4,5}(?= of )/g))];

describe.each(LIBRARIES)('a LAPACK library %s', (_, file, n) => {
  it.each(DTYPES)('gives what Weft does: %s', async (dtype) => {
    use(file);
    const all = differences(dtype, n);
    const sizes = Object.values(all).map((x) => x.abs().max().astype('float64'));
    const worst = await compute(sizes, { device: 'cpu' });
    const names = Object.keys(all);
    const most = 8192 * EPSILON[dtype];
    expect(names.filter((_, k) => !(Number(worst[k]!.item()) < most))).toEqual([]);
    const texts = explain(Object.values(all), { device: 'cpu' }).toString();
    const [letter, isReal] = [LETTERS[dtype], dtype.startsWith('float')];
    const called = ['trsm', 'geqrf', ...(isReal ? ['orgqr', 'syevd'] : ['ungqr', 'heevd'])];
    const wanted = [...called, 'gesdd', 'gelsd'].map((name) => letter + name);
    expect(namesIn(texts)).toEqual(expect.arrayContaining(wanted));
    expect(texts).toContain(`(${file})`);
  });

  // Simulated libraries take half a second for a matrix: each has two dtypes.
  it.each(DTYPES.filter((_, k) => k % 2 === n % 2))('factors large matrices: %s', async (dtype) => {
    use(file);
    const side = 476 + n;
    const a = matrices(dtype, [side, side], 5);
    const hermitian = a.add(adjoint(a)).add(
      eye(side)
        .mul(4 * side)
        .astype(dtype),
    );
    const { p, l, u } = linalg.lu(a, { pIndices: true });
    const lower = linalg.cholesky(hermitian);
    const results = [
      l.matmul(u).take(p, 0).sub(a),
      lower.matmul(adjoint(lower)).sub(hermitian).div(side),
    ].map((x) => x.abs().max().astype('float64'));
    const worst = (await compute(results as [Lazy, Lazy], { device: 'cpu' })).map((x) => Number(x.item()));
    expect(worst.filter((x) => !(x < 1024 * EPSILON[dtype]))).toEqual([]);
    const names = namesIn(explain(results, { device: 'cpu' }).toString());
    expect(names).toEqual(expect.arrayContaining(['getrf', 'potrf'].map((name) => LETTERS[dtype] + name)));
  });

  it('has the bits of a matrix alone, in a stack and in tiles, and leaves small ones to Weft', async () => {
    use(file);
    const side = n + 2;
    const stack = matrices('float64', [12, side, side], 3);
    const of = (a: Lazy): readonly [Lazy, Lazy, Lazy] => [linalg.inv(a), linalg.svd(a).u, linalg.qr(a).q];
    const whole = await compute(of(stack), { device: 'cpu' });
    const tiled = await compute(of(stack), { device: 'cpu', memory: 60 * side * side * 8 });
    const alone = await compute(of(stack.slice([4, 5])), { device: 'cpu' });
    for (const k of [0, 1, 2] as const) {
      expect(tiled[k].data).toEqual(whole[k].data);
      expect(alone[k].data).toEqual(whole[k].data.slice(4 * side * side, 5 * side * side));
    }
    expect(
      namesIn(explain([linalg.det(matrices('float64', [3, 31, 31], 1))], { device: 'cpu' }).toString()),
    ).toEqual([]);
  });

  it('fails for the matrices that Weft fails for, with its words', async () => {
    use(file);
    const side = n + 3;
    /** The identity with another element of its diagonal in row 6. */
    const diagonal = (value: number): Lazy => eye(side).mul(lazy(ones(side, value)));
    const zero = diagonal(0);
    const of = (x: Lazy): Promise<unknown> => x.compute({ device: 'cpu' });
    await expect(of(linalg.solve(zero, eye(side)))).rejects.toThrow(LinalgError);
    await expect(of(linalg.solve(zero, eye(side)))).rejects.toThrow('pivot 7 is 0');
    await expect(of(linalg.cholesky(diagonal(-1)))).rejects.toThrow(
      'the leading minor of order 7 is not positive',
    );
    const nan = eye(side).mul(Number.NaN);
    await expect(of(linalg.svd(nan).s)).rejects.toThrow(LinalgError);
    await expect(of(linalg.lstsq(nan, eye(side)).x)).rejects.toThrow(/lstsq.*finite/);
    await expect(of(linalg.eigvals(nan))).rejects.toThrow(LinalgError);
    const values = (await linalg.eigvalsh(nan).compute({ device: 'cpu' })).data;
    expect([...values].every(Number.isNaN)).toBe(true);
    expect((await linalg.det(zero).compute({ device: 'cpu' })).item()).toBe(0);
  });
});

/** Ones, but for element 6. */
const ones = (count: number, value: number): Float64Array =>
  Float64Array.from({ length: count }, (_, k) => (k === 6 ? value : 1));

describe('the library of linear algebra', () => {
  it("is Weft's own for what it lacks, and says so", () => {
    use(`${SIM_FOLDER}/libweft-sim-lapack64.so`);
    expect(cpuInfo().lapack).toEqual({
      name: 'LAPACK',
      path: `${SIM_FOLDER}/libweft-sim-lapack64.so`,
      missing: ['sgeev', 'dgeev', 'cgeev', 'zgeev'],
    });
    const text = explain([linalg.eig(matrices('float64', [39, 39], 1)).eigenvalues.abs()], { device: 'cpu' });
    expect(namesIn(text.toString())).toEqual([]);
    use(`${SIM_FOLDER}/libweft-sim-lapack.so`);
    expect(cpuInfo().lapack?.missing).toEqual([]);
    use('none');
    expect(cpuInfo().lapack).toBeNull();
  });

  it('is refused where it is no LAPACK', () => {
    for (const [name, problem] of [
      ['/nowhere/liblapack.so', /WEFT_LAPACK.*nowhere/],
      [`${SIM_FOLDER}/libweft-sim-cufft.so`, /WEFT_LAPACK.*has none of its functions/],
      ['auto', /WEFT_LAPACK.*the BLAS library in use has no LAPACK/],
    ] as const) {
      expect(() => use(name)).toThrow(problem);
    }
  });
});
