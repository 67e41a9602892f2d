/**
 * Placeholders: source nodes without elements. They stand for a function's arguments while it is traced
 * (`compiled-graph.ts`), with the dtype, shape and place of an argument, or are the user's own, to plan with
 * (`placeholder.ts` of the public API). They are distinguished by the memory that they stand for.
 */

import { rangeOf } from '../../fusion/kernel/boxes.js';
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import type {
  DeviceBuffer,
  DeviceSource,
  Expr,
  ExprOf,
  HostSource,
  Shape,
  TypedArray,
} from '../../graph/expr.js';
import { formatShape } from '../../graph/format.js';
import { denseStrides, sizeOfShape } from '../../graph/graph.js';
import { sourceArray } from '../../graph/infer.js';
import { ArgumentError, expected } from '../../host/errors.js';
import { formatSite } from '../../host/site.js';
import { typedArrayOver } from '../native/host-memory.js';

/** An array as a function's argument: elements in host memory or on a device. */
export type ArgumentExpr = ExprOf<'source'> & { readonly source: HostSource | DeviceSource };

/** The memory of arguments' placeholders. */
const stands = new WeakSet<object>();
/** By their memory. */
const ownedByUser = new WeakMap<object, Expr>();

/** Refuses to read memory, as a source has it, that is a placeholder's. */
export function refusePlaceholder(memory: object): void {
  const own = ownedByUser.get(memory);
  if (own !== undefined) {
    const where = formatSite(own.site);
    const made = where === undefined ? '' : ` made at ${where}`;
    const received = `a placeholder, ${own.dtype} ${formatShape(own.shape)},${made}`;
    const hint = 'it has no elements: plan() and explain() take it';
    throw new ArgumentError(expected('compute', 'arrays with elements', received.replace(/,$/, ''), hint));
  }
  if (!stands.has(memory)) return;
  throw new ArgumentError(
    expected('compile', 'a function that builds a graph', 'one that computes', 'nothing runs in it'),
  );
}

/** A node of the user's without elements: in host memory, or contiguous on a device. */
export function placeholderOf(dtype: DType, shape: Shape, device: string | undefined): Expr {
  const source: HostSource | DeviceSource =
    device === undefined
      ? { type: 'host', data: noElements(dtype), offset: 0, strides: denseStrides(shape) }
      : { type: 'device', buffer: standFor(device, byteLengthOf(dtype) * sizeOfShape(shape)) };
  const node = sourceArray(source, dtype, shape);
  ownedByUser.set(memoryOf(source), node);
  return node;
}

const noElements = (dtype: DType): TypedArray => typedArrayOver(new ArrayBuffer(0), dtype);

/** A key for the elements of a source. */
export const memoryOf = (source: HostSource | DeviceSource): object =>
  source.type === 'host' ? source.data : source.buffer;

/** The first element of a line that an array of this layout reads. */
const firstOf = (source: HostSource, shape: Shape): number =>
  shape.includes(0) ? source.offset : rangeOf(source, shape)[0];

/** A node like an argument's, with elements of its own that do not exist; those on the host begin at 0. */
export function placeholderFor({ source, dtype, shape }: ArgumentExpr): ArgumentExpr {
  const stand = source.type === 'host' ? hostStand(source, dtype, shape) : deviceStand(source, dtype, shape);
  stands.add(memoryOf(stand));
  return { kind: 'source', source: stand, dtype, shape, inputs: [], site: undefined, depth: 0, weak: false };
}

function hostStand(source: HostSource, dtype: DType, shape: Shape): HostSource {
  const { strides, offset } = source;
  return { type: 'host', data: noElements(dtype), offset: offset - firstOf(source, shape), strides };
}

function deviceStand({ buffer }: DeviceSource, dtype: DType, shape: Shape): DeviceSource {
  const stand = standFor(buffer.device, byteLengthOf(dtype) * sizeOfShape(shape));
  const { shards } = buffer;
  if (shards === undefined) return { type: 'device', buffer: stand };
  const parts = shards.map(({ buffer: own, first }) => ({
    buffer: standFor(own.device, own.byteLength),
    first,
  }));
  return { type: 'device', buffer: { ...stand, shards: parts } };
}

const standFor = (device: string, byteLength: number): DeviceBuffer => ({
  device,
  byteLength,
  disposed: false,
  share: () => standFor(device, byteLength),
  dispose: () => {},
});
