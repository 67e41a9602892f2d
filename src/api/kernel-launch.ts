/** How a user's kernel is launched: blocks, threads, shared memory, and the ways to run it in parts. */
import { formatValue } from '../graph/format.js';
import { sizeOfShape } from '../graph/graph.js';
import type { Dim3, KernelCuts, KernelOutput, KernelPart } from '../graph/user-kernel.js';
import { ArgumentError, expected, RangeArgumentError } from '../host/errors.js';
import { isRecord } from './structure.js';

/** The elements in C order that each block touches: block b from `b · size - before` up to `(b + 1) · size + after`. */
export interface KernelBlockPart {
  readonly size: number;
  readonly before?: number;
  readonly after?: number;
}

/**
 * How a kernel may be run in parts, each a range of its blocks along an axis of the grid. `parts` says of arrays which
 * elements in C order a block touches: a number of them, in the order of the blocks, or with margins; of outputs
 * without margins, and of all of them. An input that is not named is read as a whole by every block.
 */
export interface KernelCutsSpec {
  readonly axis?: 'x' | 'y';
  readonly parts: Readonly<Record<string, number | KernelBlockPart>>;
}

const MOST_BLOCKS: Dim3 = [2 ** 31 - 1, 65_535, 65_535];
const MOST_THREADS: Dim3 = [1024, 1024, 64];
const MOST_THREADS_OF_BLOCK = 1024;
/** Of a block, on the newest devices; a device with less refuses the launch. */
const MOST_SHARED_BYTES = 227 * 1024;

const AXES = ['x', 'y', 'z'] as const;

function dimensions(op: string, what: 'grid' | 'block', value: unknown, least: number, most: Dim3): Dim3 {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const unit = what === 'grid' ? 'blocks' : 'threads';
  if (list.length < 1 || list.length > 3)
    throw new ArgumentError(expected(op, `a ${what} of one to three sizes`, formatValue(value)));
  for (const [k, size] of list.entries()) {
    if (!Number.isInteger(size) || (size as number) < least || (size as number) > most[k]!)
      throw new RangeArgumentError(
        expected(op, `from ${least} to ${most[k]} ${unit} along ${AXES[k]}`, formatValue(size)),
      );
  }
  const [x, y = 1, z = 1] = list as readonly number[];
  return [x!, y, z];
}

/** The blocks of a launch; 0 along an axis: nothing is launched. */
export const checkGrid = (op: string, value: unknown): Dim3 => dimensions(op, 'grid', value, 0, MOST_BLOCKS);

export function checkBlock(op: string, value: unknown): Dim3 {
  const block = dimensions(op, 'block', value, 1, MOST_THREADS);
  const threads = block[0] * block[1] * block[2];
  if (threads > MOST_THREADS_OF_BLOCK)
    throw new RangeArgumentError(
      expected(op, `at most ${MOST_THREADS_OF_BLOCK} threads in a block`, `${block.join('×')}, ${threads}`),
    );
  return block;
}

export function checkShared(op: string, bytes: unknown): number {
  if (!Number.isInteger(bytes) || (bytes as number) < 0 || (bytes as number) > MOST_SHARED_BYTES)
    throw new RangeArgumentError(
      expected(op, `from 0 to ${MOST_SHARED_BYTES} bytes of shared memory`, formatValue(bytes)),
    );
  return bytes as number;
}

/** The grid and the names of arrays in order, which cuts have to agree with. */
export interface CutKernel {
  readonly grid: Dim3;
  readonly inputs: readonly string[];
  readonly outputs: ReadonlyMap<string, KernelOutput>;
}

export function checkCuts(op: string, cuts: unknown, { grid, inputs, outputs }: CutKernel): KernelCuts {
  if (!isRecord(cuts) || !isRecord((cuts as KernelCutsSpec).parts))
    throw new ArgumentError(expected(op, 'cuts: { axis, parts }', formatValue(cuts)));
  const { axis = 'x', parts } = cuts as KernelCutsSpec;
  if (axis !== 'x' && axis !== 'y')
    throw new ArgumentError(expected(op, "cuts along 'x' or 'y'", formatValue(axis)));
  const blocks = grid[axis === 'x' ? 0 : 1];
  for (const name of Object.keys(parts)) {
    if (!inputs.includes(name) && !outputs.has(name))
      throw new ArgumentError(expected(op, 'parts of the arrays of the kernel', name));
  }
  return {
    axis,
    inputs: inputs.map((name) => (Object.hasOwn(parts, name) ? checkPart(op, name, parts[name]) : undefined)),
    outputs: [...outputs].map(([name, { shape }]) => {
      if (!Object.hasOwn(parts, name))
        throw new ArgumentError(expected(op, `cuts with the part of ${name} that a block writes`, 'none'));
      const part = checkPart(op, name, parts[name]);
      if (part.before !== 0 || part.after !== 0)
        throw new ArgumentError(
          expected(op, `blocks that write parts of ${name} without margins`, 'margins'),
        );
      const size = sizeOfShape(shape);
      if (Math.ceil(size / part.size) !== blocks)
        throw new RangeArgumentError(
          expected(op, `${blocks} blocks to write all of ${name}`, `${part.size} elements each of ${size}`),
        );
      return part;
    }),
  };
}

function checkPart(op: string, name: string, value: unknown): KernelPart {
  const part = typeof value === 'number' ? { size: value } : value;
  const wanted = `the part of ${name} that a block touches: elements, or { size, before, after }`;
  if (!isRecord(part)) throw new ArgumentError(expected(op, wanted, formatValue(value)));
  const { size, before = 0, after = 0 } = part as KernelBlockPart;
  const isCount = (n: unknown, least: number): boolean => Number.isInteger(n) && (n as number) >= least;
  if (!isCount(size, 1) || !isCount(before, 0) || !isCount(after, 0))
    throw new ArgumentError(expected(op, wanted, formatValue(value)));
  return { size, before, after };
}
