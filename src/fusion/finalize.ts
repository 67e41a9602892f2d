/**
 * Finishes a fused kernel: drops instructions that nothing uses, puts reduced axes in memory order, collapses axes that
 * every access walks as one, orders buffers, and names it. What comes out is what code is generated from.
 *
 *     parallel [64, 32] all strides (32, 1)   →   parallel [2048] stride 1
 */
import type { BufferKey } from './buffer-key.js';
import { type FusedKernel, mapAffines, mapInstruction, sizesOf } from './fused-kernel.js';
import { type Affine, argumentsOf, type Instruction, type Kernel, type Store } from './kernel.js';

export interface Finalized {
  readonly kernel: Kernel;
  /** What each of `kernel.buffers` holds. */
  readonly keys: readonly BufferKey[];
}

const MAX_NAME = 56;

export function finalize(fused: FusedKernel): Finalized {
  const tidy = collapse(sortReduced(dropUnused(fused)));
  const { order, places } = orderBuffers(tidy);
  const place = (buffer: number): number => places[buffer]!;
  const tape = tidy.tape.map((i) => mapInstruction(i, argumentsOf(i), (a) => a, place));
  const stores = tidy.stores.map((store) => ({
    ...store,
    access: { ...store.access, buffer: place(store.access.buffer) },
  }));
  const isStored = new Uint8Array(order.length);
  for (const { access } of stores) isStored[access.buffer] = 1;
  const buffers = order.map((buffer) => tidy.buffers[buffer]!);
  const parameters = buffers.map(({ dtype, elementCount }, k) => ({
    dtype,
    role: isStored[k] === 1 ? ('output' as const) : ('input' as const),
    elementCount,
  }));
  const kernel = {
    name: nameOf(tidy),
    parallel: tidy.parallel,
    reduced: tidy.reduced,
    buffers: parameters,
    tape,
    stores,
  };
  return { kernel, keys: buffers.map((buffer) => buffer.key) };
}

function dropUnused(kernel: FusedKernel): FusedKernel {
  const used = new Array<boolean>(kernel.tape.length).fill(false);
  for (const store of kernel.stores) used[store.value] = true;
  for (let p = kernel.tape.length - 1; p >= 0; p--) {
    if (used[p]) for (const arg of argumentsOf(kernel.tape[p]!)) used[arg] = true;
  }
  if (used.every(Boolean)) return kernel;
  const moved: number[] = [];
  const tape: Instruction[] = [];
  kernel.tape.forEach((i, p) => {
    if (!used[p]) return;
    moved[p] =
      tape.push(
        mapInstruction(
          i,
          argumentsOf(i).map((arg) => moved[arg]!),
          (a) => a,
          (b) => b,
        ),
      ) - 1;
  });
  return {
    ...kernel,
    tape,
    stores: kernel.stores.map((store) => ({ ...store, value: moved[store.value]! })),
  };
}

function affinesOf({ tape, stores }: FusedKernel): Affine[] {
  const affines: Affine[] = stores.map(({ access }) => access);
  for (const i of tape) {
    if (i.kind === 'load') affines.push(i.access, ...i.access.bounds);
    else if (i.kind === 'index') affines.push(i.affine);
    else if (i.kind === 'inside') affines.push(...i.bounds);
  }
  return affines;
}

/** Reduced axes in the order in which the load that covers most of them lies in memory. */
function sortReduced(kernel: FusedKernel): FusedKernel {
  const first = kernel.parallel.length;
  if (kernel.reduced.length < 2) return kernel;
  const covers = (a: Affine): number =>
    a.strides.reduce((n, stride, k) => n + (k >= first && stride !== 0 ? 1 : 0), 0);
  const loads = kernel.tape.flatMap((i) => (i.kind === 'load' ? [i.access] : []));
  const main = loads.reduce<Affine | undefined>(
    (best, a) => (best === undefined || covers(a) > covers(best) ? a : best),
    undefined,
  );
  if (main === undefined) return kernel;
  const rank = kernel.reduced.map((_, k) => k);
  rank.sort((a, b) => Math.abs(main.strides[first + b]!) - Math.abs(main.strides[first + a]!) || a - b);
  if (rank.every((axis, k) => axis === k)) return kernel;
  return mapAffines(
    kernel,
    kernel.parallel,
    rank.map((k) => kernel.reduced[k]!),
    (a) => ({
      ...a,
      strides: [...a.strides.slice(0, first), ...rank.map((k) => a.strides[first + k]!)],
    }),
  );
}

/** Merges neighbouring axes of one role that every access walks as one. */
function collapse(kernel: FusedKernel): FusedKernel {
  const affines = affinesOf(kernel);
  const sizes = sizesOf(kernel);
  const first = kernel.parallel.length;
  const joined = sizes.map(
    (size, k) =>
      k + 1 < sizes.length &&
      k + 1 !== first &&
      affines.every((a) => a.strides[k] === a.strides[k + 1]! * sizes[k + 1]!) &&
      size > 0,
  );
  if (!joined.some(Boolean)) return kernel;
  const keep = sizes.flatMap((_, k) => (joined[k] ? [] : [k]));
  const merged = keep.map((k) => {
    let size = sizes[k]!;
    for (let j = k - 1; j >= 0 && joined[j]; j--) size *= sizes[j]!;
    return size;
  });
  const parallel = keep.filter((k) => k < first).length;
  return mapAffines(kernel, merged.slice(0, parallel), merged.slice(parallel), (a) => ({
    ...a,
    strides: keep.map((k) => a.strides[k]!),
  }));
}

/** Inputs in order of first load, then outputs in order of store; buffers no longer used are left out. */
function orderBuffers(kernel: FusedKernel): {
  readonly order: readonly number[];
  /** The place of each buffer in the order; -1: it is left out. */
  readonly places: readonly number[];
} {
  const order: number[] = [];
  const places = new Array<number>(kernel.buffers.length).fill(-1);
  const add = (buffer: number): void => {
    if (places[buffer] === -1) places[buffer] = order.push(buffer) - 1;
  };
  for (const i of kernel.tape) if (i.kind === 'load') add(i.access.buffer);
  for (const { access } of kernel.stores) add(access.buffer);
  return { order, places };
}

const snakes = new Map<string, string>();

/** The name of an op in snake case; there are few, and each stands in many kernels. */
function snake(name: string): string {
  let text = snakes.get(name);
  if (text === undefined) {
    text = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    snakes.set(name, text);
  }
  return text;
}

/** `reduce_max_subtract_exp_sum`: its kind, then what it does in order of first use. */
function nameOf(kernel: {
  readonly tape: readonly Instruction[];
  readonly reduced: readonly number[];
  readonly stores: readonly Store[];
}): string {
  const words = new Set<string>();
  for (const i of kernel.tape) {
    if (i.kind === 'map') words.add(snake(i.op));
    else if (i.kind === 'reduce') words.add(snake(i.reduction));
  }
  let name = kernel.reduced.length === 0 ? 'map' : 'reduce';
  if (words.size === 0) return `${name}_copy`;
  for (const word of words) {
    if (name.length + word.length + 1 > MAX_NAME) return `${name}_etc`;
    name += `_${word}`;
  }
  return name;
}
