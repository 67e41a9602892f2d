/**
 * Advice on a value that goes through memory, or on an array that two steps read, for each reason why these are not one.
 */
import type { Reason } from '../fusion/partition/union.js';

/** One sentence for each code. */
export const ADVICE: Readonly<Record<Reason, string>> = {
  'read-elsewhere':
    'Shift, transpose or slice the inputs of the first step instead of its result, where computing that again costs less than these bytes.',
  'read-around':
    'Leave it: the second step reads several elements of the value for each of its own, as neighbours, and computing all of these again is estimated to take longer than these bytes.',
  'in-cache':
    'Leave it: the value is small enough to stay in a cache until the second step reads it, so that panels would gain nothing; computing it again for each element that reads it would take longer.',
  'looked-up':
    'Leave it: the second step reads the value at places that depend on data, as in a table, which is computed once for all of them.',
  'domain-mismatch':
    'Bring both steps to one shape and reduce them over the same axes, if these bytes matter; values of each element and of each row are stored by different steps.',
  'part-read':
    'Let both steps walk the whole array, if these bytes matter, and slice what they give; a reduction of a slice is one of the whole array where the rest is 0, as of (new - old)² with the old values kept at the edges.',
  'broadcast-recompute':
    'Leave it: the value is small beside what reads it, and would be computed again for each element that it is broadcast to.',
  'nested-reduction':
    'Reduce all axes in one call, x.sum([0, 1]) for x.sum(0).sum(), where the order of the sums does not matter.',
  'reduced-first':
    'Leave it: each element that the second step reduces is a reduction of the first one, with a walk of its own; kernels write out short ones alone, and read others from memory.',
  'row-too-long':
    'Lay the array out so that the axis that is reduced is the last one, or shorten that axis, so that a row stays on the chip between its two walks.',
  'too-few-rows':
    'Leave it, or treat more rows in one compute: with fewer than 128 rows, one block for each would leave most of the device idle.',
  'sum-order':
    'Leave it: a sum has the bits that it has alone. Arrays that lie in memory alike are reduced together.',
  'instruction-limit':
    'Leave it: one kernel would compile for long and run out of registers; fewer or cheaper operations in a row lift it.',
  'phase-limit':
    'Compute fewer reductions one after the other over the same rows, or persist() a value between them.',
  'buffer-limit':
    'Stack arrays that are read alike into one: the addresses and strides of at most 96 arrays are the arguments of a kernel.',
  'kernel-between':
    'Leave it, or compute what the step between them gives in a compute of its own: it reads the one step, and the other one reads it.',
  'library-call':
    'Leave it: a call of a library or a routine reads its operands from memory and writes its results there.',
  'several-calls':
    'Leave it: several routines read the value; each would compute it again for itself, which is estimated to take longer than these bytes. A routine that reads it alone computes it where it reads.',
  'product-call':
    'Leave it: a product of many terms reads each element of a factor once for every row or column of the other one, and has a result after all its terms: it works from memory, and a map before or behind it is computed once, in one pass.',
  'attention-call':
    'Leave it: attention reads keys and values again for each block of queries; rotated or normalised in there, they would be so for every block, and not once.',
  'operand-copy':
    'Slice, flip or transpose where the array is made, if these bytes matter: they are a copy, for a library reads rows or columns that lie side by side, forwards and at even distances, and a routine C order.',
  loop: 'Move the work into the function of the loop if each of its steps needs it; the states of a loop are in memory before and after it.',
  'turned-store':
    'Leave it: the reduction reads in one order and the copy writes in another one, which a kernel of its own does in tiles.',
  'no-shared-input':
    'Give both steps the same array at the same places, so that one kernel reads it once for both.',
  'other-axes':
    'Leave it: the two reduce over different axes, so that each would have to combine its results over the blocks of the other.',
  'needs-result':
    'Leave it, or change the formula so that it needs one reading: the later step needs what the earlier one gives, perhaps through others, so that it reads the array after it.',
  'many-readers':
    'Stack what is computed of the array, if these bytes matter: each of many steps that read it is compared with 16 others.',
};
