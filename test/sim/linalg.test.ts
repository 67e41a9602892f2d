/**
 * Linear algebra by cuSOLVER, cuBLAS and kernels of Weft's own: in tiles and on several devices with the bits of the whole, repeated as CUDA
 * graphs, on memory that is left as it was, with failures that are errors, and whichever call of a library fails.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { compile, compute, eye, type Lazy, LinalgError, lazy, linalg } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomValues } from '../support/random.js';
import { describeSimulator, setFaults, takeProblems } from './simulator.js';

const device = 'cuda';
const a = toLazy(randomValues('float64', [60, 24, 24], 1));
const b = toLazy(randomValues('float64', [60, 24, 3], 2));
const positive = a.matmul(a.matrixTranspose()).add(lazy([1]));
const wide = toLazy(randomValues('float64', [30, 34, 34], 3));
// Larger than what a block has in shared memory.
const large = toLazy(randomValues('float64', [12, 92, 92], 4));
const JOBS: readonly (readonly [name: string, output: Lazy, call: string])[] = [
  ['solutions', linalg.solve(a.mul(2), b).add(1), 'solve'],
  ['solutions by triangles', linalg.solve(wide, wide.slice('...', [0, 2])), 'triangularSolve'],
  ['factors', linalg.cholesky(positive), 'cholesky'],
  ['factors by blocks', linalg.cholesky(wide.matmul(wide.matrixTranspose()).add(lazy([1]))), 'cholesky'],
  ['factors by a library', linalg.cholesky(large.matmul(large.matrixTranspose()).add(lazy([1]))), 'cholesky'],
  ['triangles', linalg.solveTriangular(a, b), 'triangularSolve'],
  ['permutations', linalg.lu(a).p, 'pivotOrder'],
  ['orthonormal columns', linalg.qr(a.slice('...', [0, 5])).q, 'qOfQr'],
  ['eigenvectors', linalg.eigh(positive.slice('...', [0, 9], [0, 9])).eigenvectors, 'eigh'],
  ['eigenvalues', linalg.eigvals(a.slice('...', [0, 9], [0, 9])).abs(), 'eig'],
  ['singular values', linalg.svd(a.slice('...', [0, 9])).u.mul(2), 'svd'],
];

afterEach(() => setFaults([]));

describe('linear algebra on a simulated GPU', () => {
  // The workspace of the others is larger than these stacks.
  it.each(JOBS.slice(0, 7))('has the bits of the whole in tiles: %s', async (_, output, call) => {
    const whole = output.plan({ device });
    const memory = Math.ceil(0.6 * whole.peakBytes);
    expect(String(whole)).toContain(call);
    expect(output.plan({ device, memory }).sweeps.length).toBeGreaterThan(0);
    const [one] = await compute([output], { device });
    const [parts] = await compute([output], { device, memory });
    expect(parts!.data).toEqual(one!.data);
  });

  it.each(JOBS)('has the bits of one device on two: %s', async (_, output) => {
    const [one] = await compute([output], { device: 'cuda:0' });
    const [two] = await compute([output], { devices: 2 });
    expect(two!.data).toEqual(one!.data);
  });

  it('leaves what it reads as it was', async () => {
    const [, same] = await compute([linalg.cholesky(positive), positive.mul(1)], { device });
    expect(same!.data).toEqual((await positive.mul(1).compute({ device })).data);
  });

  it.each(['N', 'T', 'C'] as const)('solves by factors with exchanged rows, of form %s', async (trans) => {
    // Rows that are exchanged with many others, and more exchanges than a block has threads.
    const x = toLazy(randomValues('complex128', [2, 70, 70], 6, -1, 1));
    const y = toLazy(randomValues('complex128', [2, 70, 3], 7, -1, 1));
    const form = { N: x, T: x.matrixTranspose(), C: x.matrixTranspose().conj() }[trans];
    const solution = linalg.luSolve(linalg.luFactor(x), y, { trans });
    const [rest, own] = await compute([form.matmul(solution).sub(y).abs().max(), solution], { device });
    expect(Number(rest.data[0])).toBeLessThan(1e-11);
    const [wanted] = await compute([solution], { device: 'cpu' });
    expect((await lazy(own).sub(lazy(wanted)).abs().max().compute({ device: 'cpu' })).item()).toBeLessThan(
      1e-10,
    );
  });

  it('finds the orders of rows of small matrices, of which a block has several', async () => {
    for (const [count, n] of [
      [50, 3],
      [7, 21],
      [3, 33],
      [129, 1],
    ] as const) {
      const permutations = linalg.lu(toLazy(randomValues('float64', [count, n, n + 2], n))).p;
      const [found] = await compute([permutations], { device });
      const [wanted] = await compute([permutations], { device: 'cpu' });
      expect(found.data, `${n} rows`).toEqual(wanted.data);
    }
  });

  it.each([
    ['float32', [3, 40, 34], 1e-30],
    ['float32', [1, 150, 40], 1e30],
    ['complex128', [1, 33, 40], 1e-200],
  ] as const)('has QR factors of a block of %s %j by %d', async (dtype, shape, scale) => {
    const x = toLazy(randomValues(dtype, shape, 7))
      .mul(scale)
      .astype(dtype);
    // A column of zeros has no reflector.
    const given = x.mul(lazy(Array.from({ length: shape[2] }, (_, k) => (k === 5 ? 0 : 1))).astype(dtype));
    const { q, r } = linalg.qr(given, { mode: 'complete' });
    const [u, v] = await compute([q, r], { device });
    const [left, wanted] = [lazy(u!), given.div(scale)];
    const error = left.matmul(lazy(v!).div(scale)).sub(wanted).abs().max();
    const apart = left.matrixTranspose().conj().matmul(left).sub(eye(shape[1])).abs().max();
    for (const off of await compute([error, apart]))
      expect(off.item()).toBeLessThan(dtype === 'float32' ? 2e-5 : 2e-14);
  });

  it.each([20, 34])('has QR factors of %d rows of rank 1, whose rests become denormal', async (n) => {
    const x = toLazy(randomValues('complex64', [2, n, 1], 9)).mul(
      toLazy(randomValues('complex64', [1, n], 3)),
    );
    for (const scale of [1, 2 ** -140]) {
      const { q, r } = linalg.qr(x.mul(scale).astype('complex64'));
      const [left, right] = await compute([q, r], { device });
      const error = lazy(left!).matmul(lazy(right!).div(scale)).sub(x).abs().max();
      const apart = lazy(left!).matrixTranspose().conj().matmul(lazy(left!)).sub(eye(n)).abs().max();
      for (const off of await compute([apart, error], { device: 'cpu' }))
        expect(off.item()).toBeLessThan(scale === 1 ? 1e-4 : 1e-2);
    }
  });

  it.each([1, 5, 13])(
    'has LU factors and determinants of %d rows, of which a warp has several',
    async (n) => {
      const x = toLazy(randomValues('float64', [37, n, n], n));
      const { p, l, u } = linalg.lu(x);
      const [wanted] = await compute([linalg.det(x)], { device: 'cpu' });
      const off = [p.matmul(l).matmul(u).sub(x), linalg.det(x).div(lazy(wanted!)).sub(1)];
      const most = await compute(
        off.map((each) => each.abs().max()),
        { device },
      );
      for (const one of most) expect(one.item()).toBeLessThan(1e-12);
    },
  );

  it('gives eigenvectors of either triangle of float32', async () => {
    const x = toLazy(randomValues('float32', [2, 40, 40], 8, -1, 1));
    for (const uplo of ['L', 'U'] as const) {
      const triangle = uplo === 'L' ? x.tril() : x.triu();
      const whole = triangle.add(triangle.matrixTranspose()).sub(x.mul(eye(40).astype('float32')));
      const { eigenvalues, eigenvectors } = linalg.eigh(x, { uplo });
      const rest = whole.matmul(eigenvectors).sub(eigenvectors.mul(eigenvalues.reshape([2, 1, 40])));
      const [most] = await compute([rest.abs().max()], { device });
      expect(Number(most.data[0])).toBeLessThan(1e-4);
    }
  });

  it('is the same again and again', async () => {
    const step = compile((x: Lazy, y: Lazy) => linalg.solve(x, y).mul(2), { device });
    const first = await step(a, b);
    for (let run = 0; run < 6; run++) expect((await step(a, b)).data).toEqual(first.data);
  });

  it('finds the matrix that fails in tiles and on two devices', async () => {
    const last = lazy([
      [0, 0],
      [0, 1],
    ]);
    const good = lazy(
      new Float64Array(400).map((_, k) => (k % 4) + 1),
      { shape: [100, 2, 2] },
    );
    const broken = good.mul(
      lazy([...Array<number>(70).fill(1), 0, ...Array<number>(29).fill(1)]).reshape([100, 1, 1]),
    );
    for (const options of [{ device }, { devices: 2 }] as const) {
      const failure = linalg.inv(broken).compute(options);
      await expect(failure).rejects.toThrow(LinalgError);
      await expect(failure).rejects.toMatchObject({ matrix: 70 });
    }
    await expect(linalg.inv(last).persist({ device })).rejects.toThrow(LinalgError);
    expect(takeProblems()).toEqual([]);
  });

  it.each([
    ['cusolverDnXgetrf_bufferSize', 0],
    ['cusolverDnXgetrf', 0],
    ['cusolverDnSetStream', 0],
    ['cusolverDnXpotrf_bufferSize', 1],
    ['cusolverDnXpotrf', 1],
    ['cublasDtrsm_v2', 2],
    ['cusolverDnXgeqrf', 3],
    ['cusolverDnDorgqr', 3],
    ['cusolverDnXsyevd', 4],
    ['cusolverDnXgesvdp', 5],
    ['cusolverDnXgeev_bufferSize', 6],
    ['cusolverDnXgeev', 6],
    // Of a size with which the stand-in's gesvdp is inexact.
    ['cusolverDnDgesvdj', 7],
  ] as const)('fails with an error where %s does, and runs afterwards', async (call, job) => {
    // Of sizes of their own, whose workspaces were not asked for, and too large for the kernels of a block.
    const n = 91 + call.length;
    const x = toLazy(randomValues('float64', [n, n], 9)).add(lazy([1]));
    const y = toLazy(randomValues('float64', [n, 2], 9));
    const output = [
      linalg.solve(x, y),
      linalg.cholesky(x.matmul(x.matrixTranspose())),
      linalg.solveTriangular(x, y),
      linalg.qr(x).q,
      linalg.eigvalsh(x),
      linalg.svdvals(x),
      linalg.eigvals(x),
      linalg.svdvals(x.slice([1, null])),
    ][job]!;
    setFaults([{ call, nth: 1, status: 6 }]);
    await expect(output.compute({ device })).rejects.toThrow(call.replace('_v2', ''));
    expect(describeSimulator().faultsMet).toBe(1);
    setFaults([]);
    expect((await output.compute({ device })).shape).toEqual(output.shape);
    expect(takeProblems()).toEqual([]);
  });
});
