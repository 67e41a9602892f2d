/**
 * Merges two kernels into one, or says why not. Vertically: the second reads what the first stores, so the value stays
 * in a register. Horizontally: both read the same array, so it is read once.
 *
 *     m = max(x, 1)            parallel [i] reduced [j]
 *     y = exp(x - m)           parallel [i, j]             →   one kernel, two walks over j
 *
 * Values do not change: a merged kernel computes the same instructions. Called by `partition.ts`.
 */
import { byteLengthOf } from '../graph/dtype.js';
import { type Alignment, align, matchRest } from './align.js';
import {
  type FusedKernel,
  type KernelBuffer,
  mapInstruction,
  moveAccess,
  moveAffine,
  readKeysOf,
  sizesOf,
  TapeBuilder,
} from './fused-kernel.js';
import { type Access, argumentsOf, levelsOf, product, type Store } from './kernel.js';

/** Why two kernels stay apart. Stable codes: `explain()` reports one for each edge that was not fused. */
export type Reason =
  /** The consumer reads the value at another place than where it is made (shifted, transposed, gathered). */
  | 'read-elsewhere'
  /** The consumer walks a domain that does not line up with the producer's. */
  | 'domain-mismatch'
  /** The value would be computed again for each element it is broadcast to. */
  | 'broadcast-recompute'
  /** A reduction of a reduction over other axes. */
  | 'nested-reduction'
  /** A row that is reduced and read again is too long to stay on the chip. */
  | 'row-too-long'
  /** Too few rows to fill the device with one block for each. */
  | 'too-few-rows'
  /** The kernel would have too many instructions. */
  | 'instruction-limit'
  /** The kernel would walk its rows too often. */
  | 'phase-limit'
  /** The kernel would have too many buffers. */
  | 'buffer-limit'
  /** Another kernel has to run between the two. */
  | 'kernel-between'
  /** One side is a library call. */
  | 'library-call'
  /** Siblings that share no input at the same place. */
  | 'no-shared-input';

export type Merged = { readonly kernel: FusedKernel } | { readonly reason: Reason };

/** Most arrays one kernel reads and writes: their addresses and strides are its arguments. */
export const MAX_BUFFERS = 96;
/** Most walks over the rows: what lives between them takes registers. */
const MAX_PHASES = 6;
/** Longest row, in bytes, that a row kernel keeps on the chip when rows are contiguous, and when columns are. */
const MAX_ROW_BYTES = 1 << 18;
const MAX_COLUMN_BYTES = 1 << 13;
/** Fewest rows for a kernel that walks its rows twice, unless the whole job is small. */
const MIN_ROWS = 128;
const SMALL_JOB = 1 << 16;

const fail = (reason: Reason): Merged => ({ reason });

/** Instructions that two kernels are not likely to share: their sum bounds what a merge of them holds. */
export const arithmetic = (kernel: FusedKernel): number =>
  kernel.tape.reduce((n, i) => n + (i.kind === 'map' || i.kind === 'reduce' || i.kind === 'cast' ? 1 : 0), 0);

/** The producer's store to `key` and all loads of it in the consumer. */
function loadsOf(kernel: FusedKernel, key: string): Access[] {
  const loads: Access[] = [];
  if (!readKeysOf(kernel).has(key)) return loads;
  const at = kernel.buffers.findIndex((buffer) => buffer.key === key);
  for (const i of kernel.tape) if (i.kind === 'load' && i.access.buffer === at) loads.push(i.access);
  return loads;
}
function storeOf(kernel: FusedKernel, key: string): Store {
  const at = kernel.buffers.findIndex((buffer) => buffer.key === key);
  return kernel.stores.find((store) => store.access.buffer === at)!;
}

/** Merges the kernel that stores `key` into one that reads it. `keepStored`: others need the value in memory too. */
export function mergeVertically(
  producer: FusedKernel,
  consumer: FusedKernel,
  key: string,
  keepStored: (key: string) => boolean,
): Merged {
  const loads = loadsOf(consumer, key);
  if (loads.length !== 1 || loads[0]!.bounds.length > 0) return fail('read-elsewhere');
  const aligned = align(
    producer,
    consumer,
    (p) => storeOf(p, key).access,
    (c) => loadsOf(c, key)[0]!,
  );
  if (aligned === undefined) return fail('read-elsewhere');
  const { first: p, second: c, match } = aligned;
  const open = sizesOf(c).flatMap((_, k) => (match.includes(k) ? [] : [k]));
  if (p.reduced.length === 0) {
    // What the producer walks must be all the consumer walks, or the consumer's rows.
    const isRow = (axis: number): boolean => axis < c.parallel.length;
    if (open.some(isRow) || (open.length > 0 && !match.every(isRow))) return fail('broadcast-recompute');
    return combineKernels(aligned, 'second', keepStored);
  }
  if (match.every((axis) => axis >= 0)) {
    // The producer stores one value for each element it walks, not for each row.
    return open.length === 0 && rolesAgree(aligned)
      ? combineKernels(aligned, 'first', keepStored)
      : fail('domain-mismatch');
  }
  if (match.some((axis) => axis >= c.parallel.length)) return fail('nested-reduction');
  if (open.length === 0)
    return c.reduced.length === 0 ? combineKernels(aligned, 'first', keepStored) : fail('nested-reduction');
  if (c.reduced.length > 0 && open.some((axis) => axis < c.parallel.length)) return fail('nested-reduction');
  const full = matchRows(aligned);
  return full === undefined ? fail('domain-mismatch') : combineKernels(full, 'first', keepStored);
}

/** Pairs the producer's reduced axes with the consumer's open ones, and checks that some input is then shared. */
function matchRows(alignment: Alignment): Alignment | undefined {
  const full = matchRest(alignment);
  return full !== undefined && sharesLoad(full) ? full : undefined;
}

function sharesLoad({ first, second, match }: Alignment): boolean {
  const axes = sizesOf(second).length;
  const seen = new Set<string>();
  for (const i of second.tape)
    if (i.kind === 'load')
      seen.add(`${second.buffers[i.access.buffer]!.key} ${i.access.offset} ${i.access.strides}`);
  return first.tape.some((i) => {
    if (i.kind !== 'load') return false;
    const moved = moveAffine(i.access, match, axes);
    return seen.has(`${first.buffers[i.access.buffer]!.key} ${moved.offset} ${moved.strides}`);
  });
}

/** Merges two kernels that do not depend on each other and read the same array at the same places. */
export function mergeHorizontally(
  a: FusedKernel,
  b: FusedKernel,
  keepStored: (key: string) => boolean,
): Merged {
  const [first, second] = a.reduced.length >= b.reduced.length ? [a, b] : [b, a];
  for (const buffer of first.buffers) {
    const loadsA = loadsOf(first, buffer.key);
    const loadsB = loadsOf(second, buffer.key);
    for (const [i, j] of loadsA.flatMap((_, i) => loadsB.map((_, j) => [i, j] as const)).slice(0, 4)) {
      const aligned = align(
        first,
        second,
        (k) => loadsOf(k, buffer.key)[i]!,
        (k) => loadsOf(k, buffer.key)[j]!,
      );
      const full = aligned === undefined ? undefined : matchRest(aligned);
      if (full === undefined || !rolesAgree(full)) continue;
      return combineKernels(full, 'first', keepStored);
    }
  }
  return fail('no-shared-input');
}

/** Reductions merge only if they reduce the same axes; a map follows any. */
const rolesAgree = ({ first, second, match }: Alignment): boolean =>
  second.reduced.length === 0 ||
  match.every((axis, k) => k < first.parallel.length === axis < second.parallel.length);

/** One kernel with both tapes, over the domain of the first or the second. */
function combineKernels(
  { first, second, match }: Alignment,
  domain: 'first' | 'second',
  keepStored: (key: string) => boolean,
): Merged {
  const base = domain === 'first' ? first : second;
  const axes = sizesOf(base).length;
  const identity = sizesOf(base).map((_, k) => k);
  const inverse = sizesOf(second).map((_, k) => match.indexOf(k));
  const builder = new TapeBuilder();
  const buffers: KernelBuffer[] = [];
  const stores: Store[] = [];
  const bufferAt = (buffer: KernelBuffer): number => {
    const at = buffers.findIndex((b) => b.key === buffer.key);
    if (at < 0) return buffers.push(buffer) - 1;
    if (buffer.elementCount > buffers[at]!.elementCount) buffers[at] = buffer;
    return at;
  };
  const values = new Map<string, { value: number; place: string }>(); // what the first kernel stores, by buffer
  const append = (kernel: FusedKernel, axisOf: readonly number[]): boolean => {
    const moved: number[] = [];
    for (const i of kernel.tape) {
      const held = i.kind === 'load' ? values.get(kernel.buffers[i.access.buffer]!.key) : undefined;
      if (held !== undefined && i.kind === 'load' && placeOf(i.access, axisOf, axes) !== held.place)
        return false;
      moved.push(
        held?.value ??
          builder.add(
            mapInstruction(
              i,
              argumentsOf(i).map((arg) => moved[arg]!),
              (a) => moveAffine(a, axisOf, axes),
              (b) => bufferAt(kernel.buffers[b]!),
            ),
          ),
      );
    }
    for (const store of kernel.stores) {
      const buffer = kernel.buffers[store.access.buffer]!;
      values.set(buffer.key, { value: moved[store.value]!, place: placeOf(store.access, axisOf, axes) });
      if (!keepStored(buffer.key)) continue;
      stores.push({
        value: moved[store.value]!,
        access: moveAccess(store.access, axisOf, axes, bufferAt(buffer)),
      });
    }
    return true;
  };
  append(first, domain === 'first' ? identity : match);
  if (!append(second, domain === 'second' ? identity : inverse)) return fail('read-elsewhere');
  const nodes = new Set([...first.nodes, ...second.nodes]);
  return checked({
    parallel: base.parallel,
    reduced: base.reduced,
    buffers,
    tape: builder.instructions,
    stores,
    nodes,
  });
}

/** Where an access reads or writes, in the merged domain; equal places are the same element. */
function placeOf(access: Access, axisOf: readonly number[], axes: number): string {
  const moved = moveAccess(access, axisOf, axes, 0);
  return `${moved.offset}+${moved.strides}|${moved.bounds.length}`;
}

/** The kernel, if it is within the limits of one. */
function checked(kernel: FusedKernel): Merged {
  if (kernel.buffers.length > MAX_BUFFERS) return fail('buffer-limit');
  if (kernel.reduced.length === 0) return { kernel };
  const { phases, element } = levelsOf({ ...kernel, name: '', buffers: [] });
  // A value of the row, or a constant, is stored once for a row.
  const first = kernel.parallel.length;
  const walks = ({ access }: Store): boolean =>
    access.strides.some((stride, k) => k >= first && stride !== 0 && kernel.reduced[k - first] !== 1);
  if (kernel.stores.some((store) => !element[store.value] && walks(store))) return fail('domain-mismatch');
  if (phases === 1) return { kernel };
  if (phases > MAX_PHASES) return fail('phase-limit');
  const rows = product(kernel.parallel);
  const length = product(kernel.reduced);
  if (rows * length <= SMALL_JOB) return { kernel };
  if (rows < MIN_ROWS) return fail('too-few-rows');
  return length * rowBytes(kernel) <= (rowsAreContiguous(kernel) ? MAX_ROW_BYTES : MAX_COLUMN_BYTES)
    ? { kernel }
    : fail('row-too-long');
}

/** Bytes of the widest element loaded along the row. */
const rowBytes = (kernel: FusedKernel): number =>
  kernel.tape.reduce((most, i) => (i.kind === 'load' ? Math.max(most, byteLengthOf(i.dtype)) : most), 1);

/** Whether some load walks the innermost reduced axis with stride 1, and none of the parallel ones does. */
function rowsAreContiguous(kernel: FusedKernel): boolean {
  const first = kernel.parallel.length;
  return kernel.tape.some(
    (i) =>
      i.kind === 'load' && i.access.strides.some((stride, axis) => axis >= first && Math.abs(stride) === 1),
  );
}
