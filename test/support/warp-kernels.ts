/** Kernels written as functions whose warps do something together. */
import { kernel } from '../../src/api/kernels.js';

/** The parts of the result of `lanesOf`, in order. */
export const PARTS = [
  'lane',
  'shfl',
  'shflOfFour',
  'up',
  'down',
  'xor',
  'ballot',
  'any',
  'all',
  'matchAny',
  'matchAll',
  'add',
  'least',
  'most',
  'and',
  'or',
  'bits',
  'ofSome',
  'active',
] as const;

/** Every function of warps, of the numbers of a block of 16 × 3 threads: a whole warp and a half of one. */
export const lanesOf = kernel(
  (k, x, y) => {
    const at = k.threadIdx.x + 16 * k.threadIdx.y;
    const { laneId } = k;
    const own = x[at]!;
    const mask = at < 32 ? 0xffffffff : 0xffff;
    const put = (part: number, value: number): void => {
      y[y.index(part, at)] = value;
    };
    put(0, laneId + 100 * k.warpSize);
    put(1, k.shflSync(mask, own, 3));
    put(2, k.shflSync(mask, own, laneId + 1, 4));
    put(3, k.shflUpSync(mask, own, 2));
    put(4, k.shflDownSync(mask, own, 3, 8));
    put(5, k.shflXorSync(mask, own, 5));
    const holding = k.ballotSync(mask, own % 3 === 0);
    put(6, holding & 0x7fffffff);
    put(7, k.anySync(mask, own > 90) ? 1 : 0);
    put(8, k.allSync(mask, own >= 0) ? 1 : 0);
    put(9, k.matchAnySync(mask, own % 5) & 0x7fffffff);
    put(10, k.matchAllSync(mask, at < 32 ? 1 : own) === 0 ? 0 : 1);
    put(11, k.reduceAddSync(mask, own));
    put(12, k.reduceMinSync(mask, own));
    put(13, k.reduceMaxSync(mask, own));
    put(14, k.reduceAndSync(mask, own | 64));
    put(15, k.reduceOrSync(mask, own));
    put(16, k.reduceXorSync(mask, own));
    let some = -1;
    if (own % 3 === 0) some = k.reduceAddSync(holding, 1);
    put(17, some);
    k.syncwarp(mask);
    put(18, (k.activemask() >>> laneId) & 1);
  },
  {
    inputs: { x: 'int32' },
    outputs: { y: { dtype: 'int32', shape: [PARTS.length, 48] } },
    grid: 1,
    block: [16, 3],
  },
);

/** Sums of rows, a warp each: CUDA's guide, reduction across a warp. */
export const rowSums = kernel(
  ({ threadIdx, blockIdx, laneId, shflXorSync }, x, y) => {
    const row = blockIdx.x * 4 + threadIdx.y;
    if (row >= x.shape[0]!) return;
    let sum = x.at(row, 0) * 0;
    for (let k = laneId; k < x.shape[1]!; k += 32) sum += x.at(row, k);
    for (let lanes = 16; lanes >= 1; lanes = lanes >> 1) sum += shflXorSync(0xffffffff, sum, lanes);
    if (laneId === 0) y[row] = sum;
  },
  {
    inputs: { x: { dtype: ['float16', 'float32', 'float64', 'int64'], ndim: 2 } },
    outputs: { y: { dtype: ({ x }) => x.dtype, shape: ({ x }) => x.shape[0]! } },
    grid: ({ x }) => Math.ceil(x.shape[0]! / 4),
    block: [32, 4],
  },
);

/** Places of the elements that are greater than 0, in any order: one atomic addition for all lanes that have one. */
export const placesAbove = kernel(
  ({ blockIdx, threadIdx, laneId, warpSize, ballotSync, shflSync, atomicAdd }, x, places, count) => {
    const at = blockIdx.x * warpSize + threadIdx.x;
    const isIn = at < x.length ? x[at]! > 0 : false;
    const holding = ballotSync(0xffffffff, isIn);
    const bits = (mask: number): number => {
      let left = mask;
      let found = 0;
      while (left !== 0) {
        left &= left - 1;
        found++;
      }
      return found;
    };
    let first = 0;
    if (laneId === 0) first = atomicAdd(count, 0, bits(holding));
    first = shflSync(0xffffffff, first, 0);
    if (isIn) places[first + bits(holding & ((1 << laneId) - 1))] = at;
  },
  {
    inputs: { x: 'float32' },
    outputs: {
      places: { dtype: 'int32', shape: ({ x }) => x.size, initial: -1 },
      count: { dtype: 'int32', shape: 1, initial: 0 },
    },
    grid: ({ x }) => Math.ceil(x.size / 32),
    block: 32,
  },
);
