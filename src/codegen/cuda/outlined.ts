/**
 * Functions of expensive ops that stand apart and are called. To have a sine where it is used takes some
 * dozens of instructions, for each element of a thread; a kernel with hundreds of them takes NVRTC minutes,
 * and with one copy of each function a second. A call costs about as much as a few instructions, so kernels
 * with a few such ops have none.
 */
import { costOf, opOf } from '../../fusion/kernel/arithmetic.js';
import type { Instruction, Kernel } from '../../fusion/kernel/kernel.js';
import { CUDA_TYPE } from '../../graph/cuda-expressions.js';
import { DTYPES, type DType } from '../../graph/dtype.js';
import { type OpName, opRow } from '../../graph/ops.js';

/** Cost (`OpRow.cost`) of such an op, at least. */
const EXPENSIVE = 10;
/**
 * The most that the expensive ops of a kernel may cost together to be inlined: sixteen sines.
 */
const MOST_IN_PLACE = 256;

/** Whether an op is many instructions. */
export const isExpensive = (instruction: Instruction): boolean =>
  opOf(instruction) !== undefined && costOf(instruction) >= EXPENSIVE;

/** Whether the expensive ops of a kernel are called. */
export function callsApart({ tape }: Kernel): boolean {
  let cost = 0;
  for (const i of tape) if (isExpensive(i)) cost += costOf(i);
  return cost > MOST_IN_PLACE;
}

/** The call of an op on arguments of a dtype, or undefined where it is better in its place. */
export const apartCall = (
  instruction: Instruction,
  args: readonly string[],
  dtype: DType,
): string | undefined =>
  isExpensive(instruction) ? `weft_apart_${opOf(instruction)}_${dtype}(${args.join(', ')})` : undefined;

const CALL = new RegExp(`\\bweft_apart_(\\w+)_(${DTYPES.join('|')})\\b`, 'g');

/** The functions that a text calls, each once. */
export function apartFunctions(text: string): string {
  const calls = new Map([...text.matchAll(CALL)].map((match) => [match[0], match] as const));
  return [...calls.values()].map(([name, op, dtype]) => define(name, op as OpName, dtype as DType)).join('');
}

function define(name: string, op: OpName, dtype: DType): string {
  const { arity, cuda, dtype: rule, first = dtype } = opRow(op);
  const names = ['a', 'b', 'c', 'd'].slice(0, arity);
  const dtypes = names.map((_, k) => (k === 0 ? first : dtype));
  const { result } = rule(dtypes)!;
  const parameters = names.map((parameter, k) => `${CUDA_TYPE[dtypes[k]!]} ${parameter}`).join(', ');
  return `__device__ __attribute__((noinline)) ${CUDA_TYPE[result]} ${name}(${parameters}) {\n  return ${cuda(names, dtype)};\n}\n\n`;
}
