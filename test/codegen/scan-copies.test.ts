/** Scans by bulk copies, lines in rings of tiles and rows a block each: where they are chosen, and their CUDA C. */
import { describe, expect, it } from 'vitest';
import { printColumnTiles } from '../../src/codegen/cuda/routines/scan.js';
import { canRing, printRingScan, RING_SCHEDULE } from '../../src/codegen/cuda/routines/scan-ring.js';
import { printRingColumns, STRIPE_SCHEDULE } from '../../src/codegen/cuda/routines/scan-ring-columns.js';
import { printCopiedRows, ROW_SCHEDULE } from '../../src/codegen/cuda/routines/scan-rows.js';
import type { RoutineStep } from '../../src/exec/calls/call.js';
import { SCAN } from '../../src/exec/calls/scan.js';
import { sharingOf } from '../../src/exec/calls/scan-column-rings.js';
import type { DType } from '../../src/graph/dtype.js';
import { SCAN_OPS, type ScanOp } from '../../src/graph/scan-tiles.js';
import { whyNoNvrtc, withoutNvrtc } from '../support/nvrtc.js';
import { expectCompiled } from '../support/nvrtc-images.js';

const HOPPER = { sharedByteLength: 227 * 1024, hasWarpgroups: true, hasBulkCopies: true };

interface Scan {
  readonly dtype?: DType;
  readonly op?: ScanOp;
  readonly isReverse?: boolean;
  readonly shape?: readonly number[];
}
function stepOf({
  dtype = 'float32',
  op = 'sum',
  isReverse = false,
  shape = [1, 2 ** 23, 1],
}: Scan): RoutineStep {
  const array = { dtype, shape, buffer: 0 };
  const parameters = [SCAN_OPS.indexOf(op), isReverse ? 1 : 0];
  const arrays = { operands: [array], results: [{ ...array, buffer: 1 }] };
  return { kind: 'call', call: 'scan', parameters, ...arrays, workspace: 2, nodes: [] };
}
const scheduleOf = (scan: Scan, limits: object = {}): string | undefined =>
  SCAN.kernels!(stepOf(scan), { ...HOPPER, ...limits })!.schedule;
const isRing = (scan: Scan, limits: object = {}): boolean => scheduleOf(scan, limits) === RING_SCHEDULE;
const areCopied = (scan: Scan, limits: object = {}): boolean => scheduleOf(scan, limits) === ROW_SCHEDULE;

const FORMS = [
  { dtype: 'float32', op: 'sum' },
  { dtype: 'float32', op: 'prod' },
  { dtype: 'float64', op: 'prod' },
  { dtype: 'int32', op: 'sum' },
  { dtype: 'uint32', op: 'prod' },
  { dtype: 'float32', op: 'max' },
] as const;

describe('a scan by rings of tiles', () => {
  it('is of long lines whose totals are one word', () => {
    for (const form of FORMS) expect(isRing(form)).toBe(true);
    for (const dtype of ['int64', 'complex64', 'int8', 'float16'] as const)
      expect(isRing({ dtype })).toBe(false);
    for (const op of ['max', 'min'] as const) {
      expect(isRing({ op })).toBe(true);
      expect(isRing({ op, dtype: 'int64' })).toBe(false);
    }
    expect(isRing({ op: 'logsumexp' })).toBe(false);
    expect(isRing({ shape: [1, 2 ** 22, 1] })).toBe(false);
    expect(isRing({ dtype: 'float64', shape: [1, 2 ** 22, 1] })).toBe(true);
    expect(isRing({ isReverse: true })).toBe(false);
    expect(isRing({ shape: [1, 2 ** 23 + 1, 1] })).toBe(true);
    expect(isRing({ shape: [3, 2 ** 22 + 4, 1] })).toBe(true);
    expect(isRing({ shape: [3, 2 ** 22 + 1, 1] })).toBe(false);
    expect(isRing({ shape: [3, 2 ** 20, 64] })).toBe(false);
    expect(isRing({ shape: [2 ** 20, 2048, 1] })).toBe(false);
  });

  it('needs bulk copies, and shared memory for a ring', () => {
    expect(isRing({}, { hasBulkCopies: false })).toBe(false);
    expect(isRing({}, { sharedByteLength: 163 * 1024 })).toBe(false);
  });

  it('has the words of the same workspace as tiles that look back', () => {
    const [, ring] = SCAN.kernels!(stepOf({}), HOPPER)!.launches;
    const [, other] = SCAN.kernels!(stepOf({}), { sharedByteLength: 163 * 1024 })!.launches;
    expect(ring!.args).toEqual(other!.args);
  });

  it('is printed as in its golden file', async () => {
    const source = printRingScan({ dtype: 'float32', op: 'sum', reverse: false });
    await expect(source).toMatchFileSnapshot('../golden/cuda/scan_by_rings.cu');
  });

  it.skipIf(withoutNvrtc)(`compiles${whyNoNvrtc}`, async () => {
    const forms = FORMS.map((form) => ({ ...form, reverse: false }));
    expect(forms.every(canRing)).toBe(true);
    await expectCompiled(forms.map(printRingScan), 'sm_90');
  });
});

const ROWS = [
  ['float32', 'sum', 2048],
  ['float32', 'max', 3000],
  ['int64', 'sum', 4096],
  ['complex64', 'prod', 2048],
] as const;

describe('a scan of rows that are copied in bulk', () => {
  it('is of rows that fit a block and begin at 16 bytes', () => {
    for (const [dtype, op, n] of ROWS)
      expect(areCopied({ dtype, op, shape: [2 ** 15, n, 1] }), `${dtype} ${n}`).toBe(true);
    expect(areCopied({ shape: [2 ** 12, 2048, 1] })).toBe(true);
    expect(areCopied({ shape: [2 ** 12 - 1, 2048, 1] })).toBe(false);
    expect(areCopied({ shape: [2 ** 15, 2049, 1] })).toBe(false);
    expect(areCopied({ shape: [2 ** 15, 1024, 1] })).toBe(false);
    expect(areCopied({ shape: [2 ** 15, 8196, 1] })).toBe(false);
    expect(areCopied({ shape: [2 ** 15, 2048, 1], isReverse: true })).toBe(false);
    expect(areCopied({ shape: [2 ** 15, 2048, 1], op: 'logsumexp' })).toBe(false);
    expect(areCopied({ shape: [2 ** 15, 2048, 1], dtype: 'int16' })).toBe(false);
    expect(areCopied({ shape: [2 ** 15, 2048, 1] }, { hasBulkCopies: false })).toBe(false);
  });

  it('has a block for each row, of a thread for 256 bytes of its tile', () => {
    const launchOf = (shape: readonly number[]) => SCAN.kernels!(stepOf({ shape }), HOPPER)!.launches[0]!;
    expect(launchOf([2 ** 15, 2048, 1])).toMatchObject({ blocks: 2 ** 15, threads: 32 });
    expect(launchOf([5001, 3000, 1])).toMatchObject({ blocks: 5001, threads: 64 });
    expect(launchOf([1027, 8192, 1])).toMatchObject({ blocks: 1027, threads: 128 });
  });

  it('is printed as in its golden file', async () => {
    const form = { dtype: 'float32', op: 'sum', reverse: false } as const;
    await expect(printCopiedRows(form, 2048)).toMatchFileSnapshot('../golden/cuda/scan_copied_rows.cu');
    await expect(printCopiedRows(form, 3000)).toMatchFileSnapshot(
      '../golden/cuda/scan_copied_rows_ragged.cu',
    );
  });

  it.skipIf(withoutNvrtc)(`compiles${whyNoNvrtc}`, async () => {
    const sources = ROWS.map(([dtype, op, n]) => printCopiedRows({ dtype, op, reverse: false }, n));
    await expectCompiled(sources, 'sm_90');
  });
});

describe('a scan of columns by rings of tiles', () => {
  const isColumnRing = (scan: Scan, limits: object = {}): boolean =>
    scheduleOf(scan, limits) === STRIPE_SCHEDULE;

  it('is of long columns whose totals are one word and whose rows begin at 16 bytes', () => {
    for (const form of FORMS) expect(isColumnRing({ ...form, shape: [3, 5000, 1028] })).toBe(true);
    expect(isColumnRing({ shape: [1, 4096, 2048] })).toBe(true);
    expect(isColumnRing({ shape: [1, 4095, 2048] })).toBe(false);
    expect(isColumnRing({ shape: [2 ** 10, 256, 2048] })).toBe(false);
    expect(isColumnRing({ shape: [1, 2 ** 20, 32] })).toBe(false);
    expect(isColumnRing({ shape: [1, 2 ** 20, 324] })).toBe(true);
    // Of fewer stripes, each is of too many blocks.
    expect(isColumnRing({ shape: [1, 2 ** 20, 320] })).toBe(false);
    expect(isColumnRing({ shape: [5, 2 ** 20, 64] })).toBe(false);
    expect(isColumnRing({ shape: [6, 2 ** 20, 64] })).toBe(true);
    expect(isColumnRing({ shape: [1, 2 ** 20, 386] })).toBe(false);
    expect(isColumnRing({ shape: [1, 2 ** 20, 386], dtype: 'float64' })).toBe(true);
    expect(isColumnRing({ shape: [1, 2 ** 14, 2048], isReverse: true })).toBe(false);
    expect(isColumnRing({ shape: [1, 2 ** 14, 2048], op: 'logsumexp' })).toBe(false);
    for (const dtype of ['int64', 'complex64', 'int8'] as const)
      expect(isColumnRing({ shape: [1, 2 ** 14, 2048], dtype })).toBe(false);
    expect(isColumnRing({ shape: [1, 4096, 2048] }, { hasBulkCopies: false })).toBe(false);
    expect(isColumnRing({ shape: [1, 4096, 2048] }, { sharedByteLength: 163 * 1024 })).toBe(false);
  });

  it('needs numbers of tiles, coordinates and strides that fit', () => {
    expect(isColumnRing({ shape: [1, 2 ** 28, 324] })).toBe(true);
    expect(isColumnRing({ shape: [1, 2 ** 28 + 1, 324] })).toBe(false);
    expect(isColumnRing({ shape: [1, 257, 2 ** 29] })).toBe(true);
    expect(isColumnRing({ shape: [1, 512, 2 ** 29] })).toBe(false);
    expect(isColumnRing({ shape: [2 ** 26, 257, 36] })).toBe(false);
  });

  it('shares stripes among blocks so that few multiprocessors have none', () => {
    expect([1, 2, 9, 16, 32, 64, 65, 128, 256, 2048].map(sharingOf)).toEqual([
      132, 66, 14, 8, 4, 2, 2, 1, 1, 1,
    ]);
    for (let stripes = 1; stripes < 1000; ++stripes) {
      const runs = stripes * sharingOf(stripes);
      expect(runs / (Math.ceil(runs / 132) * 132), `${stripes} stripes`).toBeGreaterThanOrEqual(0.9);
    }
  });

  it('has its arrays as tensor maps, of whole tiles and lines', () => {
    const [, launch] = SCAN.kernels!(stepOf({ shape: [2, 5000, 1028] }), HOPPER)!.launches;
    const layout = {
      elementBytes: 4,
      sizes: [1028, 5000, 2],
      strides: [4112, 20_560_000],
      box: [64, 256, 1],
    };
    expect(launch!.args.slice(0, 5)).toEqual([
      { buffer: 0 },
      { buffer: 1 },
      { tensorMap: { buffer: 0, ...layout } },
      { tensorMap: { buffer: 1, ...layout } },
      { buffer: 2 },
    ]);
    expect(launch).toMatchObject({ blocks: 160, threads: 608 });
  });

  it('has words for tiles, groups of them and the counts of stripes in its workspace', () => {
    const { most } = SCAN.workspace.cuda(stepOf({ shape: [2, 9000, 1028] }));
    const stripes = 2 * 17;
    expect(most).toBeGreaterThanOrEqual(256 + stripes * ((36 + 2) * 64 * 8 + 4));
  });

  it('gives one NaN for all where it selects floats of 32 bits, as rings and tiles of lines do', () => {
    for (const op of ['min', 'max'] as const) {
      const form = { dtype: 'float32', op, reverse: false } as const;
      for (const source of [printRingColumns(form), printRingScan(form), printColumnTiles(form, 'lookBack')])
        expect(source).toContain('weft_round(weft_wide a) { return __fmul_rn(a, 1.0f); }');
    }
  });

  it('is printed as in its golden file', async () => {
    const source = printRingColumns({ dtype: 'float32', op: 'sum', reverse: false });
    await expect(source).toMatchFileSnapshot('../golden/cuda/scan_columns_by_rings.cu');
  });

  it.skipIf(withoutNvrtc)(`compiles${whyNoNvrtc}`, async () => {
    const forms = [FORMS[0], FORMS[2], FORMS.at(-1)!].map((form) => ({ ...form, reverse: false }));
    await expectCompiled(forms.map(printRingColumns), 'sm_90');
  });
});
