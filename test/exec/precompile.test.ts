/** Kernels that the real NVRTC compiles ahead, where it is found; `test/sim/precompile.test.ts` computes with such. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { placeholder, precompile } from '../../src/index.js';
import { whyNoNvrtc, withoutNvrtc } from '../support/nvrtc.js';

/** Of an image's file, before the machine code. */
const HEADER_BYTES = 45;

it.skipIf(withoutNvrtc)(`machine code is written for GPUs that are not here${whyNoNvrtc}`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weft-ahead-'));
  try {
    const x = placeholder([4096, 64], 'float32');
    const arrays = { soft: x.softmax(1), order: x.slice([0, 64]).sum(1).argsort() };
    const architectures = ['sm_80', 'sm_90', 'sm_120'];
    const { kernels } = await precompile(arrays, { architectures, folder });
    const images = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
    expect([images.length, kernels % 3]).toEqual([kernels, 0]);
    const kinds = images.map((image) => image.subarray(HEADER_BYTES, HEADER_BYTES + 4).toString('latin1'));
    expect(new Set(kinds)).toEqual(new Set(['\x7fELF']));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
