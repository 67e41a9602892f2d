/** Sparse matrices on every backend against NumPy, and solvers with them. */
import { describe, expect, it, vi } from 'vitest';
import {
  arange,
  compute,
  type Lazy,
  lazy,
  ones,
  random,
  type SparseMatrix,
  sparse,
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
  [...cases.keys()].filter(
    // Direct solves are made of promises: `sparse-direct.test.ts`.
    (call) => call !== 'spsolve' && !(device.startsWith('cuda') && COMPOSED.has(call)),
  );

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

it.each(onDevices)('rows of more columns than memory holds are summed on %s', async (device) => {
  const seed = 71;
  const next = generator(seed);
  const lengths = Array.from({ length: 300 }, (_, row) => (row % 50 < 20 ? 3 : Math.floor(next() * 40)));
  const indptr = [0];
  for (const length of lengths) indptr.push(indptr.at(-1)! + length);
  const data = Float64Array.from({ length: indptr.at(-1)! }, () => (next() - 0.5) * 10 ** (6 * next()));
  data.set([-0, -0, -0, Number.POSITIVE_INFINITY, Number.NaN]);
  const some = BigInt64Array.from(data, () => BigInt(Math.floor(next() * 2 ** 32)));
  const wide = sparse.csr({ data, indices: some, indptr }, [300, 2 ** 32]);
  const narrow = sparse.csr({ data, indices: some.map((each) => each % 50n), indptr }, [300, 50]);
  const sums = [wide, narrow].map((a) => [a.sum(1), a.map((x) => x.sign()).sum()]);
  const [ofWide, ofNarrow] = await compute(sums, { device, memory: '1MiB' });
  expect(ofWide, `seed ${seed}`).toEqual(ofNarrow);
  const bad = sparse.csr({ data: [1, 2], indices: lazy(Int32Array.of(0, 9)), indptr: [0, 1, 2] }, [2, 3]);
  await expect(bad.sum(1).compute({ device })).rejects.toThrow('expected indices from 0 to 2');
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

describe.each(onDevices)('dense arrays on %s', (device) => {
  it('have rows of any length, some of them empty, and elements of any width', async () => {
    const numbers = Array.from({ length: 300 }, (_, k) => k);
    const long = numbers.map((k) => [k % 3, 30 * k] as const);
    const short = numbers.map((k) => [2 * k, k % 5] as const);
    for (const [places, shape] of [
      [long, [4, 9001]],
      [short, [700, 5]],
    ] as const) {
      const wanted = new Array<number>(shape[0] * shape[1]).fill(0);
      for (const [k, [row, column]] of places.entries()) wanted[row * shape[1] + column] = 1 + (k % 7);
      const ends = ['int8', 'complex128'] as const;
      const dtypes = device.startsWith('cuda') ? ends : ([...ends, 'float16', 'float32', 'int64'] as const);
      const found = dtypes.map((dtype) => {
        const data = lazy(numbers.map((k) => 1 + (k % 7))).astype(dtype);
        const [row, col] = [0, 1].map((axis) => places.map((place) => place[axis]!));
        return sparse
          .coo({ data, row: row!, col: col! }, shape)
          .toDense()
          .sub(lazy(wanted).reshape([...shape]))
          .abs()
          .max();
      });
      const far = await compute(found as [Lazy], { device });
      expect(far.map((each) => Number(each.item()))).toEqual(dtypes.map(() => 0));
    }
  });
});

it.each(onDevices)(
  'components of complex elements are added apart on %s, infinities and NaN too',
  async (device) => {
    const [inf, nan] = [Number.POSITIVE_INFINITY, Number.NaN];
    const complex = (re: number, im: number) => ({ re, im });
    const elements = [
      [0, 0, complex(inf, 1)],
      [0, 1, complex(2, -inf)],
      [0, 0, complex(1, 2)],
      [1, 1, complex(3, inf)],
      [2, 0, complex(nan, 1)],
      [2, 0, complex(0, 1)],
      [1, 0, complex(1, nan)],
      [1, 1, complex(5, 5)],
    ] as const;
    const data = lazy(elements.map((each) => each[2]));
    const index = (axis: 0 | 1): number[] => elements.map((each) => each[axis]);
    const a = sparse.coo({ data, row: index(0), col: index(1) }, [3, 2]);
    // Columns in no order, one of them twice.
    const b = sparse.csr({ data: data.slice([0, 3]), indices: [1, 0, 1], indptr: [0, 3] }, [1, 2]);
    const results = [a.data, a.sum(1), a.sum(0), b.toDense()] as const;
    const wanted = [
      [complex(inf, 3), complex(2, -inf), complex(1, nan), complex(8, inf), complex(nan, 2)],
      [complex(inf, -inf), complex(9, nan), complex(nan, 2)],
      [complex(nan, nan), complex(10, nan)],
      [complex(2, -inf), complex(inf, 3)],
    ];
    const found = await compute([...results], { device });
    expect(found.map((each) => (each.toArray() as unknown[]).flat())).toEqual(wanted);
  },
);

it('a matrix that may store one element, and does not, has none', async () => {
  const one = sparse.csr({ data: [5], indices: [1], indptr: [0, 0, 1] }, [2, 3]);
  const other = sparse.csr({ data: [7], indices: [2], indptr: [0, 1, 1] }, [2, 3]);
  const matrices = [one.multiply(other), one.less(0), one.tril(-5), one.rows(0, 1), one.columns(2, 3)];
  for (const matrix of matrices.flatMap((each) => [each, each.T])) {
    const { data, indices, indptr } = await matrix.compute();
    expect([data.size, indices.size, indptr.at(-1)].map(Number)).toEqual([0, 0, 0]);
    expect((await matrix.max(0).any().compute()).item()).toBe(false);
  }
});

it('an index out of range is an error, in a loop too, and nothing is computed', async () => {
  const wrong = sparse.csr({ data: [1, 2], indices: [0, 3], indptr: [0, 1, 2] }, [2, 3]);
  const far = '[sparse.matmul: indices] expected indices from 0 to 2 for axis 1 of 3 elements: 3';
  await expect(wrong.matmul(ones([3])).compute()).rejects.toThrow(far);
  const indptr = arange(3, { dtype: 'int64' }).mul(2);
  const ends = sparse.csr({ data: [1, 2], indices: [0, 1], indptr }, [2, 2]);
  await expect(ends.matmul(ones([2])).compute()).rejects.toThrow('[sparse.matmul: indptr]');
  await expect(sparse.cg(ends, ones([2])).x.compute()).rejects.toThrow('[sparse.matmul: indptr]');
  const starts = lazy(Int32Array.of(0, 3, 0, 3)).add(0);
  const rows = { data: [1, 2, 3], indices: [0, 1, 2], indptr: starts };
  const descending = sparse.csr(rows, [3, 3]);
  const overlap =
    '[sparse.matmul: differences of indptr] expected indices from 0 to 3 for axis 0 of 4 elements: -3';
  await expect(descending.matmul(sparse.eye(3)).data.compute()).rejects.toThrow(overlap);
  await expect(descending.matmul(ones([3])).compute()).rejects.toThrow(overlap);
  for (const part of [descending.tril(), descending.columns(0, 2), descending.eliminateZeros()])
    await expect(part.data.compute()).rejects.toThrow('differences of indptr] expected');
  const below = sparse.csr({ data: [1, 2], indices: [0, -1], indptr: [0, 1, 2] }, [2, 2]);
  const least = '[sparse.toDense: indices] expected indices from 0 to 1 for axis 1 of 2 elements: -1';
  await expect(below.toDense().compute()).rejects.toThrow(least);
  await expect(below.T.matmul(below).toDense().compute()).rejects.toThrow('indices from 0 to 1');
});
