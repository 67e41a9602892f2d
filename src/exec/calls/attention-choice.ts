/**
 * When attention is computed without scores in memory (`fusion/passes/fuse-attention.ts`): where that is estimated to
 * take less time than two products of a library and a softmax between them.
 */
import { MOST_WIDTH } from '../../codegen/cuda/routines/attention.js';
import type { AttentionSizes, AttentionTraits } from '../../fusion/passes/attention-traits.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { formatMicroseconds } from '../../graph/format.js';
import { attentionCost } from './attention-cost.js';
import { productCost } from './products/product-cost.js';

/** Multiprocessors of an H100 and an H200, for which choices are made: they do not depend on the device. */
const MULTIPROCESSORS = 132;

/** Rows that kernels count in 32 bits, up to the end of a tile. */
const MOST_ROWS = 2 ** 31 - 1024;

/** Of the launch of a softmax, and bytes of scores a second that it reads or writes. */
const SOFTMAX_SECONDS = 5e-6;
const MEMORY_RATE = 2.5e12;

function librarySeconds({ dtype, batch, m, n, inner, width }: AttentionSizes): number {
  const product = { dtype, precision: undefined, batch };
  const products = [
    { ...product, m, n, k: inner },
    { ...product, m, n: width, k: n },
  ].map((each) => productCost(each, MULTIPROCESSORS).seconds);
  const passes = 2 * batch * m * n * byteLengthOf(dtype);
  return products.reduce((sum, seconds) => sum + seconds, SOFTMAX_SECONDS) + (2 * passes) / MEMORY_RATE;
}

export const cudaAttention: AttentionTraits['choose'] = (sizes) => {
  if (Math.max(sizes.inner, sizes.width) > MOST_WIDTH)
    return { isOwn: false, reason: `with scores in memory: rows of more than ${MOST_WIDTH} elements` };
  if (Math.max(sizes.m, sizes.n) > MOST_ROWS)
    return { isOwn: false, reason: `with scores in memory: more than ${MOST_ROWS} rows` };
  const [own, library] = [attentionCost(sizes, MULTIPROCESSORS).seconds, librarySeconds(sizes)];
  const isOwn = own < library;
  const times = `about ${formatMicroseconds(isOwn ? own : library)}, else ${formatMicroseconds(isOwn ? library : own)}`;
  return { isOwn, reason: `${isOwn ? 'without' : 'with'} scores in memory: ${times}` };
};

export const cpuAttention: AttentionTraits['choose'] = () => ({
  isOwn: true,
  reason: 'without scores in memory',
});
