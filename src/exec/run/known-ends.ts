/**
 * The least and the largest index of arrays that devices hold, or that little is computed of (the lengths of sparse rows).
 * Nothing changes what a device holds, so one that is used again, as the edges of a graph are in every round, is looked
 * through once.
 */
import { type Ends, endsIn, type IndexCheck, throwOutOfRange } from '../../fusion/passes/index-check.js';
import type { DeviceBuffer, Expr, Shape, Source, View } from '../../graph/expr.js';
import { formatScalar } from '../../graph/format.js';
import { formatView } from '../../graph/print.js';

/** By the first memory, then by the text and the numbers of the others, the oldest first. */
const known = new WeakMap<DeviceBuffer, Map<string, Ends>>();

/** The indices of a check, as they are computed of arrays that devices hold. */
export interface CheckedArray {
  /** Of its arrays in devices' memory, in the order in which the text has them. */
  readonly sources: readonly Source[];
  /** How it is computed of them; undefined: of other arrays, or by more nodes than are worth a text. */
  readonly text: string | undefined;
}

const KEEPS_ALL: ReadonlySet<View['type']> = new Set(['reshape', 'permute', 'broadcast']);
const MOST_NODES = 32;
/** Ends that are kept of a memory: indices may be computed of it with other constants in each round. */
const MOST_KEPT = 64;

export function arrayOfCheck({ ends: [least], length }: IndexCheck): CheckedArray {
  // Sizes that depend on data are looked at each time.
  if (length !== undefined) return { sources: [], text: undefined };
  const sources: Source[] = [];
  let nodes = 0;
  const textOf = (x: Expr): string | undefined => {
    if (++nodes > MOST_NODES) return undefined;
    switch (x.kind) {
      case 'source':
        if (x.source.type === 'iota') return `iota ${x.shape[0]}`;
        if (x.source.type === 'device' && !sources.includes(x.source)) sources.push(x.source);
        return x.source.type === 'device'
          ? `${sources.indexOf(x.source)} ${x.dtype} ${textOfShape(x.shape)}`
          : undefined;
      case 'const':
        return `${formatScalar(x.value)} ${x.dtype}`;
      case 'cast':
        return computed(x.dtype, x);
      case 'map':
        return computed(`${x.op} ${x.dtype}`, x);
      case 'view':
        return computed(`${formatView(x.view)} ${textOfShape(x.shape)}`, x);
      default:
        return undefined;
    }
  };
  const computed = (name: string, { inputs }: Expr): string | undefined => {
    const texts = inputs.map(textOf);
    return texts.includes(undefined) ? undefined : `${name}(${texts.join()})`;
  };
  // The same elements in another shape have the same ends.
  let x = least.inputs[0]!;
  let casts = '';
  for (; x.kind === 'cast' || (x.kind === 'view' && KEEPS_ALL.has(x.view.type)); x = x.inputs[0]!)
    if (x.kind === 'cast') casts += `${x.dtype} `;
  const text = textOf(x);
  return { sources, text: text === undefined || sources.length === 0 ? undefined : casts + text };
}

const textOfShape = (shape: Shape): string => shape.join('x');

const numbers = new WeakMap<DeviceBuffer, number>();
let memories = 0;

/** A number of a memory that no other has. */
function numberOf(memory: DeviceBuffer): number {
  const number = numbers.get(memory) ?? memories++;
  numbers.set(memory, number);
  return number;
}

/** Undefined: others may change the elements. */
function keyOf({ sources, text }: CheckedArray): readonly [DeviceBuffer, string] | undefined {
  if (text === undefined) return undefined;
  const buffers = sources.flatMap((source) => (source.type === 'device' ? [source.buffer] : []));
  if (buffers.length < sources.length) return undefined;
  const [first, ...others] = buffers as [DeviceBuffer, ...DeviceBuffer[]];
  return [first, others.length === 0 ? text : `${text} ${others.map(numberOf).join()}`];
}

/** Throws for index arrays that are out of range. `compute`: their ends, where they are not known of all. */
export async function lookThrough(
  checks: readonly IndexCheck[],
  arrays: readonly CheckedArray[],
  compute: () => Promise<readonly bigint[]>,
): Promise<void> {
  const known = knownEnds(arrays);
  if (known !== undefined) return throwOutOfRange(checks, known);
  const ends = endsIn(checks, await compute());
  keepEnds(arrays, ends);
  throwOutOfRange(checks, ends);
}

/** The ends of each array; undefined: they are not known of all. */
export function knownEnds(arrays: readonly CheckedArray[]): Ends[] | undefined {
  const found = arrays.flatMap((array): readonly Ends[] => {
    const key = keyOf(array);
    const ends = key === undefined ? undefined : known.get(key[0])?.get(key[1]);
    return ends === undefined ? [] : [ends];
  });
  return found.length === arrays.length ? found : undefined;
}

/** Keeps the ends of the arrays that devices hold. */
function keepEnds(arrays: readonly CheckedArray[], ends: readonly Ends[]): void {
  for (const [k, array] of arrays.entries()) {
    const key = keyOf(array);
    if (key === undefined) continue;
    const own = known.get(key[0]) ?? new Map<string, Ends>();
    known.set(key[0], own.set(key[1], ends[k]!));
    if (own.size > MOST_KEPT) own.delete(own.keys().next().value!);
  }
}
