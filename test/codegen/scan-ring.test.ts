/** Scans by rings of tiles: where they are chosen, and their CUDA C. */
import { describe, expect, it } from 'vitest';
import { canRing, printRingScan, RING_SHARED_BYTES } from '../../src/codegen/cuda/routines/scan-ring.js';
import type { RoutineStep } from '../../src/exec/calls/call.js';
import { SCAN } from '../../src/exec/calls/scan.js';
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
const isRing = (scan: Scan, limits: object = {}): boolean =>
  SCAN.kernels!(stepOf(scan), { ...HOPPER, ...limits })!.launches.at(-1)!.sharedByteLength ===
  RING_SHARED_BYTES;

const FORMS = [
  { dtype: 'float32', op: 'sum' },
  { dtype: 'float32', op: 'prod' },
  { dtype: 'float64', op: 'prod' },
  { dtype: 'int32', op: 'sum' },
  { dtype: 'uint32', op: 'prod' },
] as const;

describe('a scan by rings of tiles', () => {
  it('is of long lines whose totals are one word', () => {
    for (const form of FORMS) expect(isRing(form)).toBe(true);
    for (const dtype of ['int64', 'complex64', 'int8', 'float16'] as const)
      expect(isRing({ dtype })).toBe(false);
    for (const op of ['logsumexp', 'max', 'min'] as const) expect(isRing({ op })).toBe(false);
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
