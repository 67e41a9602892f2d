/**
 * Device code of generated CUDA C by the real NVRTC, kept on disk by all that it depends on as the simulator's
 * kernels are, so that only sources that changed are compiled. A source that does not compile is never kept.
 */
import { join } from 'node:path';
import { expect } from 'vitest';
import { CUDA_OPTIONS } from '../../src/codegen/cuda/cuda.js';
import { compileCuda, cudaInfo } from '../../src/exec/native/native.js';
import { KernelCache } from '../../src/exec/run/kernel-cache.js';
import { SIM_FOLDER } from '../sim/environment.js';

const images = new KernelCache({
  folder: join(process.env.WEFT_SIM_CACHE ?? SIM_FOLDER, 'nvrtc'),
  byteLimit: 2 ** 28,
  compile: compileCuda,
  version: () => cudaInfo().nvrtc?.version,
});

/** Each source compiles for an architecture, with the options that Weft compiles kernels with. */
export async function expectCompiled(sources: Iterable<string>, architecture: string): Promise<void> {
  const loaded = [...new Set(sources)].map((source) => images.load(source, architecture, CUDA_OPTIONS));
  for (const { bytes } of await Promise.all(loaded)) expect(bytes.byteLength).toBeGreaterThan(0);
}
