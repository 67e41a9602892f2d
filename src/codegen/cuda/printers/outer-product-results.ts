/**
 * The results of a tile of pairs, once all reduced elements are taken: the accumulators of warps are combined, row-level
 * arithmetic is done and stored, or the accumulators of a slot left in scratch. Used by `outer-product-kernel.ts`.
 */
import { product } from '../../../fusion/kernel/kernel.js';
import type { Body, Scope } from '../body.js';
import { ChunkStores } from '../chunk-moves.js';
import { type Chunking, elementCoordinates } from '../chunks.js';
import { blockIndex } from '../function.js';
import { affineExpression } from '../index-math.js';
import type { Parameters } from '../parameters.js';
import { groupsOf, packOf } from '../schedules/outer-product-tiles.js';
import type { OuterProductSchedule } from '../schedules/schedule-outer-product.js';
import type { Writer } from '../writer.js';
import type { Accumulator } from './block-reduce.js';

export class OuterProductResults {
  readonly #body: Body;
  readonly #params: Parameters;
  readonly #out: Writer;
  readonly #schedule: OuterProductSchedule;
  readonly #accumulators: readonly Accumulator[];
  /** Of the names of accumulators: of those that others were folded into. */
  readonly #prefix: string;
  /** Coordinates of an element of the domain. */
  readonly #coordinates: (i: string, j: string, reduced: readonly string[]) => string[];

  constructor(
    body: Body,
    params: Parameters,
    out: Writer,
    schedule: OuterProductSchedule,
    accumulators: readonly Accumulator[],
    coordinates: (i: string, j: string, reduced: readonly string[]) => string[],
  ) {
    this.#body = body;
    this.#params = params;
    this.#out = out;
    this.#schedule = schedule;
    this.#accumulators = accumulators;
    this.#prefix = schedule.fold > 0 ? 'f_' : '';
    this.#coordinates = coordinates;
  }

  /**
   * Combines the accumulators of the groups in their order. Each group is left with the results of some of its items,
   * `resultsOfGroup` of them from `first` on, so that all threads finish and store.
   */
  printAcrossGroups(): void {
    const out = this.#out;
    const { items, threads } = this.#schedule;
    const groups = groupsOf(this.#schedule);
    const own = this.#resultsOfGroup();
    const lanes = threads.i * threads.j;
    for (const { name, monoid } of this.#accumulators) {
      out.line(`__shared__ ${monoid.type} x_${name}[${groups * groups * lanes}];`);
      out.line(`${monoid.type} r_${name}[${own}];`);
    }
    out.line(`const int lane = (int)threadIdx.x % ${lanes};`);
    out.unrolled('q', own, () => {
      if (own > 1) out.line('__syncthreads();');
      out.unrolled('g', groups, () => {
        const item = `(g * ${own} + q)`;
        for (const { name } of this.#accumulators)
          out.line(
            `x_${name}[(group * ${groups} + g) * ${lanes} + lane] = ${this.#prefix}${name}[${item} / ${items.j}][${item} % ${items.j}];`,
          );
      });
      out.line('__syncthreads();');
      for (const { name } of this.#accumulators)
        out.line(`r_${name}[q] = x_${name}[group * ${lanes} + lane];`);
      out.block(`for (int g = 1; g < ${groups}; ++g)`, () => {
        for (const { name, monoid } of this.#accumulators)
          out.line(
            `r_${name}[q] = ${monoid.combine(`r_${name}[q]`, `x_${name}[(g * ${groups} + group) * ${lanes} + lane]`)};`,
          );
      });
    });
  }

  /** Results of each thread, which the items of the tile's threads are shared out to. */
  #resultsOfGroup(): number {
    const { items } = this.#schedule;
    return (items.i * items.j) / groupsOf(this.#schedule);
  }

  /** The coordinate of item `item` of a side. */
  item(side: 'i' | 'j', item: string): string {
    const pack = packOf(this.#schedule.items[side]);
    const apart = this.#schedule.threads[side] * pack;
    return `(${side}0 + ${item} / ${pack} * ${apart} + t${side} * ${pack} + ${item} % ${pack})`;
  }

  /** Leaves the slot's accumulators in scratch. */
  printPartials(): void {
    const out = this.#out;
    const { parallel } = this.#body.kernel;
    const { axisI, axisJ } = this.#schedule;
    const { index } = this.#params;
    const strides = parallel.map((_, k) => product(parallel.slice(k + 1)));
    const [sizeI, sizeJ] = [axisI, axisJ].map((axis) => this.#params.size(parallel[axis]!));
    const { items } = this.#schedule;
    const pairs = (inner: () => void): void =>
      out.unrolled('y', items.i, () => out.unrolled('x', items.j, inner));
    pairs(() => {
      out.line(`const ${index} i = ${this.item('i', 'y')};`);
      out.line(`const ${index} j = ${this.item('j', 'x')};`);
      out.block(`if (i < ${sizeI} && j < ${sizeJ})`, () => {
        const row = (a: string, b: string): string =>
          affineExpression({ offset: 0, strides }, this.#coordinates(a, b, []), this.#params);
        const first = `${blockIndex(this.#params, 'y')} * ${this.#params.size(product(parallel))}`;
        this.#accumulators.forEach(({ name, monoid }, k) => {
          const slot = `${this.#params.scratch(k, monoid.type)}[${first} + `;
          out.line(`${slot}${row('i', 'j')}] = ${this.#prefix}${name}[y][x];`);
          const mirrors = this.#mirrored;
          if (mirrors !== undefined)
            out.line(`if (${mirrors}) ${slot}${row('j', 'i')}] = ${this.#prefix}${name}[y][x];`);
        });
      });
    });
  }

  /** Whether a thread stores its results for their transposes, too. */
  get #mirrored(): string | undefined {
    if (this.#schedule.isSymmetric === true) return 'ti < tj';
    return this.#schedule.isHalved === true ? 'isHalved && i0 < j0' : undefined;
  }

  printResults(): void {
    const { items, isHalved } = this.#schedule;
    const pack = packOf(items.j);
    if (groupsOf(this.#schedule) === 1) {
      const at = (name: string, y: string, x: string): string => `${this.#prefix}${name}[${y}][${x}]`;
      this.#out.unrolled('y', items.i, () =>
        this.#printRow(this.item('i', 'y'), 'j', '', items.j, pack, (name, x) => at(name, 'y', x)),
      );
      if (isHalved !== true) return;
      this.#out.block(`if (${this.#mirrored!})`, () =>
        this.#out.unrolled('x', items.j, () =>
          this.#printRow(this.item('j', 'x'), 'i', '', items.i, packOf(items.i), (name, y) =>
            at(name, y, 'x'),
          ),
        ),
      );
      return;
    }
    const own = this.#resultsOfGroup();
    const count = Math.min(own, items.j);
    this.#out.line(`const int first = group * ${own};`);
    this.#out.unrolled('y', own / count, () => {
      const [row, column] = [`(first / ${items.j} + y)`, `first % ${items.j} + `];
      this.#printRow(
        this.item('i', row),
        'j',
        column,
        count,
        Math.min(pack, count),
        (name, x) => `r_${name}[y * ${count} + ${x}]`,
      );
    });
  }

  /**
   * Finishes and stores results that stand side by side: `count` of a row, from item `first` of a side on, which is that of
   * the rows where the transpose is stored.
   */
  #printRow(
    row: string,
    side: 'i' | 'j',
    first: string,
    count: number,
    pack: number,
    resultAt: (name: string, x: string) => string,
  ): void {
    const out = this.#out;
    const { kernel } = this.#body;
    const { axisI, axisJ } = this.#schedule;
    const { index } = this.#params;
    const width = kernel.parallel[axisJ]! % pack === 0 ? pack : 1;
    const chunking: Chunking = { axis: axisJ, width };
    const stores = new ChunkStores(this.#body, chunking, this.#params);
    const reduced = kernel.reduced.map(() => '0');
    out.line(`const ${index} i = ${row};`);
    out.unrolled('c', count / width, () => {
      const x = width === 1 ? 'c' : `c * ${width}`;
      out.line(`const ${index} j = ${this.item(side, `(${first}${x})`)};`);
      const [sizeI, sizeJ] = [axisI, axisJ].map((axis) => this.#params.size(kernel.parallel[axis]!));
      out.block(`if (i < ${sizeI} && j < ${sizeJ})`, () => {
        const at = this.#coordinates('i', 'j', reduced);
        for (const store of kernel.stores.keys()) stores.declare(out, store, []);
        out.unrolled('e', width, () => {
          const known = new Map(
            this.#accumulators.map(({ position, name, monoid }) => [
              position,
              monoid.finish(resultAt(name, `${x} + e`), 0),
            ]),
          );
          const scope: Scope = { coordinates: elementCoordinates(at, chunking), known };
          const values = kernel.stores.map(({ value }) => value);
          this.#body.print(
            out,
            this.#body.closure(values, (position) => known.has(position)),
            scope,
            this.#params,
          );
          for (const [store, { value }] of kernel.stores.entries()) {
            stores.put(out, store, '', this.#body.value(value, scope, this.#params));
          }
        });
        for (const store of kernel.stores.keys()) stores.flush(out, store, '', at);
      });
    });
  }
}
