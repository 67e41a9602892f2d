/**
 * Prints many steps of a map of each element by itself as one kernel (`schedule-repeat.ts`): elements are
 * loaded once, stay in registers, and are stored after the last step. Called by `cuda.ts`.
 */
import { type Kernel, product } from '../../../fusion/kernel/kernel.js';
import type { Body, Scope } from '../body.js';
import { ChunkLoads, ChunkStores } from '../chunk-moves.js';
import { type Chunking, elementCoordinates } from '../chunks.js';
import { blockIndex, type CudaFunction, printFunction } from '../function.js';
import { printCoordinates } from '../index-math.js';
import type { LaunchShape } from '../launch.js';
import type { Parameters } from '../parameters.js';
import type { RepeatSchedule } from '../schedules/schedule-repeat.js';
import { Writer } from '../writer.js';

/** Elements of a block, in order; what is left over from whole chunks belongs to the last block. */
export const repeatBlock = ({ threads, width }: RepeatSchedule): number => threads * width;

export const repeatBlocks = ({ parallel }: Kernel, schedule: RepeatSchedule): number =>
  Math.ceil(product(parallel) / repeatBlock(schedule));

export const repeatLaunch = (kernel: Kernel, schedule: RepeatSchedule): LaunchShape => ({
  grid: [repeatBlocks(kernel, schedule), 1, 1],
  block: [schedule.threads, 1, 1],
});

export function printRepeat(body: Body, schedule: RepeatSchedule, name: string): CudaFunction {
  const { width, threads } = schedule;
  const { kernel } = body;
  const params = body.parameters();
  const out = new Writer();
  const count = product(kernel.parallel);
  const whole = count - (count % width);
  const { index } = params;
  out.line(`const ${index} i = (${blockIndex(params)} * ${threads} + (${index})threadIdx.x) * ${width};`);
  const chunk = (size: number): void => printChunk(out, body, params, size);
  out.block(`if (i < ${params.size(whole)})`, () => chunk(width));
  if (whole < count) {
    // The remainder, in the threads that the last chunk has for it.
    out.block(`else if (i < ${params.size(count)})`, () => {
      out.line(`const ${index} start = i;`);
      out.line('#pragma unroll 1');
      out.block(`for (${index} i = start; i < ${params.size(count)}; ++i)`, () => chunk(1));
    });
  }
  return printFunction(name, out, params, { ...repeatLaunch(kernel, schedule), sharedByteLength: 0 });
}

/** All steps of `width` elements from element i on. */
function printChunk(out: Writer, body: Body, params: Parameters, width: number): void {
  const { kernel } = body;
  const chunking: Chunking = { axis: kernel.parallel.length - 1, width };
  const loads = new ChunkLoads(body, chunking, params);
  const stores = new ChunkStores(body, chunking, params);
  const used = body.closure(
    kernel.stores.map(({ value }) => value),
    () => false,
  );
  const { isLoad } = body;
  const loaded = used.filter(isLoad);
  const loadedValue = (position: number): string =>
    params.counted(loads.value(position, ''), body.accessAt(position)!.buffer);
  const coordinates = printCoordinates(out, params, 'i', kernel.parallel, 'x');
  for (const position of loaded) {
    loads.declare(out, position, []);
    loads.load(out, position, '', coordinates);
  }
  for (const store of kernel.stores.keys()) stores.declare(out, store, []);
  out.line('#pragma unroll 1');
  out.block(`for (unsigned int step = 0; step < ${params.steps()}; ++step)`, () =>
    out.unrolled('e', width, () => {
      const scope: Scope = {
        coordinates: elementCoordinates(coordinates, chunking),
        known: new Map(loaded.map((position) => [position, loadedValue(position)] as const)),
      };
      body.print(
        out,
        used.filter((position) => !isLoad(position)),
        scope,
        params,
      );
      for (const [store, { value }] of kernel.stores.entries())
        stores.put(out, store, '', body.value(value, scope, params));
      for (const [position, store] of carriedOf(body, loaded))
        out.line(`${loads.raw(position, '')} = o${store}.v[${width === 1 ? '0' : 'e'}];`);
    }),
  );
  for (const store of kernel.stores.keys()) stores.flush(out, store, '', coordinates);
}

/** Loads of states, and the stores of their next ones. */
function carriedOf(body: Body, loaded: readonly number[]): [position: number, store: number][] {
  const { carried, stores } = body.kernel;
  return loaded.flatMap((position): [number, number][] => {
    const { buffer } = body.accessAt(position)!;
    const pair = carried!.find(({ input }) => input === buffer);
    const store = pair === undefined ? -1 : stores.findIndex(({ access }) => access.buffer === pair.output);
    return store < 0 ? [] : [[position, store]];
  });
}
