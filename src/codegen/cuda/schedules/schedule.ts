/**
 * The schedule of a kernel: how its domain is laid over blocks and threads, and in which order a reduction
 * combines.
 *
 * It is a pure function of the kernel's shapes, strides and dtypes, never of a device's size, for the bits of
 * a result follow from it. It is chosen here and printed elsewhere, so that a part of a kernel can be printed
 * with the whole kernel's schedule. The numbers in it were chosen for an H200 but hold for any device.
 */
import { affineLoadsOf, windowIndexOf } from '../../../fusion/kernel/algebra.js';
import { type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { levelsOf } from '../../../fusion/kernel/levels.js';
import { byteLengthOf, type DType } from '../../../graph/dtype.js';
import { normalize } from '../../cuts/domain.js';
import type { Stretch } from '../tile-reduced.js';
import { chooseMap, type MapSchedule } from './schedule-map.js';
import type { OuterProductSchedule } from './schedule-outer-product.js';
import type { ReduceSchedule } from './schedule-reduce.js';
import { chooseRepeat, type RepeatSchedule } from './schedule-repeat.js';
import { chooseRows, DEFAULT_LIMITS, type DeviceLimits, type RowSchedule } from './schedule-rows.js';
import { chooseStencil, type StencilSchedule } from './schedule-stencil.js';
import type { TableSchedule } from './schedule-table.js';
import { chooseInOrder } from './sum-order.js';

/** A map in which some load runs along another axis than the stores: tiles go through shared memory. */
export interface TransposeSchedule {
  readonly kind: 'transpose';
  /** Axis along which the staged loads are contiguous; stores are along the last one. */
  readonly axis: number;
  readonly tile: number;
  readonly threads: number;
  /** Tape positions of the staged loads. */
  readonly staged: readonly number[];
}

/**
 * A kernel of several phases that has too few rows, or whose reductions combine in different orders: one
 * kernel for each phase and order, results in scratch.
 */
export interface SplitSchedule {
  readonly kind: 'split';
}

export type Schedule =
  | MapSchedule
  | TableSchedule
  | TransposeSchedule
  | ReduceSchedule
  | OuterProductSchedule
  | RowSchedule
  | SplitSchedule
  | RepeatSchedule
  | StencilSchedule
  /** Nothing to compute. */
  | { readonly kind: 'empty' };

/** The schedule of a kernel. `limits` may move values between memories, but changes no result. */
export function scheduleOf(kernel: Kernel, limits: DeviceLimits = DEFAULT_LIMITS): Schedule {
  return scheduleOfNormal(normalize(kernel), limits);
}

/** The schedule of a kernel that `normalize` gave. */
export function scheduleOfNormal(kernel: Kernel, limits: DeviceLimits = DEFAULT_LIMITS): Schedule {
  if (product(kernel.parallel) === 0) return { kind: 'empty' };
  const several = chooseRepeat(kernel) ?? chooseStencil(kernel);
  if (several !== undefined) return several;
  if (windowIndexOf(kernel) !== undefined) return chooseMap(kernel);
  if (kernel.reduced.length === 0) return chooseTranspose(kernel) ?? chooseMap(kernel);
  const chosen = levelsOf(kernel).phases === 1 ? chooseInOrder(kernel) : chooseRows(kernel, limits);
  return chosen ?? { kind: 'split' };
}

/** Shared memory that staged tiles may take. */
const TILE_BYTES = 36 * 1024;
/** Axes shorter than this are not worth a tile. */
const SHORT_AXIS = 16;

function chooseTranspose(kernel: Kernel): TransposeSchedule | undefined {
  const last = kernel.parallel.length - 1;
  if (last < 1 || kernel.parallel[last]! < SHORT_AXIS) return undefined;
  const weights = kernel.parallel.map(() => 0);
  const candidates: { position: number; axis: number; dtype: DType }[] = [];
  for (const { position, access, dtype } of affineLoadsOf(kernel)) {
    if (access.bounds.length > 0) continue;
    const { strides } = access;
    if (Math.abs(strides[last]!) < SHORT_AXIS) continue;
    const axis = strides.findIndex(
      (stride, k) => k < last && stride === 1 && kernel.parallel[k]! >= SHORT_AXIS,
    );
    if (axis < 0) continue;
    weights[axis]! += byteLengthOf(dtype);
    candidates.push({ position, axis, dtype });
  }
  if (candidates.length === 0) return undefined;
  const axis = weights.indexOf(Math.max(...weights));
  const widest = Math.max(...candidates.map(({ dtype }) => byteLengthOf(dtype)));
  const tile = widest > 8 ? 32 : 64;
  const staged: number[] = [];
  let bytes = 0;
  for (const candidate of candidates) {
    bytes += tile * (tile + 1) * byteLengthOf(candidate.dtype);
    if (candidate.axis === axis && bytes <= TILE_BYTES) staged.push(candidate.position);
  }
  return { kind: 'transpose', axis, tile, threads: 256, staged };
}

const printItem = (item: number | Stretch): string =>
  typeof item === 'number' ? `${item}` : `${item.axis}: ${item.length}`;

/** A list, the sides of a tile, or a plain value. */
function printField(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(printItem).join(', ')}]`;
  return typeof value === 'object' && value !== null ? Object.values(value).join(' × ') : String(value);
}

/** A schedule as one line: for `explain` and golden files. */
export function printSchedule(schedule: Schedule): string {
  const { kind, ...rest } = schedule;
  const fields = Object.entries(rest).map(([name, value]) => `${name} ${printField(value)}`);
  return fields.length === 0 ? kind : `${kind}: ${fields.join(', ')}`;
}
