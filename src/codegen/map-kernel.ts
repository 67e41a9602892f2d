/**
 * Prints a kernel without reduced axes. Each thread handles `unroll` chunks of `width` consecutive elements: all loads
 * first, so that they are in flight together, then arithmetic and stores. What is left over from a single axis is done
 * element by element by the last block.
 */
import { type Kernel, product } from '../fusion/kernel.js';
import type { Body, Scope } from './body.js';
import { type Chunking, ChunkLoads, ChunkStores, elementCoordinates, storeElement } from './chunks.js';
import { blockIndex, type CudaFunction, printFunction } from './function.js';
import { printCoordinates } from './index-math.js';
import { nearCount, printNearFirst } from './near.js';
import type { Parameters } from './parameters.js';
import type { MapSchedule } from './schedule.js';
import { Writer } from './writer.js';

/** Ops with near forms from which on a map is bound by its arithmetic rather than by memory. */
const MANY_NEAR = 4;

/** Elements of a block, in order; what is left over from whole chunks belongs to the last block. */
export const mapBlock = ({ width, unroll, threads }: MapSchedule): number => threads * width * unroll;

export function mapBlocks(kernel: Kernel, schedule: MapSchedule): number {
  const count = product(kernel.parallel);
  return Math.max(1, Math.ceil((count - (count % schedule.width)) / mapBlock(schedule)));
}

export function printMap(body: Body, schedule: MapSchedule, name: string): CudaFunction {
  const { width, unroll, threads } = schedule;
  const { kernel } = body;
  const params = body.parameters();
  const out = new Writer();
  const count = product(kernel.parallel);
  const whole = count - (count % width);
  const chunking: Chunking = { axis: kernel.parallel.length - 1, width };
  const step = threads * width;
  const { index } = params;
  if (whole > 0) {
    out.line(
      `const ${index} first = ${blockIndex(params)} * ${step * unroll} + (${index})threadIdx.x * ${width};`,
    );
    printChunks(out, body, params, chunking, { unroll, step, whole });
  }
  const blocks = mapBlocks(kernel, schedule);
  if (whole < count) printTail(out, body, params, { whole, count, blocks });
  return printFunction(name, out, params, {
    grid: [blocks, 1, 1],
    block: [threads, 1, 1],
    sharedByteLength: 0,
  });
}

interface Walk {
  readonly unroll: number;
  readonly step: number;
  readonly whole: number;
}

function printChunks(out: Writer, body: Body, params: Parameters, chunking: Chunking, walk: Walk): void {
  const { kernel } = body;
  const loads = new ChunkLoads(body, chunking, params);
  const stores = new ChunkStores(body, chunking, params);
  const used = body.closure(
    kernel.stores.map((store) => store.value),
    () => false,
  );
  const loaded = used.filter((position) => body.instruction(position).kind === 'load');
  const computed = used.filter((position) => body.instruction(position).kind !== 'load');
  const end = params.size(walk.whole);
  const several = walk.unroll > 1;
  const at = several ? '[u]' : '';
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
    const elements = (near: boolean): void => {
      const scope: Scope = {
        coordinates: elementCoordinates(coordinates, chunking),
        known: new Map(loaded.map((position) => [position, loads.value(position, at)])),
        near,
      };
      const element = (): void => {
        body.print(out, computed, scope, params);
        for (const [store, { value }] of kernel.stores.entries())
          stores.put(out, store, '', body.value(value, scope, params));
      };
      if (chunking.width === 1) element();
      else out.unrolled('e', chunking.width, element);
    };
    if (nearCount(body, computed) < MANY_NEAR) elements(false);
    else printNearFirst(out, body, computed, elements);
    for (const store of kernel.stores.keys()) stores.flush(out, store, '', coordinates);
  };
  for (const position of loaded) loads.declare(out, position, several ? [walk.unroll] : []);
  if (several) {
    each(() => chunk(load));
    each(() => chunk(compute));
  } else {
    chunk((coordinates) => {
      load(coordinates);
      compute(coordinates);
    });
  }
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
    body.print(
      out,
      body.closure(
        kernel.stores.map((store) => store.value),
        () => false,
      ),
      scope,
      params,
    );
    for (const [store, { value }] of kernel.stores.entries()) {
      storeElement(out, body, params, store, body.value(value, scope, params), scope.coordinates);
    }
  });
}
