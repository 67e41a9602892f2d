/**
 * Results on devices with an axis whose size depends on data: their lengths come to the host, then they are cut. On a GPU
 * the elements that are there are the first bytes of the result: a copy of those, which is planned for no size, or the
 * memory as it is, where they are much of it or a copy has no room. Others on one device are cut together. Called by `evaluate.ts`.
 */
import { slice } from '../../graph/basic-slicing.js';
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import type { DeviceBuffer, Expr, Shape } from '../../graph/expr.js';
import { sizeOfShape } from '../../graph/graph.js';
import { deviceArray } from '../../graph/infer.js';
import { moveaxis } from '../../graph/views.js';
import { cutBuffer, sliceBuffer } from '../native/native.js';
import { deviceNamed } from '../targets/device.js';
import { ifThereIsRoom } from './cut-on-gpu.js';
import type { Executed } from './run-program.js';
import type { ReadCodes } from './statuses.js';
import type { BoundedJob } from './true-sizes.js';

/** The share of its bound from which a result stays where it is. */
const LEAST_KEPT = 2 / 5;

/** A result that stayed where it was computed; `undefined` buffer: it has no elements. */
export interface StoredResult {
  readonly buffer: DeviceBuffer | undefined;
  readonly shape: Shape;
  readonly dtype: DType;
}

/** A stored result as an array. */
export const storedArray = ({ buffer, dtype, shape }: StoredResult): Expr =>
  deviceArray(buffer!, dtype, shape);

/** The lengths of a bounded job, which a run on one device brings to the host. */
export async function sizesOf(
  { program, outputs }: Executed,
  { computed, cuts }: BoundedJob,
  readCodes: ReadCodes,
): Promise<number[]> {
  const lengths = computed.slice(cuts.length).map((_, k) => outputs[program.outputs[cuts.length + k]!]!);
  const stored = lengths.filter((length) => !(length instanceof ArrayBuffer));
  const users = new Set(program.outputs.slice(0, cuts.length).map((at) => outputs[at]));
  const codes =
    stored.length === 0
      ? []
      : await readCodes((stored as DeviceBuffer[]).map((buffer) => ({ buffer, dtype: 'int64' })));
  for (const length of new Set(stored)) if (!users.has(length)) (length as DeviceBuffer).dispose();
  return lengths.map((length) =>
    Number(length instanceof ArrayBuffer ? new BigInt64Array(length)[0]! : codes[stored.indexOf(length)]!),
  );
}

/** A stored result of which so many elements along the first axis are there; `axis`: that axis in the end. */
interface Uncut {
  readonly result: StoredResult;
  readonly axis: number;
  readonly size: number;
}

/** Results cut to sizes, on the CPU and several devices by `store`. */
export async function cutTo(
  results: readonly StoredResult[],
  sizes: readonly number[],
  { cuts }: BoundedJob,
  store: (parts: readonly Expr[]) => Promise<StoredResult[]>,
): Promise<StoredResult[]> {
  const stored = new Map<StoredResult, StoredResult>();
  const parts = cuts.flatMap((cut, k): Uncut[] =>
    cut === undefined
      ? []
      : [{ result: results[k]!, axis: cut.axis, size: sizes[cut.length - cuts.length]! }],
  );
  const others = parts.filter((part) => !isFirstBytes(part));
  const devices = new Set(others.map(({ result }) => result.buffer!.device));
  const cutting = [
    ...parts.filter(isFirstBytes).map(async (part) => stored.set(part.result, await firstBytesOf(part))),
    ...[...devices].map(async (device) => {
      const own = others.filter(({ result }) => result.buffer!.device === device);
      const cut = await store(
        own.map(({ result, axis, size }) => moveaxis(slice(storedArray(result), [0, size]), 0, axis)),
      );
      for (const [k, { result }] of own.entries()) stored.set(result, cut[k]!);
    }),
  ];
  try {
    await Promise.all(cutting);
  } catch (error) {
    await Promise.allSettled(cutting);
    for (const { buffer } of [...results, ...stored.values()]) buffer?.dispose();
    throw error;
  }
  for (const { result } of parts) result.buffer?.dispose();
  return cuts.map((_, k) => stored.get(results[k]!) ?? results[k]!);
}

/** Whether elements lie on one GPU in the order that is wanted; where there are none, they lie nowhere. */
const isFirstBytes = ({ result: { buffer }, axis }: Uncut): boolean =>
  buffer === undefined || (axis === 0 && buffer.shards === undefined && !deviceNamed(buffer.device).isHost);

async function firstBytesOf({ result: { buffer, shape, dtype }, axis, size }: Uncut): Promise<StoredResult> {
  const cut = { shape: shape.slice(1).toSpliced(axis, 0, size), dtype };
  const byteLength = sizeOfShape(cut.shape) * byteLengthOf(dtype);
  if (buffer === undefined || byteLength === 0) return { ...cut, buffer: undefined };
  // A copy may have no room beside them.
  const copy =
    byteLength < LEAST_KEPT * buffer.byteLength
      ? await ifThereIsRoom(() => cutBuffer(buffer, byteLength))
      : undefined;
  return { ...cut, buffer: copy ?? sliceBuffer(buffer, 0, byteLength) };
}
