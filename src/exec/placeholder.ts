/**
 * Placeholders: source nodes that stand for a function's arguments while it is traced (`trace.ts`). They have the dtype, shape
 * and place of an argument, and no elements; what tells them apart is the memory that they seem to have.
 */
import { reach } from '../fusion/narrow-sources.js';
import { byteLengthOf, type DType } from '../graph/dtype.js';
import type { DeviceBuffer, DeviceSource, ExprOf, HostSource, Shape } from '../graph/expr.js';
import { sizeOfShape } from '../graph/graph.js';
import { typedArrayOver } from './native/host-memory.js';

/** An array as a function's argument: elements in host memory or on a device. */
export type ArgumentExpr = ExprOf<'source'> & { readonly source: HostSource | DeviceSource };

const placeholders = new WeakSet<object>();

/** Whether memory, as a source has it, is a placeholder's. */
export const isPlaceholder = (memory: object): boolean => placeholders.has(memory);

/** What tells the elements of a source apart from those of others. */
export const memoryOf = (source: HostSource | DeviceSource): object =>
  source.type === 'host' ? source.data : source.buffer;

/** The first element of a line that an array of this layout reads. */
export const firstOf = (source: HostSource, shape: Shape): number =>
  shape.includes(0) ? source.offset : reach(source, shape)[0];

/** A node like an argument's, with elements of its own that do not exist; those on the host begin at 0. */
export function placeholderFor({ source, dtype, shape }: ArgumentExpr): ArgumentExpr {
  const stand = source.type === 'host' ? hostStand(source, dtype, shape) : deviceStand(source, dtype, shape);
  placeholders.add(memoryOf(stand));
  return { kind: 'source', source: stand, dtype, shape, inputs: [], site: undefined, depth: 0 };
}

function hostStand(source: HostSource, dtype: DType, shape: Shape): HostSource {
  const { strides, offset } = source;
  const data = typedArrayOver(new ArrayBuffer(0), dtype);
  return { type: 'host', data, offset: offset - firstOf(source, shape), strides };
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
