/** Kernels written as functions, that tests and GPUs run: those of Numba's guide, and common ones. */
import { kernel } from '../../src/api/kernels.js';

/** Numba's guide, writing CUDA kernels: one is added to each element. */
export const increment = kernel(
  ({ threadIdx, blockIdx, blockDim }, _x, y) => {
    const pos = threadIdx.x + blockIdx.x * blockDim.x;
    if (pos < y.length) y[pos]! += 1;
  },
  {
    inputs: { x: { dtype: ['float32', 'float64', 'int32', 'float16', 'complex64'] } },
    outputs: { y: { initial: 'x' } },
    grid: ({ x }) => Math.ceil(x.size / 32),
    block: 32,
  },
);

/** The same of two axes. */
export const increment2 = kernel(
  ({ threadIdx, blockIdx, blockDim }, x, y) => {
    const i = blockIdx.x * blockDim.x + threadIdx.x;
    const j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < x.shape[0]! && j < x.shape[1]!) y[y.index(i, j)] = x.at(i, j) + 1;
  },
  {
    inputs: { x: { dtype: 'int64', ndim: 2 } },
    outputs: { y: { dtype: 'int64', shape: ({ x }) => x.shape } },
    grid: ({ x }) => [Math.ceil(x.shape[0]! / 16), Math.ceil(x.shape[1]! / 16)],
    block: [16, 16],
  },
);

/** Numba's guide, matrix multiplication with shared memory. */
export const productOf = (TILE: number) =>
  kernel(
    ({ threadIdx, blockIdx, shared, sync }, a, b, c) => {
      const [m, k] = a.shape;
      const n = b.shape[1]!;
      const as = shared('float32', [TILE, TILE]);
      const bs = shared('float32', [TILE, TILE]);
      const { x: tx, y: ty } = threadIdx;
      const row = blockIdx.y * TILE + ty;
      const column = blockIdx.x * TILE + tx;
      let sum = 0;
      for (let at = 0; at < k!; at += TILE) {
        as[as.index(ty, tx)] = row < m! && at + tx < k! ? a.at(row, at + tx) : 0;
        bs[bs.index(ty, tx)] = at + ty < k! && column < n ? b.at(at + ty, column) : 0;
        sync();
        for (let i = 0; i < TILE; i++) sum += as.at(ty, i) * bs.at(i, tx);
        sync();
      }
      if (row < m! && column < n) c[c.index(row, column)] = sum;
    },
    {
      captures: { TILE },
      inputs: { a: { dtype: 'float32', ndim: 2 }, b: { dtype: 'float32', ndim: 2 } },
      outputs: { c: { dtype: 'float32', shape: ({ a, b }) => [a.shape[0]!, b.shape[1]!] } },
      grid: ({ a, b }) => [Math.ceil(b.shape[1]! / TILE), Math.ceil(a.shape[0]! / TILE)],
      block: [TILE, TILE],
    },
  );

export const tiledProduct = productOf(8);

/** Counts of bytes: each block counts in shared memory, then adds its counts. */
export const histogramOf = (mostBlocks: number, block: number) =>
  kernel(
    ({ threadIdx, blockIdx, blockDim, gridDim, shared, sync, atomicAdd }, x, counts) => {
      const own = shared('uint32', 256);
      for (let k = threadIdx.x; k < 256; k += blockDim.x) own[k] = 0;
      sync();
      for (let i = blockIdx.x * blockDim.x + threadIdx.x; i < x.length; i += gridDim.x * blockDim.x)
        atomicAdd(own, x[i]!, 1);
      sync();
      for (let k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(counts, k, own[k]!);
    },
    {
      inputs: { x: 'uint8' },
      outputs: { counts: { dtype: 'uint32', shape: 256, initial: 0 } },
      grid: ({ x }) => Math.min(mostBlocks, Math.ceil(x.size / 256)),
      block,
    },
  );

export const histogram = histogramOf(64, 64);

/** Forces of bodies on each other, a tile of bodies in shared memory at a time. */
export const forces = kernel(
  ({ threadIdx, blockIdx, blockDim, shared, sync }, bodies, force) => {
    const n = bodies.shape[0]!;
    const tile = shared('float32', [64, 4]);
    const own = blockIdx.x * blockDim.x + threadIdx.x;
    const place = (body: number, axis: number): number => (body < n ? bodies.at(body, axis) : 0);
    const [x, y, z] = [place(own, 0), place(own, 1), place(own, 2)];
    const sum = [0, 0, 0];
    for (let first = 0; first < n; first += 64) {
      for (let k = 0; k < 4; k++) tile[tile.index(threadIdx.x, k)] = place(first + threadIdx.x, k);
      sync();
      for (let k = 0; k < 64; k++) {
        const [dx, dy, dz] = [tile.at(k, 0) - x, tile.at(k, 1) - y, tile.at(k, 2) - z];
        const r2 = dx * dx + dy * dy + dz * dz + 0.01;
        const scale = tile.at(k, 3) / (r2 * Math.sqrt(r2));
        sum[0]! += dx * scale;
        sum[1]! += dy * scale;
        sum[2]! += dz * scale;
      }
      sync();
    }
    if (own < n) for (let k = 0; k < 3; k++) force[force.index(own, k)] = sum[k]!;
  },
  {
    inputs: { bodies: { dtype: 'float32', ndim: 2 } },
    outputs: { force: { dtype: 'float32', shape: ({ bodies }) => [bodies.shape[0]!, 3] } },
    grid: ({ bodies }) => Math.ceil(bodies.shape[0]! / 64),
    block: 64,
  },
);

/** Life on a torus, in parts of four rows. */
export const life = kernel(
  ({ threadIdx, blockIdx, blockDim }, x, y) => {
    const [rows, columns] = x.shape;
    const c = blockIdx.x * blockDim.x + threadIdx.x;
    const r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c >= columns! || r >= rows!) return;
    let neighbours = 0;
    for (let i = -1; i <= 1; i++) {
      for (let k = -1; k <= 1; k++) {
        if (i === 0 && k === 0) continue;
        neighbours += x.at((r + i + rows!) % rows!, (c + k + columns!) % columns!);
      }
    }
    y[y.index(r, c)] = neighbours === 3 || (x.at(r, c) > 0 && neighbours === 2) ? 1 : 0;
  },
  {
    inputs: { x: { dtype: 'uint8', ndim: 2 } },
    outputs: { y: { dtype: 'uint8', shape: ({ x }) => x.shape } },
    grid: ({ x }) => [Math.ceil(x.shape[1]! / 16), Math.ceil(x.shape[0]! / 4)],
    block: [16, 4],
    cuts: ({ x }) => ({ axis: 'y', parts: { y: 4 * x.shape[1]! } }),
  },
);

/** Numba's guide, reduction in shared memory, and atomic operations: sums and largest elements of blocks. */
export const blockSums = kernel(
  ({ threadIdx, blockIdx, blockDim, shared, sync, atomicMax, atomicMin }, x, sums, largest, least) => {
    const own = shared(x.dtype, 128);
    const i = blockIdx.x * blockDim.x + threadIdx.x;
    own[threadIdx.x] = i < x.length ? x[i]! : 0;
    sync();
    for (let step = blockDim.x / 2; step >= 1; step = Math.floor(step / 2)) {
      if (threadIdx.x < step) own[threadIdx.x]! += own[threadIdx.x + step]!;
      sync();
    }
    if (threadIdx.x === 0) sums[blockIdx.x] = own[0]!;
    if (i < x.length) {
      atomicMax(largest, 0, x[i]!);
      atomicMin(least, 0, x[i]!);
    }
  },
  {
    inputs: { x: { dtype: ['float32', 'float64', 'int32', 'int64'], ndim: 1 } },
    outputs: {
      sums: { dtype: ({ x }) => x.dtype, shape: ({ x }) => Math.ceil(x.size / 128) },
      largest: { dtype: ({ x }) => x.dtype, shape: [], initial: -1000 },
      least: { dtype: ({ x }) => x.dtype, shape: [], initial: 1000 },
    },
    grid: ({ x }) => Math.ceil(x.size / 128),
    block: 128,
  },
);

/** An escape count: loops that threads leave at different times, by break, continue and return of functions. */
export const escapes = kernel(
  ({ threadIdx, blockIdx, blockDim }, cx, cy, count) => {
    const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cx.length) return;
    const steps = (re: number, im: number): number => {
      let x = 0;
      let y = 0;
      for (let k = 0; k < 50; k++) {
        const next = x * x - y * y + re;
        y = 2 * x * y + im;
        x = next;
        if (x * x + y * y > 4) return k;
      }
      return 50;
    };
    let k = 0;
    do {
      k++;
      if (k === 2) continue;
      if (k > 3) break;
    } while (k < 10);
    count[i] = steps(cx[i]!, cy[i]!) + (k === 4 ? 0 : 100);
  },
  {
    inputs: { cx: 'float64', cy: 'float64' },
    outputs: { count: { dtype: 'int32', shape: ({ cx }) => cx.shape } },
    grid: ({ cx }) => Math.ceil(cx.size / 96),
    block: 96,
  },
);
