/**
 * The schedules that compute a kernel with the same bits as its own: other threads of a block, elements of a thread and
 * sizes of tiles. The order of a reduction is a part of none of them: threads along the reduced axis, chunks and slots stay.
 *
 *     map: width 4, unroll 2, threads 128   →   threads 256 · width 2, unroll 4 · …
 *
 * Called where a schedule is chosen by the model of times (`schedule-choice.ts`) or by measuring.
 */
import { affineLoadsOf, loadsOf, windowIndexOf } from '../../../fusion/kernel/algebra.js';
import { hasLoops, hasMonoid, isComputed, opOf, reductionsOf } from '../../../fusion/kernel/arithmetic.js';
import { argumentsOf, type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { dependenciesOf } from '../../../fusion/kernel/levels.js';
import { byteLengthOf, isComplex, isFloat } from '../../../graph/dtype.js';
import { WARP } from './limits.js';
import { groupsOf, holdsTile } from './outer-product-tiles.js';
import type { Schedule, TransposeSchedule } from './schedule.js';
import { type MapSchedule, sharesColumns } from './schedule-map.js';
import { type OuterProductSchedule, pairSizesOf } from './schedule-outer-product.js';
import { fitsColumns, type ReduceSchedule } from './schedule-reduce.js';
import type { RepeatSchedule } from './schedule-repeat.js';
import { fitsRegisters, lifetimesOf, type RowSchedule, walkedAgain } from './schedule-rows.js';
import { type StencilSchedule, storedPart } from './schedule-stencil.js';
import { wholeRows } from './whole-rows.js';

/** Schedules of a kernel at most, its own included. */
const MOST_CANDIDATES = 8;
/** Threads of a block, at least and at most. */
const [LEAST_THREADS, MOST_THREADS] = [64, 1024];

/** A schedule with some of its fields changed, and whether threads then compute other elements together. */
type Change<S> = Partial<S>;

/** The schedules of a kernel in the normal form, `own` first. */
export function candidatesOf(kernel: Kernel, own: Schedule): readonly Schedule[] {
  if (hasMonoid(kernel) || windowIndexOf(kernel) !== undefined || hasLoops(kernel)) return [own];
  const isFree = !sharesArithmetic(kernel);
  const others = (): readonly Schedule[] => {
    switch (own.kind) {
      case 'map':
        return mapCandidates(kernel, own, isFree);
      case 'transpose':
        return transposeCandidates(kernel, own);
      case 'reduce':
        return own.mapping === 'rows'
          ? rowCandidates(kernel, own, isFree)
          : columnCandidates(kernel, own, isFree);
      case 'rows':
        return phaseCandidates(kernel, own);
      case 'outer-product':
        return tileCandidates(kernel, own, isFree);
      case 'repeat':
        return repeatCandidates(kernel, own, isFree);
      case 'stencil':
        return stencilCandidates(own);
      case 'table':
      case 'split':
      case 'empty':
        return [];
    }
  };
  return [own, ...others()].slice(0, MOST_CANDIDATES);
}

/**
 * Whether elements that a thread computes together may share a value of floating-point numbers: one that depends on
 * fewer axes than what takes it, or one of neighbours. Schedules in which others share it are not measured.
 *
 *     x * a + b * c, where b and c are rows   →   shared by the elements of a column
 */
export function sharesArithmetic(kernel: Kernel): boolean {
  const depends = dependenciesOf(kernel);
  const isRounded = (position: number): boolean => {
    const i = kernel.tape[position]!;
    return isComputed(i) && (isFloat(i.dtype) || isComplex(i.dtype));
  };
  const isOfFewer = (arg: number, position: number): boolean =>
    depends[position]!.some((on, axis) => on && !depends[arg]![axis]);
  const isShared = kernel.tape.some((i, position) =>
    argumentsOf(i).some((arg) => isRounded(arg) && isOfFewer(arg, position)),
  );
  const read = affineLoadsOf(kernel).map(({ access }) => access.buffer);
  return (
    isShared || (new Set(read).size < read.length && kernel.tape.some((_, position) => isRounded(position)))
  );
}

const changed = <S extends Schedule>(own: S, changes: readonly Change<S>[]): S[] =>
  changes.map((change) => ({ ...own, ...change }));

function mapCandidates(kernel: Kernel, own: MapSchedule, isFree: boolean): Schedule[] {
  const { width, unroll, threads } = own;
  const moved = [
    ...loadsOf(kernel).map(({ dtype }) => dtype),
    ...kernel.stores.map(({ access }) => kernel.buffers[access.buffer]!.dtype),
  ];
  const widest = MOST_CHUNK_BYTES / Math.max(...moved.map(byteLengthOf));
  const changes: Change<MapSchedule>[] = [
    { threads: 2 * threads },
    { width: width / 2 },
    { width: width / 2, unroll: 2 * unroll },
    { unroll: 2 * unroll },
    { unroll: unroll / 2 },
    { width: 2 * width },
    ...(unroll > 1 ? [{ width: 2 * width, unroll: 1 }] : []),
  ];
  const last = kernel.parallel.at(-1) ?? 1;
  const isPossible = ({ width: w, unroll: u }: MapSchedule): boolean =>
    w >= 1 &&
    u >= 1 &&
    u <= MOST_UNROLL &&
    w <= Math.max(width, widest) &&
    (kernel.parallel.length < 2 || last % w === 0);
  const isSameColumns = (other: MapSchedule): boolean =>
    sharesColumns(kernel, other.unroll, other.threads * other.width) ===
    sharesColumns(kernel, unroll, threads * width);
  return changed(own, isFree ? changes : changes.slice(0, 1)).filter(
    (other) => isPossible(other) && (isFree || isSameColumns(other)),
  );
}
/** Bytes of a chunk of the widest dtype, and chunks of a thread, at most. */
const MOST_CHUNK_BYTES = 16;
const MOST_UNROLL = 8;

function transposeCandidates(kernel: Kernel, own: TransposeSchedule): Schedule[] {
  const { tile, threads, staged } = own;
  const bytes = staged.reduce((sum, position) => sum + byteLengthOf(kernel.tape[position]!.dtype), 0);
  const other = tile === 64 ? 32 : 64;
  const changes: Change<TransposeSchedule>[] = [
    { threads: 2 * threads },
    { threads: threads / 2 },
    { tile: other },
    { tile: other, threads: (threads * other) / tile },
  ];
  // A step of a block's threads, which have up to four elements each, lies in the tile.
  const fits = (each: TransposeSchedule): boolean =>
    4 * each.threads <= each.tile ** 2 && each.tile * (each.tile + 1) * bytes <= STAGED_BYTES;
  return changed(own, changes).filter(fits);
}
/** Static shared memory of a block. */
const STAGED_BYTES = 48 * 1024;

const fitsBlock = ({
  threadsP,
  threadsR,
}: {
  readonly threadsP: number;
  readonly threadsR: number;
}): boolean => threadsP >= 1 && threadsP * threadsR >= LEAST_THREADS && threadsP * threadsR <= MOST_THREADS;

/** Elements that a thread takes up one after the other without a check, in a slot of whole steps. */
function inSteps(
  kernel: Kernel,
  { threadsR, width, unrollR, slotLength, slots, mapping }: ReduceSchedule,
): boolean {
  const step = threadsR * unrollR * (mapping === 'rows' ? width : 1);
  return (
    unrollR >= 1 &&
    Number.isInteger(unrollR) &&
    unrollR <= MOST_UNROLL &&
    (slots === 1 ? step <= product(kernel.reduced) : slotLength % step === 0)
  );
}

function rowCandidates(kernel: Kernel, own: ReduceSchedule, isFree: boolean): Schedule[] {
  const { threadsP, unrollR, itemsP } = own;
  const changes: Change<ReduceSchedule>[] = [
    { threadsP: 2 * threadsP },
    { threadsP: threadsP / 2 },
    { unrollR: 2 * unrollR },
    { unrollR: unrollR / 2 },
    { itemsP: 2 * itemsP },
    ...(itemsP > 1 ? [{ itemsP: 1, unrollR: 2 * unrollR }] : []),
    { threadsP: threadsP / 2, unrollR: 2 * unrollR },
  ];
  const whole = wholeRows(kernel, own);
  const others = changed(own, changes).filter(
    (other) =>
      fitsBlock(other) &&
      inSteps(kernel, other) &&
      other.itemsP <= 4 &&
      other.itemsP * other.threadsP <= product(kernel.parallel) &&
      (isFree || other.itemsP === itemsP),
  );
  return whole === undefined ? others : [whole, ...others];
}

function columnCandidates(kernel: Kernel, own: ReduceSchedule, isFree: boolean): Schedule[] {
  const { threadsP, unrollR, width, staged } = own;
  // Moments take up several elements at once, and staged elements are shared by the rows of a thread.
  if (staged || reductionsOf(kernel).some(({ name }) => name === 'squaredDeviations')) return [];
  const changes: Change<ReduceSchedule>[] = [
    { width: width / 2 },
    { width: 2 * width },
    { unrollR: 2 * unrollR },
    { unrollR: unrollR / 2 },
    { threadsP: 2 * threadsP },
    { threadsP: threadsP / 2 },
    { width: width / 2, unrollR: 2 * unrollR },
  ];
  const columns = kernel.parallel.at(-1) ?? 1;
  return changed(own, changes).filter(
    (other) =>
      fitsBlock(other) &&
      inSteps(kernel, other) &&
      other.width >= 1 &&
      columns % other.width === 0 &&
      other.width * other.threadsP <= product(kernel.parallel) &&
      fitsColumns(kernel, other) &&
      Math.min(WARP, other.threadsP) === Math.min(WARP, threadsP) &&
      (isFree || other.width === width),
  );
}

function phaseCandidates(kernel: Kernel, own: RowSchedule): Schedule[] {
  const { threadsP, threadsR, mapping, chunks, width, held, sharedChunks, together } = own;
  const again = walkedAgain(own);
  const isRow = mapping === 'rows' && together === undefined;
  const isLong = isRow && held && chunks * width >= LEAST_AGAIN && !holdsProducts(kernel);
  const changes: Change<RowSchedule>[] = [
    ...(isLong ? [again, { ...again, chunks: 2 * again.chunks }] : []),
    ...(isRow && !held ? [{ chunks: 2 * chunks }, { chunks: chunks / 2 }] : []),
    { threadsP: 2 * threadsP },
    { threadsP: threadsP / 2 },
    { threadsP: 4 * threadsP },
    { threadsP: threadsP / 4 },
  ];
  const whole = wholeRows(kernel, own);
  const others = changed(own, changes).filter(
    (other) =>
      fitsBlock(other) &&
      Number.isInteger(other.threadsP) &&
      other.chunks >= 1 &&
      other.threadsP <= product(kernel.parallel) &&
      (sharedChunks === 0 || !other.held) &&
      (mapping === 'rows' || Math.min(WARP, other.threadsP) === Math.min(WARP, threadsP)) &&
      (!other.held || fitsRegisters(kernel, other, other.threadsP * threadsR)),
  );
  return whole === undefined ? others : [whole, ...others];
}
/** Elements of a thread from which on a row may as well be read again. */
const LEAST_AGAIN = 32;

/** Whether a product is held from phase to phase: walks that compute it again are not measured. */
function holdsProducts(kernel: Kernel): boolean {
  const products = new Set(['multiply', 'square']);
  return [...lifetimesOf(kernel).held].some((position) => products.has(opOf(kernel.tape[position]!) ?? ''));
}

function tileCandidates(kernel: Kernel, own: OuterProductSchedule, isFree: boolean): Schedule[] {
  const { items, depth, tile, isSymmetric, isHalved, fold, slots, slotLength } = own;
  const isWhole = isSymmetric === undefined && isHalved === undefined && groupsOf(own) === 1;
  if (!isWhole || tile.length > 0) return [];
  const side = (i: number, j: number): Change<OuterProductSchedule> => ({ items: { i, j } });
  const changes: Change<OuterProductSchedule>[] = [
    { depth: depth / 2 },
    { depth: 2 * depth },
    ...(isFree && items.i === items.j ? [side(4, 4), side(8, 8), side(8, 4), side(4, 8)] : []),
  ];
  const size = pairSizesOf(kernel, own.axisI, own.axisJ);
  const length = product(kernel.reduced);
  return changed(own, changes)
    .filter(
      (other) =>
        (other.items.i !== items.i || other.items.j !== items.j || other.depth !== depth) &&
        (slots === 1 || slotLength % other.depth === 0) &&
        fold % other.depth === 0 &&
        holdsTile(size, other),
    )
    .map((other) =>
      slots === 1 ? { ...other, slotLength: Math.ceil(length / other.depth) * other.depth } : other,
    );
}

function repeatCandidates(kernel: Kernel, own: RepeatSchedule, isFree: boolean): Schedule[] {
  const { threads, width } = own;
  const last = kernel.parallel.at(-1) ?? 1;
  const changes: Change<RepeatSchedule>[] = [
    { threads: threads / 2 },
    { threads: 2 * threads },
    ...(isFree ? [{ width: width / 2 }, { width: 2 * width }] : []),
  ];
  return changed(own, changes).filter(
    (other) =>
      other.width >= 1 && other.width <= 4 && (kernel.parallel.length < 2 || last % other.width === 0),
  );
}

/** The steps of a launch and its halo stay: plans count them. */
function stencilCandidates(own: StencilSchedule): Schedule[] {
  const { warps, copies } = own;
  // Rows that warps hand to each other take no more shared memory than those of the kernel's own schedule.
  const changes: Change<StencilSchedule>[] =
    copies === 1
      ? [{ warps: warps / 2 }, { warps: warps / 2, copies: 2 }]
      : [{ warps: warps / 2 }, { copies: 1 }, { warps: 2 * warps, copies: 1 }];
  return changed(own, changes).filter((other) => storedPart(other) >= LEAST_STORED);
}
/** The part of a tile that is stored, at least. */
const LEAST_STORED = 0.4;
