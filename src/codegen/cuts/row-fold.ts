/**
 * Folds of rows: a reduction of the rows that a routine has as maps of single elements around a monoid, so that a routine can
 * reduce what it would write. Printed for a GPU by `codegen/cuda/routines/row-fold-function.ts`.
 *
 *     z[i] = sum over j of exp(s[i, j]) / n   →   element exp(s[i, j]), sum, result t[i] / n
 */
import { liveValues, loadsFrom } from '../../fusion/kernel/algebra.js';
import { reductionsOf } from '../../fusion/kernel/arithmetic.js';
import { create, mapInstruction } from '../../fusion/kernel/instruction.js';
import {
  type Affine,
  argumentsOf,
  type Instruction,
  type Kernel,
  product,
} from '../../fusion/kernel/kernel.js';
import { levelsOf, storesElements } from '../../fusion/kernel/levels.js';
import type { DType } from '../../graph/dtype.js';
import { denseStrides, sizeOfShape } from '../../graph/graph.js';
import { normalize } from './domain.js';
import { canBeElement } from './element-map.js';

/** Reductions of one op, whose accumulators are of the elements' dtype. */
const FOLDS = ['sum', 'prod', 'min', 'max'] as const;
export type FoldName = (typeof FOLDS)[number];

export interface RowFold {
  readonly name: FoldName;
  readonly dtype: DType;
  readonly rows: number;
  readonly length: number;
  /** Maps the routine's elements, its buffer `given`, to those that are reduced. */
  readonly element: Kernel;
  /** Maps reduced rows, its buffer `reduced`, to the result. */
  readonly result: Kernel;
  readonly reduced: number;
}

/** The fold of a kernel of one reduction along the rows of its buffer `given`, which is in C order; undefined: it is none. */
export function rowFoldOf(kernel: Kernel, given: number): RowFold | undefined {
  const normal = normalize(kernel);
  const { parallel, reduced, stores, carried, counters } = normal;
  const [reduction, ...others] = reductionsOf(normal);
  const name = FOLDS.find((fold) => fold === reduction?.name);
  if (reduction === undefined || name === undefined || others.length > 0 || reduced.length !== 1)
    return undefined;
  if (reduction.taken !== reduction.dtype) return undefined;
  if (stores.length !== 1 || carried !== undefined || counters !== undefined) return undefined;
  if (storesElements(normal) || levelsOf(normal).phases !== 1) return undefined;
  const [rows, length] = [product(parallel), reduced[0]!];
  const element = elementPart(normal, reduction.args[0]!, reduction.taken);
  const result = resultPart(normal, reduction.position, reduction.dtype);
  if (!canBeElement(element, rows * length, given) || !canBeElement(result, rows, normal.buffers.length))
    return undefined;
  if (loadsFrom(result, given).length > 0 || loadsFrom(element, given).length === 0) return undefined;
  return { name, dtype: reduction.dtype, rows, length, element, result, reduced: normal.buffers.length };
}

/** A kernel of the instructions behind a value, stored in C order into a buffer of its own. */
function elementPart(kernel: Kernel, value: number, dtype: DType): Kernel {
  const parallel = [...kernel.parallel, ...kernel.reduced];
  const { tape, moved } = partOf(kernel, [value]);
  const buffers = [
    ...kernel.buffers,
    { dtype, role: 'output', elementCount: sizeOfShape(parallel) } as const,
  ];
  const access = { offset: 0, strides: denseStrides(parallel), bounds: [], buffer: kernel.buffers.length };
  return { ...kernel, parallel, reduced: [], buffers, tape, stores: [{ value: moved.get(value)!, access }] };
}

/** The kernel behind a reduction, whose results it reads from a buffer of its own. */
function resultPart(kernel: Kernel, reduction: number, dtype: DType): Kernel {
  const { parallel } = kernel;
  const onRows = <T extends Affine>(affine: T): T => ({
    ...affine,
    strides: affine.strides.slice(0, parallel.length),
  });
  const access = { offset: 0, strides: denseStrides(parallel), bounds: [], buffer: kernel.buffers.length };
  const [store] = kernel.stores;
  const { tape, moved } = partOf(kernel, [store!.value], {
    at: reduction,
    instead: create.load(dtype, access),
    affine: onRows,
  });
  const buffers = [...kernel.buffers, { dtype, role: 'input', elementCount: product(parallel) } as const];
  const stores = [{ value: moved.get(store!.value)!, access: onRows(store!.access) }];
  return { ...kernel, reduced: [], buffers, tape, stores };
}

/** The instructions behind some values as a tape of its own, with one replaced and affine functions changed. */
function partOf(
  { tape }: Kernel,
  values: readonly number[],
  change?: {
    readonly at: number;
    readonly instead: Instruction;
    readonly affine: <T extends Affine>(affine: T) => T;
  },
): { readonly tape: readonly Instruction[]; readonly moved: ReadonlyMap<number, number> } {
  const behind = liveValues(tape, values, (at) => at === change?.at);
  const live = change === undefined ? behind : [change.at, ...behind].sort((a, b) => a - b);
  const moved = new Map(live.map((position, k) => [position, k]));
  const part = live.map((at) => {
    if (at === change?.at) return change.instead;
    const i = tape[at]!;
    const args = argumentsOf(i).map((arg) => moved.get(arg)!);
    return mapInstruction(i, args, change?.affine);
  });
  return { tape: part, moved };
}
