/**
 * Prints a reduction over pairs as a tiled product: a block computes a rectangle of results. A value that
 * depends on one axis only is computed once and staged in shared memory; each thread combines items.i × items.j
 * pairs in registers. Blocks of several slots leave their accumulators in scratch, which a second launch
 * combines in slot order.
 */
import { isIndexArithmetic } from '../../../fusion/kernel/algebra.js';
import { argumentsOf, type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { Body, type Scope } from '../body.js';
import { fromStorage, STORAGE_TYPE } from '../casts.js';
import {
  blockIndex,
  type CudaFunction,
  gridSizes,
  hasAllBlocks,
  printFunction,
  type TileGrid,
} from '../function.js';
import { printCoordinates } from '../index-math.js';
import type { LaunchShape, Scratch } from '../launch.js';
import { accumulatorByteLength } from '../monoids.js';
import type { Parameters } from '../parameters.js';
import { extentOf, groupsOf, packOf, TILE_SIDE, TILE_THREADS } from '../schedules/outer-product-tiles.js';
import {
  frontierOf,
  mirrorOfTile,
  type OuterProductSchedule,
  type Side,
  sidesOf,
} from '../schedules/schedule-outer-product.js';
import { tileReduced } from '../tile-reduced.js';
import { Writer } from '../writer.js';
import { type Accumulator, accumulatorsOf, pushed } from './block-reduce.js';
import { OuterProductResults } from './outer-product-results.js';
import { OuterProductStage, pitchOf } from './outer-product-stage.js';
import { printCombine } from './reduce-combine.js';
import { type PrintedReduction, reduceScratch } from './reduce-kernel.js';

/** The grid of tiles: all other axes in order, then the two of a pair. */
export function outerProductGrid(kernel: Kernel, schedule: OuterProductSchedule): TileGrid {
  const { axisI, axisJ } = schedule;
  const outer = kernel.parallel.map((_, k) => k).filter((k) => k !== axisI && k !== axisJ);
  return [
    ...outer.map((k) => ({ axis: k, length: 1 })),
    { axis: axisI, length: extentOf(schedule, 'i') },
    { axis: axisJ, length: extentOf(schedule, 'j') },
  ];
}

/** The launch over the tiles; of one in slots, the first of two. */
export const outerProductLaunch = (kernel: Kernel, schedule: OuterProductSchedule): LaunchShape => ({
  grid: [product(gridSizes(kernel, outerProductGrid(kernel, schedule))), schedule.slots, 1],
  block: [TILE_THREADS, 1, 1],
});

/** The kernel as tiles walk it: its reduced axes in the order of the schedule's stretches. */
const tiledBody = (kernel: Kernel, { tile }: OuterProductSchedule): Body =>
  new Body(tileReduced(kernel, tile));

/** Accumulators that slots leave for the launch that combines them. */
export const outerProductScratch = (kernel: Kernel, schedule: OuterProductSchedule): Scratch[] =>
  schedule.slots === 1 ? [] : reduceScratch(tiledBody(kernel, schedule), schedule);

export function printOuterProduct(
  kernel: Kernel,
  schedule: OuterProductSchedule,
  name: string,
): PrintedReduction {
  const body = tiledBody(kernel, schedule);
  const tile = new OuterProductTile(body, schedule);
  if (schedule.slots === 1) return { functions: [tile.print(name)], scratch: [] };
  return {
    functions: [tile.print(`${name}_partial`), printCombine(body, schedule.slots, `${name}_combine`)],
    scratch: reduceScratch(body, schedule),
  };
}

class OuterProductTile {
  readonly #body: Body;
  readonly #schedule: OuterProductSchedule;
  readonly #params: Parameters;
  readonly #out = new Writer();
  readonly #accumulators: readonly Accumulator[];
  readonly #sides: readonly Side[];
  readonly #frontier: readonly number[];
  /** Of a symmetric tile: the values of side i that those of side j are. */
  readonly #mirror: readonly number[] | undefined;
  readonly #outer: readonly number[];
  readonly #results: OuterProductResults;
  #place: string[] = [];

  constructor(body: Body, schedule: OuterProductSchedule) {
    this.#body = body;
    this.#schedule = schedule;
    this.#params = body.parameters(schedule.slots === 1 ? 0 : product(body.kernel.parallel) * schedule.slots);
    this.#accumulators = accumulatorsOf(body);
    this.#sides = sidesOf(body.kernel, schedule.axisI, schedule.axisJ);
    this.#frontier = frontierOf(body.kernel, this.#sides);
    this.#mirror = mirrorOfTile(body.kernel, schedule);
    this.#outer = body.kernel.parallel
      .map((_, k) => k)
      .filter((k) => k !== schedule.axisI && k !== schedule.axisJ);
    const at = this.#coordinates.bind(this);
    this.#results = new OuterProductResults(body, this.#params, this.#out, schedule, this.#accumulators, at);
  }

  /** Items of a thread that lie side by side, along a side. */
  #pack(side: 'i' | 'j'): number {
    return packOf(this.#schedule.items[side]);
  }

  print(name: string): CudaFunction {
    const { kernel } = this.#body;
    const { depth, fold, items, slots, slotLength } = this.#schedule;
    const groups = groupsOf(this.#schedule);
    const out = this.#out;
    const { index } = this.#params;
    const grid = gridSizes(kernel, outerProductGrid(kernel, this.#schedule));
    this.#printThreadPlace();
    out.line(`const ${index} block = ${blockIndex(this.#params)};`);
    const names = printCoordinates(out, this.#params, 'block', grid, 't');
    this.#outer.forEach((axis, k) => {
      this.#place[axis] = names[k]!;
    });
    out.line(`const ${index} i0 = ${names[this.#outer.length]} * ${extentOf(this.#schedule, 'i')};`);
    out.line(`const ${index} j0 = ${names[this.#outer.length + 1]} * ${extentOf(this.#schedule, 'j')};`);
    if (this.#schedule.isHalved === true) {
      out.line(`const bool isHalved = ${hasAllBlocks(this.#params, product(grid))};`);
      out.line('if (isHalved && i0 > j0) return;');
    }
    for (const position of this.#frontier) {
      const side = this.#sides[position]!;
      if (this.#stagedAs(position) !== position) continue;
      if (side === 'i' || side === 'j') {
        const packs = (depth * pitchOf(this.#schedule, side)) / this.#pack(side);
        out.line(`__shared__ ${this.#packType(position, side)} s${position}[${packs}];`);
      } else out.line(`__shared__ ${STORAGE_TYPE[this.#dtype(position)]} s${position}[${depth}];`);
    }
    for (const a of this.#accumulators) this.#printStart(a, a.name);
    if (fold > 0) for (const a of this.#accumulators) this.#printStart(a, `f_${a.name}`);
    const length = this.#params.size(product(kernel.reduced));
    const sets = fold > 0 ? 2 : 1;
    const words = this.#accumulators.reduce((sum, { monoid }) => sum + accumulatorByteLength(monoid) / 4, 0);
    const stage = new OuterProductStage(
      this.#body,
      this.#params,
      out,
      this.#schedule,
      (reduced) => this.#coordinates('(i0 + m)', '(j0 + m)', reduced),
      items.i * items.j * words * sets,
    );
    if (slots > 1) {
      const slot = this.#params.size(slotLength);
      out.line(`const ${index} begin = ${blockIndex(this.#params, 'y')} * ${slot};`);
      out.line(`const ${index} end = begin + ${slot} < ${length} ? begin + ${slot} : ${length};`);
    }
    const [begin, end] = slots > 1 ? ['begin', 'end'] : ['0', length];
    stage.printRowValues();
    stage.declareAhead();
    stage.loadAhead(begin!, end!);
    out.block(`for (${index} base = ${begin}; base < ${end}; base += ${depth})`, () => {
      out.line('__syncthreads();');
      for (const side of ['i', 'j', 'common'] as const) stage.print(side, end);
      out.line('__syncthreads();');
      stage.loadAhead(`(base + ${depth})`, end!);
      out.line(`const int count = ${end} - base < ${depth} ? (int)(${end} - base) : ${depth};`);
      this.#whereComputed(() => {
        // With as many accumulators as registers allow, more at a time would be spilled.
        out.line(`#pragma unroll ${items.i * items.j > 36 ? 2 : 4}`);
        const step = groups === 1 ? '++k' : `k += ${groups}`;
        out.block(`for (int k = ${groups === 1 ? '0' : 'group'}; k < count; ${step})`, () =>
          this.#printProduct(),
        );
      });
      if (fold > 0) out.block(`if (base % ${fold} == ${fold - depth})`, () => this.#printFold());
    });
    if (fold > 0) this.#printFold();
    if (groups > 1) this.#results.printAcrossGroups();
    if (slots > 1) this.#whereComputed(() => this.#results.printPartials());
    else this.#results.printResults();
    const launch = { ...outerProductLaunch(kernel, this.#schedule), sharedByteLength: 0 };
    // Two blocks to a multiprocessor, so that one computes while the other loads.
    return printFunction(name, out, this.#params, launch, 2);
  }

  /**
   * The place of a thread in the tile. Of a symmetric one, rows r and 15 - r on and above the diagonal are 17 places
   * together, which threads take one after the other: five warps compute, where eight would the whole.
   */
  #printThreadPlace(): void {
    const out = this.#out;
    if (this.#mirror === undefined) {
      const { i, j } = this.#schedule.threads;
      const isWhole = groupsOf(this.#schedule) === 1;
      if (!isWhole) out.line(`const int group = (int)threadIdx.x / ${i * j};`);
      out.line(`const int tj = (int)threadIdx.x % ${j};`);
      out.line(`const int ti = (int)threadIdx.x / ${j}${isWhole ? '' : ` % ${i}`};`);
      return;
    }
    out.line(`const bool computes = threadIdx.x < ${((TILE_SIDE + 1) * TILE_SIDE) / 2};`);
    out.line(`const int row = computes ? (int)threadIdx.x / ${TILE_SIDE + 1} : 0;`);
    out.line(`const int place = (int)threadIdx.x % ${TILE_SIDE + 1};`);
    out.line(`const int ti = place < ${TILE_SIDE} - row ? row : ${TILE_SIDE - 1} - row;`);
    out.line(`const int tj = place < ${TILE_SIDE} - row ? row + place : place - 1;`);
  }

  /** Prints what the threads alone do that have pairs. */
  #whereComputed(inner: () => void): void {
    if (this.#mirror === undefined) inner();
    else this.#out.block('if (computes)', inner);
  }

  /** The value that is staged in the place of another. */
  #stagedAs(position: number): number {
    return this.#sides[position] === 'j' ? (this.#mirror?.[position] ?? position) : position;
  }

  #dtype(position: number) {
    return this.#body.instruction(position).dtype;
  }

  #packType(position: number, side: 'i' | 'j'): string {
    return `weft_pack<${STORAGE_TYPE[this.#dtype(position)]}, ${this.#pack(side)}>`;
  }

  #pairs(inner: () => void): void {
    const { items } = this.#schedule;
    this.#out.unrolled('y', items.i, () => this.#out.unrolled('x', items.j, inner));
  }

  #printStart({ monoid }: Accumulator, name: string): void {
    const { items } = this.#schedule;
    this.#out.line(`${monoid.type} ${name}[${items.i}][${items.j}];`);
    this.#pairs(() => this.#out.line(`${name}[y][x] = ${monoid.identity};`));
  }

  /** Adds the accumulators to the second set and starts them anew. */
  #printFold(): void {
    this.#pairs(() => {
      for (const { name, monoid } of this.#accumulators) {
        this.#out.line(`f_${name}[y][x] = ${monoid.combine(`f_${name}[y][x]`, `${name}[y][x]`)};`);
        this.#out.line(`${name}[y][x] = ${monoid.identity};`);
      }
    });
  }

  /** Coordinates of an element of the domain; `i` and `j` as given. */
  #coordinates(i: string, j: string, reduced: readonly string[]): string[] {
    const { axisI, axisJ } = this.#schedule;
    const parallel = this.#body.kernel.parallel.map((_, k) =>
      k === axisI ? i : k === axisJ ? j : this.#place[k]!,
    );
    return [...parallel, ...reduced];
  }

  /** All pairs of a thread for one reduced index `k`. */
  #printProduct(): void {
    const out = this.#out;
    const known = new Map<number, string>();
    for (const position of this.#frontier) {
      const side = this.#sides[position]!;
      const dtype = this.#dtype(position);
      if (side !== 'i' && side !== 'j') {
        known.set(position, fromStorage(dtype, `s${position}[k]`));
        continue;
      }
      const pack = this.#pack(side);
      const groups = this.#schedule.items[side] / pack;
      out.line(`${this.#packType(position, side)} q${position}[${groups}];`);
      out.unrolled('h', groups, () => {
        const at = `k * ${pitchOf(this.#schedule, side) / pack} + h * ${this.#schedule.threads[side]} + t${side}`;
        out.line(`q${position}[h] = s${this.#stagedAs(position)}[${at}];`);
      });
      const item = side === 'i' ? 'y' : 'x';
      known.set(position, fromStorage(dtype, `q${position}[${item} / ${pack}].v[${item} % ${pack}]`));
    }
    const targets = this.#accumulators.flatMap(({ position }) =>
      argumentsOf(this.#body.instruction(position)),
    );
    const own = this.#body.closure(targets, (position) => known.has(position));
    const scope: Scope = { coordinates: this.#pairCoordinates(own), known };
    this.#pairs(() => {
      this.#body.print(out, own, scope, this.#params);
      const value = (position: number): string => this.#body.value(position, scope, this.#params);
      for (const accumulator of this.#accumulators) {
        const own = `${accumulator.name}[y][x]`;
        out.line(`${own} = ${pushed(accumulator, this.#body, own, value)};`);
      }
    });
  }

  /** Coordinates for index arithmetic on a pair, printed only where there is some. */
  #pairCoordinates(own: readonly number[]): string[] {
    const placed = own.some((position) => isIndexArithmetic(this.#body.instruction(position)));
    if (!placed) return [];
    this.#out.line(`const ${this.#params.index} r = base + k;`);
    const reduced = printCoordinates(this.#out, this.#params, 'r', this.#body.kernel.reduced, 'z');
    return this.#coordinates(this.#results.item('i', 'y'), this.#results.item('j', 'x'), reduced);
  }
}
