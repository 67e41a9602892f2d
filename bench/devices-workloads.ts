/**
 * The workloads that `devices.ts` measures on one and on several GPUs: the arrays that are there before, what
 * is computed from them, and the jobs of a batch. `peers-devices.py` does the same by hand.
 */
import { arange, type CompileOptions, type Lazy, lazy, pinned } from '../src/index.js';

export interface On {
  readonly devices: readonly string[];
}

/** Sizes of the workloads. */
export interface Scale {
  /** A whole number near `n` times the scale, of a kind that divides well. */
  readonly sized: (n: number, unit?: number) => number;
  /** Rows and columns of a job's array in the batch. */
  readonly side: number;
}

export const scaleOf = (scale: number): Scale => ({
  sized: (n, unit = 1024) => Math.max(1, Math.round((n * scale) / unit)) * unit,
  side: Math.max(256, Math.round(4096 * Math.sqrt(scale))),
});

/**
 * Arrays in host memory, each made when one first asks for it: several workloads and all counts of devices
 * read the same.
 */
export class HostArrays {
  readonly #scale: Scale;
  readonly #device: string;
  #ordinary: Float32Array | undefined;
  #pinned: Promise<Float32Array> | undefined;

  /** `device`: by whose driver memory is pinned. */
  constructor(scale: Scale, device: string) {
    this.#scale = scale;
    this.#device = device;
  }

  /** Rows of the large arrays, of 8192 numbers. */
  get rows(): number {
    return this.#scale.sized(2 ** 17, 64);
  }

  /** 4 GiB of ordinary memory. */
  get ordinary(): Float32Array {
    this.#ordinary ??= filled(new Float32Array(this.rows * 8192));
    return this.#ordinary;
  }

  /** 4 GiB of pinned memory, which takes seconds to get. */
  get pinned(): Promise<Float32Array> {
    this.#pinned ??= pinned([this.rows, 8192], 'float32', { device: this.#device }).then(({ data }) =>
      filled((data as Float32Array).fill(0)),
    );
    return this.#pinned;
  }

  /** The arrays of the batch: eight parts of a large one. */
  async batch(isPinned: boolean): Promise<readonly Lazy[]> {
    const { side } = this.#scale;
    const size = side * side;
    const whole = isPinned ? await this.pinned : this.ordinary;
    const most = Math.max(1, Math.min(8, Math.floor(whole.length / size)));
    return Array.from({ length: most }, (_, j) =>
      lazy(whole.subarray(j * size, (j + 1) * size)).reshape([side, side]),
    );
  }
}

function filled(data: Float32Array): Float32Array {
  for (let k = 0; k < data.length; k += 64) data[k] = (k >> 6) % 1000;
  return data;
}

/** Values that a device makes without reading any. */
const values32 = (n: number): Lazy =>
  arange(n)
    .remainder(1009)
    .astype('float32')
    .mul(1 / 1009)
    .sub(0.5);

export interface DevicesWorkload {
  readonly what: string;
  /** The arrays that are there before, on the devices or in host memory. */
  readonly make: (on: On, scale: Scale, host: HostArrays) => Promise<readonly Lazy[]>;
  /** The results that are computed from them. */
  readonly compute: (...held: Lazy[]) => readonly Lazy[];
  readonly options?: CompileOptions;
  /** Whether results stay on the devices. */
  readonly stays?: boolean;
  /** Whether cuBLAS orders sums. */
  readonly vendor?: boolean;
}

export const DEVICES_WORKLOADS: Readonly<Record<string, DevicesWorkload>> = {
  resident: {
    what: 'sum and largest of a map over 112 GB of float32 on the devices',
    make: async (on, { sized }) => [await values32(sized(28e9)).persist(on)],
    compute: (x) => {
      const y = x!.mul(2).add(1).abs();
      return [y.sum(), y.max()];
    },
  },
  'resident-map': {
    what: 'a map from 56 GB to 56 GB of float32 on the devices',
    stays: true,
    make: async (on, { sized }) => [await values32(sized(14e9)).persist(on)],
    compute: (x) => [x!.mul(2).add(1)],
  },
  matmul: {
    what: 'A · B of float32, 24576 × 24576, sharded on the devices, left there',
    vendor: true,
    stays: true,
    make: async (on, { sized }) => {
      const n = sized(24576, 256);
      const a = values32(n * n).reshape([n, n]);
      return [await a.persist(on), await a.mul(0.25).persist(on)];
    },
    compute: (a, b) => [a!.matmul(b!)],
  },
  pairs: {
    what: 'Gaussian kernel sums over all pairs of 400,000 points in 3 dimensions',
    make: async (on, { sized }) => {
      const n = sized(400_000);
      return [
        await values32(n * 3)
          .reshape([n, 3])
          .persist(on),
      ];
    },
    compute: (x) => {
      const [n] = x!.shape as [number];
      const difference = x!.reshape([n, 1, 3]).sub(x!.reshape([1, n, 3]));
      return [difference.square().sum(2).mul(-0.5).exp().sum(1)];
    },
  },
  'out-of-core': {
    what: 'sqrt(x² + 1) from 4 GiB of ordinary host memory to host memory within 2 GiB a device',
    options: { memory: '2GiB' },
    make: async (_, __, host) => [lazy(host.ordinary)],
    compute: (x) => [x!.mul(x!).add(1).sqrt()],
  },
  'out-of-core-sums': {
    what: 'sums of the rows of sqrt(x² + 1) over 4 GiB of ordinary host memory within 2 GiB a device',
    options: { memory: '2GiB' },
    make: async (_, __, host) => [lazy(host.ordinary).reshape([host.rows, 8192])],
    compute: (x) => [x!.mul(x!).add(1).sqrt().sum(1)],
  },
  'out-of-core-pinned': {
    what: 'sums of the rows of sqrt(x² + 1) over 4 GiB of pinned host memory within 2 GiB a device',
    options: { memory: '2GiB' },
    make: async (_, __, host) => [lazy(await host.pinned).reshape([host.rows, 8192])],
    compute: (x) => [x!.mul(x!).add(1).sqrt().sum(1)],
  },
};

/** A job of the batch over one of its arrays. */
export function batchJob(arrays: readonly Lazy[], k: number): Lazy {
  // As an array, so that all jobs have the same graph: each number that is written into one is planned for.
  const x = arrays[k % arrays.length]!.add(lazy(Float32Array.of(k)));
  return x.sub(x.mean(0)).div(x.std(0).add(1)).tanh().sum(1);
}

/** The sum of a part of the large host array for each device: what the bus brings to all of them at once. */
export function busJobs(whole: Float32Array, count: number): readonly Lazy[] {
  const part = Math.floor(whole.length / count);
  return Array.from({ length: count }, (_, k) => lazy(whole.subarray(k * part, (k + 1) * part)).sum());
}
