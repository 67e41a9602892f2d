/**
 * The parameters of one generated function, collected while its body is printed: buffers and scratch by
 * address, and constants, sizes and strides by value, so that neither another constant nor another size is
 * another source.
 *
 * Sizes and strides of one value are one parameter. Called by the schedule printers.
 */

import { constantOf } from '../../fusion/kernel/arithmetic.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { CUDA_TYPE } from '../../graph/cuda-expressions.js';
import type { DType } from '../../graph/dtype.js';
import { type ConstantValue, givenValue, RuntimeScalar } from '../../graph/runtime-scalar.js';
import { scalarBytes } from '../../graph/scalar-bytes.js';
import { InternalError } from '../../host/errors.js';
import { STORAGE_TYPE } from './casts.js';
import type { BytesArgument, CudaArgument } from './launch.js';

/** Width of index arithmetic: 32 bits where the largest reachable offset allows it. */
export type IndexWidth = 32 | 64;

/** Multiplier and shift with which an index below 2^31 (2^63) is divided by a size of at least 2. */
interface Divisor {
  readonly magic: string;
  readonly shift: string;
}

/**
 * Granlund and Montgomery, "Division by invariant integers using multiplication" (1994): with l = ⌈log2 d⌉
 * and m = ⌊2^(w-1+l) / d⌋ + 1, n / d = (n m) >> (w-1+l) for every n < 2^(w-1).
 */
function magicOf(size: number, width: IndexWidth): { magic: bigint; shift: number } {
  if (size < 2) throw new InternalError(`division of an index by ${size}`);
  const divisor = BigInt(size);
  const bits = (divisor - 1n).toString(2).length;
  const shift = width - 1 + bits;
  return { magic: (1n << BigInt(shift)) / divisor + 1n, shift };
}

const constantArgument = (constant: number, dtype: DType, value: ConstantValue): BytesArgument => ({
  bytes: scalarBytes(dtype, givenValue(value)),
  constant,
  ...(value instanceof RuntimeScalar ? { number: value.position } : {}),
});

/** The arguments of a function that was printed for another kernel of the same structure. */
export function argumentsFor({ tape }: Kernel, args: readonly CudaArgument[]): readonly CudaArgument[] {
  return args.map((argument) => {
    if (!('constant' in argument) || argument.constant === undefined) return argument;
    const instruction = tape[argument.constant]!;
    return constantArgument(argument.constant, instruction.dtype, constantOf(instruction)!);
  });
}

export class Parameters {
  readonly #kernel: Kernel;
  readonly #declarations: string[] = [];
  readonly #args: CudaArgument[] = [];
  readonly #names = new Map<string, string>();
  readonly width: IndexWidth;
  #sizes = 0;

  constructor(kernel: Kernel, width: IndexWidth) {
    this.#kernel = kernel;
    this.width = width;
  }

  /** Signed index type. */
  get index(): string {
    return this.width === 32 ? 'int' : 'long long';
  }
  /** Unsigned index type, in which indices are divided. */
  get unsigned(): string {
    return this.width === 32 ? 'unsigned int' : 'unsigned long long';
  }
  get declaration(): string {
    return this.#declarations.join(', ');
  }
  get args(): readonly CudaArgument[] {
    return this.#args;
  }

  #add(
    key: string,
    name: () => string,
    declaration: (name: string) => string,
    argument: CudaArgument,
  ): string {
    let known = this.#names.get(key);
    if (known === undefined) {
      known = name();
      this.#names.set(key, known);
      this.#declarations.push(declaration(known));
      this.#args.push(argument);
    }
    return known;
  }

  buffer(position: number): string {
    const { dtype, role, isShared } = this.#kernel.buffers[position]!;
    const restrict = isShared === true ? '' : ' __restrict__';
    const type = `${role === 'input' ? 'const ' : ''}${STORAGE_TYPE[dtype]}*${restrict}`;
    const key = `b${position}`;
    return this.#add(
      key,
      () => key,
      (name) => `${type} ${name}`,
      { buffer: position },
    );
  }

  scratch(position: number, type: string): string {
    const key = `p${position}`;
    return this.#add(
      key,
      () => key,
      (name) => `${type}* __restrict__ ${name}`,
      { scratch: position },
    );
  }

  constant(position: number, dtype: DType, value: ConstantValue): string {
    const key = `c${position}`;
    return this.#add(
      key,
      () => key,
      (name) => `${CUDA_TYPE[dtype]} ${name}`,
      constantArgument(position, dtype, value),
    );
  }

  /** Number of the launch's first block in the grid of the whole. */
  firstBlock(axis: 'x' | 'y'): string {
    const key = `first_${axis}`;
    return this.#add(
      key,
      () => key,
      (name) => `unsigned int ${name}`,
      { block: axis },
    );
  }

  /** Where the launch's window of indices begins, or ends. */
  windowEnd(end: 'first' | 'last'): string {
    const key = `window_${end}`;
    return this.#add(
      key,
      () => key,
      (name) => `long long ${name}`,
      { block: end },
    );
  }

  /** How many steps of a loop the launch does. */
  steps(): string {
    return this.#add(
      'steps',
      () => 'steps',
      (name) => `unsigned int ${name}`,
      { steps: true },
    );
  }

  /** How many steps of a loop were done before the launch. */
  done(): string {
    return this.#add(
      'done',
      () => 'done',
      (name) => `long long ${name}`,
      { done: true },
    );
  }

  /** The value of a load in step `step` of a launch, given that of the first step of the loop. */
  counted(value: string, buffer: number): string {
    return this.#kernel.counters?.includes(buffer) === true
      ? `(${value} + (${this.done()} + (long long)step))`
      : value;
  }

  #integer(key: string, type: string, bytes: Uint8Array): string {
    return this.#add(
      key,
      () => `n${this.#sizes++}`,
      (name) => `${type} ${name}`,
      { bytes },
    );
  }

  /** A size, stride or offset as a signed index. */
  size(value: number): string {
    const dtype = this.width === 32 ? 'int32' : 'int64';
    return this.#integer(
      `size ${value}`,
      this.index,
      scalarBytes(dtype, this.width === 32 ? value : BigInt(value)),
    );
  }

  divisor(size: number): Divisor {
    const { magic, shift } = magicOf(size, this.width);
    const wide = this.width === 32 ? scalarBytes('uint32', magic) : scalarBytes('uint64', magic);
    return {
      magic: this.#integer(`magic ${size}`, this.unsigned, wide),
      shift: this.#integer(`shift ${shift}`, 'unsigned int', scalarBytes('uint32', shift)),
    };
  }
}
