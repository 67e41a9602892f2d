/** The CUDA C of routines: every form compiles with the real NVRTC, where it is found. */
import { describe, expect, it } from 'vitest';
import { printAmong } from '../../src/codegen/cuda/routines/among.js';
import { printSums } from '../../src/codegen/cuda/routines/bin-sums.js';
import { printBins } from '../../src/codegen/cuda/routines/bins.js';
import { printBlockCholesky } from '../../src/codegen/cuda/routines/block-cholesky.js';
import { printBlockLu, printBlockTriangle } from '../../src/codegen/cuda/routines/block-matrices.js';
import { printBlockQ, printBlockQr } from '../../src/codegen/cuda/routines/block-qr.js';
import { printBrackets } from '../../src/codegen/cuda/routines/bracket.js';
import { printCompact } from '../../src/codegen/cuda/routines/compact.js';
import { CLEAR_KERNEL } from '../../src/codegen/cuda/routines/look-back.js';
import { printPivotOrder } from '../../src/codegen/cuda/routines/pivot-order.js';
import { printRadixSort } from '../../src/codegen/cuda/routines/radix-sort.js';
import { printRowSort, rowCapacity } from '../../src/codegen/cuda/routines/row-sort.js';
import { printRunProducts } from '../../src/codegen/cuda/routines/run-products.js';
import {
  lineTile,
  printColumnTiles,
  printLineTiles,
  printShortRows,
  type ScanForm,
} from '../../src/codegen/cuda/routines/scan.js';
import { printBefore } from '../../src/codegen/cuda/routines/scan-look-back.js';
import { printRanks } from '../../src/codegen/cuda/routines/select.js';
import { printSmallDeterminants } from '../../src/codegen/cuda/routines/small-determinants.js';
import { printSmallLu, printSmallSolve } from '../../src/codegen/cuda/routines/small-matrices.js';
import { printSparseMatmul } from '../../src/codegen/cuda/routines/sparse-matmul.js';
import { printSparseMerge } from '../../src/codegen/cuda/routines/sparse-merge.js';
import { printSparseProduct } from '../../src/codegen/cuda/routines/sparse-product.js';
import { printSparseRows } from '../../src/codegen/cuda/routines/sparse-rows.js';
import { printSparseSelect } from '../../src/codegen/cuda/routines/sparse-select.js';
import { printSparseTriangular } from '../../src/codegen/cuda/routines/sparse-triangular.js';
import { printTop } from '../../src/codegen/cuda/routines/top.js';
import { printUnique } from '../../src/codegen/cuda/routines/unique.js';
import { printUniqueCounts } from '../../src/codegen/cuda/routines/unique-counts.js';
import { blockLu } from '../../src/exec/calls/block-matrices.js';
import type { RoutineStep } from '../../src/exec/calls/call.js';
import type { DType } from '../../src/graph/dtype.js';
import { scanTile } from '../../src/graph/scan-tiles.js';
import { whyNoNvrtc, withoutNvrtc } from '../support/nvrtc.js';
import { expectCompiled } from '../support/nvrtc-images.js';

const SCANS: readonly Omit<ScanForm, 'reverse'>[] = [
  { op: 'sum', dtype: 'float32' },
  { op: 'sum', dtype: 'int64' },
  { op: 'prod', dtype: 'complex64' },
  { op: 'prod', dtype: 'float64' },
  { op: 'min', dtype: 'bool' },
  { op: 'max', dtype: 'int16' },
  { op: 'max', dtype: 'float32' },
  { op: 'logsumexp', dtype: 'float32' },
];

const compileForHopper = (sources: readonly string[]): Promise<void> => expectCompiled(sources, 'sm_90');

it('leaves a matrix to a library where a block has no shared memory for it', () => {
  const stepOf = (dtype: DType, n: number): RoutineStep => {
    const array = (of: DType, shape: readonly number[], buffer: number) => ({ dtype: of, shape, buffer });
    const operands = [array(dtype, [3, n, n], 0)];
    const results = [array(dtype, [3, n, n], 1), array('int64', [3, n], 2)];
    return { kind: 'call', call: 'lu', parameters: [], operands, results, nodes: [0] };
  };
  // Beside a matrix of 64 KiB a block has the number of the next pivot.
  const has = (dtype: DType, n: number, kib: number): boolean =>
    blockLu(stepOf(dtype, n), { sharedByteLength: kib * 1024 }) !== undefined;
  for (const [dtype, n] of [
    ['float32', 128],
    ['complex128', 64],
  ] as const) {
    expect(has(dtype, n, 64)).toBe(false);
    expect(has(dtype, n, 96)).toBe(true);
    expect(has(dtype, n + 1, 227)).toBe(false);
    expect(has(dtype, n - 1, 64)).toBe(true);
  }
});

describe.skipIf(withoutNvrtc)(`NVRTC${whyNoNvrtc} compiles`, () => {
  it.each(SCANS)(
    'scans: $op of $dtype',
    async (numbers) => {
      const form = { ...numbers, reverse: numbers.dtype === 'int64' };
      await compileForHopper([
        printShortRows(form),
        printLineTiles(form, 'lookBack', scanTile(form.dtype, 1)) + CLEAR_KERNEL,
        printColumnTiles(form, 'lookBack'),
        printColumnTiles(form, 'operand', true),
        printBefore(form, form.reverse, 256),
      ]);
    },
    30_000,
  );

  it.each(['float32', 'bfloat16', 'int64'] as const)(
    'selections: %s',
    async (dtype) => {
      const isLong = dtype === 'int64';
      const ranks = { dtype, descending: false, indexBytes: 0, ranks: 3, isLong, isNarrowed: true } as const;
      const first = { dtype, descending: true, indexBytes: 8, ranks: 1, isLong } as const;
      await compileForHopper([
        printRanks({ dtype, descending: false, indexBytes: 0, ranks: 3, isLong }),
        printRanks(ranks) + printBrackets(ranks, [1, 0, 1]),
        printTop({ ...first, padded: 2048, groupLanes: dtype === 'bfloat16' ? undefined : 8 }),
      ]);
    },
    30_000,
  );

  it.each([
    ['float32', 'float32', undefined, 1],
    ['float32', 'float32', 21, 1],
    ['float32', 'float32', 21, 3],
    ['float32', 'float64', undefined, 2],
    ['float64', 'float64', undefined, 1],
  ] as const)('sums of %s as %s, windows %s, width %s', async (values, result, windows, width) => {
    const form = {
      keys: 'int64',
      values,
      result,
      windows,
      width,
      mode: 'raiseFromEnd',
      unitBits: 36,
    } as const;
    const bits = windows === undefined ? 36 : 13;
    await compileForHopper([printSums({ ...form, bits, zeros: 'minus', isLong: windows === undefined })]);
  });

  it('bins in windows', async () => {
    const form = {
      keys: 'int32',
      width: 1,
      parts: 1,
      bits: 0,
      sharedBins: undefined,
      isWindowed: true,
    } as const;
    await compileForHopper([
      printBins({ ...form, op: 'count', values: undefined, result: 'uint32', mode: 'within' }),
      printBins({ ...form, op: 'last', values: undefined, result: 'int64', mode: 'fromEnd', width: 3 }),
      printBins({ ...form, op: 'max', values: 'float32', result: 'float32', mode: 'clip', width: 3 }),
      printBins({
        ...form,
        op: 'fixed',
        values: 'float64',
        result: 'int64',
        mode: 'wrap',
        parts: 2,
        bits: 40,
      }),
      printBins({
        ...form,
        op: 'exact',
        values: 'float32',
        result: 'int64',
        mode: 'raise',
        parts: 21,
        bits: 13,
      }),
      printBins({
        ...form,
        op: 'sum',
        values: 'int32',
        result: 'int64',
        keys: 'float32',
        mode: 'equalEdges',
      }),
    ]);
  }, 30_000);

  it.each(['none', 'operand', 'totals'] as const)(
    'scans whose tiles have before them: %s',
    async (source) => {
      const form = { op: 'sum', dtype: 'float32', reverse: false } as const;
      await compileForHopper([
        printLineTiles(form, source, lineTile(form.dtype, 2000)),
        printColumnTiles(form, source),
      ]);
    },
    30_000,
  );

  it.each([
    ['float16', 0],
    ['float32', 4],
    ['complex128', 8],
  ] as const)(
    'sorts: %s with positions of %i bytes',
    async (dtype, indexBytes) => {
      const countBytes = indexBytes === 8 ? 8 : 4;
      const form = { dtype, descending: indexBytes === 4, indexBytes, countBytes } as const;
      await compileForHopper([printRowSort(form, rowCapacity(form)), printRadixSort(form)]);
    },
    30_000,
  );

  it.each(['float32', 'int64', 'complex128'] as const)(
    'compactions: %s',
    async (dtype) => {
      const forms = (['values', 'distinct'] as const).map(
        (kept) => ({ kept, dtype, countBytes: 4 }) as const,
      );
      await compileForHopper(forms.map(printCompact));
      if (dtype === 'int64') await compileForHopper([printCompact({ kept: 'places', dtype, countBytes: 8 })]);
    },
    30_000,
  );

  it('distinct integers', async () => {
    const sources = [
      printUnique({ dtype: 'int32', countBytes: 4 }),
      printUnique({ dtype: 'int64', countBytes: 8 }),
      printUniqueCounts({ dtype: 'int16', countBytes: 4 }),
    ];
    await compileForHopper(sources.flatMap(({ table, sort, compaction }) => [table, sort, compaction]));
    await compileForHopper((['int8', 'int32', 'uint64'] as const).map(printAmong));
  }, 30_000);

  it('factors of small matrices, and orders of rows', async () => {
    await compileForHopper([
      printSmallLu('float32', 32),
      printSmallLu('complex128', 5),
      printSmallDeterminants('float32', 8),
      printSmallDeterminants('complex128', 20),
      printSmallSolve('float64', 16, 0),
      printSmallSolve('complex64', 7, 2),
      printPivotOrder(),
    ]);
  }, 30_000);

  it('factors of matrices that a block has, and triangles', async () => {
    const [square, columns] = [
      { columns: 100, rows: 100, pitch: 101, threads: 256 },
      { columns: 40, rows: 130, threads: 256 },
    ];
    const lower = { isUpper: false, form: 0, hasUnitDiagonal: true } as const;
    await compileForHopper([
      printBlockLu('float32', { columns: 128, rows: 128, pitch: 128, threads: 256 }),
      printBlockLu('complex128', { columns: 64, rows: 64, pitch: 64, threads: 128 }),
      printBlockTriangle('float32', square, lower),
      printBlockTriangle('complex64', square, { isUpper: false, form: 2, hasUnitDiagonal: false }),
      printBlockCholesky('float64', { ...square, pitch: 102 }, false),
      printBlockCholesky('complex64', { ...square, pitch: 102 }, true),
      printBlockCholesky('complex128', { columns: 64, rows: 64, pitch: 64, threads: 128 }, false),
      printBlockQr('complex128', columns),
      printBlockQ('float32', columns, 130),
    ]);
  }, 30_000);

  it('products of sparse matrices', async () => {
    const form = { indexDType: 'int32', lanes: 8, isVector: true, isOneRow: false, isLong: false } as const;
    await compileForHopper([
      printSparseProduct({ ...form, dtype: 'float32' }),
      printSparseProduct({ ...form, dtype: 'int64', lanes: 1 }),
      printSparseProduct({ ...form, dtype: 'float64', isOneRow: true }),
      printSparseProduct({
        dtype: 'complex128',
        indexDType: 'int64',
        lanes: 32,
        isVector: false,
        isOneRow: false,
        isLong: true,
      }),
    ]);
  }, 30_000);

  it('products of two sparse matrices, merged and selected rows, and rows of elements', async () => {
    const form = { indexDType: 'int32', placeDType: 'int32', lanes: 8, slots: 64, hasLong: false } as const;
    const merge = {
      isCount: false,
      isOfBoth: false,
      indexDType: 'int32',
      placeDType: 'int32',
      elementBytes: 4,
      lanes: 4,
    } as const;
    await compileForHopper([
      printSparseMatmul({ ...form, dtype: 'float32' }),
      printSparseMatmul({ ...form, dtype: 'complex64', hasLong: true, lanes: 32, slots: 512 }),
      printSparseMatmul({ ...form, dtype: 'float64', lanes: 16, slots: 512 }),
      printSparseMatmul({ ...form, hasLong: true }),
      printSparseMatmul({
        dtype: 'complex128',
        indexDType: 'int64',
        placeDType: 'int64',
        lanes: 32,
        slots: 256,
        hasLong: true,
      }),
      printSparseMerge(merge),
      printSparseMerge({ ...merge, isCount: true, elementBytes: 8, lanes: 32, indexDType: 'int64' }),
      printSparseMerge({ ...merge, isOfBoth: true, placeDType: 'int64', elementBytes: 8, lanes: 1 }),
      printSparseSelect({ isCount: true, indexDType: 'int64', elementBytes: 1, lanes: 32 }),
      printSparseSelect({ isCount: false, indexDType: 'int32', elementBytes: 16, lanes: 4 }),
      printSparseRows('int64', 'int32'),
    ]);
  }, 30_000);

  it('triangles of sparse matrices', async () => {
    const form = { indexDType: 'int32', lanes: 1, isUpper: false } as const;
    await compileForHopper([
      printSparseTriangular({ ...form, dtype: 'float32' }),
      printSparseTriangular({ dtype: 'complex128', indexDType: 'int64', lanes: 32, isUpper: true }),
    ]);
  }, 30_000);

  it('products of runs', async () => {
    await compileForHopper([printRunProducts('float32', false), printRunProducts('complex64', true)]);
  }, 30_000);
});
