/**
 * How long a matrix product by panels takes on a GPU, roughly: what choosing between panels goes by. Handed
 * to `sweep-slots.ts` by `program-cuda.ts`.
 *
 * The first tile waits for its operands and the last for its result to leave; between the two, copies and
 * arithmetic go on at once. Products are computed in blocks, as many at a time as the device has
 * multiprocessors: a tile of few blocks leaves some of those idle.
 */
import type { DType } from '../../../graph/dtype.js';
import { sizeOfShape } from '../../../graph/graph.js';
import type { StepCost } from '../call.js';
import type { MatmulStep } from './product-steps.js';

/**
 * A product in tiles of at most `rows` × `columns`; bytes copied in all, before the first tile and after the
 * last.
 */
export interface PanelWork {
  readonly rows: number;
  readonly columns: number;
  readonly tiles: number;
  readonly bytes: number;
  readonly firstBytes: number;
  readonly lastBytes: number;
}

/** Of the bus one way, in bytes a second: PCIe 5, as measured. */
const BUS_RATE = 50e9;
/** Between two tiles. */
const TILE_SECONDS = 2e-5;
const BLOCK = 128;

/**
 * Multiplications and additions a second of large products on an H200; between GPUs, the ratio to the bus
 * differs little.
 */
const PRODUCT_RATE: Partial<Readonly<Record<DType, number>>> = {
  float16: 700e12,
  bfloat16: 700e12,
  float32: 52e12,
  float64: 55e12,
  complex64: 52e12,
  complex128: 55e12,
};

/** The same in TF32. */
const TF32_RATE = 400e12;
const rateOf = ({ dtype, precision }: ProductLike): number =>
  precision !== undefined && precision !== 'tf32x3' ? TF32_RATE : PRODUCT_RATE[dtype]!;

/** Of the smallest product, on the device, and what the library takes on the host to queue any. */
const PRODUCT_SECONDS = 5e-6;
const QUEUE_SECONDS = 12e-6;
/** Products of few blocks are computed in smaller ones, at a part of the rate. */
const SMALL_BLOCK = 64;
const SMALL_BLOCK_RATE = 0.7;
/** Those of a single product are split along the sum, into parts of so many terms at least. */
const LEAST_SPLIT = 512;

/** The properties of a product that its time depends on. */
type ProductLike = Pick<MatmulStep, 'dtype' | 'precision' | 'batch' | 'm' | 'n' | 'k'>;

/** About how long a step takes by itself: a call for each index of its outer axes. */
export function stepCost(step: MatmulStep, multiprocessors: number): StepCost {
  const { seconds, share, queueSeconds } = productCost(step, multiprocessors);
  const calls = sizeOfShape(step.outer ?? []);
  return { seconds: calls * seconds, share, queueSeconds: calls * queueSeconds };
}

/** About how long a call takes by itself, and how much of the device it fills. */
export function productCost(step: ProductLike, multiprocessors: number): StepCost {
  const { m, n, k, batch, dtype } = step;
  const shareIn = (block: number): number =>
    Math.min(1, (Math.ceil(m / block) * Math.ceil(n / block) * batch) / multiprocessors);
  const share = shareIn(BLOCK);
  const speed = Math.max(share, SMALL_BLOCK_RATE * shareIn(SMALL_BLOCK), 1e-3);
  const operations = 2 * batch * m * n * k * (dtype.startsWith('complex') ? 4 : 1);
  const seconds = PRODUCT_SECONDS + operations / (rateOf(step) * speed);
  return { seconds, share, queueSeconds: QUEUE_SECONDS };
}

/** The part of the blocks along an axis that the axis fills, of long ones all. */
const filled = (size: number, block: number): number => size / (Math.ceil(size / block) * block);
/** Products of vectors and the like take as long as memory does, which is not counted. */
const LEAST_SPEED = 0.1;

/**
 * About how long a call takes by itself, to compare ways to form the same product: batches of small matrices leave blocks
 * empty, and the sums of a single product with few blocks are split.
 */
export function callSeconds(step: ProductLike, multiprocessors: number): number {
  const { m, n, k, batch, dtype } = step;
  const splits = batch === 1 ? Math.max(1, Math.floor(k / LEAST_SPLIT)) : 1;
  const speedIn = (block: number, parts: number): number => {
    const blocks = Math.ceil(m / block) * Math.ceil(n / block) * batch * parts;
    return Math.min(1, blocks / multiprocessors) * filled(m, block) * filled(n, block);
  };
  const speed = Math.max(speedIn(BLOCK, 1), SMALL_BLOCK_RATE * speedIn(SMALL_BLOCK, splits), LEAST_SPEED);
  const operations = 2 * batch * m * n * k * (dtype.startsWith('complex') ? 4 : 1);
  return PRODUCT_SECONDS + operations / (rateOf(step) * speed);
}

export function panelSeconds(step: MatmulStep, work: PanelWork, multiprocessors: number): number {
  const { m, n, k, dtype } = step;
  const rounds = Math.ceil(
    (Math.ceil(work.rows / BLOCK) * Math.ceil(work.columns / BLOCK)) / multiprocessors,
  );
  const busy = ((m / BLOCK) * (n / BLOCK)) / (work.tiles * rounds * multiprocessors);
  const operations = 2 * m * n * k * (dtype.startsWith('complex') ? 4 : 1);
  const arithmetic = operations / (rateOf(step) * busy) + work.tiles * TILE_SECONDS;
  const edges = (work.firstBytes + work.lastBytes) / BUS_RATE;
  return edges + Math.max(arithmetic, work.bytes / BUS_RATE);
}
