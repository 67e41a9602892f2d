/**
 * When attention is computed without scores in memory (`fusion/passes/fuse-attention.ts`): where that is estimated to
 * take less time than two products of a library and a softmax between them.
 */
import { MOST_WIDTH } from '../../codegen/cuda/routines/attention.js';
import { isForWarpgroups } from '../../codegen/cuda/routines/attention-warpgroup-tile.js';
import type { AttentionSizes, AttentionTraits } from '../../fusion/passes/attention-traits.js';
import { byteLengthOf, isHalf } from '../../graph/dtype.js';
import { productCost } from '../calls/matmul-cost.js';

/** Multiprocessors of an H100 and an H200, for which choices are made: they do not depend on the device. */
const MULTIPROCESSORS = 132;

/** Multiplications and additions a second of the kernels, as measured on an H100, and the part of it with a map. */
const HALVES_RATE = 300e12;
/** In heads of which there are kernels for warpgroups. */
const WARPGROUPS_RATE = 450e12;
const FLOATS_RATE = 35e12;
const MAPPED = 0.5;
const UNIT_ROWS = 128;
const LAUNCH_SECONDS = 5e-6;

/** Rows that kernels count in 32 bits, up to the end of a tile. */
const MOST_ROWS = 2 ** 31 - 1024;

/** Bytes of scores a second that a softmax reads or writes. */
const MEMORY_RATE = 2.5e12;

function ownSeconds({ dtype, batch, m, n, inner, width, isCausal, isMapped }: AttentionSizes): number {
  const units = batch * Math.ceil(m / UNIT_ROWS);
  const share = Math.min(1, units / MULTIPROCESSORS);
  const halves = isForWarpgroups({ inner, width }) ? WARPGROUPS_RATE : HALVES_RATE;
  const rate = (isHalf(dtype) ? halves : FLOATS_RATE) * (isMapped ? MAPPED : 1) * share;
  const operations = 2 * units * UNIT_ROWS * n * (inner + width) * (isCausal ? 0.5 : 1);
  return LAUNCH_SECONDS + operations / rate;
}

function librarySeconds({ dtype, batch, m, n, inner, width }: AttentionSizes): number {
  const product = { dtype, precision: undefined, batch };
  const products = [
    { ...product, m, n, k: inner },
    { ...product, m, n: width, k: n },
  ].map((each) => productCost(each, MULTIPROCESSORS).seconds);
  const passes = 2 * batch * m * n * byteLengthOf(dtype);
  return products.reduce((sum, seconds) => sum + seconds, LAUNCH_SECONDS) + (2 * passes) / MEMORY_RATE;
}

const inMicroseconds = (seconds: number): string => `${(seconds * 1e6).toPrecision(3)} µs`;

export const cudaAttention: AttentionTraits['choose'] = (sizes) => {
  if (Math.max(sizes.inner, sizes.width) > MOST_WIDTH)
    return { isOwn: false, reason: `with scores in memory: rows of more than ${MOST_WIDTH} elements` };
  if (Math.max(sizes.m, sizes.n) > MOST_ROWS)
    return { isOwn: false, reason: `with scores in memory: more than ${MOST_ROWS} rows` };
  const [own, library] = [ownSeconds(sizes), librarySeconds(sizes)];
  const isOwn = own < library;
  const times = `about ${inMicroseconds(isOwn ? own : library)}, else ${inMicroseconds(isOwn ? library : own)}`;
  return { isOwn, reason: `${isOwn ? 'without' : 'with'} scores in memory: ${times}` };
};

export const cpuAttention: AttentionTraits['choose'] = () => ({
  isOwn: true,
  reason: 'without scores in memory',
});
