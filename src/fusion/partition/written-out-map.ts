/**
 * A small map behind a kernel that stores what it reads one by one, as sums of columns, or part by part: written out for each of
 * these, so that the kernel that makes them computes it:
 *
 *     store b[0] = s0; store b[1] = s1    and    parallel [k: 2] store y[k] = b[k] / n     →   store y[0] = s0 / n; store y[1] = s1 / n
 *
 * Called by `merge.ts`.
 */
import { isPredicate, loadOf } from '../kernel/algebra.js';
import { type AffineMap, mapAccess, mapInstruction } from '../kernel/instruction.js';
import { type Access, type Affine, argumentsOf, product, type Store } from '../kernel/kernel.js';
import { TapeBuilder } from '../kernel/tape-builder.js';
import { type Alignment, align } from './align.js';
import type { BufferKey } from './buffer-key.js';
import { MutableKernel } from './mutable-kernel.js';

/** Elements for which a map is written out, and all their arithmetic, at most. */
const MOST_POINTS = 64;
const MOST_ARITHMETIC = 256;

/** Such a map, written out, beside the kernel that makes what it reads; undefined: it is none. */
export function alignWrittenOut(
  producer: MutableKernel,
  consumer: MutableKernel,
  key: BufferKey,
): Alignment | undefined {
  const stores = producer.storesOf(key);
  if (stores.length < 2 || consumer.reduced.length > 0) return undefined;
  const axes = axesOf(producer, consumer, stores, consumer.loadsOf(key)[0]!);
  if (axes === undefined) return undefined;
  const points = axes.reduce((count, axis) => count * consumer.sizes[axis]!, 1);
  if (points > MOST_POINTS || points * consumer.arithmetic > MOST_ARITHMETIC || !isPlain(consumer))
    return undefined;
  const second = writtenOut(consumer, axes, points);
  for (const load of second.loadsOf(key)) {
    const store = producer.storeAt(key, load);
    if (store !== undefined) return align(producer, second, store.access, load);
  }
  return undefined;
}

/** The axes along which each element is another store: all behind single results, else one; undefined: there is none. */
function axesOf(
  { parallel }: MutableKernel,
  { sizes }: MutableKernel,
  stores: readonly Store[],
  load: Access,
): readonly number[] | undefined {
  if (product(parallel) === 1) return [...sizes.keys()];
  const step = stores[1]!.access.offset - stores[0]!.access.offset;
  const axis = sizes.findIndex((size, k) => size === stores.length && load.strides[k] === step);
  return axis < 0 ? undefined : [axis];
}

/** Whether a map reads and writes at places of its domain alone. */
const isPlain = ({ tape, stores }: MutableKernel): boolean =>
  stores.every(({ access }) => access.bounds.length === 0) &&
  tape.every((i) => {
    const read = loadOf(i);
    return !isPredicate(i) && (read === undefined || (read.index === undefined && read.bounds.length === 0));
  });

function writtenOut(kernel: MutableKernel, axes: readonly number[], points: number): MutableKernel {
  const tape = new TapeBuilder();
  const stores: Store[] = [];
  for (let point = 0; point < points; point++) {
    const move = movedTo(kernel, axes, point);
    const moved: number[] = [];
    for (const i of kernel.tape) {
      const args = argumentsOf(i).map((arg) => moved[arg]!);
      moved.push(tape.add(mapInstruction(i, args, move)));
    }
    for (const { value, access } of kernel.stores)
      stores.push({ value: moved[value]!, access: mapAccess(access, move) });
  }
  const parallel = kernel.sizes.filter((_, axis) => !axes.includes(axis));
  return MutableKernel.of({
    parallel,
    reduced: [],
    buffers: kernel.buffers,
    tape: tape.instructions,
    stores,
  });
}

/** Index maps on the other axes, at one point of some. */
function movedTo({ sizes }: MutableKernel, axes: readonly number[], point: number): AffineMap {
  const places = new Map<number, number>();
  let rest = point;
  for (const axis of axes) {
    places.set(axis, rest % sizes[axis]!);
    rest = Math.floor(rest / sizes[axis]!);
  }
  return <T extends Affine>(affine: T): T => {
    let { offset } = affine;
    for (const [axis, place] of places) offset += place * affine.strides[axis]!;
    return { ...affine, offset, strides: affine.strides.filter((_, axis) => !places.has(axis)) };
  };
}
