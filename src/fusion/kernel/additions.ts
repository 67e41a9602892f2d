/** How much arithmetic a kernel does in all, by the weights of the op table: what cost models go by. */

import { opRow } from '../../graph/ops.js';
import { sizesOf } from './algebra.js';
import { isReduction, opOf } from './arithmetic.js';
import { type Instruction, type Kernel, product } from './kernel.js';
import { levelsOf } from './levels.js';

/** Additions that an instruction is worth; loads and index arithmetic are as one each. */
function weightOf(i: Instruction): number {
  const op = opOf(i);
  return op === undefined ? 1 : opRow(op).cost;
}

/** Additions that a kernel is worth: values per element count for all axes, row values for the parallel ones. */
export function additionsOf(kernel: Kernel): number {
  const { element } = levelsOf(kernel);
  let [perElement, perRow] = [0, 0];
  for (const [k, i] of kernel.tape.entries()) {
    if (element[k] || isReduction(i)) perElement += weightOf(i);
    else perRow += weightOf(i);
  }
  return perElement * product(sizesOf(kernel)) + perRow * product(kernel.parallel);
}
