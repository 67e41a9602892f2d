/**
 * Chains on a torus: kernels that read values around the ends of their outermost axis, as rolls and `wrap` do. Each value
 * gets the rows beyond its ends that its readers need, which are computed twice, so that it passes in panels as any other:
 *
 *     t[i] of n rows from rows i - 1 and i + 1 of x, around        rows -1 … n of t, from rows of x, around
 *     y[i] of n rows from rows i - 1 and i + 1 of t, around   →    y[i] from rows i - 1 and i + 1 of these
 *
 * Called by `neighbour-panels.ts`.
 */
import { affineLoadOf, affinesIn, loadsOf, mapLoads, sizesOf } from '../../fusion/kernel/algebra.js';
import { rangeOf } from '../../fusion/kernel/boxes.js';
import type { Access, Affine, Bound, Instruction, Kernel } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import type { KernelStep } from '../plan/plan.js';
import { hull, type Span } from './sweep-windows.js';

/** The part of its rows that a value may have beyond its ends. */
const MOST_AROUND = 1 / 8;

export interface ChainAround {
  /** The kernels in their order, with those rows. */
  readonly steps: readonly KernelStep[];
  /** Bytes of the values that have some. */
  readonly byteLengths: ReadonlyMap<number, number>;
}

/** A chain whose values have the rows around that are read; `undefined`: none is, or not in this way. */
export function withRowsAround(
  steps: readonly KernelStep[],
  values: ReadonlySet<number>,
): ChainAround | undefined {
  const size = rowsRead(steps, values);
  return size === undefined ? undefined : new Torus(size, values).chain(steps);
}

/** The size of the outermost axis around which a value is read. */
function rowsRead(steps: readonly KernelStep[], values: ReadonlySet<number>): number | undefined {
  for (const { kernel, buffers } of steps)
    for (const { access } of loadsOf(kernel)) {
      if (!values.has(buffers[access.buffer]!)) continue;
      const { elementCount } = kernel.buffers[access.buffer]!;
      const around = access.bounds.find((bound) => isAround(bound, elementCount / bound.size));
      if (around !== undefined) return around.size;
    }
  return undefined;
}

/** The axis of a domain that moves along an array, one by one, by a bound around its ends; undefined: none. */
function axisAround({ strides, fold }: Bound): number | undefined {
  if (fold?.mode !== 'wrap') return undefined;
  const axis = strides.findIndex((stride) => stride !== 0);
  const isAlong = strides[axis] === 1 && strides.every((stride, k) => k === axis || stride === 0);
  return isAlong ? axis : undefined;
}

/** Whether a bound goes around the ends of rows of so many elements. */
const isAround = (bound: Bound, elements: number): boolean =>
  bound.fold?.stride === elements && axisAround(bound) !== undefined;

/** An affine function without the part of some that it contains. */
const without = (affine: Affine, parts: readonly Bound[]): Affine => {
  const strides = [...affine.strides];
  let { offset } = affine;
  for (const { offset: from, strides: along, fold } of parts) {
    if (fold === undefined) continue;
    offset -= fold.stride * from;
    for (let k = 0; k < strides.length; k++) strides[k]! -= fold.stride * along[k]!;
  }
  return { offset, strides };
};

/** The rows of an array along which an access moves with an axis of its domain. */
interface Along {
  readonly axis: number;
  /** The row at the first place of that axis. */
  readonly row: number;
}

class Torus {
  readonly #size: number;
  readonly #values: ReadonlySet<number>;
  /** Of values with rows beyond their ends, all their rows. */
  readonly #rows = new Map<number, Span>();

  constructor(size: number, values: ReadonlySet<number>) {
    this.#size = size;
    this.#values = values;
  }

  chain(steps: readonly KernelStep[]): ChainAround | undefined {
    const extended: KernelStep[] = [];
    for (const step of steps.toReversed()) {
      // The readers of what it writes are there.
      const rows = this.#rowsOf(step);
      const canExtend = rows === undefined || this.#canExtend(step, rows);
      if (!canExtend || !this.#addRowsReadBy(step, rows)) return undefined;
      extended.unshift({ ...step, kernel: rows === undefined ? step.kernel : this.#extended(step, rows) });
    }
    const byteLengths = new Map<number, number>();
    const made = extended.map((step): KernelStep => {
      const kernel = this.#readingRows(step);
      for (const [position, { dtype, elementCount }] of kernel.buffers.entries())
        if (this.#rows.has(step.buffers[position]!))
          byteLengths.set(step.buffers[position]!, elementCount * byteLengthOf(dtype));
      return { ...step, kernel };
    });
    return { steps: made, byteLengths };
  }

  /** The rows that a kernel computes where some of those are beyond the ends. All that it writes then has these. */
  #rowsOf({ kernel, buffers }: KernelStep): Span | undefined {
    const written = buffers.filter((_, k) => kernel.buffers[k]!.role === 'output');
    const rows = written.reduce<Span | undefined>(
      (all, value) => hull(all, this.#rows.get(value)),
      undefined,
    );
    if (rows !== undefined) for (const value of written) this.#rows.set(value, rows);
    return rows;
  }

  /** Whether a kernel can compute rows beyond the ends: as those of the other end. */
  #canExtend({ kernel, buffers }: KernelStep, rows: Span): boolean {
    const { parallel, reduced, tape, stores, carried } = kernel;
    const isLong = rows[1] - rows[0] > (1 + MOST_AROUND) * this.#size;
    if (isLong || parallel[0] !== this.#size || reduced.length > 0 || carried !== undefined) return false;
    const isInRows = stores.every(({ access }) => {
      const along = this.#values.has(buffers[access.buffer]!) ? this.#alongRows(access, kernel) : undefined;
      return along?.axis === 0 && along.row === 0 && access.bounds.length === 0;
    });
    const isFixed = ({ strides }: Affine): boolean => strides[0] === 0;
    const isPeriodic = (i: Instruction): boolean => {
      const access = affineLoadOf(i);
      if (access === undefined || access.place !== undefined) return affinesIn(i).every(isFixed);
      return access.bounds.every((bound) => isFixed(bound) || this.#folds(bound, rows));
    };
    return isInRows && tape.every(isPeriodic);
  }

  /** Whether a bound goes around for all of some rows: once, as code can. */
  #folds(bound: Bound, [first, last]: Span): boolean {
    const { offset, size } = bound;
    const isWithin = offset + first >= -size && offset + last <= 2 * size;
    return size === this.#size && axisAround(bound) === 0 && isWithin;
  }

  /** Adds the rows of values that a kernel reads, of its own ones where these go beyond. False: not in order. */
  #addRowsReadBy({ kernel, buffers }: KernelStep, rows: Span | undefined): boolean {
    for (const { access } of loadsOf(kernel)) {
      const value = buffers[access.buffer]!;
      if (!this.#values.has(value)) continue;
      if (rows === undefined && this.#aroundOf(access, kernel) === undefined) continue;
      const along = this.#alongRows(access, kernel);
      if (along === undefined || (rows !== undefined && along.axis > 0)) return false;
      const [first, last] = rows ?? [0, sizesOf(kernel)[along.axis]!];
      const read = hull([0, this.#size], [first + along.row, last + along.row])!;
      const isBeyond = read[0] < 0 || read[1] > this.#size;
      if (isBeyond) this.#rows.set(value, hull(this.#rows.get(value), read)!);
    }
    return true;
  }

  #elementsOf = ({ buffers }: Kernel, position: number): number =>
    buffers[position]!.elementCount / this.#size;

  #aroundOf({ bounds, buffer }: Access, kernel: Kernel): Bound | undefined {
    const elements = this.#elementsOf(kernel, buffer);
    return bounds.find((bound) => bound.size === this.#size && isAround(bound, elements));
  }

  /** How an access moves along the rows of its array; undefined: in another way. */
  #alongRows(access: Access, kernel: Kernel): Along | undefined {
    const { bounds, index, place } = access;
    if (index !== undefined || place !== undefined || bounds.some(({ fold }) => fold === undefined))
      return undefined;
    const elements = this.#elementsOf(kernel, access.buffer);
    const around = this.#aroundOf(access, kernel);
    const axis = around === undefined ? 0 : axisAround(around)!;
    const { offset, strides } = without(access, bounds);
    if (strides[axis] !== (around === undefined ? elements : 0)) return undefined;
    let [low, high] = rangeOf({ offset, strides }, sizesOf(kernel).with(axis, 1));
    for (const { fold, size } of bounds.filter((bound) => bound !== around)) {
      if (fold!.stride < 0) return undefined;
      high += fold!.stride * (size - 1);
    }
    const row = Math.floor(low / elements);
    if (Math.floor(high / elements) !== row || (around !== undefined && row !== 0)) return undefined;
    return { axis, row: around?.offset ?? row };
  }

  /** A kernel over rows beyond the ends: of all that it reads, those of the other end. */
  #extended({ kernel }: KernelStep, [first, last]: Span): Kernel {
    const moved = <A extends Affine>(affine: A): A => ({
      ...affine,
      offset: affine.offset + first * affine.strides[0]!,
    });
    const axes = kernel.parallel.map((_, axis) => (axis === 0 ? 1 : 0));
    const read = mapLoads(kernel, (access) => {
      const stride = without(access, access.bounds).strides[0]!;
      const fold = { mode: 'wrap', stride } as const;
      const around = stride === 0 ? [] : [{ offset: first, strides: axes, size: this.#size, fold }];
      return { ...moved(access), bounds: [...access.bounds.map(moved), ...around] };
    });
    return { ...read, parallel: kernel.parallel.with(0, last - first) };
  }

  /** A kernel that reads and writes values where these have their rows. */
  #readingRows({ kernel, buffers }: KernelStep): Kernel {
    const rowsOf = (position: number): Span | undefined => this.#rows.get(buffers[position]!);
    const read = mapLoads(kernel, (access) => {
      const rows = rowsOf(access.buffer);
      if (rows === undefined) return access;
      const around = this.#aroundOf(access, kernel);
      const offset = access.offset - rows[0] * this.#elementsOf(kernel, access.buffer);
      return { ...access, offset, bounds: access.bounds.filter((bound) => bound !== around) };
    });
    const extended = kernel.buffers.map((own, position) => {
      const rows = rowsOf(position);
      if (rows === undefined) return own;
      return { ...own, elementCount: (rows[1] - rows[0]) * this.#elementsOf(kernel, position) };
    });
    return { ...read, buffers: extended };
  }
}
