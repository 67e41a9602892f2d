/** The small kernels by whose times rates of the CPU are found (`cpu-probes.ts`). */
import type { TalliedFunction } from '../../codegen/cpu/tape-tally.js';
import { isReduction, opOf } from '../../fusion/kernel/arithmetic.js';
import { create, mapInstruction } from '../../fusion/kernel/instruction.js';
import {
  type Affine,
  argumentsOf,
  type BufferParameter,
  type Instruction,
  type Kernel,
} from '../../fusion/kernel/kernel.js';
import type { DType } from '../../graph/dtype.js';

/** Elements of a function, which take a good part of a run, and one thread. */
const FUNCTION_ELEMENTS = 8192;
/** Of a reduction: results, each of so many elements. */
const ROWS = 512;
const ROW_LENGTH = 32;

const buffersOf = (
  taken: readonly DType[],
  result: DType,
  elements: number,
  results: number,
): BufferParameter[] => [
  ...taken.map((dtype): BufferParameter => ({ dtype, role: 'input', elementCount: elements })),
  { dtype: result, role: 'output', elementCount: results },
];

/** Arguments of an instruction; the second one of a position of an extreme is where its element is. */
const argumentsAt = (taken: readonly DType[], place: Affine, isIndexed = false): Instruction[] =>
  taken.map((dtype, buffer) =>
    isIndexed && buffer === 1 ? create.index(place) : create.load(dtype, { ...place, buffer, bounds: [] }),
  );

/** Instructions of arrays that lie side by side, each of the last value and of the other arrays. */
export function mapOf(instructions: readonly Instruction[], taken: readonly DType[], count: number): Kernel {
  const place: Affine = { offset: 0, strides: [1] };
  const loads = argumentsAt(taken, place);
  const [first = 0, ...others] = taken.keys();
  const computed = instructions.map((instruction, k) => {
    const value = k === 0 ? first : loads.length + k - 1;
    const isOfAll = argumentsOf(instruction).length > 1;
    return mapInstruction(instruction, isOfAll ? [value, ...others] : [value]);
  });
  const result = computed.at(-1)!.dtype;
  return {
    name: 'probe',
    parallel: [count],
    reduced: [],
    buffers: buffersOf(taken, result, count, count),
    tape: [...loads, ...computed],
    stores: [
      { value: loads.length + computed.length - 1, access: { ...place, buffer: taken.length, bounds: [] } },
    ],
  };
}

/** An element, written to so many. */
export function fillOf(count: number): Kernel {
  const store = { value: 1, access: { offset: 0, strides: [1], buffer: 1, bounds: [] } };
  const [element] = argumentsAt(['float32'], { offset: 0, strides: [0] });
  return {
    name: 'probe',
    parallel: [count],
    reduced: [],
    buffers: buffersOf(['float32'], 'float32', 1, count),
    tape: [element!, create.map('float32', 'square', [0])],
    stores: [store],
  };
}

/** Light steps that make a task of as many elements as a function has. */
const STEPS_OF_TASK = 10;

/** A chain of light steps, of which pairs are none, for so many threads. */
export function chainOfTasks(count: number): Kernel {
  const steps = Array.from({ length: STEPS_OF_TASK }, (_, k) =>
    create.map('float32', k % 2 === 0 ? 'abs' : 'square', [0]),
  );
  return mapOf(steps, ['float32'], count * FUNCTION_ELEMENTS);
}

/** A reduction over outer axes, with results side by side, or of one row. */
export function reductionOf(
  instruction: Instruction,
  taken: readonly DType[],
  parallel: readonly number[],
  reduced: readonly [number],
): Kernel {
  const results = parallel[0] ?? 1;
  const across = parallel.map(() => 1);
  const positions = [...taken.keys()];
  return {
    name: 'probe',
    parallel,
    reduced,
    buffers: buffersOf(taken, instruction.dtype, results * reduced[0], results),
    tape: [
      ...argumentsAt(taken, { offset: 0, strides: [...across, results] }, true),
      mapInstruction(instruction, positions),
    ],
    stores: [
      {
        value: taken.length,
        access: { offset: 0, strides: [...across, 0], buffer: taken.length, bounds: [] },
      },
    ],
  };
}

/**
 * A kernel that calls a function, and one with light ops in its place, where there are such: both read and write the same. A
 * step of a chain is called twice, between light ones of which pairs are none: what memory hides of one by itself, it does
 * not hide of several.
 */
export interface FunctionKernels {
  readonly kernel: Kernel;
  readonly light?: { readonly key: string; readonly kernel: Kernel };
}

export function kernelsOf({ instruction, taken, isByLane, isChained }: TalliedFunction): FunctionKernels {
  if (isReduction(instruction))
    return {
      kernel: isByLane
        ? reductionOf(instruction, taken, [ROWS], [ROW_LENGTH])
        : reductionOf(instruction, taken, [], [ROWS * ROW_LENGTH]),
    };
  const { dtype } = instruction;
  const around = (own: Instruction): Kernel => {
    const [abs, negative] = (['abs', 'negative'] as const).map((op) => create.map(dtype, op, [0]));
    return mapOf(isChained ? [abs!, own, abs!, own, negative!] : [own], taken, FUNCTION_ELEMENTS);
  };
  const isOfFloats = [dtype, ...taken].every((each) => each === dtype && /^float(32|64)$/.test(each));
  if (opOf(instruction) === undefined || !isOfFloats || taken.length > 2)
    return { kernel: around(instruction) };
  const light = create.map(dtype, taken.length > 1 ? 'add' : isChained ? 'square' : 'negative', [
    ...taken.keys(),
  ]);
  return {
    kernel: around(instruction),
    light: { key: `${isChained ? 'chained ' : ''}${opOf(light)} ${dtype}`, kernel: around(light) },
  };
}
