/**
 * The end of a reduction: the second launch, which combines the slots of each row in a fixed order, and the
 * row-level arithmetic and stores of a finished row. Called by `reduce-kernel.ts`.
 */
import { type Kernel, partialRowsOf, product } from '../../../fusion/kernel/kernel.js';
import type { Body, Scope } from '../body.js';
import { storeElement } from '../chunk-moves.js';
import { blockIndex, type CudaFunction, printFunction } from '../function.js';
import { printCoordinates } from '../index-math.js';
import type { LaunchShape } from '../launch.js';
import type { Parameters } from '../parameters.js';
import { COMBINE_THREADS, combineBlock } from '../schedules/combine-slots.js';
import { Writer } from '../writer.js';
import {
  type Accumulator,
  accumulatorsOf,
  isInOrder,
  printAcross,
  printThreadPlace,
  resultsAt,
} from './block-reduce.js';

/** Row-level arithmetic and stores of one row. */
export function printRow(
  out: Writer,
  body: Body,
  params: Parameters,
  scope: Scope,
  stores: readonly number[],
): void {
  const values = stores.map((store) => body.kernel.stores[store]!.value);
  body.print(
    out,
    body.closure(values, (position) => scope.known.has(position)),
    scope,
    params,
  );
  for (const [k, store] of stores.entries()) {
    storeElement(out, body, params, store, body.value(values[k]!, scope, params), scope.coordinates);
  }
}

export function combineLaunch(kernel: Kernel, slots: number): LaunchShape {
  const rows = product(kernel.parallel);
  return { grid: [Math.ceil(rows / combineBlock(kernel, slots)), 1, 1], block: [COMBINE_THREADS, 1, 1] };
}

/** The head of a thread's loop over slots, every `threads`-th one, or neighbours where elements keep their order. */
function slotsOfThread(
  accumulators: readonly Accumulator[],
  slots: number,
  threads: number,
  params: Parameters,
): string {
  const count = params.size(slots);
  if (!isInOrder(accumulators)) return `int s = tr; in && s < ${count}; s += ${threads}`;
  const share = Math.ceil(slots / threads);
  return `int s = tr * ${share}; in && s < ${count} && s < (tr + 1) * ${share}; ++s`;
}

/** The second launch: combines the slots of each row in a fixed order and finishes the row. */
export function printCombine(body: Body, slots: number, name: string): CudaFunction {
  const { kernel, levels } = body;
  const rows = product(kernel.parallel);
  const params = body.parameters(rows * slots);
  const out = new Writer();
  const threadsP = combineBlock(kernel, slots);
  const place = { mapping: 'columns', threadsP, threadsR: COMBINE_THREADS / threadsP } as const;
  const accumulators = accumulatorsOf(body);
  const { index } = params;
  printThreadPlace(out, place);
  out.line(`const ${index} p = ${blockIndex(params)} * ${threadsP} + tp;`);
  out.line(`const bool in = p < ${params.size(rows)};`);
  for (const { name: a, monoid } of accumulators) out.line(`${monoid.type} ${a}[1] = {${monoid.identity}};`);
  out.line('#pragma unroll 4');
  out.block(`for (${slotsOfThread(accumulators, slots, place.threadsR, params)})`, () => {
    accumulators.forEach(({ name: a, monoid }, k) => {
      const slot = `(${index})s * ${params.size(partialRowsOf(kernel))}`;
      const partial = `${params.scratch(k, monoid.type)}[${slot} + p]`;
      out.line(`${a}[0] = ${monoid.combine(`${a}[0]`, partial)};`);
    });
  });
  printAcross(out, place, accumulators, 1);
  out.block('if (tr == 0 && in)', () => {
    const coordinates = [
      ...printCoordinates(out, params, 'p', kernel.parallel, 'x'),
      ...kernel.reduced.map(() => '0'),
    ];
    const known = resultsAt(accumulators, '0');
    const stores = kernel.stores.flatMap(({ value }, k) => (levels.element[value] ? [] : [k]));
    printRow(out, body, params, { coordinates, known }, stores);
  });
  return printFunction(name, out, params, { ...combineLaunch(kernel, slots), sharedByteLength: 0 });
}
