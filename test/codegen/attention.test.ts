/** The choice among kernels of attention, and the CUDA C of those for warpgroups and for float32. */
import { describe, expect, it } from 'vitest';
import { type AttentionForm, attentionKernel } from '../../src/codegen/cuda/routines/attention.js';
import type { DeviceLimits } from '../../src/codegen/cuda/schedules/schedule-rows.js';
import { whyNoNvrtc, withoutNvrtc } from '../support/nvrtc.js';
import { expectCompiled } from '../support/nvrtc-images.js';

const HOPPER: DeviceLimits = { sharedByteLength: 227 * 1024, hasWarpgroups: true };
const HALVES: AttentionForm = {
  dtype: 'float16',
  inner: 64,
  width: 64,
  isCausal: false,
  isPlaced: false,
};
const kernelOf = (form: Partial<AttentionForm>, limits = HOPPER) =>
  attentionKernel({ ...HALVES, ...form }, { batch: 16, m: 4096 }, limits);

const FORMS: readonly Partial<AttentionForm>[] = [
  {},
  { dtype: 'bfloat16', inner: 128, width: 128, isCausal: true },
  { width: 128 },
  { isPlaced: true },
  { dtype: 'bfloat16', inner: 128, width: 128, isPlaced: true },
];

const FLOATS: Partial<AttentionForm> = { dtype: 'float32', inner: 128, width: 128 };
const FLOAT_FORMS: readonly Partial<AttentionForm>[] = [
  FLOATS,
  { ...FLOATS, inner: 64, width: 64, isCausal: true },
  { ...FLOATS, inner: 37, width: 5 },
  { ...FLOATS, inner: 96, width: 100, isPlaced: true },
];

describe('a kernel of attention', () => {
  it('is one of warpgroups for heads of 64 and 128 in halves, where the device has them', () => {
    const threads = FORMS.map((form) => kernelOf(form).threads);
    expect(threads).toEqual([640, 384, 384, 640, 384]);
    for (const form of FORMS) expect(kernelOf(form).isSpecific).toBe(true);
    expect(kernelOf({}, { ...HOPPER, hasWarpgroups: false }).isSpecific).toBe(false);
    expect(kernelOf({ inner: 80 }).isSpecific).toBe(false);
    expect(kernelOf({ dtype: 'float32' }).isSpecific).toBe(false);
  });

  it('has fewer rows in a block where there are few', () => {
    expect(kernelOf({}).rows).toBe(256);
    expect(attentionKernel(HALVES, { batch: 4, m: 4096 }, HOPPER).rows).toBe(128);
  });

  it('of warpgroups is printed as in its golden file', async () => {
    const { source } = kernelOf(FORMS[1]!);
    await expect(source).toMatchFileSnapshot('../golden/cuda/attention_by_warpgroups.cu');
  });

  it.skipIf(withoutNvrtc)(`of warpgroups compiles${whyNoNvrtc}`, async () => {
    await expectCompiled(
      FORMS.map((form) => kernelOf(form).source),
      'sm_90a',
    );
  });

  it.skipIf(withoutNvrtc)(`of arrays that lie anywhere compiles${whyNoNvrtc}`, async () => {
    const forms: readonly Partial<AttentionForm>[] = [
      { dtype: 'float32' },
      { dtype: 'float32', inner: 128, width: 128, isCausal: true },
      { dtype: 'float32', inner: 5, width: 7 },
      { inner: 80, width: 80 },
      { inner: 9, width: 7 },
    ];
    await expectCompiled(
      forms.map((form) => kernelOf({ ...form, isPlaced: true }).source),
      'sm_90',
    );
  });

  it('in float32 has slices of K and V where two blocks of them fit a multiprocessor', () => {
    expect(kernelOf(FLOATS)).toMatchObject({
      rows: 128,
      threads: 128,
      schedule: 'tiles of 128 × 64 by float32 units',
    });
    const few = attentionKernel({ ...HALVES, ...FLOATS }, { batch: 1, m: 128 * 132 }, HOPPER);
    expect([few.rows, few.threads]).toEqual([64, 128]);
    // As many bytes as two blocks of a multiprocessor may have.
    expect(2 * (kernelOf(FLOATS).sharedByteLength + 1024)).toBe(228 * 1024);
    for (const kibibytes of [163, 99]) {
      const { rows, threads, sharedByteLength } = kernelOf(FLOATS, { sharedByteLength: kibibytes * 1024 });
      expect([rows, threads]).toEqual(kibibytes === 163 ? [128, 256] : [64, 128]);
      expect(sharedByteLength + 1024).toBeLessThanOrEqual(kibibytes * 1024);
    }
    expect(kernelOf(FLOATS, { sharedByteLength: 48 * 1024 }).rows).toBe(32);
    expect(kernelOf({ ...FLOATS, inner: 129 }).threads).toBe(256);
  });

  it('in float32 is printed as in its golden file', async () => {
    await expect(kernelOf(FLOATS).source).toMatchFileSnapshot('../golden/cuda/attention_by_slices.cu');
  });

  it.skipIf(withoutNvrtc)(`in float32 compiles${whyNoNvrtc}`, async () => {
    const sources = FLOAT_FORMS.flatMap((form) =>
      [227, 163, 99].map((kibibytes) => kernelOf(form, { sharedByteLength: kibibytes * 1024 }).source),
    );
    await expectCompiled(sources, 'sm_80');
  });
});
