/**
 * Expr objects made by hand, for testing the reference interpreter without the front end: nothing is
 * inferred, the caller says dtype and shape.
 */
import type { DType } from '../../src/graph/dtype.js';
import type { Expr, NodeData, Shape } from '../../src/graph/expr.js';
import { type OpName, opRow } from '../../src/graph/ops.js';
import { type HostArray, stridesOf } from './host.js';

export function node(data: NodeData, dtype: DType, shape: Shape, inputs: readonly Expr[] = []): Expr {
  const depth = inputs.reduce((most, input) => Math.max(most, input.depth + 1), 0);
  return { ...data, dtype, shape, inputs, site: undefined, depth, weak: false };
}

export const source = ({ dtype, shape, data }: HostArray): Expr =>
  node(
    { kind: 'source', source: { type: 'host', data, offset: 0, strides: stridesOf(shape) } },
    dtype,
    shape,
  );

export const cast = (x: Expr, dtype: DType): Expr =>
  x.dtype === dtype ? x : node({ kind: 'cast' }, dtype, x.shape, [x]);

/** An op on arguments of one shape, cast to the op's signature. */
export function map(op: OpName, inputs: readonly Expr[]): Expr {
  const signature = opRow(op).dtype(inputs.map((x) => x.dtype));
  if (signature === undefined) throw new TypeError(`${op} does not take ${inputs.map((x) => x.dtype)}`);
  const args = inputs.map((x, i) => cast(x, signature.args[i]!));
  return node({ kind: 'map', op }, signature.result, inputs[0]!.shape, args);
}
