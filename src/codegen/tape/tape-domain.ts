/**
 * Prepares a kernel for the CPU tape without changing its values: drops what no store needs, splits casts into the
 * hops the CPU has functions for, drops bounds that always hold, and merges axes that every access walks as one.
 *
 * The result is again a kernel. Called by `tape.ts`, ahead of the choice of a layout.
 */

import {
  type Access,
  type Affine,
  argumentsOf,
  type Bound,
  type Instruction,
  type Kernel,
  type Store,
} from '../../fusion/kernel.js';
import { DTYPE_INFO, type DType, isComplex, isHalf } from '../../graph/dtype.js';

/** The dtypes a cast goes through, the last being its result. Every hop but the last is exact. */
export function castHops(from: DType, to: DType): readonly DType[] {
  if (from === to) return [];
  if (isComplex(from)) {
    if (isComplex(to) || to === 'bool' || to === DTYPE_INFO[from].component) return [to];
    const component = DTYPE_INFO[from].component;
    return [component, ...castHops(component, to)];
  }
  if (isHalf(from)) return to === 'float32' ? [to] : ['float32', ...castHops('float32', to)];
  if (isComplex(to)) {
    const component = DTYPE_INFO[to].component;
    return [...castHops(from, component), to];
  }
  if (isHalf(to)) return from === 'float32' || from === 'float64' ? [to] : ['float32', to];
  return [to];
}

/** Positions that some store depends on. */
function needed(kernel: Kernel): readonly boolean[] {
  const live = kernel.tape.map(() => false);
  for (const store of kernel.stores) live[store.value] = true;
  for (let i = kernel.tape.length - 1; i >= 0; i--) {
    if (live[i]) for (const arg of argumentsOf(kernel.tape[i]!)) live[arg] = true;
  }
  return live;
}

/** Drops dead instructions and splits casts. */
function rewriteTape(kernel: Kernel): Kernel {
  const live = needed(kernel);
  const tape: Instruction[] = [];
  const place: number[] = [];
  for (const [i, instruction] of kernel.tape.entries()) {
    if (!live[i]) {
      place.push(-1);
      continue;
    }
    if (instruction.kind === 'cast') {
      let at = place[instruction.args[0]]!;
      for (const dtype of castHops(tape[at]!.dtype, instruction.dtype)) {
        tape.push({ kind: 'cast', dtype, args: [at] });
        at = tape.length - 1;
      }
      place.push(at);
      continue;
    }
    const args = argumentsOf(instruction).map((arg) => place[arg]!);
    tape.push('args' in instruction ? ({ ...instruction, args } as Instruction) : instruction);
    place.push(tape.length - 1);
  }
  const stores = kernel.stores.map((store) => ({ ...store, value: place[store.value]! }));
  return { ...kernel, tape, stores };
}

/** Smallest and largest value of an affine function over the domain. */
export function rangeOf(affine: Affine, sizes: readonly number[]): readonly [number, number] {
  let low = affine.offset;
  let high = affine.offset;
  affine.strides.forEach((stride, k) => {
    const span = stride * (sizes[k]! - 1);
    if (span < 0) low += span;
    else high += span;
  });
  return [low, high];
}

/** Applies a function to every affine map of a kernel. */
function mapAffines(kernel: Kernel, apply: (affine: Affine) => Affine): Kernel {
  const bound = (b: Bound): Bound => ({ ...apply(b), size: b.size });
  const access = (a: Access): Access => ({ ...apply(a), buffer: a.buffer, bounds: a.bounds.map(bound) });
  const tape = kernel.tape.map((instruction): Instruction => {
    switch (instruction.kind) {
      case 'load':
        return { ...instruction, access: access(instruction.access) };
      case 'index':
        return { ...instruction, affine: apply(instruction.affine) };
      case 'inside':
        return { ...instruction, bounds: instruction.bounds.map(bound) };
      default:
        return instruction;
    }
  });
  const stores = kernel.stores.map((store): Store => ({ ...store, access: access(store.access) }));
  return { ...kernel, tape, stores };
}

/** Every affine map of a kernel: of loads, bounds, indices and stores. */
export function affinesOf(kernel: Kernel): readonly Affine[] {
  const all: Affine[] = [];
  mapAffines(kernel, (affine) => {
    all.push(affine);
    return affine;
  });
  return all;
}

/** Drops the bounds that hold on the whole domain. */
function dropBounds(kernel: Kernel): Kernel {
  const sizes = [...kernel.parallel, ...kernel.reduced];
  if (sizes.includes(0)) return kernel;
  const matters = (b: Bound): boolean => {
    const [low, high] = rangeOf(b, sizes);
    return low < 0 || high >= b.size;
  };
  const tape = kernel.tape.map((instruction): Instruction => {
    if (instruction.kind === 'load') {
      const { access } = instruction;
      return { ...instruction, access: { ...access, bounds: access.bounds.filter(matters) } };
    }
    if (instruction.kind === 'inside') return { ...instruction, bounds: instruction.bounds.filter(matters) };
    return instruction;
  });
  return { ...kernel, tape };
}

/** Merges neighbouring axes of a kind wherever every affine map walks them as one, and drops axes of size 1. */
function mergeAxes(kernel: Kernel): Kernel {
  const sizes = [...kernel.parallel, ...kernel.reduced];
  const first = kernel.parallel.length;
  const affines = affinesOf(kernel);
  // groups[g] lists the axes that become axis g, outermost first.
  const groups: number[][] = [];
  sizes.forEach((size, k) => {
    if (size === 1) return;
    const last = groups[groups.length - 1];
    const outer = last?.[last.length - 1];
    const joins =
      outer !== undefined &&
      outer < first === k < first &&
      affines.every((a) => a.strides[outer]! === a.strides[k]! * size);
    if (joins) last!.push(k);
    else groups.push([k]);
  });
  const extent = (group: readonly number[]): number => group.reduce((n, k) => n * sizes[k]!, 1);
  const merged = mapAffines(kernel, (affine) => ({
    offset: affine.offset,
    strides: groups.map((group) => affine.strides[group[group.length - 1]!]!),
  }));
  return {
    ...merged,
    parallel: groups.filter((group) => group[0]! < first).map(extent),
    reduced: groups.filter((group) => group[0]! >= first).map(extent),
  };
}

/** The same computation in the form the layout and the encoder work on. */
export function prepare(kernel: Kernel): Kernel {
  return mergeAxes(dropBounds(rewriteTape(kernel)));
}
