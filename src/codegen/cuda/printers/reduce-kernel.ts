/**
 * Prints a reduction in one phase: several reductions at once, a map in front of them, row-level arithmetic
 * after them, stores at both levels. One function, or two where the reduced axis is cut into slots: the first
 * leaves one accumulator per slot in scratch, the second combines them in slot order and finishes the rows.
 */
import { type Kernel, partialRowsOf, product } from '../../../fusion/kernel/kernel.js';
import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { Body, Scope } from '../body.js';
import { elementCoordinates } from '../chunks.js';
import { blockIndex, type CudaFunction, printFunction } from '../function.js';
import { printCoordinates } from '../index-math.js';
import type { LaunchShape, Scratch } from '../launch.js';
import { accumulatorByteLength } from '../monoids.js';
import { FAST_RESIDENT, type ReduceSchedule } from '../schedules/schedule-reduce.js';
import {
  type Accumulator,
  accumulatorsOf,
  printAcross,
  printThreadPlace,
  resultsAt,
} from './block-reduce.js';
import { printInTurn } from './in-turn.js';
import { printCombine, printRow } from './reduce-combine.js';
import { ReduceContext } from './reduce-context.js';
import { printInOrder } from './reduce-ordered.js';
import { printStaged } from './reduce-staged.js';
import { printSingle, printStep } from './reduce-step.js';

export interface PrintedReduction {
  readonly functions: readonly CudaFunction[];
  readonly scratch: readonly Scratch[];
}

/** Rows of a block. */
export const reduceBlock = ({ mapping, width, threadsP, itemsP }: ReduceSchedule): number =>
  threadsP * itemsP * (mapping === 'columns' ? width : 1);

/** The walk over the reduced axes; of one in slots, the first of two launches. */
export const reduceLaunch = (kernel: Kernel, schedule: ReduceSchedule): LaunchShape => ({
  grid: [Math.ceil(product(kernel.parallel) / reduceBlock(schedule)), schedule.slots, 1],
  block: [schedule.threadsP * schedule.threadsR, 1, 1],
});

export function printReduce(body: Body, schedule: ReduceSchedule, name: string): PrintedReduction {
  if (schedule.slots === 1)
    return { functions: [printWalk(new ReduceContext(body, schedule), name)], scratch: [] };
  return {
    functions: [
      printWalk(new ReduceContext(body, schedule), `${name}_partial`),
      printCombine(body, schedule.slots, `${name}_combine`),
    ],
    scratch: reduceScratch(body, schedule),
  };
}

/** Partial results: those of each slot one after the other, for each accumulator. */
export function reduceScratch(body: Body, { slots }: Pick<ReduceSchedule, 'slots'>): Scratch[] {
  const rows = product(body.kernel.parallel);
  return accumulatorsOf(body).map(({ monoid }) => ({
    byteLength: accumulatorByteLength(monoid) * rows * slots,
    zeroed: false,
  }));
}

function printWalk(c: ReduceContext, name: string): CudaFunction {
  const { itemsP, width, slots, slotLength, mapping } = c.schedule;
  const out = c.out;
  const params = c.params;
  const perBlock = reduceBlock(c.schedule);
  printThreadPlace(out, c.schedule);
  printItems(c, perBlock);
  printRowValues(c);
  const chains = itemsP * (c.inOrder ? c.lanes : width);
  for (const { name: a, monoid } of c.accumulators) {
    out.line(`${monoid.type} ${a}[${chains}];`);
    out.unrolled('q', chains, () => out.line(`${a}[q] = ${monoid.identity};`));
  }
  const { index } = params;
  out.line(
    `const ${index} begin = ${slots === 1 ? '0' : `${blockIndex(params, 'y')} * ${params.size(slotLength)}`};`,
  );
  const whole = params.size(c.length);
  const stop =
    slots === 1
      ? whole
      : `(begin + ${params.size(slotLength)} < ${whole} ? begin + ${params.size(slotLength)} : ${whole})`;
  out.line(`const ${index} end = ${stop};`);
  if (c.inOrder) printInOrder(c);
  else if (c.schedule.staged) printStaged(c);
  else printLoops(c);
  const isMet = mapping === 'rows' && c.schedule.threadsR > 1;
  const inTurn = c.accumulators.filter((a) => isMet && a.isInTurn);
  const others = c.accumulators.filter((a) => !inTurn.includes(a));
  if (mapping === 'rows' && !c.inOrder) foldChains(c, others);
  printInTurn(out, { width, count: c.length / width }, inTurn, itemsP);
  printAcross(out, c.schedule, others, itemsP * c.lanes);
  out.block('if (tr == 0)', () => (slots === 1 ? printResults(c) : printPartials(c)));
  const launch = { ...reduceLaunch(c.body.kernel, c.schedule), sharedByteLength: 0 };
  return printFunction(name, out, params, launch, c.near.size > 0 ? FAST_RESIDENT : 0);
}

/**
 * Coordinates of this thread's parallel items: `x<axis>[g]`; items past the end read the last one and store
 * nothing.
 */
function printItems(c: ReduceContext, perBlock: number): void {
  const { kernel } = c.body;
  const { itemsP, threadsP } = c.schedule;
  const out = c.out;
  const { index } = c.params;
  const axes = kernel.parallel.length;
  out.line(`bool in[${itemsP}];`);
  if (axes > 0) out.line(`${index} ${kernel.parallel.map((_, k) => `x${k}[${itemsP}]`).join(', ')};`);
  out.unrolled('g', itemsP, () => {
    const lanes = c.lanes === 1 ? '' : ` * ${c.lanes}`;
    out.line(`const ${index} p = ${blockIndex(c.params)} * ${perBlock} + (g * ${threadsP} + tp)${lanes};`);
    out.line(`in[g] = p < ${c.params.size(c.rows)};`);
    if (axes === 0) return;
    out.line(`const ${index} q = in[g] ? p : ${c.params.size(c.rows - c.lanes)};`);
    const names = printCoordinates(out, c.params, 'q', kernel.parallel, 'y');
    for (const [k, name] of names.entries()) out.line(`x${k}[g] = ${name};`);
  });
}

/** Row-level values that the walk uses, once per item: `h<position>[g][lane]`. */
function printRowValues(c: ReduceContext): void {
  const { rowValues } = c.parts;
  if (rowValues.length === 0) return;
  const out = c.out;
  const { itemsP } = c.schedule;
  for (const position of rowValues) {
    out.line(`${CUDA_TYPE[c.body.instruction(position).dtype]} h${position}[${itemsP}][${c.lanes}];`);
  }
  out.unrolled('g', itemsP, () =>
    out.unrolled('e', c.lanes, () => {
      const noReduced = c.body.kernel.reduced.map(() => '0');
      const at = c.coordinates(noReduced);
      const scope: Scope = {
        coordinates: c.wide ? elementCoordinates(at, c.chunking) : at,
        known: new Map(),
      };
      c.body.print(
        out,
        c.body.closure(rowValues, () => false),
        scope,
        c.params,
      );
      for (const position of rowValues) out.line(`h${position}[g][e] = v${position};`);
    }),
  );
}

function printLoops(c: ReduceContext): void {
  const { threadsR, unrollR, mapping } = c.schedule;
  const out = c.out;
  const width = mapping === 'rows' ? c.schedule.width : 1;
  const { index } = c.params;
  const stride = threadsR * width;
  const step = unrollR * stride;
  const [first, next] = c.countsChunks
    ? [`q = begin / ${width} + (${index})tr`, `q += ${step / width}`]
    : [`r = begin + (${index})tr${width === 1 ? '' : ` * ${width}`}`, `r += ${step}`];
  const at = c.countsChunks ? `q * ${width}` : 'r';
  out.line(`${index} ${first};`);
  if (c.length <= step) {
    printStep(c, c.length < step);
  } else {
    out.block(`for (; ${at} + ${step - stride + width} <= end; ${next})`, () => printStep(c, false));
    // The remainder of a thread after its whole steps; slots are multiples of a step.
    if (unrollR > 1 && c.length % step !== 0) out.block(`if (${at} < end)`, () => printStep(c, true));
  }
  if (c.length % width !== 0) {
    const rest = c.length - (c.length % width);
    const declared = c.countsChunks ? `${index} r` : 'r';
    out.block(`for (${declared} = ${c.params.size(rest)} + (${index})tr; r < end; r += ${threadsR})`, () =>
      printSingle(c),
    );
  }
}

/** Rows: the chains of an item, one per chunk element, become one. */
function foldChains(c: ReduceContext, accumulators: readonly Accumulator[]): void {
  const { itemsP, width } = c.schedule;
  if (width === 1) return;
  for (const { name, monoid } of accumulators) {
    c.out.unrolled('g', itemsP, () => {
      c.out.line('#pragma unroll');
      c.out.block(`for (int e = 1; e < ${width}; ++e)`, () => {
        c.out.line(
          `${name}[g * ${width}] = ${monoid.combine(`${name}[g * ${width}]`, `${name}[g * ${width} + e]`)};`,
        );
      });
      if (itemsP > 1) c.out.line(`${name}[g] = ${name}[g * ${width}];`);
    });
  }
}

function printPartials(c: ReduceContext): void {
  const out = c.out;
  const { itemsP, threadsP } = c.schedule;
  const { index } = c.params;
  const perBlock = reduceBlock(c.schedule);
  const rows = c.params.size(partialRowsOf(c.body.kernel));
  out.unrolled('g', itemsP, () =>
    out.block('if (in[g])', () =>
      out.unrolled('e', c.lanes, () => {
        out.line(
          `const ${index} p = ${blockIndex(c.params)} * ${perBlock} + (g * ${threadsP} + tp) * ${c.lanes} + e;`,
        );
        c.accumulators.forEach(({ name, monoid }, k) => {
          const target = c.params.scratch(k, monoid.type);
          out.line(`${target}[${blockIndex(c.params, 'y')} * ${rows} + p] = ${name}[g * ${c.lanes} + e];`);
        });
      }),
    ),
  );
}

function printResults(c: ReduceContext): void {
  const out = c.out;
  const { rowStores } = c.parts;
  const reduced = c.body.kernel.reduced.map(() => '0');
  out.unrolled('g', c.schedule.itemsP, () =>
    out.block('if (in[g])', () => {
      const at = c.coordinates(reduced);
      if (c.wide) {
        for (const store of rowStores) c.stores.declare(out, store, []);
        out.unrolled('e', c.lanes, () => {
          const scope: Scope = {
            coordinates: elementCoordinates(at, c.chunking),
            known: resultsAt(c.accumulators, `g * ${c.lanes} + e`),
          };
          c.body.print(out, rowClosure(c, rowStores, scope), scope, c.params);
          for (const store of rowStores) c.stores.put(out, store, '', c.storeValue(store, scope));
        });
        for (const store of rowStores) c.stores.flush(out, store, '', at);
      } else {
        printRow(
          out,
          c.body,
          c.params,
          { coordinates: at, known: resultsAt(c.accumulators, 'g') },
          rowStores,
        );
      }
    }),
  );
}

function rowClosure(c: ReduceContext, stores: readonly number[], scope: Scope): number[] {
  return c.body.closure(
    stores.map((store) => c.body.kernel.stores[store]!.value),
    (p) => scope.known.has(p),
  );
}
