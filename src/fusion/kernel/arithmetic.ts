/**
 * The arithmetic of a tape: its ops, constants and reductions, and how much arithmetic they are. A part of the
 * kernel algebra (`algebra.ts`).
 */

import { cudaFunctionsOfStep } from '../../graph/cuda-function.js';
import type { DType } from '../../graph/dtype.js';
import { costOfLoop } from '../../graph/element-loop.js';
import type { CudaFunction, ElementLoop, MonoidPart, UserMonoid } from '../../graph/loop-step.js';
import { type OpName, opRow } from '../../graph/ops.js';
import { isExactReduction, type ReductionName } from '../../graph/reductions.js';
import { type ConstantValue, type ScalarTest, satisfies } from '../../graph/runtime-scalar.js';
import { argumentsOf, formOf, type Instruction, sameNumbers } from './kernel.js';

/** The instructions of a kernel, finished or not. */
interface Instructions {
  readonly tape: readonly Instruction[];
}

// ---------------------------------------------------------------- ops and constants

/** The op of the table that an instruction applies; undefined for all that is no op. */
export function opOf(i: Instruction): OpName | undefined {
  const form = formOf(i);
  return form.kind === 'map' ? form.op : undefined;
}

/** The value of a constant, which may be one that is given with each run. */
export function constantOf(i: Instruction): ConstantValue | undefined {
  const form = formOf(i);
  return form.kind === 'const' ? form.value : undefined;
}

/** Whether an instruction is a constant that passes a test. */
export function isConstantThat(i: Instruction, test: ScalarTest): boolean {
  const form = formOf(i);
  return form.kind === 'const' && satisfies(form.value, form.dtype, test);
}

/** Whether an instruction is a constant: printed in its place or kept aside, never computed. */
export const isConstant = (i: Instruction): boolean => formOf(i).kind === 'const';

/** The value that a cast converts. */
export function castValueOf(i: Instruction): number | undefined {
  const form = formOf(i);
  return form.kind === 'cast' ? form.args[0] : undefined;
}

/** Whether an instruction computes its value from others, element by element: an op or a cast. */
export const isComputed = (i: Instruction): boolean => opOf(i) !== undefined || castValueOf(i) !== undefined;

/** The loop of each element that an instruction runs. */
export function loopOf(i: Instruction): ElementLoop | undefined {
  const form = formOf(i);
  return form.kind === 'repeat' ? form.loop : undefined;
}

/** The function in CUDA C that an instruction calls. */
function cudaFunctionOf(i: Instruction): CudaFunction | undefined {
  const form = formOf(i);
  return form.kind === 'function' ? form.function : undefined;
}

/** The functions in CUDA C that a tape calls, also in loops and monoids, equal ones as often as they stand there. */
export const cudaFunctionsIn = (kernel: Instructions): CudaFunction[] => [
  ...kernel.tape.flatMap((i) => cudaFunctionOf(i) ?? []),
  ...loopsIn(kernel).flatMap(cudaFunctionsOfStep),
  ...monoidsIn(kernel).flatMap(({ combine }) => cudaFunctionsOfStep(combine)),
];

/** The loops of a tape, equal ones as often as they stand there. */
export const loopsIn = ({ tape }: Instructions): ElementLoop[] => tape.flatMap((i) => loopOf(i) ?? []);

/** Whether a tape has loops of elements: they may never end on elements of others, and are not measured. */
export const hasLoops = (kernel: Instructions): boolean =>
  loopsIn(kernel).length > 0 || cudaFunctionsIn(kernel).some(({ hasLoop }) => hasLoop);

/** Cost of the op or loop that an instruction is (`OpRow.cost`), in additions; 0 for all others. */
export function costOf(i: Instruction): number {
  const form = formOf(i);
  if (form.kind === 'repeat') return costOfLoop(form.loop);
  if (form.kind === 'function') return form.function.cost;
  return form.kind === 'map' ? opRow(form.op).cost : 0;
}

/** Cost of the ops among some positions of a tape, or of all: an element's arithmetic, in additions. */
export function arithmeticOf({ tape }: Instructions, positions: Iterable<number> = tape.keys()): number {
  let cost = 0;
  for (const position of positions) cost += costOf(tape[position]!);
  return cost;
}

/** The kind of a function that an instruction calls. */
function calledOf(i: Instruction): 'repeat' | 'function' | undefined {
  const { kind } = formOf(i);
  return kind === 'repeat' || kind === 'function' ? kind : undefined;
}

/** Ops, reductions, loops and functions of a tape, each once, in order of first use. */
export function functionsOf({ tape }: Instructions): Set<OpName | ReductionName | 'repeat' | 'function'> {
  const names = new Set<OpName | ReductionName | 'repeat' | 'function'>();
  for (const i of tape) {
    const name = opOf(i) ?? reductionOf(i) ?? calledOf(i);
    if (name !== undefined) names.add(name);
  }
  return names;
}

// ---------------------------------------------------------------- reductions

/** The reduction that an instruction is, by its name in the table. */
export function reductionOf(i: Instruction): ReductionName | undefined {
  const form = formOf(i);
  return form.kind === 'reduce' ? form.reduction : undefined;
}

/** The number of equal reductions whose rows a reduction has; of all else, 1. */
export function batchOf(i: Instruction): number {
  const form = formOf(i);
  return form.kind === 'reduce' ? (form.batch ?? 1) : 1;
}

export const isReduction = (i: Instruction): boolean => formOf(i).kind === 'reduce';

/** A reduction with its place on the tape. */
export interface Reduction {
  readonly position: number;
  readonly name: ReductionName;
  readonly dtype: DType;
  /** Positions of what it takes: a value, and for positions of extremes its index. */
  readonly args: readonly number[];
  /** The dtype of the value that it takes. */
  readonly taken: DType;
  /** Of a monoid of the user's own. */
  readonly monoid: MonoidPart | undefined;
  /** The first of the instructions that are one reduction, this one or one before it. */
  readonly leader: number;
}

/** The reductions of a tape, in order. */
export function reductionsOf({ tape }: Instructions): Reduction[] {
  const reductions: Reduction[] = [];
  for (let position = 0; position < tape.length; position++) {
    const i = tape[position]!;
    const name = reductionOf(i);
    if (name === undefined) continue;
    const args = argumentsOf(i);
    const monoid = monoidOf(i);
    const isSame = (other: Reduction): boolean =>
      other.monoid?.of.key === monoid?.of.key && sameNumbers(other.args, args);
    const leader = (monoid && reductions.find(isSame)?.position) ?? position;
    reductions.push({ position, name, dtype: i.dtype, args, taken: tape[args[0]!]!.dtype, monoid, leader });
  }
  return reductions;
}

/** The part of a user's monoid that an instruction is. */
export function monoidOf(i: Instruction): MonoidPart | undefined {
  const form = formOf(i);
  return form.kind === 'reduce' ? form.monoid : undefined;
}

/** The monoids of the user's own on a tape, equal ones as often as they stand there. */
export const monoidsIn = ({ tape }: Instructions): UserMonoid[] => tape.flatMap((i) => monoidOf(i)?.of ?? []);

/** Whether a tape reduces by a user's monoid, whose elements keep their order since it need not commute. */
export const hasMonoid = ({ tape }: Instructions): boolean => tape.some((i) => monoidOf(i) !== undefined);

/** Whether a tape has no reductions but those of one name. */
export const reducesOnlyBy = (name: ReductionName, { tape }: Instructions): boolean =>
  tape.every((i) => (reductionOf(i) ?? name) === name);

/** Whether a value is a reduction whose result depends on the order of its elements. */
export function isOrdered({ tape }: Instructions, position: number): boolean {
  const i = tape[position]!;
  const name = reductionOf(i);
  return name !== undefined && !isExactReduction(name, tape[argumentsOf(i)[0]!]!.dtype);
}
