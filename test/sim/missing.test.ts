/** Libraries that lack an entry point are passed over with the reason, and what needs them says so. */
import { describe, expect, it } from 'vitest';
import { createProgram, cudaInfo, run } from '../../src/exec/native/native.js';
import { dtypeCode } from '../../src/graph/dtype.js';
import { DeviceError } from '../../src/host/errors.js';
import { arange } from '../../src/index.js';
import { SIM_ENVIRONMENT } from './environment.js';
import { describeSimulator } from './simulator.js';
import { without } from './without.js';

// Loads what the copies need, which is not beside them.
describeSimulator();
process.env.WEFT_NVRTC = without(SIM_ENVIRONMENT.WEFT_NVRTC, 'nvrtcGetCUBIN');
process.env.WEFT_CUBLAS = without(SIM_ENVIRONMENT.WEFT_CUBLAS, 'cublasGemmEx');

describe('a library that lacks a symbol', () => {
  it('is passed over with the reason', () => {
    const { nvrtc, cublas, tried } = cudaInfo();
    expect([nvrtc, cublas]).toEqual([null, null]);
    expect(tried.nvrtc.join()).toContain('it has no nvrtcGetCUBIN');
    expect(tried.cublas.join()).toContain('it has no cublasGemmEx');
  });

  it('is named by a compute that needs a kernel', async () => {
    const computing = arange(3).add(1).compute({ device: 'cuda' });
    await expect(computing).rejects.toBeInstanceOf(DeviceError);
    await expect(arange(3).add(1).compute({ device: 'cuda' })).rejects.toThrow(/NVRTC.*not found/);
  });

  it('is named by a run that needs a matrix product, and leaves nothing', async () => {
    const matrix = (buffer: number) => ({ buffer, offset: 0, batchStride: 4, rowStride: 2, columnStride: 1 });
    const [a, b, c] = [matrix(0), matrix(1), matrix(2)];
    const program = createProgram({
      device: 'cuda:0',
      arenaByteLength: 0,
      images: [],
      buffers: (['input', 'input', 'output'] as const).map((role) => ({ role, byteLength: 16, offset: -1 })),
      steps: [{ kind: 'matmul', dtype: dtypeCode('float32'), m: 2, n: 2, k: 2, batch: 1, a, b, c }],
    });
    const inputs = [new Float32Array(4), new Float32Array(4)];
    const running = run(program, inputs, { outputs: ['host'] });
    await expect(running).rejects.toBeInstanceOf(DeviceError);
    await expect(running).rejects.toThrow(/cuBLAS.*it has no cublasGemmEx/);
    expect(describeSimulator().devices[0]!.inUse).toBe(0);
  });
});
