/**
 * The operands of a tile of pairs: values that depend on one axis only are computed once for each reduced
 * element and put into shared memory, where every thread of the block takes it from (`outer-product-kernel.ts`).
 *
 * Cell (k, m) of a side's tile holds reduced element `base + k` of row `m`: neighbouring rows lie side by
 * side. Where registers are left for it, what the next tile needs is on its way to them while the block
 * computes.
 */

import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { Body, Scope } from '../body.js';
import { toStorage } from '../casts.js';
import { ChunkLoads } from '../chunk-moves.js';
import { type Chunking, elementCoordinates } from '../chunks.js';
import { printCoordinates } from '../index-math.js';
import type { Parameters } from '../parameters.js';
import { extentOf, groupsOf, packOf, TILE_THREADS, type Tile } from '../schedules/outer-product-tiles.js';
import type { OuterProductSchedule, Side } from '../schedules/schedule-outer-product.js';
import type { Writer } from '../writer.js';
import { BOTH, OuterProductLoads, PACK, type PackAxis } from './outer-product-loads.js';

/**
 * Packs of a row that neighbouring threads load: those of two store to different banks. Where groups take turns, loads
 * from memory take longer than anything else: four are 64 bytes in a row.
 */
const PACKS = 2;
const PACKS_BY_TURNS = 4;

/** Registers for accumulators and loads, of the 128 that a thread has. */
const MOST_WORDS = 64;

/** Elements from one reduced index to the next in shared memory; keeps packs aligned to 16 bytes. */
export const pitchOf = (tile: Tile, side: 'i' | 'j'): number => extentOf(tile, side) + 4;

export class OuterProductStage {
  readonly #body: Body;
  readonly #params: Parameters;
  readonly #out: Writer;
  readonly #schedule: OuterProductSchedule;
  readonly #tile: OuterProductLoads;
  /** Coordinates of row `m` of either side, given those of the reduced axes. */
  readonly #coordinates: (reduced: readonly string[]) => string[];
  /** Whether what a tile needs is loaded before the one before it is computed. */
  readonly #isAhead: boolean;

  /** `words`: registers that accumulators take. */
  constructor(
    body: Body,
    params: Parameters,
    out: Writer,
    schedule: OuterProductSchedule,
    coordinates: (reduced: readonly string[]) => string[],
    words: number,
  ) {
    this.#body = body;
    this.#params = params;
    this.#out = out;
    this.#schedule = schedule;
    this.#tile = new OuterProductLoads(body, schedule);
    this.#coordinates = coordinates;
    this.#isAhead = words + this.#tile.wordsAhead() <= MOST_WORDS;
  }

  /** Computes the values of rows that a thread holds. */
  printRowValues(): void {
    const out = this.#out;
    for (const side of ['i', 'j'] as const) {
      const held = this.#tile.rowValues(side);
      if (held.length === 0) continue;
      for (const position of held)
        out.line(`${CUDA_TYPE[this.#body.instruction(position).dtype]} h${position}[${PACK}] = {};`);
      const { axisI, axisJ } = this.#schedule;
      const axis = side === 'i' ? axisI : axisJ;
      out.block('', () => {
        out.line(`const int m = ${this.#rowOfPacks(side)};`);
        const size = this.#params.size(this.#body.kernel.parallel[axis]!);
        out.block(`if (${side}0 + m < ${size})`, () => {
          const at = this.#coordinates(this.#body.kernel.reduced.map(() => '0'));
          out.unrolled('e', PACK, () => {
            const scope = { coordinates: elementCoordinates(at, { axis, width: PACK }), known: new Map() };
            this.#body.print(
              out,
              this.#body.closure(held, () => false),
              scope,
              this.#params,
            );
            for (const position of held)
              out.line(`h${position}[e] = ${this.#body.value(position, scope, this.#params)};`);
          });
        });
      });
    }
  }

  /** The first row of a thread's packs along rows, the same in all of them. */
  #rowOfPacks(side: 'i' | 'j'): string {
    return `(int)threadIdx.x % ${this.#tile.extent(side) / PACK} * ${PACK}`;
  }

  /** Computes what depends on one axis, or on none, and puts it into shared memory. */
  print(side: 'i' | 'j' | 'common', length: string): void {
    const own = this.#tile.own(side);
    if (own.length === 0) return;
    if (side === 'common') this.#printCommon(own, length);
    else {
      const along = this.#tile.packAxis(side);
      if (along === undefined) this.#printCells(own, side, length);
      else this.#printPacks(own, side, length, along);
    }
  }

  #printCommon(own: readonly number[], length: string): void {
    const out = this.#out;
    const { depth } = this.#schedule;
    out.line('const int k = (int)threadIdx.x;');
    out.line(`const ${this.#params.index} r = base + k;`);
    out.block(`if (k < ${depth} && r < ${length})`, () => {
      this.#printValues(own, (position) => `s${position}[k]`);
    });
  }

  /** One element after the other. */
  #printCells(own: readonly number[], side: 'i' | 'j', length: string): void {
    const out = this.#out;
    const { depth, axisI, axisJ } = this.#schedule;
    const axis = side === 'i' ? axisI : axisJ;
    const extent = this.#tile.extent(side);
    const alongReduced = this.#isAlongReduced(own, axis);
    // Not unrolled as a whole: addresses of many loads would crowd out the accumulators.
    out.line('#pragma unroll 4');
    out.block(`for (int t = 0; t < ${(depth * extent) / TILE_THREADS}; ++t)`, () => {
      out.line(`const int cell = t * ${TILE_THREADS} + (int)threadIdx.x;`);
      out.line(`const int k = ${alongReduced ? `cell % ${depth}` : `cell / ${extent}`};`);
      out.line(`const int m = ${alongReduced ? `cell / ${depth}` : `cell % ${extent}`};`);
      out.line(`const ${this.#params.index} r = base + k;`);
      this.#printStaged(own, side, length);
    });
  }

  /**
   * Packs of elements that are neighbours along a reduced axis, which are stored to rows of the tile that are
   * `step` apart: half a warp takes neighbouring columns, so that what a warp stores at once lies in
   * different banks of shared memory (of four packs of a row, in half as many).
   */
  #printPacks(own: readonly number[], side: 'i' | 'j', length: string, along: PackAxis): void {
    this.#eachPack('base', side, along, () => this.#printStaged(own, side, length, along));
  }

  /** Where the packs of a thread lie, those of the tile that begins at `base`: k, m and r. */
  #eachPack(base: string, side: 'i' | 'j', along: PackAxis, inner: () => void): void {
    const packs = this.#tile.packs(side);
    const each = (): void => this.#eachPackOf(base, side, along, inner);
    if (packs < TILE_THREADS) this.#out.block(`if (threadIdx.x < ${packs})`, each);
    else each();
  }

  #eachPackOf(base: string, side: 'i' | 'j', { axis, step }: PackAxis, inner: () => void): void {
    const out = this.#out;
    const extent = this.#tile.extent(side);
    const columns = this.#schedule.depth / PACK;
    if (step === 0) {
      this.#eachRowPack(base, side, inner);
      return;
    }
    const besides = Math.min(groupsOf(this.#schedule) > 1 ? PACKS_BY_TURNS : PACKS, columns);
    const perRun = step === 1 ? 1 : this.#body.sizes[axis]! / PACK;
    out.unrolled('t', this.#tile.rounds(side), () => {
      out.line(`const int cell = t * ${TILE_THREADS} + (int)threadIdx.x;`);
      const beyond = besides === columns ? '' : ` + cell / ${besides * extent} * ${besides}`;
      const pack = `cell % ${besides}${beyond}`;
      if (step === 1) out.line(`const int k = (${pack}) * ${PACK};`);
      else {
        const [run, tile] = [perRun * step, perRun * PACK * step];
        out.line(`const int pack = ${pack};`);
        out.line(
          `const int k = pack / ${run} * ${tile} + pack % ${perRun} * ${PACK * step} + pack % ${run} / ${perRun};`,
        );
      }
      out.line(`const int m = cell / ${besides} % ${extent};`);
      out.line(`const ${this.#params.index} r = ${base} + k;`);
      inner();
    });
  }

  /** The same of packs along rows: neighbouring threads have neighbouring packs. */
  #eachRowPack(base: string, side: 'i' | 'j', inner: () => void): void {
    const out = this.#out;
    const packs = this.#tile.extent(side) / PACK;
    out.unrolled('t', this.#tile.rounds(side), () => {
      out.line(`const int k = t * ${TILE_THREADS / packs} + (int)threadIdx.x / ${packs};`);
      out.line(`const int m = ${this.#rowOfPacks(side)};`);
      out.line(`const ${this.#params.index} r = ${base} + k;`);
      inner();
    });
  }

  /** Declares what holds the loads of the next tile, where there is such. */
  declareAhead(): void {
    if (!this.#isAhead) return;
    for (const side of BOTH) {
      for (const position of this.#tile.loadsOf(side))
        this.#loads(this.#tile.packAxis(side)!).declare(this.#out, position, [this.#tile.rounds(side)]);
    }
  }

  /** Loads what the tile that begins at `base` needs, where that is done ahead. */
  loadAhead(base: string, length: string): void {
    if (!this.#isAhead) return;
    for (const side of BOTH) {
      const along = this.#tile.own(side).length === 0 ? undefined : this.#tile.packAxis(side);
      if (along === undefined) continue;
      this.#eachPack(base, side, along, () =>
        this.#out.block(this.#inside(side, length), () => {
          const loads = this.#loads(along);
          const coordinates = this.#coordinates(this.#reduced());
          for (const position of this.#tile.loadsOf(side))
            loads.load(this.#out, position, '[t]', coordinates);
        }),
      );
    }
  }

  #loads({ axis }: PackAxis): ChunkLoads {
    return new ChunkLoads(this.#body, { axis, width: PACK }, this.#params);
  }

  /** Coordinates of the reduced index r. */
  #reduced(): string[] {
    return printCoordinates(this.#out, this.#params, 'r', this.#body.kernel.reduced, 'z');
  }

  /** Whether there is an element at r and m. */
  #inside(side: 'i' | 'j', length: string): string {
    const { axisI, axisJ } = this.#schedule;
    const size = this.#params.size(this.#body.kernel.parallel[side === 'i' ? axisI : axisJ]!);
    return `if (r < ${length} && ${side}0 + m < ${size})`;
  }

  /** The element at (k, m) of a side's tile, or the pack of them from there on; zeros past the ends. */
  #printStaged(own: readonly number[], side: 'i' | 'j', length: string, along?: PackAxis): void {
    const { items } = this.#schedule;
    const isAlongRows = along?.step === 0;
    const row =
      along === undefined || isAlongRows ? 'k' : along.step === 1 ? '(k + e)' : `(k + e * ${along.step})`;
    const width = packOf(items[side]);
    const m = isAlongRows ? '(m + e)' : 'm';
    const column = width === 1 ? `${m}].v[0]` : `${m} / ${width}].v[${m} % ${width}]`;
    const cellOf = (position: number): string =>
      `s${position}[${row} * ${pitchOf(this.#schedule, side) / width} + ${column}`;
    this.#out.block(this.#inside(side, length), () => this.#printValues(own, cellOf, along, side));
    // Read with the rest of a pack, and by threads whose pairs are not stored.
    this.#out.block('else', () => {
      const clear = (): void => {
        for (const position of own) this.#out.line(`${cellOf(position)} = {};`);
      };
      if (along === undefined) clear();
      else this.#out.unrolled('e', PACK, clear);
    });
  }

  /**
   * Computes the element of the reduced index r, or the pack that begins there, and puts it where `cellOf`
   * says.
   */
  #printValues(
    own: readonly number[],
    cellOf: (position: number) => string,
    along?: PackAxis,
    side: Side = 'common',
  ): void {
    const out = this.#out;
    const coordinates = this.#coordinates(this.#reduced());
    const held = this.#tile.rowValues(side);
    const all = this.#body.closure(own, (position) => held.includes(position));
    const put = (scope: Scope, values: readonly number[]): void => {
      this.#body.print(out, values, scope, this.#params);
      for (const position of own) {
        const value = toStorage(
          this.#body.instruction(position).dtype,
          this.#body.value(position, scope, this.#params),
        );
        out.line(`${cellOf(position)} = ${value};`);
      }
    };
    if (along === undefined) {
      put({ coordinates, known: new Map() }, all);
      return;
    }
    const chunking: Chunking = { axis: along.axis, width: PACK };
    const loads = this.#loads(along);
    const loaded = this.#tile.loadsOf(side);
    if (!this.#isAhead)
      for (const position of loaded) {
        loads.declare(out, position, []);
        loads.load(out, position, '', coordinates);
      }
    const at = this.#isAhead ? '[t]' : '';
    const known = new Map([
      ...loaded.map((position) => [position, loads.value(position, at)] as const),
      ...held.map((position) => [position, `h${position}[e]`] as const),
    ]);
    out.unrolled('e', PACK, () =>
      put(
        { coordinates: elementCoordinates(coordinates, chunking), known },
        all.filter((position) => !known.has(position)),
      ),
    );
  }

  /** Whether neighbouring threads should load along the reduced axis rather than the tile's. */
  #isAlongReduced(targets: readonly number[], axis: number): boolean {
    const last = this.#body.sizes.length - 1;
    return !this.#tile.accessesOf(targets).some(({ strides }) => strides[axis] === 1 && strides[last] !== 1);
  }
}
