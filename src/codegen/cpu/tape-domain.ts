/**
 * Prepares a kernel for the CPU tape without changing its values: drops what no store needs, splits casts
 * into the hops the CPU has functions for, drops bounds that always hold, and merges axes that every access
 * walks as one.
 *
 * The result is again a kernel. Called by `tape.ts`, ahead of the choice of a blocking.
 */

import { mapTestedBounds, sizesOf, withoutDead } from '../../fusion/kernel/algebra.js';
import { castValueOf } from '../../fusion/kernel/arithmetic.js';
import { dropUnitAxes, mergeAxes } from '../../fusion/kernel/axes.js';
import { holdsEverywhere } from '../../fusion/kernel/boxes.js';
import { create, mapInstruction } from '../../fusion/kernel/instruction.js';
import { argumentsOf, type Instruction, type Kernel, oncePerKernel } from '../../fusion/kernel/kernel.js';
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

/** Splits casts; every instruction that is left is needed. */
function splitCasts(kernel: Kernel): Kernel {
  const tape: Instruction[] = [];
  const place: number[] = [];
  for (const instruction of kernel.tape) {
    const from = castValueOf(instruction);
    if (from !== undefined) {
      let at = place[from]!;
      for (const dtype of castHops(tape[at]!.dtype, instruction.dtype))
        at = tape.push(create.cast(dtype, at)) - 1;
      place.push(at);
      continue;
    }
    const args = argumentsOf(instruction).map((arg) => place[arg]!);
    place.push(tape.push(mapInstruction(instruction, args)) - 1);
  }
  const stores = kernel.stores.map((store) => ({ ...store, value: place[store.value]! }));
  return { ...kernel, tape, stores };
}

/** Drops the bounds that hold on the whole domain. */
function dropBounds(kernel: Kernel): Kernel {
  const sizes = sizesOf(kernel);
  if (sizes.includes(0)) return kernel;
  return mapTestedBounds(kernel, (bounds) => bounds.filter((bound) => !holdsEverywhere(bound, sizes)));
}

/** The same computation in the form the blocking and the encoder work on. */
export const prepare = oncePerKernel((kernel): Kernel => {
  const live = dropBounds(splitCasts(withoutDead(kernel)));
  return mergeAxes(dropUnitAxes(live, { keepsReduced: false }));
});
