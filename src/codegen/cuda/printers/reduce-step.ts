/**
 * The loop bodies of a reduction: a step of several loads and the arithmetic on them, in either mapping, and a
 * single element that chunks leave over. Called by `reduce-kernel.ts`.
 */
import type { Scope } from '../body.js';
import { storeElement } from '../chunk-moves.js';
import { elementCoordinates } from '../chunks.js';
import { printCoordinates } from '../index-math.js';
import type { ReduceContext } from './reduce-context.js';

/**
 * `unrollR` steps: all loads, then all arithmetic. `guarded`: only the steps that lie before the end. `apart`: how far
 * they are from one another.
 */
export function printStep(c: ReduceContext, guarded: boolean, apart = stepOf(c)): void {
  const { unrollR, itemsP, threadsR, mapping } = c.schedule;
  const out = c.out;
  const width = mapping === 'rows' ? c.schedule.width : 1;
  const onRow = (position: number): boolean => c.body.dependsOnParallel(position);
  for (const position of c.parts.loads)
    c.loads.declare(out, position, onRow(position) ? [unrollR, itemsP] : [unrollR]);
  const step = (inner: (reduced: string[]) => void): void =>
    out.unrolled('u', unrollR, () => {
      const place = c.countsChunks ? `(q + u * ${threadsR}) * ${width}` : `r + u * ${apart}`;
      out.line(`const ${c.params.index} s = ${place};`);
      const body = (): void => inner(printCoordinates(out, c.params, 's', c.body.kernel.reduced, 'z'));
      if (guarded) out.block(width > 1 ? `if (s + ${width} <= end)` : 'if (s < end)', body);
      else body();
    });
  step((reduced) => {
    const common = c.parts.loads.filter((position) => !onRow(position));
    const own = c.parts.loads.filter(onRow);
    const noItem = [...c.body.kernel.parallel.map(() => '0'), ...reduced];
    for (const position of common) c.loads.load(out, position, '[u]', noItem);
    if (own.length === 0) return;
    out.unrolled('g', itemsP, () => {
      for (const position of own) c.loads.load(out, position, '[u][g]', c.coordinates(reduced));
    });
  });
  if (mapping === 'rows') {
    step((reduced) => computeRows(c, reduced));
    return;
  }
  const chunked = guarded ? [] : c.accumulators.filter(({ monoid }) => monoid.chunked);
  for (const a of chunked) out.line(`${c.argumentType(a)} d${a.position}[${itemsP * c.lanes}][${unrollR}];`);
  step((reduced) => computeColumns(c, reduced, !guarded));
  for (const a of chunked) {
    out.unrolled('q', itemsP * c.lanes, () => c.combineChunk(a, 'q', `d${a.position}[q]`, unrollR));
  }
}

const stepOf = ({ schedule }: ReduceContext): number =>
  schedule.threadsR * (schedule.mapping === 'rows' ? schedule.width : 1);

function known(c: ReduceContext): Map<number, string> {
  const { loads, rowValues } = c.parts;
  const lane = c.lanes === 1 ? '0' : 'e';
  return new Map([
    ...loads.map((p) => [p, c.loads.value(p, c.body.dependsOnParallel(p) ? '[u][g]' : '[u]')] as const),
    ...rowValues.map((p) => [p, `h${p}[g][${lane}]`] as const),
  ]);
}

/** One step of the rows mapping: a chunk along the reduced axis, for every item. */
function computeRows(c: ReduceContext, reduced: readonly string[]): void {
  const out = c.out;
  const { itemsP, width } = c.schedule;
  const { common, own, elementStores } = c.parts;
  const at = c.coordinates(reduced);
  const scope: Scope = { coordinates: elementCoordinates(at, c.chunking), known: known(c) };
  for (const store of elementStores) c.stores.declare(out, store, [itemsP]);
  const chunked = c.accumulators.filter(({ monoid }) => monoid.chunked);
  for (const a of chunked) out.line(`${c.argumentType(a)} d${a.position}[${itemsP}][${width}];`);
  out.unrolled('e', width, () => {
    c.body.print(out, common, scope, c.params);
    out.unrolled('g', itemsP, () => {
      c.body.print(out, own, scope, c.params);
      c.push(scope, c.chainOf('e'), (a) => `d${a.position}[g][e]`);
      for (const store of elementStores) c.stores.put(out, store, '[g]', c.storeValue(store, scope));
    });
  });
  if (chunked.length === 0 && elementStores.length === 0) return;
  out.unrolled('g', itemsP, () => {
    for (const a of chunked) c.combineChunk(a, `g * ${width}`, `d${a.position}[g]`, width);
    flush(c, elementStores, '[g]', at);
  });
}

/** One step of the columns mapping: one reduced index, for every item and lane. */
function computeColumns(c: ReduceContext, reduced: readonly string[], gathered: boolean): void {
  const out = c.out;
  const { itemsP, width } = c.schedule;
  const { common, own, elementStores } = c.parts;
  const at = c.coordinates(reduced);
  const scope: Scope = { coordinates: elementCoordinates(at, c.chunking), known: known(c) };
  c.body.print(out, common, scope, c.params);
  out.unrolled('g', itemsP, () => {
    for (const store of elementStores) c.stores.declare(out, store, []);
    out.unrolled('e', width, () => {
      c.body.print(out, own, scope, c.params);
      const chain = `g * ${width} + e`;
      c.push(scope, chain, gathered ? (a) => `d${a.position}[${chain}][u]` : undefined);
      for (const store of elementStores) c.stores.put(out, store, '', c.storeValue(store, scope));
    });
    flush(c, elementStores, '', at);
  });
}

function flush(c: ReduceContext, stores: readonly number[], index: string, at: readonly string[]): void {
  if (stores.length === 0) return;
  c.out.block('if (in[g])', () => {
    for (const store of stores) c.stores.flush(c.out, store, index, at);
  });
}

/** One element of a row that its chunks leave over. */
export function printSingle(c: ReduceContext): void {
  const out = c.out;
  const { itemsP } = c.schedule;
  const { loads, common, own, rowValues, elementStores } = c.parts;
  const reduced = printCoordinates(out, c.params, 'r', c.body.kernel.reduced, 'z');
  out.unrolled('g', itemsP, () => {
    const known = new Map(rowValues.map((p) => [p, `h${p}[g][0]`]));
    const scope: Scope = { coordinates: c.coordinates(reduced), known };
    const all = [...loads, ...common, ...own].sort((a, b) => a - b);
    c.body.print(out, all, scope, c.params);
    c.push(scope, c.chainOf());
    if (elementStores.length === 0) return;
    out.block('if (in[g])', () => {
      for (const store of elementStores) {
        storeElement(out, c.body, c.params, store, c.storeValue(store, scope), scope.coordinates);
      }
    });
  });
}
