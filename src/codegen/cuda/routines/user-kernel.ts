/**
 * The text of a kernel of the user's own: what fills its outputs before it runs, then its source.
 */

import { byteLengthOf } from '../../../graph/dtype.js';
import type { KernelCode, KernelOutput, UserKernel } from '../../../graph/user-kernel.js';
import { printElements } from './cuda-elements.js';
import { printProgram } from './kernel-program.js';

export const FILL_THREADS = 256;

/** A word of so many bytes: elements are moved as they lie. */
const WORDS: Readonly<Record<number, string>> = {
  1: 'unsigned char',
  2: 'unsigned short',
  4: 'unsigned int',
  8: 'unsigned long long',
  16: 'ulonglong2',
};

export const initialName = (output: number): string => `weft_initial_${output}`;

/**
 * Elements of an output before the kernel runs, in units of `unit` elements by so many blocks each: of an input, or
 * all one value.
 */
function initialFunction({ dtype, initial }: KernelOutput, at: number): string {
  const word = WORDS[byteLengthOf(dtype)]!;
  const isCopy = 'input' in initial!;
  return `extern "C" __global__ void ${initialName(at)}(unsigned int firstBlock, ${isCopy ? `const ${word}* from` : `${word} from`}, ${word}* to, long long size, long long unit, long long unitBlocks) {
  const long long block = (long long)firstBlock + blockIdx.x;
  const long long k = block % unitBlocks * ${FILL_THREADS} + threadIdx.x;
  const long long at = block / unitBlocks * unit + k;
  if (k < unit && at < size) to[at] = from${isCopy ? '[at]' : ''};
}
`;
}

/** `ndims`: of the inputs. */
export function printUserKernel(
  { code, cuts, outputs }: Pick<UserKernel, 'code' | 'cuts' | 'outputs'>,
  ndims: readonly number[] = [],
): string {
  const initial = outputs.map((output, k) =>
    output.initial === undefined ? '' : initialFunction(output, k),
  );
  return [...initial, ownText(code, cuts?.axis ?? 'x', ndims)].join('');
}

function ownText(code: KernelCode, axis: 'x' | 'y', ndims: readonly number[]): string {
  switch (code.kind) {
    case 'text':
      return code.text;
    case 'program':
      return printProgram(code.program, axis);
    case 'elements':
      return printElements(code.function, ndims);
  }
}
