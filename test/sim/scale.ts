/** Programs over one small kernel, `y = a x`, for tests of how runs are queued, overlap and end. */
import { compileCuda, memory, type ProgramSpec, type StepSpec } from '../../src/exec/native/native.js';
import { setDevices } from './simulator.js';

export const MEMORY_BYTES = 2 ** 26;
setDevices(Array.from({ length: 3 }, () => ({ memory: MEMORY_BYTES })));

/** y = a x, and a kernel that writes where nothing is. */
const SOURCE = `
extern "C" __global__ void __launch_bounds__(128)
scale(const float* __restrict__ x, float* __restrict__ y, float a, int n) {
  for (int i = (int)threadIdx.x; i < n; i += 128) y[i] = a * x[i];
}
extern "C" __global__ void __launch_bounds__(1)
fault() {
  *reinterpret_cast<volatile int*>(256) = 0;
}
`;
const compiled = await compileCuda(SOURCE, ['--gpu-architecture=sm_90']);
const images = [{ key: 'scale', bytes: compiled.image }];

const bytesOf = (array: Float32Array | Int32Array): Uint8Array => new Uint8Array(array.buffer);

const launch = (name: string, args: Extract<StepSpec, { kind: 'launch' }>['args']): StepSpec => ({
  kind: 'launch',
  image: 0,
  function: name,
  grid: [1, 1, 1],
  block: [name === 'scale' ? 128 : 1, 1, 1],
  sharedByteLength: 0,
  args,
});

/** buffers[to] = factor * buffers[from], n elements. */
export const scale = (from: number, to: number, factor: number, n: number): StepSpec =>
  launch('scale', [
    { buffer: from },
    { buffer: to },
    { bytes: bytesOf(new Float32Array([factor])) },
    { bytes: bytesOf(new Int32Array([n])) },
  ]);

/** Loses the device. */
export const fault: StepSpec = launch('fault', []);
/** A function that no image has. */
export const missing: StepSpec = launch('missing', []);

/** factor · x for each factor: as many inputs and outputs of n elements. */
export const scaleBy = (
  n: number,
  factors: readonly number[],
  { device = 'cuda:0', steps = [] as readonly StepSpec[] } = {},
): ProgramSpec => ({
  device,
  arenaByteLength: 0,
  images,
  buffers: [...factors, ...factors].map((_, i) => ({
    role: i < factors.length ? 'input' : 'output',
    byteLength: 4 * n,
    offset: -1,
  })),
  steps: [...factors.map((factor, i) => scale(i, factors.length + i, factor, n)), ...steps],
});

export const ramp = (n: number): Float32Array => Float32Array.from({ length: n }, (_, i) => i % 1000);
export const floats = (result: unknown): number[] => [...new Float32Array(result as ArrayBuffer)];
export const use = (device = 'cuda:0') => memory().find((entry) => entry.device === device)!;
