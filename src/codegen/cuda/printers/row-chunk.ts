/**
 * The arithmetic and the stores of one chunk in one phase of a kernel of several phases. Called for every
 * walk, by `row-kernel.ts` and `row-shared.ts`, which say where loaded and held values stand.
 */
import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { Scope } from '../body.js';
import { elementCoordinates } from '../chunks.js';
import { type Accumulator, meetsInTurn, pushed, squaredOf } from './block-reduce.js';
import type { RowContext } from './row-context.js';
import type { RowPhase } from './row-phases.js';

/** Where the chunk at hand stands: the place of a loaded chunk in its array, and of a held one. */
export interface ChunkIndices {
  readonly indexOf: (load: number) => string;
  readonly kept: string;
}

export function printChunk(
  c: RowContext,
  phase: RowPhase,
  reduced: readonly string[],
  { indexOf, kept }: ChunkIndices,
): void {
  const { out } = c;
  const { kernel } = c.body;
  const { width } = c.schedule;
  const { held } = c.lifetimes;
  const at = [...c.columns, ...reduced];
  const chunked = phase.accumulators.filter(({ monoid }) => monoid.chunked);
  for (const position of phase.loads) {
    if (indexOf(position) !== '' || (kept === '' && held.has(position))) continue;
    c.loads.declare(out, position, []);
    c.loads.load(out, position, '', at);
  }
  const stores = phase.stores.filter((store) => !c.whole.hasStore(store));
  for (const store of stores) c.stores.declare(out, store, []);
  const { together } = c.schedule;
  // In columns elements wait for others of their thread (`row-together.ts`).
  const placeOf = (position: number): string =>
    together === undefined ? `d${position}[e]` : `d${position}[k / ${together}][k % ${together}]`;
  if (together === undefined)
    for (const a of chunked) out.line(`${c.argumentType(a)} d${a.position}[${width}];`);
  const known = new Map(c.rowKnown);
  for (const position of held) {
    if (!c.isLoad(position) && !phase.kept.includes(position))
      known.set(position, `h${position}${kept}.v[e]`);
  }
  for (const position of [...phase.loads, ...c.heldLoads()])
    known.set(position, c.loads.value(position, indexOf(position)));
  const scope: Scope = { coordinates: elementCoordinates(at, c.chunking), known };
  const value = (position: number): string => c.body.value(position, scope, c.params);
  out.unrolled('e', width, () => {
    c.body.print(out, phase.computed, scope, c.params);
    for (const position of phase.kept) out.line(`h${position}${kept}.v[e] = v${position};`);
    for (const accumulator of phase.accumulators) {
      const { position, monoid } = accumulator;
      out.line(
        monoid.chunked
          ? `${placeOf(position)} = ${value(c.argumentsOf(position)[0]!)};`
          : taken(c, accumulator, value),
      );
    }
    for (const store of phase.stores) {
      const index = c.whole.hasStore(store) ? kept : '';
      c.stores.put(out, store, index, value(kernel.stores[store]!.value));
    }
  });
  for (const a of together === undefined ? chunked : []) {
    const types = `${c.argumentType(a)}, ${CUDA_TYPE[a.monoid.components[0]!]}, ${width}`;
    const chain = `${a.name}[${c.chainOf(a, '0')}]`;
    out.line(`${chain} = ${a.monoid.combine(chain, `weft_moments_of<${types}>(d${a.position})`)};`);
  }
  if (stores.length === 0) return;
  out.block('if (in)', () => {
    for (const store of stores) c.stores.flush(out, store, '', at);
  });
}

/** An accumulator takes up element e. */
function taken(c: RowContext, accumulator: Accumulator, value: (position: number) => string): string {
  const chain = `${accumulator.name}[${c.chainOf(accumulator, 'e')}]`;
  const squared = meetsInTurn(accumulator, c.schedule) ? squaredOf(accumulator) : undefined;
  return `${chain} = ${squared === undefined ? pushed(accumulator, c.body, chain, value) : value(squared)};`;
}
