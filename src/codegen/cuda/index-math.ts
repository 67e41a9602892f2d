/**
 * Index arithmetic of generated code: coordinates from a linear index, and affine functions of coordinates as
 * expressions. Strides of 0, 1 and -1 stand in the source; all other sizes are parameters.
 */
import { affinesOf, type Load, loadsOf, sizesOf } from '../../fusion/kernel/algebra.js';
import {
  type Access,
  type Affine,
  type Bound,
  isZeroOutside,
  type Kernel,
  product,
} from '../../fusion/kernel/kernel.js';
import type { IndexWidth, Parameters } from './parameters.js';
import type { Writer } from './writer.js';

/** Head room for indices that run past the end before they are compared with it. */
const SLACK = 2 ** 22;

/** The width in which every index, offset and partial sum of a kernel fits. */
export function indexWidthOf(kernel: Kernel, further: number): IndexWidth {
  const sizes = sizesOf(kernel);
  const reach = (a: Affine): number =>
    a.strides.reduce(
      (sum, stride, k) => sum + Math.abs(stride) * Math.max(0, sizes[k]! - 1),
      Math.abs(a.offset),
    );
  const gathered = ({ access }: Load): number =>
    reach(access) + Math.abs(access.index?.stride ?? 0) * Math.max(0, (access.index?.size ?? 1) - 1);
  const limit = 2 ** 31 - SLACK;
  const largest = Math.max(
    further,
    product(kernel.parallel),
    product(kernel.reduced),
    ...affinesOf(kernel).map(reach),
    ...loadsOf(kernel).map(gathered),
  );
  return largest < limit ? 32 : 64;
}

/** Prints the coordinates that a linear index has in a box (outermost first) and returns their names. */
export function printCoordinates(
  out: Writer,
  params: Parameters,
  linear: string,
  sizes: readonly number[],
  prefix: string,
): string[] {
  const { index, unsigned } = params;
  if (sizes.length === 0) return [];
  if (sizes.length === 1) return [linear];
  const names: string[] = new Array<string>(sizes.length);
  let rest = linear;
  for (let k = sizes.length - 1; k > 0; k--) {
    const size = sizes[k]!;
    if (size === 1) {
      names[k] = '0';
      continue;
    }
    const quotient = `${prefix}_q${k}`;
    const { magic, shift } = params.divisor(size);
    out.line(`const ${index} ${quotient} = (${index})weft_divide((${unsigned})${rest}, ${magic}, ${shift});`);
    names[k] = `${prefix}${k}`;
    out.line(`const ${index} ${names[k]} = ${rest} - ${quotient} * ${params.size(size)};`);
    rest = quotient;
  }
  names[0] = rest;
  return names;
}

/** An affine function as an expression of the index type, given an expression for each coordinate. */
export function affineExpression(affine: Affine, coordinates: readonly string[], params: Parameters): string {
  const terms: string[] = [];
  affine.strides.forEach((stride, axis) => {
    const coordinate = coordinates[axis]!;
    if (stride === 0 || coordinate === '0') return;
    if (stride === 1) terms.push(`+ ${coordinate}`);
    else if (stride === -1) terms.push(`- ${coordinate}`);
    else terms.push(`+ ${coordinate} * ${params.size(stride)}`);
  });
  if (affine.offset !== 0) terms.unshift(`+ ${params.size(affine.offset)}`);
  if (terms.length === 0) return '0';
  const text = terms.join(' ');
  return text.startsWith('+ ') ? text.slice(2) : text.replace('- ', '-');
}

/** The place of an access with its folds, but for what a gather adds. */
export function addressExpression(
  access: Access,
  coordinates: readonly string[],
  params: Parameters,
): string {
  const terms = [affineExpression(access, coordinates, params)];
  for (const { fold, size, ...affine } of access.bounds) {
    if (fold === undefined) continue;
    const index = `(${params.index})(${affineExpression(affine, coordinates, params)})`;
    const moved = `weft_fold_${fold.mode}(${index}, (${params.index})${params.size(size)})`;
    terms.push(fold.stride === 1 ? moved : `${moved} * ${params.size(fold.stride)}`);
  }
  return terms.join(' + ');
}

/** Whether all bounds without folds hold, as an expression: one unsigned comparison each. */
export function boundsExpression(
  bounds: readonly Bound[],
  coordinates: readonly string[],
  params: Parameters,
): string {
  const tested = bounds.filter(isZeroOutside);
  if (tested.length === 0) return 'true';
  return tested
    .map(
      (b) =>
        `(${params.unsigned})(${affineExpression(b, coordinates, params)}) < (${params.unsigned})${params.size(b.size)}`,
    )
    .join(' && ');
}
