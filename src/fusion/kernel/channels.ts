/**
 * Channels: a kernel without reductions whose last or first axis is short, and that reads several elements of one array for all
 * places along it, as a product with a small matrix does, computes all of these places together:
 *
 *     parallel [n, 3]                          →   parallel [n]
 *     load b0[3 i], b0[3 i + 1], b0[3 i + 2]       the same three loads, once
 *     load b1[j], b1[3 + j], b1[6 + j]             nine loads of b1
 *     store b2[3 i + j]                            store b2[3 i], b2[3 i + 1], b2[3 i + 2]
 *
 * Values that places share are computed once. Instructions are those of each place, so that bits are the same. Called by
 * `lower-kernel.ts`.
 */
import { affinesIn, boundsIn, loadOf, type Tape } from './algebra.js';
import { type AffineMap, mapAccess, mapInstruction } from './instruction.js';
import { type Access, type Affine, argumentsOf, product, type Store } from './kernel.js';
import { TapeBuilder } from './tape-builder.js';

/** Places that a GPU computes together, at most: those that are loaded and stored as whole packs. */
export const PACKED_CHANNELS = 4;
/** Instructions of places that are computed together, at most. */
const MOST_INSTRUCTIONS = 320;
/** Elements of one array that all places read, at least: with one, as in x * w, w for each row, loads run along the axis. */
const LEAST_SHARED = 2;
/** Fewer rows are not worth other code. */
const LEAST_ROWS = 256;

/** `most`: places that are computed together; those of several axes where these are as few. */
export function withChannels<K extends Tape>(kernel: K, most: number): K {
  const { parallel, reduced } = kernel;
  if (reduced.length > 0 || parallel.length < 2) return kernel;
  const axis = [parallel.length - 1, 0].find((at) => parallel[at]! <= most && isOfChannels(kernel, at));
  if (axis === undefined) return kernel;
  const count = parallel[axis]!;
  const tape = new TapeBuilder();
  const stores: Store[] = [];
  for (let place = 0; place < count; place++) {
    const at: AffineMap = (affine) => placed(affine, axis, place);
    const moved: number[] = [];
    for (const i of kernel.tape)
      moved.push(
        tape.add(
          mapInstruction(
            i,
            argumentsOf(i).map((arg) => moved[arg]!),
            at,
          ),
        ),
      );
    for (const { value, access } of kernel.stores)
      stores.push({ value: moved[value]!, access: mapAccess(access, at) });
  }
  if (tape.instructions.length > MOST_INSTRUCTIONS) return kernel;
  const together = { ...kernel, parallel: parallel.toSpliced(axis, 1), tape: tape.instructions, stores };
  return withChannels(together, most / count);
}

function placed<T extends Affine>(affine: T, axis: number, place: number): T {
  const { offset, strides } = affine;
  return { ...affine, offset: offset + place * strides[axis]!, strides: strides.toSpliced(axis, 1) };
}

/** Whether the places along an axis are few, and share some loads of one array. */
function isOfChannels({ parallel, tape, stores }: Tape, axis: number): boolean {
  const count = parallel[axis]!;
  if (count < 2 || count * LEAST_ROWS > product(parallel)) return false;
  // Bounds and indices along the axis would be some of each place.
  const isOpen = (affine: Affine): boolean => affine.strides[axis] !== 0;
  if (stores.some(({ access }) => !isOpen(access))) return false;
  const shared = new Map<number, number>();
  for (const i of tape) {
    if (boundsIn(i).some(isOpen)) return false;
    const access = loadOf(i);
    if (access === undefined) {
      if (affinesIn(i).some(isOpen)) return false;
    } else if (isShared(access, axis)) {
      shared.set(access.buffer, (shared.get(access.buffer) ?? 0) + 1);
    }
  }
  return [...shared.values()].some((loads) => loads >= LEAST_SHARED);
}

/** Whether an access is the same for all places along an axis, and moves along others. */
const isShared = ({ strides }: Access, axis: number): boolean =>
  strides[axis] === 0 && strides.some((stride) => stride !== 0);
