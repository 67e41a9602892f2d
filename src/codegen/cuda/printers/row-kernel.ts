/**
 * Prints a kernel of several phases: each thread group walks one row once per phase, with a reduction over
 * the group after each walk. Elements are held in registers and shared memory from phase to phase, or loaded
 * and computed again where the row is too long (`RowSchedule.held`).
 */
import { type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { Body, Scope } from '../body.js';
import { storeElement } from '../chunk-moves.js';
import { blockIndex, type CudaFunction, printFunction } from '../function.js';
import { printCoordinates } from '../index-math.js';
import type { LaunchShape } from '../launch.js';
import type { RowSchedule } from '../schedules/schedule-rows.js';
import { printAcross, printThreadPlace, printToAll } from './block-reduce.js';
import { printInTurn } from './in-turn.js';
import { printChunk } from './row-chunk.js';
import { RowContext } from './row-context.js';
import { phaseOf, type RowPhase } from './row-phases.js';
import { SharedChunks } from './row-shared.js';
import { declareTogether, printTogether } from './row-together.js';
import { printLanes } from './row-whole.js';

export const rowLaunch = (kernel: Kernel, { threadsP, threadsR }: RowSchedule): LaunchShape => ({
  grid: [Math.ceil(product(kernel.parallel) / threadsP), 1, 1],
  block: [threadsP * threadsR, 1, 1],
});

export function printRows(body: Body, schedule: RowSchedule, name: string): CudaFunction {
  const c = new RowContext(body, schedule);
  const shared = new SharedChunks(c);
  const { kernel, levels } = body;
  const { threadsP, sharedChunks } = schedule;
  const { out, params } = c;
  const { index } = params;
  const rows = product(kernel.parallel);
  if (sharedChunks > 0) out.line('extern __shared__ weft_pack<unsigned int, 4> weft_row[];');
  printThreadPlace(out, schedule);
  out.line(`const ${index} p = ${blockIndex(params)} * ${threadsP} + tp;`);
  out.line(`const bool in = p < ${params.size(rows)};`);
  // Groups past the end walk the last row and store nothing: what other blocks read need not be in memory.
  out.line(`const ${index} row = in ? p : ${params.size(rows - 1)};`);
  c.columns = printCoordinates(out, params, 'row', kernel.parallel, 'x');
  c.whole.printFrame();
  for (let phase = 0; phase < levels.phases; phase++) printPhase(c, shared, phase);
  printRowStores(c);
  return printFunction(name, out, params, {
    ...rowLaunch(kernel, schedule),
    sharedByteLength: shared.byteLength,
  });
}

/** Row-level values that element code of a phase uses, as variables of the function. */
function printRowValues(c: RowContext, phase: RowPhase): void {
  const { levels, kernel } = c.body;
  const users = [
    ...phase.computed.flatMap((position) => c.argumentsOf(position)),
    ...phase.accumulators.flatMap(({ position }) => c.argumentsOf(position)),
    ...phase.stores.map((store) => kernel.stores[store]!.value),
  ];
  printRowLevel(
    c,
    users.filter((position) => !levels.element[position]),
  );
}

function printRowLevel(c: RowContext, targets: readonly number[]): void {
  const coordinates = [...c.columns, ...c.body.kernel.reduced.map(() => '0')];
  const positions = c.body.closure(targets, (position) => c.rowKnown.has(position));
  c.body.print(c.out, positions, { coordinates, known: c.rowKnown }, c.params);
  for (const position of positions) c.rowKnown.set(position, `v${position}`);
}

function printPhase(c: RowContext, shared: SharedChunks, number: number): void {
  const { out, schedule } = c;
  const phase = phaseOf(c.body, c.lifetimes, number);
  printRowValues(c, phase);
  for (const accumulator of phase.accumulators) {
    const { name, monoid } = accumulator;
    const chains = c.chainsOf(accumulator);
    out.line(`${monoid.type} ${name}[${chains}];`);
    out.unrolled('e', chains, () => out.line(`${name}[e] = ${monoid.identity};`));
  }
  if (schedule.held) printHeldWalk(c, shared, number, phase);
  else printWalkAgain(c, phase);
  const { width, threadsR } = schedule;
  const isMet = schedule.mapping === 'rows' && threadsR > 1 && schedule.lanes === undefined;
  const inTurn = phase.accumulators.filter((a) => isMet && a.isInTurn);
  const others = phase.accumulators.filter((a) => !inTurn.includes(a));
  printInTurn(out, { width, count: c.length / width }, inTurn, 1);
  if (c.schedule.lanes !== undefined) printLanes(out, c.schedule, others);
  for (const { name, monoid } of c.schedule.lanes === undefined ? others : []) {
    if (width === 1) continue;
    out.line('#pragma unroll');
    out.block(`for (int e = 1; e < ${width}; ++e)`, () => {
      out.line(`${name}[0] = ${monoid.combine(`${name}[0]`, `${name}[e]`)};`);
    });
  }
  printAcross(out, schedule, others, 1);
  printToAll(out, schedule, others, 1);
  for (const { position, name, monoid } of phase.accumulators) {
    const { dtype } = c.body.instruction(position);
    out.line(`const ${CUDA_TYPE[dtype]} v${position} = ${monoid.finish(`${name}[0]`, 0)};`);
    c.rowKnown.set(position, `v${position}`);
  }
}

/** A walk whose chunks are unrolled, with loads first; held values stay in `l…[k]` and `h…[k]`. */
function printHeldWalk(c: RowContext, shared: SharedChunks, number: number, phase: RowPhase): void {
  const { out, columns } = c;
  const { chunks, sharedChunks } = c.schedule;
  const { held } = c.lifetimes;
  const ahead = phase.loads.filter(
    (position) => number === 0 || held.has(position) || c.whole.hasLoad(position),
  );
  for (const position of ahead) c.loads.declare(out, position, [chunks]);
  for (const position of phase.kept) out.line(`${c.packType(position)} h${position}[${chunks}];`);
  const walk = (inner: (reduced: readonly string[]) => void): void => printHeldChunks(c, inner);
  const loadApart = (positions: readonly number[]): void =>
    walk((reduced) => {
      for (const position of positions) c.loads.load(out, position, '[k]', [...columns, ...reduced]);
    });
  c.whole.printLoads(ahead, columns, loadApart);
  const apart = ahead.filter((position) => !c.whole.hasLoad(position));
  if (apart.length > 0) loadApart(apart);
  if (sharedChunks > 0) shared.printLoads(phase);
  if (phase.computed.length + phase.stores.length + phase.accumulators.length === 0) return;
  const isAhead = new Set([...ahead, ...c.heldLoads()]);
  const indexOf = (position: number): string => (isAhead.has(position) ? '[k]' : '');
  declareTogether(c, phase);
  for (const store of phase.stores) if (c.whole.hasStore(store)) c.stores.declare(out, store, [chunks]);
  walk((reduced) => printChunk(c, phase, reduced, { indexOf, kept: '[k]' }));
  c.whole.printStores(phase.stores, columns, (stores) =>
    walk((reduced) => {
      for (const store of stores) c.stores.flush(out, store, '[k]', [...columns, ...reduced]);
    }),
  );
  printTogether(c, phase);
  if (sharedChunks > 0) shared.printWalk(number, phase);
}

/** The chunks of a thread in registers. Of rows that a few threads share, only the last one may lie past the end. */
function printHeldChunks(c: RowContext, inner: (reduced: readonly string[]) => void): void {
  const { out } = c;
  const { chunks, lanes } = c.schedule;
  const full = c.length >= chunks * c.step;
  const whole = full || lanes === undefined ? chunks : chunks - 1;
  out.unrolled('k', whole, () => c.chunk('k', full || lanes !== undefined, inner));
  if (whole === chunks) return;
  out.block('', () => {
    out.line(`const int k = ${whole};`);
    c.chunk('k', false, inner);
  });
}

/** A walk with a loop over the row, a few chunks at a time. */
function printWalkAgain(c: RowContext, phase: RowPhase): void {
  const { out, columns, params } = c;
  const { chunks } = c.schedule;
  const { index } = params;
  out.block(`for (${index} base = 0; base < ${params.size(c.length)}; base += ${chunks * c.step})`, () => {
    for (const position of phase.loads) c.loads.declare(out, position, [chunks]);
    const walk = (inner: (reduced: readonly string[]) => void): void =>
      out.unrolled('k', chunks, () => c.chunk('k', false, inner, 'base + '));
    walk((reduced) => {
      for (const position of phase.loads) c.loads.load(out, position, '[k]', [...columns, ...reduced]);
    });
    declareTogether(c, phase);
    walk((reduced) => printChunk(c, phase, reduced, { indexOf: () => '[k]', kept: '[k]' }));
    printTogether(c, phase, 'base + ');
  });
}

function printRowStores(c: RowContext): void {
  const { out } = c;
  const { kernel, levels } = c.body;
  const stores = kernel.stores.flatMap(({ value }, store) => (levels.element[value] ? [] : [store]));
  if (stores.length === 0) return;
  out.block('if (tr == 0 && in)', () => {
    printRowLevel(
      c,
      stores.map((store) => kernel.stores[store]!.value),
    );
    const coordinates = [...c.columns, ...kernel.reduced.map(() => '0')];
    for (const store of stores) {
      const scope: Scope = { coordinates, known: c.rowKnown };
      const value = c.body.value(kernel.stores[store]!.value, scope, c.params);
      storeElement(out, c.body, c.params, store, value, coordinates);
    }
  });
}
