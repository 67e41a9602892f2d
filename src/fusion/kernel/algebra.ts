/**
 * The kernel algebra: the functions through which everything else looks into a tape, so that a new kind of
 * instruction or a new form of access is added here and nowhere else. Passes, schedules and planners
 * ask a kernel for one of
 *
 *     loadOf, loadsOf, accessesOf, affinesIn, affinesOf      what it reads and writes, and by which index maps
 *     mapInstruction, mapTape, mapAffines, mapAccesses       the same kernel with arguments, index maps or buffers changed
 *     liveValues, withoutDead                                what some stores need
 *     dropUnitAxes, mergeAxes, permuteAxes                   the same kernel over other axes
 *
 * Levels and phases are `levelsOf` (`levels.ts`), ranges of affine functions and footprints `boxes.ts`. All
 * of it works on a kernel while it is being fused and on a finished one (`Tape`).
 */
import type { DType } from '../../graph/dtype.js';
import {
  type Access,
  type Affine,
  argumentsOf,
  type Bound,
  type Instruction,
  type Store,
  sameAffine,
  sameNumbers,
} from './kernel.js';

/** The common part of `Kernel` and `FusedKernel`. */
export interface Tape {
  readonly parallel: readonly number[];
  readonly reduced: readonly number[];
  readonly tape: readonly Instruction[];
  readonly stores: readonly Store[];
}

/** Sizes of all axes, parallel ones first. */
export const sizesOf = ({ parallel, reduced }: Tape): number[] => [...parallel, ...reduced];

// ---------------------------------------------------------------- looking

/** The access of a load, affine or gathered; undefined for every other instruction. */
export const loadOf = (i: Instruction): Access | undefined => (i.kind === 'load' ? i.access : undefined);

/** The access of a load whose place depends on coordinates alone. */
export const affineLoadOf = (i: Instruction): Access | undefined =>
  i.kind === 'load' && i.access.index === undefined ? i.access : undefined;

/** Whether an instruction is an in-bounds predicate. */
export const isPredicate = (i: Instruction): boolean => i.kind === 'inside';

/** Whether an instruction computes from coordinates alone: an index or an in-bounds predicate. */
export const isIndexArithmetic = (i: Instruction): boolean => i.kind === 'index' || i.kind === 'inside';

/** Whether a value takes no arithmetic, and no other value: affine loads, constants, index arithmetic. */
export const isLeaf = (i: Instruction): boolean =>
  affineLoadOf(i) !== undefined || i.kind === 'const' || isIndexArithmetic(i);

/** Whether a load reads the same elements in the whole domain. */
export const isUniform = ({ strides, bounds, index }: Access): boolean =>
  index === undefined && bounds.length === 0 && strides.every((stride) => stride === 0);

/** Whether a load reads, everywhere in the domain, the very element that a store writes. */
export const isSamePlace = (load: Access, store: Access): boolean =>
  load.index === undefined && load.bounds.length === 0 && sameAffine(load, store);

/** A load with its place on the tape. */
export interface Load {
  readonly position: number;
  readonly access: Access;
  readonly dtype: DType;
}

/** The loads among some positions of a tape, or on all of it, in order. */
export function loadsOf({ tape }: Pick<Tape, 'tape'>, positions?: Iterable<number>): Load[] {
  const loads: Load[] = [];
  for (const position of positions ?? tape.keys()) {
    const i = tape[position]!;
    const access = loadOf(i);
    if (access !== undefined) loads.push({ position, access, dtype: i.dtype });
  }
  return loads;
}

/** The loads whose place depends on coordinates alone. */
export const affineLoadsOf = (kernel: Pick<Tape, 'tape'>): Load[] =>
  loadsOf(kernel).filter(({ access }) => access.index === undefined);

/** The loads of one buffer. */
export const loadsFrom = (kernel: Pick<Tape, 'tape'>, buffer: number): Load[] =>
  loadsOf(kernel).filter(({ access }) => access.buffer === buffer);

/** Every place that a kernel reads or writes, loads first. */
export const accessesOf = (kernel: Tape): Access[] => [
  ...loadsOf(kernel).map(({ access }) => access),
  ...kernel.stores.map(({ access }) => access),
];

const NONE: readonly Affine[] = [];

/** The affine functions by which an instruction itself depends on coordinates. */
export function affinesIn(i: Instruction): readonly Affine[] {
  switch (i.kind) {
    case 'load':
      return i.access.bounds.length === 0 ? [i.access] : [i.access, ...i.access.bounds];
    case 'index':
      return [i.affine];
    case 'inside':
      return i.bounds;
    default:
      return NONE;
  }
}

/** The bounds that an instruction tests. */
export const boundsIn = (i: Instruction): readonly Bound[] =>
  i.kind === 'inside' ? i.bounds : (loadOf(i)?.bounds ?? []);

/** Every affine function of a kernel. */
export function affinesOf({ tape, stores }: Tape): Affine[] {
  const affines: Affine[] = stores.map(({ access }) => access);
  for (const i of tape) for (const affine of affinesIn(i)) affines.push(affine);
  return affines;
}

// ---------------------------------------------------------------- changing

/**
 * A function of affine functions that keeps what else they carry: the size of a bound, the buffer of an
 * access.
 */
export type AffineMap = <T extends Affine>(affine: T) => T;

const same: AffineMap = (affine) => affine;
const sameBuffer = (buffer: number): number => buffer;

const mapBounds = (bounds: readonly Bound[], affine: AffineMap): readonly Bound[] =>
  bounds.length === 0 ? bounds : bounds.map((bound) => affine(bound));

/** An access with its affine functions changed. */
export const mapAccess = (access: Access, affine: AffineMap): Access =>
  access.bounds.length === 0
    ? affine(access)
    : { ...affine(access), bounds: mapBounds(access.bounds, affine) };

/** A gather's access whose index stands elsewhere on the tape. */
const withIndexValue = (access: Access, value: number | undefined): Access =>
  access.index === undefined || value === undefined || value === access.index.value
    ? access
    : { ...access, index: { ...access.index, value } };

/**
 * An instruction with other arguments, its affine functions changed and its buffer renamed; the instruction
 * itself where nothing changed, since long tapes are mapped again and again.
 */
export function mapInstruction(
  i: Instruction,
  args: readonly number[],
  affine: AffineMap = same,
  buffer: (position: number) => number = sameBuffer,
): Instruction {
  switch (i.kind) {
    case 'load': {
      const moved = withIndexValue(mapAccess(i.access, affine), args[0]);
      const at = buffer(moved.buffer);
      if (at === moved.buffer)
        return moved === i.access ? i : { kind: i.kind, dtype: i.dtype, access: moved };
      return { kind: i.kind, dtype: i.dtype, access: { ...moved, buffer: at } };
    }
    case 'const':
      return i;
    case 'index': {
      const moved = affine(i.affine);
      return moved === i.affine ? i : { kind: i.kind, dtype: i.dtype, affine: moved };
    }
    case 'inside':
      return { kind: i.kind, dtype: i.dtype, bounds: mapBounds(i.bounds, affine) };
    case 'cast':
      return args[0] === i.args[0] ? i : { kind: i.kind, dtype: i.dtype, args: [args[0]!] };
    case 'map':
      return sameNumbers(args, i.args) ? i : { kind: i.kind, dtype: i.dtype, op: i.op, args };
    case 'reduce':
      return sameNumbers(args, i.args) ? i : { kind: i.kind, dtype: i.dtype, reduction: i.reduction, args };
  }
}

/** The same kernel over other axes, every affine function of it changed. */
export function mapAffines<K extends Tape>(
  kernel: K,
  parallel: readonly number[],
  reduced: readonly number[],
  affine: AffineMap,
): K {
  const tape = kernel.tape.map((i) => mapInstruction(i, argumentsOf(i), affine));
  const stores = kernel.stores.map((store) => ({ ...store, access: mapAccess(store.access, affine) }));
  return { ...kernel, parallel, reduced, tape, stores };
}

/** The same kernel with every load's access changed; index arithmetic stays. */
export function mapLoads<K extends Tape>(kernel: K, change: (access: Access) => Access): K {
  const tape = kernel.tape.map((i): Instruction => {
    if (i.kind !== 'load') return i;
    const access = change(i.access);
    return access === i.access ? i : { ...i, access };
  });
  return { ...kernel, tape };
}

/** The same kernel with every access of memory changed, of loads and stores. */
export const mapAccesses = <K extends Tape>(kernel: K, change: (access: Access) => Access): K => ({
  ...mapLoads(kernel, change),
  stores: kernel.stores.map((store) => ({ ...store, access: change(store.access) })),
});

/** The same kernel with the bounds that its loads and predicates test changed. */
export function mapTestedBounds<K extends Tape>(
  kernel: K,
  change: (bounds: readonly Bound[]) => readonly Bound[],
): K {
  const tape = kernel.tape.map((i): Instruction => {
    if (i.kind === 'inside') return { ...i, bounds: change(i.bounds) };
    if (i.kind !== 'load' || i.access.bounds.length === 0) return i;
    return { ...i, access: { ...i.access, bounds: change(i.access.bounds) } };
  });
  return { ...kernel, tape };
}

// ---------------------------------------------------------------- what is needed

/**
 * Positions that some values depend on, these among them, in order of the tape. Nothing below `known` values
 * is.
 */
export function liveValues(
  tape: readonly Instruction[],
  values: Iterable<number>,
  known: (position: number) => boolean = () => false,
): number[] {
  const live = new Set<number>();
  const stack = [...values];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    if (live.has(at) || known(at)) continue;
    live.add(at);
    for (const arg of argumentsOf(tape[at]!)) stack.push(arg);
  }
  return [...live].sort((a, b) => a - b);
}

/** Positions that the stores of a kernel depend on. */
export const liveOf = ({ tape, stores }: Pick<Tape, 'tape' | 'stores'>): number[] =>
  liveValues(
    tape,
    stores.map(({ value }) => value),
  );

/** Instructions at some positions, in order, as a tape of their own, with the new position of each. */
export function extract(
  tape: readonly Instruction[],
  positions: readonly number[],
): { readonly tape: Instruction[]; readonly moved: ReadonlyMap<number, number> } {
  const moved = new Map<number, number>();
  const extracted = positions.map((position, k) => {
    moved.set(position, k);
    const i = tape[position]!;
    return mapInstruction(
      i,
      argumentsOf(i).map((arg) => moved.get(arg)!),
    );
  });
  return { tape: extracted, moved };
}

/** The kernel without instructions that no store depends on. */
export function withoutDead<K extends Tape>(kernel: K): K {
  const live = liveOf(kernel);
  if (live.length === kernel.tape.length) return kernel;
  const { tape, moved } = extract(kernel.tape, live);
  const stores = kernel.stores.map((store) => ({ ...store, value: moved.get(store.value)! }));
  return { ...kernel, tape, stores };
}

// ---------------------------------------------------------------- axes

/** The same kernel with only `kept` axes, each of which stands for itself and the axes merged into it. */
function withAxes<K extends Tape>(kernel: K, kept: readonly number[], sizes: readonly number[]): K {
  const first = kernel.parallel.length;
  const parallel = kept.filter((k) => k < first).length;
  return mapAffines(kernel, sizes.slice(0, parallel), sizes.slice(parallel), (a) => ({
    ...a,
    strides: kept.map((k) => a.strides[k]!),
  }));
}

/**
 * Merges neighbouring axes of one role that every affine function walks as one:
 *
 *     parallel [64, 32] all strides (32, 1)   →   parallel [2048] stride 1
 */
export function mergeAxes<K extends Tape>(kernel: K): K {
  const sizes = sizesOf(kernel);
  const first = kernel.parallel.length;
  const affines = affinesOf(kernel);
  const isMerged = sizes.map(
    (size, k) =>
      k + 1 < sizes.length &&
      k + 1 !== first &&
      size > 0 &&
      affines.every((a) => a.strides[k] === a.strides[k + 1]! * sizes[k + 1]!),
  );
  if (!isMerged.includes(true)) return kernel;
  const kept = sizes.flatMap((_, k) => (isMerged[k] ? [] : [k]));
  const merged = kept.map((k) => {
    let size = sizes[k]!;
    for (let j = k - 1; j >= 0 && isMerged[j]; j--) size *= sizes[j]!;
    return size;
  });
  return withAxes(kernel, kept, merged);
}

/**
 * Drops axes of size 1, whose coordinate is always 0. `keepsReduced`: one reduced axis stays where all have
 * size 1, so that the kernel still says that it reduces.
 */
export function dropUnitAxes<K extends Tape>(kernel: K, { keepsReduced }: { keepsReduced: boolean }): K {
  const sizes = sizesOf(kernel);
  if (!sizes.includes(1)) return kernel;
  const first = kernel.parallel.length;
  const isKept = keepsReduced && kernel.reduced.length > 0 && kernel.reduced.every((n) => n === 1);
  const kept = sizes.flatMap((size, k) => (size !== 1 || (isKept && k === first) ? [k] : []));
  return withAxes(
    kernel,
    kept,
    kept.map((k) => sizes[k]!),
  );
}

/** The same kernel with its axes in another order, in which parallel axes stay ahead of reduced ones. */
export function permuteAxes<K extends Tape>(kernel: K, order: readonly number[]): K {
  if (order.every((axis, k) => axis === k)) return kernel;
  const sizes = sizesOf(kernel);
  return withAxes(
    kernel,
    order,
    order.map((k) => sizes[k]!),
  );
}
