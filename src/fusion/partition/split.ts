/**
 * Splits a kernel whose tape is longer than a kernel may be:
 *
 *     3,000 instructions   →   1,000, storing what the next needs; 1,000; 1,000
 *
 * Cuts are put where the fewest bytes cross. Values that are cheap to have again (loads, constants, indices)
 * never cross. Values do not change.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import { denseStrides } from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import { isLeaf, sizesOf } from '../kernel/algebra.js';
import { isReduction } from '../kernel/arithmetic.js';
import { create, mapInstruction } from '../kernel/instruction.js';
import { argumentsOf, product, type Store } from '../kernel/kernel.js';
import { TapeBuilder } from '../kernel/tape-builder.js';
import type { BufferKey } from './buffer-key.js';
import { BufferList } from './buffer-list.js';
import type { EmittedKernel } from './emit-kernel.js';
import type { FusedKernel, KernelBuffer } from './fused-kernel.js';

/**
 * Longest tape of one kernel: beyond, compile time and register pressure cost more than a pass over memory.
 */
export const MAX_INSTRUCTIONS = 1024;
/**
 * Most arithmetic of a kernel that merging makes: beyond, what a merge saves is small against what the kernel
 * does.
 */
export const MAX_MERGED = 256;
/** The same of kernels of several results of whole rows, which share most of what they compute. */
export const MAX_OF_ROWS = 768;

type Piece = Pick<EmittedKernel, 'kernel' | 'nodes'>;

/**
 * The kernel in pieces, first to last; `[kernel]` if it is short enough. Only kernels with one phase are
 * split.
 */
export function* splitKernel(
  kernel: FusedKernel,
  origins: readonly number[],
  nextKey: () => BufferKey,
): Slices<Piece[]> {
  const lastUse = lastUses(kernel);
  const cuts = chooseCuts(kernel, lastUse);
  const stored = new Map<number, KernelBuffer>(); // tape position → the buffer that carries it
  const pieces: Piece[] = [];
  let start = 0;
  for (const end of [...cuts, kernel.tape.length]) {
    pieces.push(piece(kernel, origins, lastUse, start, end, stored, nextKey));
    start = end;
    yield;
  }
  return pieces;
}

/** Positions where the tape is cut, each where the fewest bytes cross in its half of the allowed length. */
function chooseCuts(kernel: FusedKernel, lastUse: readonly number[]): number[] {
  const { tape } = kernel;
  const expiring = new Map<number, number[]>();
  tape.forEach((i, p) => {
    if (isLeaf(i)) return;
    const list = expiring.get(lastUse[p]!);
    if (list === undefined) expiring.set(lastUse[p]!, [p]);
    else list.push(p);
  });
  const crossing = new Array<number>(tape.length + 1).fill(0); // bytes that cross a cut before position p
  let bytes = 0;
  tape.forEach((i, p) => {
    crossing[p] = bytes;
    for (const dead of expiring.get(p) ?? []) bytes -= byteLengthOf(tape[dead]!.dtype);
    if (!isLeaf(i) && lastUse[p]! > p) bytes += byteLengthOf(i.dtype);
  });
  const cuts: number[] = [];
  // A reduction and what follows it stay in the last piece.
  const limit = tape.findIndex(isReduction);
  const end = limit < 0 ? tape.length : limit;
  let start = 0;
  // Pieces are longer than half of what a kernel may hold, so that no two of them are merged again.
  while (tape.length - start > MAX_INSTRUCTIONS) {
    const low = start + MAX_INSTRUCTIONS / 2;
    const high = Math.min(end, start + (MAX_INSTRUCTIONS * 3) / 4);
    if (low >= high) break;
    let best = high;
    for (let p = high; p > low; p--) if (crossing[p]! < crossing[best]!) best = p;
    cuts.push(best);
    start = best;
  }
  return cuts;
}

/** Where each value is used last; stored values are used at the end. */
function lastUses(kernel: FusedKernel): number[] {
  const last = kernel.tape.map((_, p) => p);
  kernel.tape.forEach((i, p) => {
    for (const arg of argumentsOf(i)) last[arg] = p;
  });
  for (const store of kernel.stores) last[store.value] = kernel.tape.length;
  return last;
}

function piece(
  kernel: FusedKernel,
  origins: readonly number[],
  lastUse: readonly number[],
  start: number,
  end: number,
  stored: Map<number, KernelBuffer>,
  nextKey: () => BufferKey,
): Piece {
  const sizes = sizesOf(kernel);
  const dense = denseStrides(sizes);
  const builder = new TapeBuilder();
  const buffers = new BufferList();
  const moved = new Map<number, number>();
  const fetch = (p: number): number => {
    const known = moved.get(p);
    if (known !== undefined) return known;
    const i = kernel.tape[p]!;
    const carrier = stored.get(p);
    const value =
      carrier === undefined
        ? builder.add(
            mapInstruction(i, argumentsOf(i).map(fetch), undefined, (b) => buffers.at(kernel.buffers[b]!)),
          )
        : builder.add(
            create.load(i.dtype, { buffer: buffers.at(carrier), offset: 0, strides: dense, bounds: [] }),
          );
    moved.set(p, value);
    return value;
  };
  for (let p = start; p < end; p++) if (!isLeaf(kernel.tape[p]!)) fetch(p);
  const stores: Store[] = [];
  for (let p = start; p < end && end < kernel.tape.length; p++) {
    const i = kernel.tape[p]!;
    if (isLeaf(i) || lastUse[p]! < end) continue;
    const carrier: KernelBuffer = { key: nextKey(), dtype: i.dtype, elementCount: product(sizes) };
    stored.set(p, carrier);
    stores.push({
      value: fetch(p),
      access: { buffer: buffers.at(carrier), offset: 0, strides: dense, bounds: [] },
    });
  }
  for (const store of end === kernel.tape.length ? kernel.stores : []) {
    stores.push({
      value: fetch(store.value),
      access: { ...store.access, buffer: buffers.at(kernel.buffers[store.access.buffer]!) },
    });
  }
  const isLast = end === kernel.tape.length;
  const [parallel, reduced] = isLast ? [kernel.parallel, kernel.reduced] : [sizes, []];
  return {
    kernel: { parallel, reduced, tape: builder, buffers, stores },
    nodes: origins.slice(start, end),
  };
}
