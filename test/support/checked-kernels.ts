/** A process with WEFT_CHECK=1: kernels in CUDA C that race, leave their arrays and read too early, on the simulated GPU. */
import { elementwiseCuda, kernel, lazy } from '../../src/index.js';

const x = lazy(new Float32Array(64).fill(1));
const one = (body: string) =>
  kernel(`extern "C" __global__ void one(const float* x, float* y) {\n  ${body}\n}`, {
    inputs: { x: 'float32' },
    outputs: { y: { dtype: 'float32', shape: 64 } },
    grid: 2,
    block: 32,
  })(x);

const AT = 'int i = blockIdx.x * blockDim.x + threadIdx.x;';
const jobs = {
  right: one(`${AT}\n  float v = x[i];\n  y[i] = v + __shfl_xor_sync(~0u, v, 1);`),
  race: one(`${AT}\n  y[i] = x[i];\n  y[0] = 2.0f;`),
  undefined: one(`${AT}\n  y[i] = x[i] + y[i];`),
  element: elementwiseCuda('raw T x', 'T z', 'T sum = 0;\nz = x[i + 1]', { name: 'next' })(x, { shape: 64 }),
};
for (const [name, job] of Object.entries(jobs)) {
  const told = await job.compute({ device: 'cuda' }).then(
    (y) => `${y.data[1]}`,
    (error: Error) => `${error.name}: ${error.message.replaceAll('\n', ' | ')}`,
  );
  console.log(`${name}: ${told}`);
}
