/** Sparse matrices where the device does not matter: decisions, files, random places, and errors. On the CPU alone. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  compute,
  eye,
  full,
  lazy,
  linalg,
  ones,
  random,
  type SparseMatrix,
  saveNpz,
  sparse,
  zeros,
} from '../src/index.js';

const cpu = { device: 'cpu' } as const;
const numbersOf = (x: { readonly data: ArrayLike<unknown> }): number[] => Array.from(x.data, Number);

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

it('eigenpairs of float32, of complex numbers and of a matrix of low rank are those of the dense matrix', async () => {
  const line = (k: number): SparseMatrix => sparse.diags([1, 3, 1], [-k, 0, k], [300, 300]);
  const steps = sparse.diags([Array.from({ length: 300 }, (_, i) => Math.sin(i))]);
  const real = line(7).add(steps);
  const imaginary = sparse
    .diags([1, -1], [-1, 1], [300, 300])
    .map((x) => x.mul(full([], { re: 0, im: 0.5 })));
  const hermitian = real.map((x) => x.astype('complex128')).add(imaginary);
  const few = sparse.random(random.key(5), [4, 40], { density: 0.5 });
  const cases = [
    { a: real, which: 'SA', k: 3, tol: 1e-11 },
    { a: real.map((x) => x.astype('float32')), which: 'LM', k: 4, tol: 1e-4 },
    { a: hermitian, which: 'LA', k: 3, tol: 1e-11 },
    { a: few.T.matmul(few), which: 'LM', k: 6, tol: 1e-10 },
  ] as const;
  for (const { a, which, k, tol } of cases) {
    const { eigenvalues, eigenvectors: v, converged } = sparse.eigsh(a, { k, which });
    const all = linalg.eigvalsh(a.toDense());
    const size = all.abs().max();
    const order = which === 'SA' ? all : which === 'LA' ? all.negative() : all.abs().negative();
    const wanted = all.take(order.argsort().slice([0, k]), 0, { mode: 'clip' });
    const off = eigenvalues.sub(wanted.sort()).abs().max().div(size);
    const adjoint = v.dtype.startsWith('complex') ? v.conj().T : v.T;
    const gram = adjoint.matmul(v).sub(eye(k)).abs().max();
    const rest = a.matmul(v).sub(v.mul(eigenvalues)).abs().max().div(size);
    const [done, ...found] = await compute([converged, off, gram, rest], cpu);
    expect(done.item()).toBe(true);
    for (const each of found) expect(Number(each.item())).toBeLessThan(tol);
  }
});

it('all eigenvalues, and vectors of singular values that are 0, of matrices whose squares overflow or vanish', async () => {
  const few = sparse.random(random.key(6), [50, 2], { density: 0.8 });
  const low = few.matmul(sparse.random(random.key(7), [2, 60], { density: 0.8 }));
  for (const scale of [1e200, 1e-200]) {
    const tridiagonal = sparse.diags([-scale, 2 * scale, -scale], [-1, 0, 1], [7, 7]);
    const { eigenvalues, eigenvectors } = sparse.eigsh(tridiagonal, { k: 7 });
    const roots = Array.from({ length: 7 }, (_, k) => 2 - 2 * Math.cos(((k + 1) * Math.PI) / 8));
    const a = low.map((x) => x.mul(scale));
    const { u, s, vh, converged } = sparse.svds(a, { k: 5 });
    const size = s.max();
    const apart = [u.T.matmul(u), vh.matmul(vh.T)].map((gram) => gram.sub(eye(5)));
    const rests = [a.matmul(vh.T).sub(u.mul(s)).div(size), s.slice([2]).div(size)];
    const own = tridiagonal.matmul(eigenvectors).sub(eigenvectors.mul(eigenvalues)).div(scale);
    const off = [...apart, ...rests, own, eigenvalues.div(scale).sub(roots)].map((x) => x.abs().max());
    const [done, ...found] = await compute([converged, ...off], cpu);
    expect(done.item()).toBe(true);
    for (const each of found) expect(Number(each.item()), `by ${scale}`).toBeLessThan(1e-13);
  }
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
  expect(() => sparse.svds(sparse.eye(3), { k: 1, tol: -1 })).toThrow('tol');
  expect(() => sparse.gmres(sparse.eye(3), [1, 2, 3], { restart: 0 })).toThrow('restart');
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

it.each([
  ['int32', Int32Array],
  ['int64', BigInt64Array],
  ['int16', Int16Array],
] as const)(
  'numbers of rows of %s are counted from the end, and looked at by the run',
  async (_, Numbers) => {
    const a = await sparse.diags([-1, 2, -1], [-1, 0, 1], [400, 400]).persist(cpu);
    const arrayOf = (list: readonly number[]) =>
      Numbers === BigInt64Array
        ? BigInt64Array.from(list, BigInt)
        : (Numbers as Int32ArrayConstructor).from(list);
    const far = Array.from({ length: 5000 }, (_, k) => (k * 7) % 400);
    for (const list of [[399, -1, -400, 0, 7, 8, 9], far]) {
      const expected = await a.takeRows(list).compute(cpu);
      const found = await a.takeRows(arrayOf(list)).compute(cpu);
      for (const name of ['data', 'indices', 'indptr'] as const)
        expect(found[name].data, name).toEqual(expected[name].data);
      expect((await a.takeRows(arrayOf(list)).persist(cpu)).data.shape).toEqual(expected.data.shape);
    }
    for (const wrong of [400, -401]) {
      const taken = a.takeRows(arrayOf([...far, wrong, 3]));
      const message = `[sparse.takeRows] expected indices from -400 to 399`;
      await expect(taken.compute(cpu)).rejects.toThrow(message);
      await expect(taken.persist(cpu)).rejects.toThrow(message);
      await expect(compute([taken.data.sum()], cpu)).rejects.toThrow(message);
    }
  },
);

it.each([
  ['with elements', 3],
  ['without any', 0],
])('numbers of rows of a matrix %s are looked at, as are those of 64 bits', async (_, stored) => {
  const indptr = Int32Array.from({ length: 4 }, (_, k) => Math.min(k, stored));
  const line = Array.from({ length: stored }, (_, k) => k);
  const a = sparse.csr({ data: line, indices: line, indptr }, [3, 3]);
  const starts = async (numbers: Int32Array | BigInt64Array | BigUint64Array): Promise<number[]> =>
    Array.from((await a.takeRows(numbers).indptr.compute(cpu)).data, Number);
  const ends = stored === 0 ? [0, 0, 0] : [0, 1, 2];
  expect(await starts(Int32Array.of(0, -1))).toEqual(ends);
  expect(await starts(BigUint64Array.of(1n, 2n))).toEqual(ends);
  for (const wrong of [Int32Array.of(0, 3), BigInt64Array.of(-4n), BigUint64Array.of(2n ** 64n - 1n)])
    await expect(starts(wrong)).rejects.toThrow(
      `[sparse.takeRows] expected indices from -3 to 2 for axis 0 of 3 elements: ${wrong.at(-1)}`,
    );
});

it.each([
  ['with elements', 3],
  ['without any', 0],
])('numbers of columns of a matrix %s are looked at', async (_, stored) => {
  const indptr = Int32Array.from({ length: 3 }, (_, k) => Math.min(2 * k, stored));
  const line = Array.from({ length: stored }, (_, k) => k);
  const a = sparse.csr({ data: line, indices: line, indptr }, [2, 4]);
  const taken = (numbers: Int32Array | BigUint64Array) => a.takeColumns(numbers);
  const b = taken(Int32Array.of(3, -3, 0));
  expect(b.shape).toEqual([2, 3]);
  const starts = await b.indptr.compute(cpu);
  expect(Array.from(starts.data, Number)).toEqual(stored === 0 ? [0, 0, 0] : [0, 2, 2]);
  for (const wrong of [Int32Array.of(4, 0), Int32Array.of(0, -5), BigUint64Array.of(2n ** 64n - 1n)])
    await expect(taken(wrong).indptr.compute(cpu)).rejects.toThrow(
      '[sparse.takeColumns] expected indices from -4 to 3',
    );
});

it('products of elements are of those that both matrices store: infinities and NaN elsewhere give 0', async () => {
  const special = [
    [Number.NaN, 0, 2],
    [0, Number.POSITIVE_INFINITY, 0],
  ];
  const ones = sparse.csr({ data: [1, 1], indices: [1, 2], indptr: [0, 1, 2] }, [2, 3]);
  const given = sparse.fromDense(special);
  const none = [ones.multiply(given), given.multiply(ones), ones.multiply(lazy(special))];
  for (const result of await compute(
    none.map((each) => each.toDense()),
    cpu,
  ))
    expect(result.toArray()).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
  const stored = await given
    .multiply(lazy([0, 1, 0]))
    .toDense()
    .compute(cpu);
  expect(stored.toArray()).toEqual([
    [Number.NaN, 0, 0],
    [0, Number.POSITIVE_INFINITY, 0],
  ]);
});

it('rows of a matrix keep the bound of its longest row, by which products with them are planned', async () => {
  const a = await sparse.diags([-1, 2, -1], [-1, 0, 1], [400, 400]).persist(cpu);
  const rows = a.rows(0, 400);
  const peak = (b: typeof a): number => a.matmul(b).data.plan(cpu).peakBytes;
  expect(peak(rows)).toBeLessThan(2 * peak(a));
  expect((await a.matmul(rows).sum().compute(cpu)).item()).toBe(
    (await a.matmul(a).sum().compute(cpu)).item(),
  );
});

it('a matrix of few elements in 2^36 columns is put in order by these, and added to others', async () => {
  const size = 2 ** 36;
  const indices = BigInt64Array.of(7n, BigInt(size - 1), 7n, 5n, 3n, 3n, -9n);
  const data = Float64Array.of(1, 2, 4, 8, Number.POSITIVE_INFINITY, 1, 3);
  const starts = [0, 4, 4, 6];
  const given = sparse.csr({ data, indices, indptr: Int32Array.from(starts) }, [3, size]);
  // Starts that are not known before anything runs.
  const computed = sparse.csr({ data, indices, indptr: lazy(starts).astype('int32') }, [3, size]);
  for (const a of [given, computed, given.astype('complex128'), computed.rows(0, 3)]) {
    const own = a.sumDuplicates();
    const twice = a.add(a);
    const [ends, columns, sums, more] = await compute([own.indptr, own.indices, own.data, twice.data], cpu);
    expect(numbersOf(ends!)).toEqual([0, 3, 3, 4]);
    expect(numbersOf(columns!)).toEqual([5, 7, size - 1, 3]);
    const expected = [8, 5, 2, Number.POSITIVE_INFINITY];
    const real = a.dtype === 'complex128' ? [sums!.data, more!.data] : undefined;
    const [x, y] = real?.map((line) => Array.from(line as Float64Array).filter((_, k) => k % 2 === 0)) ?? [];
    expect(x ?? numbersOf(sums!)).toEqual(expected);
    expect(y ?? numbersOf(more!)).toEqual(expected.map((each) => 2 * each));
  }
  const wrong = sparse.csr({ data: [1], indices: [size], indptr: [0, 1] }, [1, size]);
  await expect(wrong.sumDuplicates().data.compute(cpu)).rejects.toThrow('[sparse.sumDuplicates: indices]');
});
