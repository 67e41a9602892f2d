/**
 * Results on devices with an axis whose size depends on data: their lengths come to the host, then they are cut, those on
 * one device together. Called by `evaluate.ts`.
 */
import { slice } from '../../graph/basic-slicing.js';
import type { DType } from '../../graph/dtype.js';
import type { DeviceBuffer, Expr, Shape } from '../../graph/expr.js';
import { deviceArray } from '../../graph/infer.js';
import { moveaxis } from '../../graph/views.js';
import type { Executed } from './run-program.js';
import type { ReadCodes } from './statuses.js';
import type { BoundedJob } from './true-sizes.js';

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

/** Results cut to sizes; those on one device together. */
export async function cutTo(
  results: readonly StoredResult[],
  sizes: readonly number[],
  { cuts }: BoundedJob,
  store: (parts: readonly Expr[]) => Promise<StoredResult[]>,
): Promise<StoredResult[]> {
  const stored = new Map<StoredResult, StoredResult>();
  const parts = cuts.flatMap((cut, k) =>
    cut === undefined
      ? []
      : [{ result: results[k]!, axis: cut.axis, size: sizes[cut.length - cuts.length]! }],
  );
  const devices = new Set(parts.map(({ result }) => result.buffer!.device));
  await Promise.all(
    [...devices].map(async (device) => {
      const own = parts.filter(({ result }) => result.buffer!.device === device);
      const cut = await store(
        own.map(({ result, axis, size }) => moveaxis(slice(storedArray(result), [0, size]), 0, axis)),
      );
      for (const [k, { result }] of own.entries()) {
        result.buffer!.dispose();
        stored.set(result, cut[k]!);
      }
    }),
  );
  return cuts.map((_, k) => stored.get(results[k]!) ?? results[k]!);
}
