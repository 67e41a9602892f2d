/**
 * Prints a map in which some loads run along another axis than the stores (`x + y.T`). A block handles a
 * square tile: such loads are read along their own axis, handed over in shared memory, and used along the
 * last axis, so that every access to device memory is contiguous.
 */
import { type Kernel, product } from '../../../fusion/kernel/kernel.js';
import type { Body, Scope } from '../body.js';
import { fromStorage, STORAGE_TYPE } from '../casts.js';
import { ChunkLoads, ChunkStores } from '../chunk-moves.js';
import { type Chunking, chunkWidth, elementCoordinates } from '../chunks.js';
import { blockIndex, type CudaFunction, gridSizes, printFunction, type TileGrid } from '../function.js';
import { printCoordinates } from '../index-math.js';
import type { LaunchShape } from '../launch.js';
import type { Parameters } from '../parameters.js';
import type { TransposeSchedule } from '../schedules/schedule.js';
import { accessesOf } from '../schedules/schedule-rows.js';
import { Writer } from '../writer.js';

/** The grid of tiles: all other axes in order, then the two of a tile. */
export function transposeGrid(kernel: Kernel, { axis, tile }: TransposeSchedule): TileGrid {
  const last = kernel.parallel.length - 1;
  const outer = kernel.parallel.map((_, k) => k).filter((k) => k !== axis && k !== last);
  return [
    ...outer.map((k) => ({ axis: k, length: 1 })),
    { axis, length: tile },
    { axis: last, length: tile },
  ];
}

export const transposeLaunch = (kernel: Kernel, schedule: TransposeSchedule): LaunchShape => ({
  grid: [product(gridSizes(kernel, transposeGrid(kernel, schedule))), 1, 1],
  block: [schedule.threads, 1, 1],
});

export function printTranspose(body: Body, schedule: TransposeSchedule, name: string): CudaFunction {
  return new TileMap(body, schedule).print(name);
}

class TileMap {
  readonly #body: Body;
  readonly #schedule: TransposeSchedule;
  readonly #params: Parameters;
  readonly #out = new Writer();
  readonly #width: number;
  readonly #last: number;
  /** Chunks along the staged loads' axis, and along the last one. */
  readonly #across: Chunking;
  readonly #along: Chunking;
  readonly #outer: readonly number[];

  constructor(body: Body, schedule: TransposeSchedule) {
    this.#body = body;
    this.#schedule = schedule;
    this.#params = body.parameters();
    const sizes = body.kernel.parallel;
    this.#last = sizes.length - 1;
    const dtypes = accessesOf(body.kernel).map(({ dtype }) => dtype);
    const multiple = gcd(sizes[schedule.axis]!, sizes[this.#last]!);
    this.#width = Math.min(4, chunkWidth(dtypes, multiple));
    this.#across = { axis: schedule.axis, width: this.#width };
    this.#along = { axis: this.#last, width: this.#width };
    this.#outer = sizes.map((_, k) => k).filter((k) => k !== schedule.axis && k !== this.#last);
  }

  /** Rows of a tile that a block handles at a time, and how often. */
  get #rows(): number {
    return (this.#schedule.threads * this.#width) / this.#schedule.tile;
  }
  get #steps(): number {
    return this.#schedule.tile / this.#rows;
  }

  print(name: string): CudaFunction {
    const { kernel } = this.#body;
    const { tile, staged, axis } = this.#schedule;
    const out = this.#out;
    const { index } = this.#params;
    const grid = gridSizes(kernel, transposeGrid(kernel, this.#schedule));
    out.line(`const ${index} block = ${blockIndex(this.#params)};`);
    const place = this.#blockCoordinates(grid);
    const used = this.#body.closure(
      kernel.stores.map((store) => store.value),
      () => false,
    );
    const { isLoad } = this.#body;
    const direct = used.filter((position) => isLoad(position) && !staged.includes(position));
    const across = new ChunkLoads(this.#body, this.#across, this.#params);
    const along = new ChunkLoads(this.#body, this.#along, this.#params);
    for (const position of staged) {
      const type = STORAGE_TYPE[this.#dtype(position)];
      out.line(`__shared__ ${type} s${position}[${tile * (tile + 1)}];`);
      across.declare(out, position, [this.#steps]);
    }
    for (const position of direct) along.declare(out, position, [this.#steps]);
    this.#pass(place, axis, this.#last, (at) => {
      for (const position of staged) across.load(out, position, '[k]', at);
    });
    this.#pass(place, this.#last, axis, (at) => {
      for (const position of direct) along.load(out, position, '[k]', at);
    });
    this.#handOver(across);
    out.line('__syncthreads();');
    this.#compute(
      place,
      along,
      used.filter((position) => !isLoad(position)),
      direct,
    );
    return printFunction(name, out, this.#params, {
      ...transposeLaunch(kernel, this.#schedule),
      sharedByteLength: 0,
    });
  }

  #dtype(position: number) {
    return this.#body.instruction(position).dtype;
  }

  /** Coordinates of the tile's first element. */
  #blockCoordinates(grid: readonly number[]): string[] {
    const names = printCoordinates(this.#out, this.#params, 'block', grid, 't');
    const place: string[] = [];
    this.#outer.forEach((k, i) => {
      place[k] = names[i]!;
    });
    [this.#schedule.axis, this.#last].forEach((k, i) => {
      place[k] = `f${k}`;
      this.#out.line(
        `const ${this.#params.index} f${k} = ${names[this.#outer.length + i]} * ${this.#schedule.tile};`,
      );
    });
    const lanes = this.#schedule.tile / this.#width;
    this.#out.line(`const int lane = (int)threadIdx.x % ${lanes} * ${this.#width};`);
    this.#out.line(`const int row = (int)threadIdx.x / ${lanes};`);
    return place;
  }

  /** One pass over the tile: chunks along `inner`, rows along `other`. */
  #pass(place: readonly string[], inner: number, other: number, body: (at: readonly string[]) => void): void {
    const out = this.#out;
    const { index } = this.#params;
    out.unrolled('k', this.#steps, () => {
      out.line(`const ${index} i = ${place[inner]} + lane;`);
      out.line(`const ${index} j = ${place[other]} + k * ${this.#rows} + row;`);
      const sizes = this.#body.kernel.parallel;
      out.block(
        `if (i < ${this.#params.size(sizes[inner]!)} && j < ${this.#params.size(sizes[other]!)})`,
        () => body(place.map((name, axis) => (axis === inner ? 'i' : axis === other ? 'j' : name))),
      );
    });
  }

  /** Writes staged chunks to shared memory: row by coordinate on their axis, one element of padding a row. */
  #handOver(across: ChunkLoads): void {
    const out = this.#out;
    const pitch = this.#schedule.tile + 1;
    out.unrolled('k', this.#steps, () =>
      out.unrolled('e', this.#width, () => {
        for (const position of this.#schedule.staged) {
          out.line(
            `s${position}[(lane + e) * ${pitch} + k * ${this.#rows} + row] = ${across.raw(position, '[k]')};`,
          );
        }
      }),
    );
  }

  #compute(
    place: readonly string[],
    along: ChunkLoads,
    computed: readonly number[],
    direct: readonly number[],
  ): void {
    const out = this.#out;
    const { kernel } = this.#body;
    const pitch = this.#schedule.tile + 1;
    const stores = new ChunkStores(this.#body, this.#along, this.#params);
    this.#pass(place, this.#last, this.#schedule.axis, (at) => {
      const known = new Map(direct.map((position) => [position, along.value(position, '[k]')]));
      for (const position of this.#schedule.staged) {
        known.set(
          position,
          fromStorage(this.#dtype(position), `s${position}[(k * ${this.#rows} + row) * ${pitch} + lane + e]`),
        );
      }
      const scope: Scope = { coordinates: elementCoordinates(at, this.#along), known };
      for (const store of kernel.stores.keys()) stores.declare(out, store, []);
      out.unrolled('e', this.#width, () => {
        this.#body.print(out, computed, scope, this.#params);
        for (const [store, { value }] of kernel.stores.entries())
          stores.put(out, store, '', this.#body.value(value, scope, this.#params));
      });
      for (const store of kernel.stores.keys()) stores.flush(out, store, '', at);
    });
  }
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
