/** Kernels that are announced to the simulated NVRTC are compiled together: see `announce-kernels.ts`. */
import { describe, expect, it } from 'vitest';
import { compileCuda } from '../../src/exec/native/native.js';
import { CompileError } from '../../src/host/errors.js';
import { announceKernels } from './announce-kernels.js';

announceKernels();

/** Where an image says which of a library's kernels it is: `native/sim/core/image-part.h`. */
const PART = 9;
const OPTIONS = ['--gpu-architecture=sm_90'];

/** A source that was never compiled, with a macro of the same name in each. */
const source = (value: string): string =>
  [
    `// ${process.hrtime.bigint()}`,
    `#define VALUE ${value}`,
    'extern "C" __global__ void __launch_bounds__(32)',
    'fill(float* __restrict__ out) {',
    '  out[threadIdx.x] = VALUE;',
    '}',
    '',
  ].join('\n');

const compiled = (values: readonly string[]) =>
  Promise.allSettled(values.map((value) => compileCuda(source(value), OPTIONS)));

describe('kernels that are announced', () => {
  it('are parts of one library', async () => {
    const results = await compiled(['1.0f', '2.0f', '3.0f', '4.0f', '5.0f', '6.0f']);
    const parts = results.map((result) => (result.status === 'fulfilled' ? result.value.image[PART]! : -1));
    expect(parts).not.toContain(-1);
    expect(Math.max(...parts)).toBeGreaterThan(1);
  });

  it('compile where another one does not', async () => {
    const results = await compiled(['1.0f', '2.0f', 'nothing', '4.0f']);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(results[2]).toMatchObject({ reason: expect.any(CompileError) });
  });
});
