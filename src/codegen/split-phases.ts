/**
 * Splits a kernel of several phases into kernels of one phase: results of a phase's reductions go to buffers of their
 * own, one value a row, that the later kernels load.
 *
 *     softmax of one long row   →   reduce max   |   reduce sum of exp   |   map: exp, divide
 *
 * For kernels with too few rows to walk them by one block each. Called by `cuda.ts`.
 */

import {
  type Access,
  argumentsOf,
  type Instruction,
  type Kernel,
  levelsOf,
  product,
  type Store,
} from '../fusion/kernel.js';
import { byteLengthOf } from '../graph/dtype.js';

export interface SplitKernels {
  readonly kernels: readonly Kernel[];
  /** Buffers that the kernels hand results on in; they follow the kernel's own buffers. */
  readonly added: readonly { readonly byteLength: number; readonly position: number }[];
}

export function splitPhases(kernel: Kernel): SplitKernels {
  const levels = levelsOf(kernel);
  const reduces = kernel.tape.flatMap((i, position) => (i.kind === 'reduce' ? [position] : []));
  const rows = product(kernel.parallel);
  const buffers = [...kernel.buffers];
  const place = new Map<number, number>();
  for (const position of reduces) {
    place.set(position, buffers.length);
    buffers.push({ dtype: kernel.tape[position]!.dtype, role: 'output', elementCount: rows });
  }
  const lastReduce = Math.max(...reduces.map((position) => levels.phase[position]!));
  const kernels: Kernel[] = [];
  for (let phase = 0; phase < levels.phases; phase++) {
    const own = reduces.filter((position) => levels.phase[position] === phase);
    const stores = kernel.stores.filter(({ value }) =>
      levels.element[value] ? levels.phase[value] === phase : phase === Math.max(lastReduce, 0),
    );
    const handed = own.map((value): Store => ({ value, access: rowAccess(kernel, place.get(value)!) }));
    const replaced = (position: number): boolean => place.has(position) && levels.phase[position]! < phase;
    kernels.push(subKernel(kernel, phase, own.length > 0, [...stores, ...handed], replaced, place, buffers));
  }
  const added = reduces.map((position) => ({
    position: place.get(position)!,
    byteLength: rows * byteLengthOf(kernel.tape[position]!.dtype),
  }));
  return { kernels: kernels.filter((k) => k.stores.length > 0), added };
}

/** Dense over the parallel axes. */
function rowAccess(kernel: Kernel, buffer: number): Access {
  const strides = [...kernel.parallel, ...kernel.reduced].map(() => 0);
  let stride = 1;
  for (let k = kernel.parallel.length - 1; k >= 0; k--) {
    strides[k] = stride;
    stride *= kernel.parallel[k]!;
  }
  return { buffer, offset: 0, strides, bounds: [] };
}

/** The part of the tape that `stores` need; results of earlier reductions become loads. */
function subKernel(
  kernel: Kernel,
  phase: number,
  reduces: boolean,
  stores: readonly Store[],
  replaced: (position: number) => boolean,
  place: ReadonlyMap<number, number>,
  buffers: Kernel['buffers'],
): Kernel {
  const needed = new Set<number>();
  const stack = stores.map((store) => store.value);
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    if (needed.has(at)) continue;
    needed.add(at);
    if (!replaced(at)) stack.push(...argumentsOf(kernel.tape[at]!));
  }
  const moved = new Map<number, number>();
  const tape: Instruction[] = [];
  for (const position of [...needed].sort((a, b) => a - b)) {
    const i = kernel.tape[position]!;
    const args = argumentsOf(i).map((arg) => moved.get(arg)!);
    moved.set(position, tape.length);
    if (replaced(position))
      tape.push({ kind: 'load', dtype: i.dtype, access: rowAccess(kernel, place.get(position)!) });
    else if (i.kind === 'map' || i.kind === 'reduce') tape.push({ ...i, args });
    else if (i.kind === 'cast') tape.push({ ...i, args: [args[0]!] });
    else tape.push(i);
  }
  const written = new Set(stores.map((store) => store.access.buffer));
  const roles = buffers.map((buffer, k) => ({
    ...buffer,
    role: written.has(k) ? ('output' as const) : ('input' as const),
  }));
  return {
    name: `${kernel.name}_${phase}`,
    // Without a reduction of its own, a phase is a map over the whole domain.
    parallel: reduces ? kernel.parallel : [...kernel.parallel, ...kernel.reduced],
    reduced: reduces ? kernel.reduced : [],
    buffers: roles,
    tape,
    stores: stores.map((store) => ({ ...store, value: moved.get(store.value)! })),
  };
}

/** A kernel without the buffers that it does not touch; `used`: the old positions of those that it does. */
export function usedBuffers(kernel: Kernel): { readonly kernel: Kernel; readonly used: readonly number[] } {
  const touched = new Set(kernel.stores.map((store) => store.access.buffer));
  for (const i of kernel.tape) if (i.kind === 'load') touched.add(i.access.buffer);
  const used = [...touched].sort((a, b) => a - b);
  const moved = (access: Access): Access => ({ ...access, buffer: used.indexOf(access.buffer) });
  const tape = kernel.tape.map(
    (i): Instruction => (i.kind === 'load' ? { ...i, access: moved(i.access) } : i),
  );
  const stores = kernel.stores.map((store) => ({ ...store, access: moved(store.access) }));
  return { kernel: { ...kernel, buffers: used.map((k) => kernel.buffers[k]!), tape, stores }, used };
}
