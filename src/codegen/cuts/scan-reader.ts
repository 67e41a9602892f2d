/**
 * Kernels that read what a scan gives, as parts of the scan: a map of its elements, and reductions of them in which no order
 * matters (extremes, counts). Each tile of the scan gives a partial result of those, a small kernel behind the scan the rest:
 *
 *     z = min over i of f(s[i]) / w   →   element f(s[i]), of which each tile keeps the least;   z = min of the tiles' / w
 *
 * So a reduction has the bits that it has alone, whatever the tiles. Called by `exec/plan/scan-maps.ts`.
 */
import { extract, liveValues, loadsFrom, sizesOf } from '../../fusion/kernel/algebra.js';
import { reductionsOf } from '../../fusion/kernel/arithmetic.js';
import { create, mapAccess, mapInstruction } from '../../fusion/kernel/instruction.js';
import {
  type Access,
  type Affine,
  argumentsOf,
  type Kernel,
  type Store,
} from '../../fusion/kernel/kernel.js';
import { levelsOf } from '../../fusion/kernel/levels.js';
import { isComplex, isHalf } from '../../graph/dtype.js';
import { isExactReduction, reductionRow } from '../../graph/reductions.js';
import { normalize } from './domain.js';
import type { FoldName } from './row-fold.js';
import { usedBuffers } from './split-phases.js';

/** Elements along the axis of a scan, those before it and behind it, and how many tiles it has. */
export interface ScanLines {
  readonly outer: number;
  readonly length: number;
  readonly inner: number;
  readonly tiles: number;
}

/** An output of a map whose values are combined, tile by tile. */
export interface TileFold {
  /** Of the map's buffers. */
  readonly buffer: number;
  readonly name: FoldName;
}

export interface ScanReader {
  /** Maps elements: buffers are those of `used` of the kernel, then those of `folds`. */
  readonly element: Kernel;
  readonly used: readonly number[];
  readonly folds: readonly TileFold[];
  /** Reduces partial results, and computes what follows: buffers are those of `used` of the kernel, from its end on partial results in their order. */
  readonly finish: { readonly kernel: Kernel; readonly used: readonly number[] } | undefined;
}

const FOLDS: readonly string[] = ['sum', 'prod', 'min', 'max'];

/** The parts of a kernel that reads a scan's result, its buffer `given`; `keeps`: with that as a result besides. Undefined: it is no such kernel. */
export function scanReaderOf(
  kernel: Kernel,
  given: number,
  lines: ScanLines,
  keeps: boolean,
): ScanReader | undefined {
  const { carried, counters } = kernel;
  if (carried !== undefined || counters !== undefined) return undefined;
  const normal = normalize(kernel);
  const [load] = loadsFrom(normal, given);
  if (load === undefined) return undefined;
  const { access } = load;
  const folded = normal.reduced.length === 0 ? [] : foldsOf(normal);
  if (folded === undefined) return undefined;
  const tiled = folded.length === 0 ? undefined : tiledAxes(normal, access, lines);
  if (folded.length > 0 && tiled === undefined) return undefined;
  const count = normal.buffers.length;
  const added = [
    ...folded.map(({ dtype, value }) => ({ dtype, value })),
    ...(keeps ? [{ dtype: load.dtype, value: load.position }] : []),
  ];
  const stores: Store[] = [
    ...normal.stores.filter((store) => isOfElements(normal, store)),
    ...added.map(({ value }, k) => ({ value, access: { ...access, buffer: count + k } })),
  ];
  const elementCount = lines.outer * lines.length * lines.inner;
  const buffers = [
    ...normal.buffers,
    ...added.map(({ dtype }) => ({ dtype, role: 'output', elementCount }) as const),
  ];
  const { tape, moved } = extract(
    normal.tape,
    liveValues(
      normal.tape,
      stores.map(({ value }) => value),
    ),
  );
  // Its axes are in the order of elements.
  const whole: Kernel = {
    ...normal,
    parallel: sizesOf(normal),
    reduced: [],
    buffers,
    tape,
    stores: stores.map((store) => ({ ...store, value: moved.get(store.value)! })),
  };
  const { kernel: element, used } = usedBuffers(normalize(whole));
  const folds = folded.map(({ name }, k) => ({ buffer: used.indexOf(count + k), name }));
  return { element, used, folds, finish: tiled && finishOf(normal, folded, tiled) };
}

interface Folded {
  readonly position: number;
  readonly name: FoldName;
  readonly dtype: Kernel['buffers'][number]['dtype'];
  readonly value: number;
}

/** The reductions of a kernel that are combined in any order; undefined: it has others. */
function foldsOf(kernel: Kernel): Folded[] | undefined {
  if (levelsOf(kernel).phases !== 1) return undefined;
  const reductions = reductionsOf(kernel);
  const isFold = ({ name, dtype, taken }: (typeof reductions)[number]): boolean =>
    FOLDS.includes(name) &&
    !reductionRow(name).indexed &&
    dtype === taken &&
    dtype !== 'bool' &&
    !isComplex(dtype) &&
    !isHalf(dtype) &&
    isExactReduction(name, dtype);
  if (reductions.length === 0 || !reductions.every(isFold)) return undefined;
  return reductions.map(({ position, name, dtype, args }) => ({
    position,
    name: name as FoldName,
    dtype,
    value: args[0]!,
  }));
}

/** Whether a store writes a value for each element, not for each row. */
const isOfElements = ({ parallel }: Kernel, { access }: Store, reduced = parallel.length): boolean =>
  parallel.length === access.strides.length || access.strides.slice(reduced).some((stride) => stride !== 0);

interface TiledAxes {
  /** Of partial results in C order: lines, tiles, columns. */
  readonly access: Affine;
  readonly count: number;
  /** The sizes of the kernel's axes with tiles in the place of elements. */
  readonly sizes: readonly number[];
}

/** A kernel's axes, which walk over a scan's result by an access, with tiles in the place of elements; undefined: they do not. */
function tiledAxes(kernel: Kernel, access: Affine, lines: ScanLines): TiledAxes | undefined {
  const { outer, length, inner, tiles } = lines;
  const along = inner * length;
  let walked: number | undefined;
  const sizes = [...sizesOf(kernel)];
  const strides = sizes.map((size, axis) => {
    const stride = access.strides[axis]!;
    if (size * stride <= inner) return stride;
    if (stride >= along) return (stride / length) * tiles;
    if (stride > inner || size * stride < along) return undefined;
    walked = axis;
    sizes[axis] = (size / length) * tiles;
    return stride;
  });
  if (access.offset !== 0 || walked === undefined || walked < kernel.parallel.length) return undefined;
  if (!strides.every((stride) => stride !== undefined)) return undefined;
  return { access: { offset: 0, strides }, count: outer * tiles * inner, sizes };
}

/** The kernel behind the tiles' partial results. */
function finishOf(
  kernel: Kernel,
  folded: readonly Folded[],
  { access, count, sizes }: TiledAxes,
): ScanReader['finish'] {
  const first = kernel.buffers.length;
  const stores = kernel.stores.filter((store) => !isOfElements(kernel, store));
  const live = liveValues(
    kernel.tape,
    stores.map(({ value }) => value),
    (position) => folded.some((fold) => fold.position === position),
  );
  const all = [...new Set([...live, ...folded.map(({ position }) => position)])].sort((a, b) => a - b);
  const kept = sizes
    .map((_, axis) => axis)
    .filter((axis) => axis < kernel.parallel.length || sizes[axis]! > 1);
  const over = <T extends Affine>(affine: T): T => ({
    ...affine,
    strides: kept.map((axis) => affine.strides[axis]!),
  });
  const reduced = kept.filter((axis) => axis >= kernel.parallel.length).map((axis) => sizes[axis]!);
  const tape: Kernel['tape'][number][] = [];
  const moved = new Map<number, number>();
  for (const at of all) {
    const fold = folded.findIndex(({ position }) => position === at);
    const i = kernel.tape[at]!;
    if (fold >= 0) {
      const { dtype, name } = folded[fold]!;
      const place: Access = { ...over(access), buffer: first + fold, bounds: [] };
      tape.push(create.load(dtype, place));
      if (reduced.length > 0) tape.push(create.reduce(dtype, name, [tape.length - 1]));
    } else {
      tape.push(
        mapInstruction(
          i,
          argumentsOf(i).map((arg) => moved.get(arg)!),
          over,
        ),
      );
    }
    moved.set(at, tape.length - 1);
  }
  const partial = folded.map(({ dtype }) => ({ dtype, role: 'input', elementCount: count }) as const);
  return usedBuffers({
    ...kernel,
    reduced,
    buffers: [...kernel.buffers, ...partial],
    tape,
    stores: stores.map(({ value, access: own }) => ({
      value: moved.get(value)!,
      access: mapAccess(own, over),
    })),
  });
}
