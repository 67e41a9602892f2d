/**
 * The kernel algebra: the functions through which everything else looks into a tape, so that a new kind of
 * instruction or a new form of access is added here and nowhere else. Passes, schedules and planners
 * ask a kernel for one of
 *
 *     loadOf, loadsOf, accessesOf, affinesIn, affinesOf      what it reads and writes, and by which index maps
 *     mapInstruction, mapAffines, mapLoads, mapAccesses      the same kernel with arguments, index maps or buffers changed
 *     liveValues, withoutDead, extract                       what some stores need
 *     opOf, reductionsOf, costOf (`arithmetic.ts`)           what it computes
 *     mergeAxes, dropUnitAxes, permuteAxes (`axes.ts`)       the same kernel over other axes
 *     levelsOf, dependenciesOf (`levels.ts`)                 what each value depends on
 *     rangeOf, reachOf (`boxes.ts`)                          ranges of affine functions, footprints
 *
 * All of it works on a kernel while it is being fused and on a finished one (`Tape`). Instructions are made by
 * `create` (`instruction.ts`).
 */
import type { DType } from '../../graph/dtype.js';
import { isConstant } from './arithmetic.js';
import { type AffineMap, create, mapAccess, mapInstruction } from './instruction.js';
import {
  type Access,
  type Affine,
  argumentsOf,
  type Bound,
  formOf,
  type Instruction,
  type Kernel,
  type Store,
  sameAffine,
} from './kernel.js';

/** The common part of `Kernel` and `FusedKernel`. */
export interface Tape {
  readonly parallel: readonly number[];
  readonly reduced: readonly number[];
  readonly tape: readonly Instruction[];
  readonly stores: readonly Store[];
}

/** Sizes of all axes, parallel ones first. */
export const sizesOf = ({ parallel, reduced }: Pick<Tape, 'parallel' | 'reduced'>): number[] => [
  ...parallel,
  ...reduced,
];

// ---------------------------------------------------------------- looking

/** The access of a load, affine or gathered; undefined for every other instruction. */
export function loadOf(i: Instruction): Access | undefined {
  const form = formOf(i);
  return form.kind === 'load' ? form.access : undefined;
}

/** The access of a load whose place depends on coordinates alone. */
export function affineLoadOf(i: Instruction): Access | undefined {
  const access = loadOf(i);
  return access?.index === undefined ? access : undefined;
}

/** Whether an instruction is an in-bounds predicate. */
export const isPredicate = (i: Instruction): boolean => formOf(i).kind === 'inside';

/** Whether an instruction computes from coordinates alone: an index or an in-bounds predicate. */
export const isIndexArithmetic = (i: Instruction): boolean => isPredicate(i) || coordinateOf(i) !== undefined;

/** The affine function whose value an instruction is. */
export function coordinateOf(i: Instruction): Affine | undefined {
  const form = formOf(i);
  return form.kind === 'index' ? form.affine : undefined;
}

/** Whether a value takes no arithmetic, and no other value: affine loads, constants, index arithmetic. */
export const isLeaf = (i: Instruction): boolean =>
  affineLoadOf(i) !== undefined || isConstant(i) || isIndexArithmetic(i);

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

/** The value that is the index of all gathers of buffers that are there in windows. */
export function windowIndexOf(kernel: Pick<Kernel, 'tape' | 'buffers'>): number | undefined {
  const isInWindows = kernel.buffers.some((buffer) => buffer.isTakenInWindows === true);
  const taken = isInWindows
    ? loadsOf(kernel).find(({ access }) => kernel.buffers[access.buffer]!.isTakenInWindows === true)
    : undefined;
  return taken?.access.index?.value;
}

/** Every place that a kernel reads or writes, loads first. */
export function accessesOf({ tape, stores }: Tape): Access[] {
  const accesses: Access[] = [];
  for (let k = 0; k < tape.length; k++) {
    const access = loadOf(tape[k]!);
    if (access !== undefined) accesses.push(access);
  }
  for (let k = 0; k < stores.length; k++) accesses.push(stores[k]!.access);
  return accesses;
}

const NONE: readonly Affine[] = [];

/** The affine functions by which an instruction itself depends on coordinates. */
export function affinesIn(i: Instruction): readonly Affine[] {
  const form = formOf(i);
  switch (form.kind) {
    case 'load': {
      const { access } = form;
      const { place } = access;
      if (place !== undefined) return [access, ...access.bounds, place];
      return access.bounds.length === 0 ? [access] : [access, ...access.bounds];
    }
    case 'index':
      return [form.affine];
    case 'inside':
      return form.bounds;
    default:
      return NONE;
  }
}

/** The bounds that an instruction tests. */
export function boundsIn(i: Instruction): readonly Bound[] {
  const form = formOf(i);
  if (form.kind === 'inside') return form.bounds;
  return form.kind === 'load' ? form.access.bounds : NO_BOUNDS;
}
const NO_BOUNDS: readonly Bound[] = [];

/** Every affine function of a kernel. */
export function affinesOf({ tape, stores }: Tape): Affine[] {
  const affines: Affine[] = stores.map(({ access }) => access);
  for (const i of tape) for (const affine of affinesIn(i)) affines.push(affine);
  return affines;
}

// ---------------------------------------------------------------- changing

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
  const tape = kernel.tape.map((i) => {
    const access = loadOf(i);
    const changed = access && change(access);
    return changed === undefined || changed === access ? i : create.load(i.dtype, changed);
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
  const tape = kernel.tape.map((i) => {
    const bounds = boundsIn(i);
    if (isPredicate(i)) return create.inside(change(bounds));
    return bounds.length === 0 ? i : create.load(i.dtype, { ...loadOf(i)!, bounds: change(bounds) });
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
  const isLive = new Array<boolean>(tape.length).fill(false);
  let last = -1;
  for (const value of values) {
    isLive[value] = true;
    if (value > last) last = value;
  }
  // Arguments come before what takes them.
  for (let at = last; at >= 0; at--) {
    if (!isLive[at]) continue;
    if (known(at)) isLive[at] = false;
    else for (const arg of argumentsOf(tape[at]!)) isLive[arg] = true;
  }
  const live: number[] = [];
  for (let at = 0; at <= last; at++) if (isLive[at]) live.push(at);
  return live;
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
