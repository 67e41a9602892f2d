/** Products of sparse matrices larger than a GPU, and shared by several, in blocks of rows. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { compile } from '../../src/api/compile.js';
import type { Lazy } from '../../src/api/lazy.js';
import { iterate } from '../../src/api/loops.js';
import { sparse } from '../../src/api/sparse.js';
import { SparseMatrix } from '../../src/api/sparse-matrix.js';
import { toLazy } from '../support/api.js';
import { generator, randomValues } from '../support/random.js';

const [ROWS, COLUMNS] = [1501, 1000];

/** Rows of 0 to 40 elements, some of hundreds, in the order of their columns. */
function skewed(rows: number, seed: number) {
  const random = generator(seed);
  const indptr = new Int32Array(rows + 1);
  const places: number[] = [];
  for (let row = 0; row < rows; row++) {
    const length = row % 700 === 5 ? 600 : row % 3 === 0 ? 0 : Math.floor(random() * 40);
    const own = new Set(Array.from({ length }, () => Math.floor(random() * COLUMNS)));
    places.push(...[...own].sort((a, b) => a - b));
    indptr[row + 1] = places.length;
  }
  return { indptr, indices: Int32Array.from(places), stored: places.length };
}

const { indptr, indices, stored } = skewed(ROWS, 3);
const values = randomValues('float64', [stored], 4);
const matrixOf = (data: unknown): SparseMatrix =>
  sparse.csr({ data: data as never, indices, indptr }, [ROWS, COLUMNS]);
const given = matrixOf(toLazy(values));
const columns = (width: number) => toLazy(randomValues('float64', [COLUMNS, width], 5 + width));
/** Bytes of stored elements and their columns. */
const LINES = stored * 12;

describe('a sparse matrix larger than the memory of a GPU', () => {
  it.each([1, 3, 8])(
    'is multiplied with %d columns in blocks of rows, with the bits of the whole',
    async (width) => {
      const product = given.matmul(width === 1 ? columns(1).reshape([COLUMNS]) : columns(width)).mul(2);
      const whole = await product.compute({ device: 'cuda:0' });
      const memory = Math.floor(LINES / 2) + 8 * width * (COLUMNS + ROWS);
      const within = await product.compute({ device: 'cuda:0', memory });
      expect(within.data).toEqual(whole.data);
      expect(product.plan({ device: 'cuda:0', memory }).peakBytes).toBeLessThanOrEqual(memory);
      const shared = await product.compute({ devices: 2, memory });
      expect(shared.data).toEqual(whole.data);
    },
  );

  it('is read from files in windows, and says what it does', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weft-sparse-rows-'));
    const path = join(folder, 'a.npz');
    await sparse.saveNpz(path, given, { device: 'cpu' });
    const product = (await sparse.loadNpz(path)).matmul(columns(1).reshape([COLUMNS]));
    const options = { device: 'cuda:0', memory: LINES / 2 };
    const whole = await product.compute({ device: 'cuda:0' });
    expect((await product.compute(options)).data).toEqual(whole.data);
    const text = `${product.explain(options)}`;
    expect(text).toContain('in 751 blocks of rows');
    expect(text.length).toBeLessThan(20_000);
    await rm(folder, { recursive: true });
  });

  it('is multiplied by a compiled function, each matrix in its own blocks', async () => {
    const x = columns(1).reshape([COLUMNS]);
    const places = toLazy({ data: indices, shape: [stored], dtype: 'int32' });
    const product = (starts: Lazy): Lazy =>
      sparse.csr({ data: toLazy(values), indices: places, indptr: starts }, [ROWS, COLUMNS]).matmul(x);
    const compiled = compile(product, { device: 'cuda:0', memory: LINES / 2 });
    for (const other of [indptr, indptr.map((start, row) => Math.min(stored, start + 3 * (row % 2)))]) {
      const starts = toLazy({ data: other.toSorted(), shape: [ROWS + 1], dtype: 'int32' });
      const whole = await product(starts).compute({ device: 'cuda:0' });
      expect((await compiled(starts)).data).toEqual(whole.data);
    }
  });

  it('is multiplied in every step of a loop', async () => {
    const starts = indptr.subarray(0, COLUMNS + 1);
    const square = sparse.csr({ data: toLazy(values), indices, indptr: starts }, [COLUMNS, COLUMNS]);
    const last = iterate(3, columns(1).reshape([COLUMNS]), (x) => square.matmul(x).mul(0.01));
    const whole = await last.compute({ device: 'cuda:0' });
    expect((await last.compute({ device: 'cuda:0', memory: LINES / 2 })).data).toEqual(whole.data);
    expect((await last.compute({ devices: 2 })).data).toEqual(whole.data);
  });
});

describe('a sparse matrix that several GPUs share', () => {
  it('lies on each of them in part', async () => {
    const large = skewed(8 * ROWS, 5);
    const data = toLazy(randomValues('float64', [large.stored], 6));
    const x = columns(1).reshape([COLUMNS]);
    const product = sparse.csr({ ...large, data }, [8 * ROWS, COLUMNS]).matmul(x);
    const whole = await product.compute({ device: 'cuda:0' });
    expect((await product.compute({ devices: 2 })).data).toEqual(whole.data);
    expect(product.plan({ devices: 2 }).peakBytes).toBeLessThan(7 * large.stored);
  });
});

describe('two sparse matrices larger than the memory of a GPU', () => {
  /** Rows in the order of their columns, as matrices are that Weft made. */
  const made = (seed: number, rows = COLUMNS): SparseMatrix => {
    const { indptr: starts, indices: places, stored: count } = skewed(rows, seed);
    const line = (data: Int32Array) => toLazy({ data, shape: [data.length], dtype: 'int32' }).expr;
    const values = toLazy(randomValues('float64', [count], seed)).expr;
    const form = { isCanonical: true, isGiven: false };
    return new SparseMatrix({
      shape: [rows, COLUMNS],
      starts: line(starts),
      places: line(places),
      values,
      ...form,
    });
  };
  const few = sparse.eye(COLUMNS).multiply(-2);

  /** The stored elements of a result, the same whole and within a budget, and shared by two devices. */
  async function agrees(result: SparseMatrix, memory: number): Promise<void> {
    const whole = await result.compute({ device: 'cuda:0' });
    for (const options of [{ device: 'cuda:0', memory }, { devices: 2 }]) {
      const found = await result.compute(options);
      for (const name of ['indptr', 'indices', 'data'] as const)
        expect(found[name].data).toEqual(whole[name].data);
    }
    const plan = (budget?: number) => result.data.plan({ device: 'cuda:0', memory: budget });
    expect(plan(memory).peakBytes).toBeLessThanOrEqual(memory);
    expect(plan().peakBytes).toBeGreaterThan(1.3 * memory);
  }

  it('are added, multiplied and compared element by element in blocks of rows of both', async () => {
    const [a, b] = [made(7, 500), made(8, 500)];
    await agrees(a.add(b), 200_000);
    await agrees(a.multiply(b), 200_000);
    await agrees(a.less(b), 200_000);
  });

  it('are multiplied in blocks of rows of the first', async () => {
    await agrees(made(7, 1200).matmul(few), 320_000);
  });

  it('are multiplied with the rows of the second that blocks reach, where neither fits', async () => {
    const [size, length] = [8000, 7];
    const line = (at: (k: number) => number, count: number) =>
      toLazy({ data: Int32Array.from({ length: count }, (_, k) => at(k)), shape: [count], dtype: 'int32' })
        .expr;
    const stored = size * length;
    const near = (k: number): number => {
      const [row, of] = [Math.floor(k / length), k % length];
      return Math.min(Math.max(0, row - 20), size - 50) + 7 * of;
    };
    const band = new SparseMatrix({
      shape: [size, size],
      starts: line((row) => length * row, size + 1),
      places: line(near, stored),
      values: toLazy(randomValues('float64', [stored], 9)).expr,
      isCanonical: true,
      isGiven: false,
      rowBound: length,
    });
    await agrees(band.matmul(band), 10 * stored);
  });
});

describe('a product of two sparse matrices that stays on a GPU', () => {
  it('has the elements that it has on the CPU, and no others', async () => {
    const line = sparse.diags([-1, 2, -1], [-1, 0, 1], [100, 100]);
    const [onGpu, onCpu] = await Promise.all(
      ['cuda:0', 'cpu'].map((device) => line.matmul(line).add(line).matmul(line).persist({ device })),
    );
    for (const name of ['data', 'indices', 'indptr'] as const) {
      const [found, expected] = await Promise.all([onGpu![name].compute(), onCpu![name].compute()]);
      expect(found.data).toEqual(expected.data);
    }
  });
});
