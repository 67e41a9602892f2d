/**
 * TapeBuilder: writes a tape, equal instructions once. All code that makes or joins kernels writes through it
 * (`partition/emit-kernel.ts`, `mutable-kernel.ts`, `split.ts`).
 */

import { type DType, isHalf } from '../../graph/dtype.js';
import { type OpName, opRow } from '../../graph/ops.js';
import { sameConstant } from '../../graph/runtime-scalar.js';
import { InternalError } from '../../host/errors.js';
import { DistinctList, mix, mixAffine, mixAll, mixBounds, mixConstant, numberOf } from '../passes/hash.js';
import { isConstant } from './arithmetic.js';
import { create } from './instruction.js';
import { type Access, formOf, type Instruction, sameAffine, sameBounds, sameNumbers } from './kernel.js';

/** Half arithmetic goes through float32 and rounds each result. */
export class TapeBuilder {
  readonly #list: DistinctList<Instruction>;

  /** `written`: instructions that all differ. */
  constructor(written: readonly Instruction[] = []) {
    this.#list = new DistinctList(hashOf, isSame, written);
  }

  get instructions(): readonly Instruction[] {
    return this.#list.all;
  }

  /** The position of the instruction, or of one that is equal. */
  add(instruction: Instruction): number {
    return this.#list.add(instruction);
  }

  cast(value: number, dtype: DType): number {
    return this.instructions[value]!.dtype === dtype ? value : this.add(create.cast(dtype, value));
  }

  /** An op over values; `result`: its dtype, where that is known. */
  map(op: OpName, args: readonly number[], result: DType = this.#resultOf(op, args)): number {
    let wide = args;
    for (const arg of args)
      if (isHalf(this.instructions[arg]!.dtype)) wide = args.map((value) => this.#widened(value));
    if (!isHalf(result)) return this.add(create.map(result, op, wide));
    return this.cast(this.add(create.map('float32', op, wide)), result);
  }

  #widened(value: number): number {
    return isHalf(this.instructions[value]!.dtype) ? this.cast(value, 'float32') : value;
  }

  #resultOf(op: OpName, args: readonly number[]): DType {
    const dtypes = args.map((arg) => this.instructions[arg]!.dtype);
    const result = opRow(op).dtype(dtypes)?.result;
    if (result === undefined) throw new InternalError(`${op} of ${dtypes.join(', ')} in a kernel`);
    return result;
  }
}

// ---------------------------------------------------------------- equality

/** Equal for instructions of one structure: equal ones, and all constants of a dtype. */
export const hashOfStructure = (i: Instruction): number =>
  isConstant(i) ? mix(2, numberOf(i.dtype)) : hashBits(i);

/** Whether two instructions are equal but for the value of a constant. */
export const isSameStructure = (a: Instruction, b: Instruction): boolean =>
  a === b || (a.dtype === b.dtype && ((isConstant(a) && isConstant(b)) || isSame(a, b)));

/** Equal for equal instructions; 30 bits, which is what the engine keeps without an object. */
export function hashOf(i: Instruction): number {
  return hashBits(i) & 0x3fffffff;
}

function hashBits(instruction: Instruction): number {
  const i = formOf(instruction);
  switch (i.kind) {
    case 'load':
      return mixIndex(mixBounds(mixAffine(mix(1, i.access.buffer), i.access), i.access.bounds), i.access);
    case 'const':
      return mixConstant(mix(2, numberOf(i.dtype)), i.value);
    case 'index':
      return mixAffine(3, i.affine);
    case 'inside':
      return mixBounds(4, i.bounds);
    case 'map':
      return mixAll(mix(5, numberOf(i.op)), i.args);
    case 'cast':
      return mixAll(mix(6, numberOf(i.dtype)), i.args);
    case 'repeat':
      return mixAll(mix(mix(8, numberOf(i.loop.key)), i.result), i.args);
    case 'function':
      return mixAll(mix(mix(9, numberOf(i.function.key)), i.result), i.args);
    case 'reduce':
      return mixAll(mix(mix(7, numberOf(i.monoid?.of.key ?? i.reduction)), i.monoid?.part ?? 0), i.args);
  }
}

const mixIndex = (hash: number, { index }: Access): number =>
  index === undefined ? hash : mix(mix(hash, index.value), index.stride);

const sameIndex = ({ index: a }: Access, { index: b }: Access): boolean =>
  a === b || (a?.value === b?.value && a?.stride === b?.stride && a?.size === b?.size);

/** Whether two instructions of one tape have the same value. */
export function isSame(one: Instruction, other: Instruction): boolean {
  const [a, b] = [formOf(one), formOf(other)];
  switch (a.kind) {
    case 'load':
      return (
        b.kind === 'load' &&
        a.access.buffer === b.access.buffer &&
        sameAffine(a.access, b.access) &&
        sameBounds(a.access.bounds, b.access.bounds) &&
        sameIndex(a.access, b.access)
      );
    case 'const':
      return b.kind === 'const' && a.dtype === b.dtype && sameConstant(a.value, b.value);
    case 'index':
      return b.kind === 'index' && sameAffine(a.affine, b.affine);
    case 'inside':
      return b.kind === 'inside' && sameBounds(a.bounds, b.bounds);
    case 'map':
      return b.kind === 'map' && a.op === b.op && sameNumbers(a.args, b.args);
    case 'cast':
      return b.kind === 'cast' && a.dtype === b.dtype && a.args[0] === b.args[0];
    case 'repeat':
      return (
        b.kind === 'repeat' &&
        a.result === b.result &&
        a.loop.key === b.loop.key &&
        sameNumbers(a.args, b.args)
      );
    case 'function':
      return (
        b.kind === 'function' &&
        a.result === b.result &&
        a.function.key === b.function.key &&
        sameNumbers(a.args, b.args)
      );
    case 'reduce':
      return (
        b.kind === 'reduce' &&
        a.reduction === b.reduction &&
        a.monoid?.part === b.monoid?.part &&
        a.monoid?.of.key === b.monoid?.of.key &&
        a.batch === b.batch &&
        sameNumbers(a.args, b.args)
      );
  }
}
