/**
 * Makes instructions, and instructions out of others. Tapes are written with `create`, or by `TapeBuilder`
 * (`tape-builder.ts`), which writes equal instructions once.
 */
import type { DType } from '../../graph/dtype.js';
import type { CudaFunction, ElementLoop, MonoidPart } from '../../graph/loop-step.js';
import type { OpName } from '../../graph/ops.js';
import type { ReductionName } from '../../graph/reductions.js';
import type { ConstantValue } from '../../graph/runtime-scalar.js';
import {
  type Access,
  type Affine,
  type Bound,
  formOf,
  type Instruction,
  type InstructionForm,
  sameNumbers,
} from './kernel.js';

const instructionOf = (form: InstructionForm): Instruction => form as unknown as Instruction;

/** An instruction of each form; `InstructionForm` says what they are. */
export const create = {
  load: (dtype: DType, access: Access): Instruction => instructionOf({ kind: 'load', dtype, access }),
  constant: (dtype: DType, value: ConstantValue): Instruction =>
    instructionOf({ kind: 'const', dtype, value }),
  index: (affine: Affine): Instruction => instructionOf({ kind: 'index', dtype: 'int64', affine }),
  inside: (bounds: readonly Bound[]): Instruction => instructionOf({ kind: 'inside', dtype: 'bool', bounds }),
  map: (dtype: DType, op: OpName, args: readonly number[]): Instruction =>
    instructionOf({ kind: 'map', dtype, op, args }),
  cast: (dtype: DType, arg: number): Instruction => instructionOf({ kind: 'cast', dtype, args: [arg] }),
  repeat: (dtype: DType, loop: ElementLoop, result: number, args: readonly number[]): Instruction =>
    instructionOf({ kind: 'repeat', dtype, loop, result, args }),
  call: (dtype: DType, own: CudaFunction, result: number, args: readonly number[]): Instruction =>
    instructionOf({ kind: 'function', dtype, function: own, result, args }),
  reduce: (dtype: DType, reduction: ReductionName, args: readonly number[], batch?: number): Instruction =>
    instructionOf({ kind: 'reduce', dtype, reduction, args, batch }),
  combine: (dtype: DType, monoid: MonoidPart, args: readonly number[], batch?: number): Instruction =>
    instructionOf({ kind: 'reduce', dtype, reduction: 'monoid', monoid, args, batch }),
} as const;

/**
 * A function of affine functions that keeps what else they carry: the size of a bound, the buffer of an
 * access.
 */
export type AffineMap = <T extends Affine>(affine: T) => T;

const same: AffineMap = (affine) => affine;
const sameBuffer = (buffer: number): number => buffer;

const mapBounds = (bounds: readonly Bound[], affine: AffineMap): readonly Bound[] =>
  bounds.length === 0 ? bounds : bounds.map((bound) => affine(bound));

/** An access with its affine functions changed. */
export function mapAccess(access: Access, affine: AffineMap): Access {
  const { bounds, place } = access;
  const moved =
    bounds.length === 0 ? affine(access) : { ...affine(access), bounds: mapBounds(bounds, affine) };
  return place === undefined ? moved : { ...moved, place: affine(place) };
}

/** A gather's access whose index stands elsewhere on the tape. */
const withIndexValue = (access: Access, value: number | undefined): Access =>
  access.index === undefined || value === undefined || value === access.index.value
    ? access
    : { ...access, index: { ...access.index, value } };

/**
 * An instruction with other arguments, its affine functions changed and its buffer renamed; the instruction
 * itself where nothing changed, since long tapes are mapped again and again.
 */
export function mapInstruction(
  i: Instruction,
  args: readonly number[],
  affine: AffineMap = same,
  buffer: (position: number) => number = sameBuffer,
): Instruction {
  const form = formOf(i);
  switch (form.kind) {
    case 'load': {
      const moved = withIndexValue(mapAccess(form.access, affine), args[0]);
      const at = buffer(moved.buffer);
      if (at === moved.buffer) return moved === form.access ? i : create.load(i.dtype, moved);
      return create.load(i.dtype, { ...moved, buffer: at });
    }
    case 'const':
      return i;
    case 'index': {
      const moved = affine(form.affine);
      return moved === form.affine ? i : create.index(moved);
    }
    case 'inside':
      return create.inside(mapBounds(form.bounds, affine));
    case 'cast':
      return args[0] === form.args[0] ? i : create.cast(i.dtype, args[0]!);
    case 'map':
      return sameNumbers(args, form.args) ? i : create.map(i.dtype, form.op, args);
    case 'repeat':
      return sameNumbers(args, form.args) ? i : create.repeat(i.dtype, form.loop, form.result, args);
    case 'function':
      return sameNumbers(args, form.args) ? i : create.call(i.dtype, form.function, form.result, args);
    case 'reduce':
      if (sameNumbers(args, form.args)) return i;
      return form.monoid === undefined
        ? create.reduce(i.dtype, form.reduction, args, form.batch)
        : create.combine(i.dtype, form.monoid, args, form.batch);
  }
}
