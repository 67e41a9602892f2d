/** Sparse matrices on every backend against NumPy, and solvers with them. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import {
  arange,
  compute,
  type Lazy,
  lazy,
  ones,
  random,
  type SparseMatrix,
  saveNpz,
  sparse,
  zeros,
} from '../../src/index.js';
import { failuresOf } from '../support/api.js';
import { backends } from '../support/backends.js';
import { casesByCall, prepareCases } from '../support/composite-cases.js';
import { generator } from '../support/random.js';
import { sparseFunction } from '../support/sparse-functions.js';

vi.setConfig({ testTimeout: 300_000 });

const cases = casesByCall('sparse');

/** Functions of nodes that others have, too: their kernels are not compiled for a simulated device. */
const COMPOSED = new Set(
  'multiplyBoth mean columns tril triu trace max min maximum less greater power'.split(' '),
);
const callsOn = (device: string): string[] =>
  [...cases.keys()].filter((call) => !device.startsWith('cuda') || !COMPOSED.has(call));

describe.each(backends())('sparse matrices on %s', (device) => {
  it.each(callsOn(device))('%s gives what NumPy gives', async (call) => {
    expect(await failuresOf(device, prepareCases(cases.get(call)!, sparseFunction))).toEqual([]);
  });
});

const onDevices = backends().filter((device) => device !== 'reference' && device !== 'interpreted');

/** The five-point Laplacian of a square grid, symmetric and positive definite. */
function poisson(side: number): SparseMatrix {
  const line = sparse.diags([-1, 2, -1], [-1, 0, 1], [side, side]);
  const identity = sparse.eye(side);
  return sparse.kron(line, identity).add(sparse.kron(identity, line));
}

const numbersOf = (x: { readonly data: ArrayLike<unknown> }): number[] => Array.from(x.data, Number);

describe.each(onDevices)('solvers on %s', (device) => {
  it('conjugate gradients solve a Poisson problem', async () => {
    const a = poisson(7);
    const b = ones([49]);
    const { x, iterations, residual, converged } = sparse.cg(a, b, { rtol: 1e-10 });
    const far = a.matmul(x).sub(b).square().sum().sqrt();
    const [steps, own, done, off] = await compute([iterations, residual, converged, far], { device });
    expect(done.item()).toBe(true);
    expect(Number(steps.item())).toBeLessThan(20);
    expect(Number(own.item())).toBeLessThanOrEqual(7e-10);
    expect(Number(off.item())).toBeLessThan(1e-8);
  });

  it('are preconditioned, begin where they are told to, and stop after so many steps', async () => {
    const a = poisson(5).add(sparse.diags([arange(25)]));
    const b = ones([25]);
    const inverse = sparse.diags([lazy(1).div(a.diagonal())]);
    const exact = sparse.cg(a, b, { rtol: 1e-12, M: inverse });
    const again = sparse.cg(a, b, { x0: exact.x, rtol: 1e-6 });
    const short = sparse.cg(a, b, { maxiter: 2 });
    const results = await compute([exact.converged, again.iterations, short.iterations, short.converged], {
      device,
    });
    expect(results.map((each) => each.item())).toEqual([true, 0, 2, false]);
  });

  it('stabilised biconjugate gradients solve a system that is not symmetric', async () => {
    const a = sparse.diags([-1, 4, -2], [-1, 0, 1], [40, 40]);
    const b = arange(40);
    const { x, converged } = sparse.bicgstab(a, b, { rtol: 1e-10 });
    const far = a.matmul(x).sub(b).square().sum().sqrt();
    const [done, off] = await compute([converged, far], { device });
    expect(done.item()).toBe(true);
    expect(Number(off.item())).toBeLessThan(1e-6);
  });

  it('minimal residuals solve indefinite and other systems, with their history', async () => {
    const b = ones([14]);
    const indefinite = sparse.diags([-1, 1.3, -1], [-1, 0, 1], [14, 14]);
    const other = sparse.diags([-1, 3, -0.5], [-1, 0, 1], [14, 14]).add(sparse.diags([arange(14)]));
    const own = sparse.minres(indefinite, b, { rtol: 1e-10, history: 3 });
    const again = sparse.gmres(other, b, { rtol: 1e-10, restart: 4, M: sparse.jacobi(other) });
    const offOf = (a: SparseMatrix, x: Lazy): Lazy => a.matmul(x).sub(b).square().sum().sqrt();
    const found = await compute(
      {
        done: [own.converged, again.converged],
        off: [offOf(indefinite, own.x), offOf(other, again.x)],
        steps: again.iterations,
        history: own.history,
      },
      { device },
    );
    expect(found.done.map((each) => each.item())).toEqual([true, true]);
    for (const off of found.off) expect(Number(off.item())).toBeLessThan(1e-8);
    expect(Number(found.steps.item())).toBeGreaterThan(4);
    const norms = numbersOf(found.history);
    expect([norms.length, norms[0], norms[3]! < norms[1]!]).toEqual([4, Math.sqrt(14), true]);
  });

  it('eigenvalues at an end are found, and their vectors', async () => {
    const a = sparse.diags([-1, 2, -1], [-1, 0, 1], [16, 16]);
    const { eigenvalues, eigenvectors, converged } = sparse.eigsh(a, { k: 2, which: 'LA', ncv: 8 });
    const off = a.matmul(eigenvectors).sub(eigenvectors.mul(eigenvalues)).abs().max();
    const [values, done, far] = await compute([eigenvalues, converged, off], { device });
    for (const [k, value] of numbersOf(values).entries())
      expect(value).toBeCloseTo(2 - 2 * Math.cos(((15 + k) * Math.PI) / 17), 9);
    expect(done.item()).toBe(true);
    expect(Number(far.item())).toBeLessThan(1e-9);
  });

  it('LSQR gives what LSMR gives', async () => {
    const a = sparse.random(random.key(9), [20, 8], { density: 0.5 });
    const options = { atol: 1e-13, btol: 1e-13, damp: 0.3, maxiter: 60 };
    const [x, y] = [sparse.lsqr(a, arange(20), options), sparse.lsmr(a, arange(20), options)];
    const [off, stop] = await compute([x.x.sub(y.x).abs().max(), x.stop], { device });
    expect(Number(off.item())).toBeLessThan(1e-9);
    expect(Number(stop.item())).toBe(2);
  });

  it('least squares with several dampings are those of each alone, and satisfy their normal equations', async () => {
    const next = generator(7);
    const dense = lazy(
      Float64Array.from({ length: 30 * 12 }, () => next() - 0.5),
      { shape: [30, 12] },
    );
    const a = sparse.fromDense(dense.abs().less(0.3).where(0, dense));
    const b = arange(30);
    const damp = [0, 0.5, 2];
    const options = { atol: 1e-13, btol: 1e-13, maxiter: 100 };
    const all = sparse.lsmr(a, b, { ...options, damp });
    const alone = damp.map((each) => sparse.lsmr(a, b, { ...options, damp: each }));
    const matrix: Lazy = a.toDense();
    const gradients = damp.map((each, k) => {
      const x = all.x.slice(k);
      return matrix.T.matmul(matrix.matmul(x).sub(b))
        .add(x.mul(each * each))
        .abs()
        .max();
    });
    const found = await compute({ x: all.x, alone: alone.map(({ x }) => x), gradients }, { device });
    for (const gradient of found.gradients) expect(Number(gradient.item())).toBeLessThan(1e-9);
    const rows = found.alone.flatMap(numbersOf);
    for (const [k, value] of numbersOf(found.x).entries()) expect(value).toBeCloseTo(rows[k]!, 9);
  });
});

it('sums of small integers and of booleans have 64 bits', async () => {
  const rows = sparse.csr({ data: Uint8Array.of(200, 100), indices: [0, 1], indptr: [0, 2] }, [1, 2]);
  expect((await rows.sum(1).compute()).toArray()).toEqual([300n]);
  expect(rows.sum().dtype).toBe('uint64');
  const isThere = rows.map((data) => data.greater(0));
  expect((await isThere.sum(1).compute()).toArray()).toEqual([2n]);
  expect((await isThere.diagonal().compute()).toArray()).toEqual([true]);
  expect((await isThere.toDense().compute()).toArray()).toEqual([[true, true]]);
});

const cpu = { device: 'cpu' } as const;

it('eigenvalues are found where a space is closed, and singular values of either side', async () => {
  const a = sparse.diags([-1, 2, -1], [-1, 0, 1], [30, 30]).rows(0, 20);
  const equal = sparse.eigsh(sparse.eye(9), { k: 2 });
  const sides = [a, a.T].map((each) => ({ each, found: sparse.svds(each, { k: 2, ncv: 10, tol: 1e-9 }) }));
  const fars = sides.map(({ each, found: { u, s, vh } }) => u.mul(s).sub(each.matmul(vh.T)).abs().max());
  const [ones, first, second, ...off] = await compute(
    [equal.eigenvalues, ...sides.map(({ found }) => found.s), ...fars],
    cpu,
  );
  for (const value of numbersOf(ones!)) expect(value).toBeCloseTo(1, 9);
  for (const [k, value] of numbersOf(first!).entries()) expect(value).toBeCloseTo(numbersOf(second!)[k]!, 7);
  for (const each of off) expect(Number(each.item())).toBeLessThan(1e-7);
});

it('a zero on the diagonal of a triangle is an error, at the line that solves with it', async () => {
  const a = sparse.fromDense([
    [1, 0],
    [1, 0],
  ]);
  const x = sparse.solveTriangular(a, [1, 2]);
  await expect(x.compute(cpu)).rejects.toThrow(
    '[sparse.solveTriangular] expected matrices that are not singular',
  );
  const unit = sparse.solveTriangular(a, [1, 2], { unitDiagonal: true });
  expect((await unit.compute(cpu)).toArray()).toEqual([1, 1]);
  expect(() => sparse.solveTriangular(sparse.eye(2, 3), [1, 2])).toThrow('a square matrix: (2, 3)');
  expect(() => sparse.eigsh(sparse.eye(3), { k: 4 })).toThrow('[sparse.eigsh] expected k from 1 to 3: 4');
  expect(() => sparse.gmres(sparse.eye(3), [1, 2, 3], { restart: 0 })).toThrow('restart');
});

it('an index out of range is an error, in a loop too, and nothing is computed', async () => {
  const wrong = sparse.csr({ data: [1, 2], indices: [0, 3], indptr: [0, 1, 2] }, [2, 3]);
  const far = '[sparse.matmul: indices] expected indices from 0 to 2 for axis 1 of 3 elements: 3';
  await expect(wrong.matmul(ones([3])).compute()).rejects.toThrow(far);
  const ends = sparse.csr({ data: [1, 2], indices: [0, 1], indptr: [0, 1, 5] }, [2, 2]);
  await expect(ends.matmul(ones([2])).compute()).rejects.toThrow('[sparse.matmul: indptr]');
  await expect(sparse.cg(ends, ones([2])).x.compute()).rejects.toThrow('[sparse.matmul: indptr]');
  const below = sparse.csr({ data: [1, 2], indices: [0, -1], indptr: [0, 1, 2] }, [2, 2]);
  const least = '[sparse.toDense: indices] expected indices from 0 to 1 for axis 0 of 2 elements: -1';
  await expect(below.toDense().compute()).rejects.toThrow(least);
  await expect(below.T.matmul(below).toDense().compute()).rejects.toThrow('indices from 0 to 1');
});

it('a matrix goes through the files of SciPy, and other formats are refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weft-sparse-'));
  const path = join(folder, 'a.npz');
  const a = sparse.random(random.key(1), [30, 20], { density: 0.1, dtype: 'float32' });
  const saved = await sparse.saveNpz(path, a.matmul(a.T), cpu);
  const read = await sparse.loadNpz(path);
  expect([saved.shape, read.shape, read.dtype]).toEqual([[30, 30], [30, 30], 'float32']);
  const far = a.matmul(a.T).subtract(read).abs().max();
  expect((await far.compute(cpu)).item()).toBe(0);
  // The bytes that SciPy's load_npz takes the format from: a text without axes.
  expect((await readFile(path)).includes("{'descr': '|S3', 'fortran_order': False, 'shape': (), }")).toBe(
    true,
  );
  await saveNpz(path, { data: ones([3]) }, cpu);
  await expect(sparse.loadNpz(path)).rejects.toThrow('the member format of a sparse matrix: data');
  await rm(folder, { recursive: true });
});

it('random matrices have as many elements as asked for, at places of which none occurs twice', async () => {
  const far = sparse.random(random.key(3), [1000, 3000], { density: 1e-3, sampler: random.normal });
  const near = sparse.random(random.key(3), [20, 30], { density: 0.5 });
  for (const [a, count] of [
    [far, 3000],
    [near, 300],
  ] as const) {
    const once = a.map((data) => data.mul(0).add(1));
    const [stored, most] = await compute([a.nnz, once.sumDuplicates().max()], cpu);
    expect([stored.item(), most.item()]).toEqual([count, 1]);
  }
  expect(() => sparse.random(random.key(3), [2, 2], { density: 2 })).toThrow('a density from 0 to 1: 2');
});

it('a product is planned for as many elements as rows say', async () => {
  const a = sparse.diags([-1, 2, -1], [-1, 0, 1], [50, 50]);
  // The 148 elements of one, times the three of a row of the other.
  expect(a.matmul(a).data.shape).toEqual([444]);
  const known = await a.matmul(a).persist(cpu);
  expect([known.data.shape, known.parts.rowBound]).toEqual([[244], 5]);
  const dense = sparse.csr(
    { data: ones([2 ** 20]), indices: zeros([2 ** 20], { dtype: 'int32' }), indptr: [0, 2 ** 20] },
    [1, 1],
  );
  expect(() => dense.matmul(dense)).toThrow('[sparse.matmul] expected at most 68719476736 products');
});

it('what would be dense, or fits nothing, is refused where it is written', () => {
  const a = sparse.eye(2, 3);
  expect(() => a.greater(-1)).toThrow('a.toDense().greater(-1)');
  expect(() => a.add(1)).toThrow('a.toDense().add(x)');
  expect(() => a.power(0)).toThrow('an exponent above 0: 0');
  expect(() => a.matmul(a)).toThrow('[sparse.matmul] expected a matrix of 3 rows: (2, 3)');
  expect(() => a.maximum(a.T)).toThrow('a matrix of shape (2, 3): (3, 2)');
  expect(() => a.max(2)).toThrow('axis 0 or 1: 2');
  expect(() => a.astype('complex64').max()).toThrow('real numbers or booleans: complex64');
  expect(() => sparse.eye(0, 3).max(0)).toThrow('there is no extreme of none');
  expect(() => a.takeRows([2])).toThrow('[sparse.takeRows] expected indices from -2 to 1');
});
