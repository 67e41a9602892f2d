/**
 * Prints a kernel without reduced axes. Each thread handles `unroll` chunks of `width` consecutive elements:
 * all loads first, so that they are in flight together, then arithmetic and stores. Where its chunks are in
 * the same columns, values that depend on the column alone are computed once. The remainder of a single axis
 * is done element by element by the last block.
 *
 * Where an op is many instructions, the arithmetic of the chunks is a loop that is not unrolled, through
 * which the loaded chunks move up: it is compiled once.
 */
import { windowIndexOf } from '../../../fusion/kernel/algebra.js';
import { argumentsOf, type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { Body, Scope } from '../body.js';
import { ChunkLoads, ChunkStores, storeElement } from '../chunk-moves.js';
import { type Chunking, elementCoordinates } from '../chunks.js';
import {
  callsOf,
  type NearOps,
  nearInMap,
  printNaNRecord,
  printNearFirst,
  tellsOfNaN,
} from '../fast-paths.js';
import { blockIndex, type CudaFunction, printFunction } from '../function.js';
import { printCoordinates } from '../index-math.js';
import type { LaunchShape } from '../launch.js';
import { isExpensive } from '../outlined.js';
import type { Parameters } from '../parameters.js';
import { columnValues, type MapSchedule, sharesColumns } from '../schedules/schedule-map.js';
import { Writer } from '../writer.js';

/** Ops with fast paths from which on a map is bound by its arithmetic rather than by memory. */
const MANY_NEAR = 4;

/** Elements of a block, in order; what is left over from whole chunks belongs to the last block. */
export const mapBlock = ({ width, unroll, threads }: MapSchedule): number => threads * width * unroll;

export function mapBlocks(kernel: Kernel, schedule: MapSchedule): number {
  const count = product(kernel.parallel);
  return Math.max(1, Math.ceil((count - (count % schedule.width)) / mapBlock(schedule)));
}

export const mapLaunch = (kernel: Kernel, schedule: MapSchedule): LaunchShape => ({
  grid: [mapBlocks(kernel, schedule), 1, 1],
  block: [schedule.threads, 1, 1],
});

export function printMap(body: Body, schedule: MapSchedule, name: string): CudaFunction {
  const { kernel } = body;
  const params = body.parameters();
  const out = new Writer();
  printElements(out, body, params, { ...schedule, blocks: mapBlocks(kernel, schedule), byTurns: false });
  return printFunction(name, out, params, { ...mapLaunch(kernel, schedule), sharedByteLength: 0 });
}

/** How blocks go through the elements: each has some, or as many again until none are left (`byTurns`). */
interface BlockWalk extends Omit<MapSchedule, 'kind'> {
  readonly blocks: number;
  readonly byTurns: boolean;
}

/** Prints the statements of all elements of a block. */
export function printElements(
  out: Writer,
  body: Body,
  params: Parameters,
  { width, unroll, threads, blocks, byTurns }: BlockWalk,
): void {
  const { kernel } = body;
  const count = product(kernel.parallel);
  const whole = count - (count % width);
  const chunking: Chunking = { axis: kernel.parallel.length - 1, width };
  const step = threads * width;
  const { index } = params;
  if (whole > 0) {
    const first = `${index} first = ${blockIndex(params)} * ${step * unroll} + (${index})threadIdx.x * ${width};`;
    out.line(byTurns ? first : `const ${first}`);
    const turn = byTurns ? blocks * step : undefined;
    printChunks(out, body, params, chunking, { unroll, step, whole, turn, threads });
  }
  if (whole < count) printTail(out, body, params, { whole, count, blocks });
}

/** Chunks whose arithmetic is interleaved where nothing is loaded. */
const INTERLEAVED = 4;

/**
 * The chunks of a thread that has nothing to load: one condition ends the loop. `first + u * …` tells the compiler how chunks
 * are aligned, and so which elements share what they need.
 */
function printLoopOfChunks(
  out: Writer,
  { index }: Parameters,
  { unroll, step }: Walk,
  end: string,
  chunk: () => void,
): void {
  const left = `${end} - first`;
  out.line(
    `const ${index} chunks = ${left} < ${unroll * step} ? (${left} + ${step - 1}) / ${step} : ${unroll};`,
  );
  out.line(`#pragma unroll ${INTERLEAVED}`);
  out.block(`for (${index} u = 0; u < chunks; ++u)`, () => {
    out.line(`const ${index} i = first + u * ${step};`);
    chunk();
  });
}

interface Walk {
  readonly unroll: number;
  readonly step: number;
  readonly whole: number;
  readonly threads: number;
  /** Elements from a chunk of a thread to its next one; undefined: it has no others than those of `unroll`. */
  readonly turn?: number | undefined;
}

function printChunks(out: Writer, body: Body, params: Parameters, chunking: Chunking, walk: Walk): void {
  const { kernel } = body;
  const stores = new ChunkStores(body, chunking, params, [...kernel.stores.keys()]);
  const used = body.closure(
    kernel.stores.map((store) => store.value),
    () => false,
  );
  const { isLoad } = body;
  const columns = printColumns(out, body, params, new ChunkLoads(body, chunking, params), walk, used);
  const own = used.filter((position) => !columns.positions.has(position));
  const loads = new ChunkLoads(body, chunking, params, own.filter(isLoad));
  const loaded = loads.inOrder(own.filter(isLoad));
  const computed = own.filter((position) => !isLoad(position));
  const nearOps = nearInMap(body, computed);
  const nearFirst = nearOps.size >= MANY_NEAR;
  const end = params.size(walk.whole);
  const several = walk.unroll > 1;
  const movesUp = several && computed.some((position) => isExpensive(body.instruction(position)));
  const at = several ? '[u]' : '';
  // Threads whose index is outside of a window store nothing, and tables leave no shared memory.
  const isWhole = walk.turn === undefined && windowIndexOf(kernel) === undefined;
  const line = isWhole ? { first: 'i', end, threads: walk.threads } : undefined;
  const inHand = movesUp || walk.turn !== undefined ? '[0]' : at;
  const chunk = (inner: (coordinates: readonly string[]) => void): void => {
    out.line(`const ${params.index} i = first${several ? ` + u * ${walk.step}` : ''};`);
    out.block(`if (i < ${end})`, () => inner(printCoordinates(out, params, 'i', kernel.parallel, 'x')));
  };
  const each = (inner: () => void): void => (several ? out.unrolled('u', walk.unroll, inner) : inner());
  const load = (coordinates: readonly string[]): void => {
    for (const position of loaded) loads.load(out, position, at, coordinates);
  };
  const compute = (coordinates: readonly string[]): void => {
    for (const store of kernel.stores.keys()) stores.declare(out, store, []);
    const elements = (near: NearOps | undefined): void => {
      // The exact fallback of fast paths runs rarely: a loop over the elements, so that it is compiled once.
      const rolled = near === undefined && nearFirst && chunking.width > 1;
      const inChunk = loaded.map(
        (position) =>
          [position, rolled ? loads.picked(position, inHand) : loads.value(position, inHand)] as const,
      );
      const scope: Scope = {
        coordinates: elementCoordinates(coordinates, chunking),
        known: new Map([...(rolled ? columns.picked : columns.known), ...inChunk]),
        instead: near && callsOf(near),
      };
      const element = (): void => {
        body.print(out, computed, scope, params);
        for (const [store, { value: stored }] of kernel.stores.entries()) {
          const value = body.value(stored, scope, params);
          if (rolled) stores.putPicked(out, store, '', value);
          else stores.put(out, store, '', value);
          if (near !== undefined && tellsOfNaN(body, store)) printNaNRecord(out, near, value);
        }
      };
      if (chunking.width === 1) element();
      else if (rolled) {
        out.line('#pragma unroll 1');
        out.block(`for (int e = 0; e < ${chunking.width}; ++e)`, element);
      } else out.unrolled('e', chunking.width, element);
    };
    if (nearFirst) printNearFirst(out, body, nearOps, elements);
    else elements(undefined);
    for (const store of kernel.stores.keys()) stores.flush(out, store, '', coordinates, line);
  };
  const { turn } = walk;
  if (turn !== undefined) {
    printTurns(out, body, params, { loads, loaded, turn, end }, compute);
    return;
  }
  for (const position of loaded) loads.declare(out, position, several ? [walk.unroll] : []);
  if (movesUp && loaded.length === 0) {
    printLoopOfChunks(out, params, walk, end, () =>
      compute(printCoordinates(out, params, 'i', kernel.parallel, 'x')),
    );
  } else if (several) {
    each(() => chunk(load));
    if (movesUp) {
      out.line('#pragma unroll 1');
      out.block(`for (int u = 0; u < ${walk.unroll}; ++u)`, () => {
        chunk(compute);
        out.unrolled('k', walk.unroll - 1, () => {
          for (const position of loaded) out.line(`l${position}[k] = l${position}[k + 1];`);
        });
      });
    } else each(() => chunk(compute));
  } else {
    chunk((coordinates) =>
      whereInWindow(out, body, params, coordinates, () => {
        load(coordinates);
        compute(coordinates);
      }),
    );
  }
}

interface Turns {
  readonly loads: ChunkLoads;
  /** Positions of what a chunk loads. */
  readonly loaded: readonly number[];
  readonly turn: number;
  readonly end: string;
}

/**
 * The chunks of a thread one after the other: the loads of the next are in flight while one is computed. Those that are read once
 * pass by the first-level cache, of which tables leave little.
 */
function printTurns(
  out: Writer,
  { kernel }: Body,
  params: Parameters,
  { loads, loaded, turn, end }: Turns,
  compute: (coordinates: readonly string[]) => void,
): void {
  const coordinates = (at: string): string[] => printCoordinates(out, params, at, kernel.parallel, 'x');
  const load = (at: string, index: string): void =>
    out.block(`if (${at} < ${end})`, () => {
      const place = coordinates(at);
      for (const position of loaded) loads.load(out, position, index, place, true);
    });
  for (const position of loaded) loads.declare(out, position, [2]);
  load('first', '[0]');
  out.line('#pragma unroll 1');
  out.block(`while (first < ${end})`, () => {
    out.line(`const ${params.index} next = first + ${params.size(turn)};`);
    load('next', '[1]');
    out.block('', () => compute(coordinates('first')));
    for (const position of loaded) out.line(`l${position}[0] = l${position}[1];`);
    out.line('first = next;');
  });
}

/** Prints statements for an element, or for a chunk of one index, that is run where the index is in the launch's window. */
function whereInWindow(
  out: Writer,
  body: Body,
  params: Parameters,
  coordinates: readonly string[],
  inner: () => void,
): void {
  const index = windowIndexOf(body.kernel);
  if (index === undefined) {
    inner();
    return;
  }
  const scope: Scope = { coordinates, known: new Map() };
  body.print(
    out,
    body.closure([index], () => false),
    scope,
    params,
  );
  const value = body.value(index, scope, params);
  out.block(`if (${value} >= ${params.windowEnd('first')} && ${value} < ${params.windowEnd('last')})`, inner);
}

interface Columns {
  /** Values computed once for all chunks of a thread. */
  readonly positions: ReadonlySet<number>;
  /** Where those values stand that chunks use: one for each of a chunk's elements. */
  readonly known: ReadonlyMap<number, string>;
  /** The same where e is the variable of a loop that is not unrolled. */
  readonly picked: ReadonlyMap<number, string>;
}

/** Values of `used` that depend on the column alone, where all chunks of a thread lie in the same columns. */
function printColumns(
  out: Writer,
  body: Body,
  params: Parameters,
  loads: ChunkLoads,
  { unroll, step, whole }: Walk,
  used: readonly number[],
): Columns {
  const { kernel } = body;
  const { width, axis } = loads.chunking;
  const positions = new Set(sharesColumns(kernel, unroll, step) ? columnValues(body, used) : []);
  const known = new Map<number, string>();
  const picked = new Map<number, string>();
  if (positions.size === 0) return { positions, known, picked };
  const inside = (position: number): boolean => positions.has(position);
  const users = used.filter((position) => !inside(position));
  const wanted = new Set([
    ...users.flatMap((position) => argumentsOf(body.instruction(position))),
    ...kernel.stores.map(({ value }) => value),
  ]);
  const handed = [...wanted].filter(inside).sort((a, b) => a - b);
  for (const position of handed) {
    out.line(`${CUDA_TYPE[body.instruction(position).dtype]} h${position}[${width}];`);
    known.set(position, `h${position}[${width === 1 ? '0' : 'e'}]`);
    picked.set(position, `weft_pick(h${position}, e)`);
  }
  // Past the end lie columns whose values need not be in memory.
  out.block(`if (first < ${params.size(whole)})`, () => {
    const coordinates = printCoordinates(out, params, 'first', kernel.parallel, 'x');
    const loaded = [...positions].filter(body.isLoad);
    for (const position of loaded) {
      loads.declare(out, position, []);
      loads.load(out, position, '', coordinates);
    }
    const scope: Scope = {
      coordinates: elementCoordinates(coordinates, { axis, width }),
      known: new Map(loaded.map((position) => [position, loads.value(position, '')])),
    };
    out.unrolled('e', width, () => {
      const computed = [...positions].filter((position) => !scope.known.has(position));
      body.print(out, computed, scope, params);
      for (const position of handed) out.line(`h${position}[e] = ${body.value(position, scope, params)};`);
    });
  });
  return { positions, known, picked };
}

/** The last, incomplete chunk of a single axis. */
function printTail(
  out: Writer,
  body: Body,
  params: Parameters,
  { whole, count, blocks }: { whole: number; count: number; blocks: number },
): void {
  const { kernel } = body;
  const { index } = params;
  // A short map has one block, which needs no telling apart.
  const last = whole === 0 ? '' : `${blockIndex(params)} == ${params.size(blocks - 1)} && `;
  out.line(`const ${index} rest = ${whole === 0 ? '' : `${params.size(whole)} + `}(${index})threadIdx.x;`);
  out.block(`if (${last}rest < ${params.size(count)})`, () => {
    const scope: Scope = { coordinates: kernel.parallel.length === 0 ? [] : ['rest'], known: new Map() };
    const values = kernel.stores.map(({ value }) => value);
    whereInWindow(out, body, params, scope.coordinates, () => {
      body.print(
        out,
        body.closure(values, () => false),
        scope,
        params,
      );
      for (const [store, value] of values.entries())
        storeElement(out, body, params, store, body.value(value, scope, params), scope.coordinates);
    });
  });
}
