/** How much arithmetic a kernel does, by the weights of the op table: what cost models go by. */
import { opRow } from '../../graph/ops.js';
import { sizesOf } from './algebra.js';
import { type Instruction, type Kernel, product } from './kernel.js';
import { levelsOf } from './levels.js';

/** Additions that an instruction is worth; loads and index arithmetic are as one each. */
const weightOf = (i: Instruction): number => (i.kind === 'map' ? opRow(i.op).cost : 1);

/** Additions that a kernel is worth: values per element count for all axes, row values for the parallel ones. */
export function arithmeticOf(kernel: Kernel): number {
  const { element } = levelsOf(kernel);
  let [perElement, perRow] = [0, 0];
  for (const [k, i] of kernel.tape.entries()) {
    if (element[k] || i.kind === 'reduce') perElement += weightOf(i);
    else perRow += weightOf(i);
  }
  return perElement * product(sizesOf(kernel)) + perRow * product(kernel.parallel);
}
