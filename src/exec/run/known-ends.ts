/**
 * The least and the largest index of arrays that devices hold. Nothing changes such an array, so one that is used
 * again, as the edges of a graph are in every round, is looked through once.
 */
import type { IndexCheck } from '../../fusion/passes/index-check.js';
import type { DeviceBuffer, Source } from '../../graph/expr.js';

export type Ends = readonly [least: bigint, largest: bigint];

/** By memory, then by the dtypes that its elements are cast to. */
const known = new WeakMap<DeviceBuffer, Map<string, Ends>>();

/** The array that a check looks through as a whole, and the dtypes that its elements are cast to. */
export interface CheckedArray {
  readonly source: Source | undefined;
  readonly dtypes: string;
}

const KEEPS_ALL: ReadonlySet<string> = new Set(['reshape', 'permute', 'broadcast']);

export function arrayOfCheck({ ends: [least] }: IndexCheck): CheckedArray {
  let dtypes = '';
  for (let x = least.inputs[0]!; ; x = x.inputs[0]!) {
    if (x.kind === 'source') return { source: x.source, dtypes: dtypes + x.dtype };
    if (x.kind === 'cast') dtypes += `${x.dtype} `;
    else if (x.kind !== 'view' || !KEEPS_ALL.has(x.view.type)) return { source: undefined, dtypes };
  }
}

/** The ends of each array; undefined: they are not known of all. */
export function knownEnds(arrays: readonly CheckedArray[]): Ends[] | undefined {
  const found = arrays.flatMap(({ source, dtypes }): readonly Ends[] => {
    const ends = source?.type === 'device' ? known.get(source.buffer)?.get(dtypes) : undefined;
    return ends === undefined ? [] : [ends];
  });
  return found.length === arrays.length ? found : undefined;
}

/** Keeps the ends of the arrays that devices hold. */
export function keepEnds(arrays: readonly CheckedArray[], ends: readonly Ends[]): void {
  for (const [k, { source, dtypes }] of arrays.entries()) {
    if (source?.type !== 'device') continue;
    const own = known.get(source.buffer) ?? new Map<string, Ends>();
    known.set(source.buffer, own.set(dtypes, ends[k]!));
  }
}
