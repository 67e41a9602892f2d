/**
 * The fingerprint of a kernel: all of it but its name and the values of its constants, its structure, as a text that is equal
 * for equal ones. A layer of a network that is repeated is laid out and scheduled once. Called by `codegen/cpu/tape.ts` and
 * `codegen/cuda/footprint.ts`.
 */
import { dtypeCode } from '../../graph/dtype.js';
import { isZeroInteger } from '../../graph/runtime-scalar.js';
import { unreachable } from '../../host/errors.js';
import { numberOf } from '../passes/hash.js';
import { Records } from '../passes/records.js';
import { isConstantThat } from './arithmetic.js';
import { type Access, type Affine, type Bound, formOf, type Instruction, type Kernel } from './kernel.js';

/** Lists stand behind their lengths, choices behind their numbers: no structure is the beginning of another. */
export function kernelFingerprint(kernel: Kernel): string {
  const to = new Records();
  to.putAll(kernel.parallel);
  to.putAll(kernel.reduced);
  to.put(kernel.buffers.length);
  for (const { dtype, role, elementCount, isShared, pitch, isTakenInWindows } of kernel.buffers) {
    to.put(dtypeCode(dtype));
    to.put((role === 'output' ? 1 : 0) + (isShared === true ? 2 : 0) + (isTakenInWindows === true ? 4 : 0));
    to.putNumber(elementCount);
    to.putAll(pitch === undefined ? [] : [pitch.from, pitch.to]);
  }
  to.put(kernel.tape.length);
  for (const instruction of kernel.tape) putInstruction(to, instruction);
  to.put(kernel.stores.length);
  for (const { value, access } of kernel.stores) {
    to.put(value);
    putAccess(to, access);
  }
  for (const { output, input } of kernel.carried ?? []) to.putAll([output, input]);
  to.putAll(kernel.counters ?? []);
  to.putNumber(kernel.partialRows ?? -1);
  return to.fingerprint();
}

function putInstruction(to: Records, instruction: Instruction): void {
  const form = formOf(instruction);
  to.put(numberOf(form.kind));
  to.put(dtypeCode(form.dtype));
  switch (form.kind) {
    case 'load':
      putAccess(to, form.access);
      break;
    case 'const':
      // Tapes look for the bounds of places along an axis (`codegen/cpu/tape-places.ts`).
      if (form.dtype === 'int64') to.put(isConstantThat(instruction, isZeroInteger) ? 1 : 0);
      break;
    case 'index':
      putAffine(to, form.affine);
      break;
    case 'inside':
      putBounds(to, form.bounds);
      break;
    case 'map':
      to.put(numberOf(form.op));
      to.putAll(form.args);
      break;
    case 'cast':
      to.putAll(form.args);
      break;
    case 'repeat':
      to.put(numberOf(form.loop.key));
      to.put(form.result);
      to.putAll(form.args);
      break;
    case 'function':
      to.put(numberOf(form.function.key));
      to.put(form.result);
      to.putAll(form.args);
      break;
    case 'reduce':
      to.put(numberOf(form.monoid?.of.key ?? form.reduction));
      to.put(form.monoid?.part ?? -1);
      to.put(form.batch ?? 1);
      to.putAll(form.args);
      break;
    default:
      unreachable(form);
  }
}

function putAffine(to: Records, { offset, strides }: Affine): void {
  to.putNumber(offset);
  to.putAll(strides);
}

function putBounds(to: Records, bounds: readonly Bound[]): void {
  to.put(bounds.length);
  for (const bound of bounds) {
    putAffine(to, bound);
    to.putNumber(bound.size);
    to.put(bound.fold === undefined ? 0 : numberOf(bound.fold.mode));
    to.putNumber(bound.fold?.stride ?? 0);
  }
}

function putAccess(to: Records, access: Access): void {
  to.put(access.buffer);
  putAffine(to, access);
  putBounds(to, access.bounds);
  const { index, place } = access;
  to.putAll(index === undefined ? [] : [index.value, index.stride, index.size]);
  to.put(place === undefined ? 0 : 1);
  if (place !== undefined) putAffine(to, place);
}
