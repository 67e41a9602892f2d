/**
 * First uses, in advance: a product, a transform and a factor on each device, so that the system has the files of cuBLAS,
 * cuFFT and cuSOLVER in memory, and kernels that drivers and Weft keep on disk are there. A process that computes next finds
 * them. Called by `doctor.ts`.
 */
import { cudaInfo } from '../exec/native/native.js';
import { CPU, type Device, gpu } from '../exec/targets/device.js';
import { problemOf } from '../exec/targets/devices.js';
import { eye, fft, type Lazy, linalg, ones } from '../index.js';
import type { Finding } from './finding.js';

/** Rows and columns of a matrix that is large enough for libraries. */
const SIDE = 512;
const matrix = (): Lazy => ones([SIDE, SIDE], { dtype: 'float32' });

const WORK: Readonly<Record<string, () => Lazy>> = {
  kernels: () => matrix().exp().sum(),
  products: () => matrix().matmul(matrix()),
  transforms: () => fft.fft(matrix().astype('complex64')),
  factors: () => linalg.cholesky(eye(SIDE, SIDE, { dtype: 'float32' })),
};

/** Uses what computes on the CPU and on every GPU that can be used; says how long the first use took, and the next. */
export async function warmUp(): Promise<Finding[]> {
  const gpus = cudaInfo().devices.map((_, k) => gpu(k));
  const findings: Finding[] = [];
  for (const device of [CPU, ...gpus.filter((each) => problemOf(each) === undefined)])
    for (const [name, work] of Object.entries(WORK)) findings.push(await firstUse(device, name, work));
  return findings;
}

async function firstUse({ name: device }: Device, what: string, work: () => Lazy): Promise<Finding> {
  const about = { area: 'first use', name: `${device} ${what}` } as const;
  const once = async (): Promise<number> => {
    const begin = performance.now();
    await work().compute({ device });
    return performance.now() - begin;
  };
  try {
    const [first, next] = [await once(), await once()];
    return { ...about, status: 'found', value: `${first.toFixed(1)} ms, then ${next.toFixed(1)} ms` };
  } catch (error) {
    const [line] = (error instanceof Error ? error.message : String(error)).split('\n');
    return { ...about, status: 'missing', value: line! };
  }
}
