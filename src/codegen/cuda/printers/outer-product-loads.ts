/**
 * The loads of a tile of pairs: which values of a side are staged, along which axis their loads lie side by side, and
 * which a thread holds for all tiles. Asked by `outer-product-stage.ts`, which prints them.
 */
import { type Access, argumentsOf } from '../../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../../graph/dtype.js';
import type { Body } from '../body.js';
import { isVector } from '../chunks.js';
import { extentOf, TILE_THREADS } from '../schedules/outer-product-tiles.js';
import {
  frontierOf,
  type OuterProductSchedule,
  type Side,
  sidesOf,
} from '../schedules/schedule-outer-product.js';

/** Elements that a thread loads at once. */
export const PACK = 4;
export const BOTH = ['i', 'j'] as const;

/**
 * Where packs of loaded elements lie: an axis of the domain, and how many reduced elements of the tile its next index
 * is further; 0: along the tile's rows.
 */
export interface PackAxis {
  readonly axis: number;
  readonly step: number;
}

export class OuterProductLoads {
  readonly #body: Body;
  readonly #schedule: OuterProductSchedule;
  readonly #sides: readonly Side[];
  readonly #frontier: readonly number[];

  constructor(body: Body, schedule: OuterProductSchedule) {
    this.#body = body;
    this.#schedule = schedule;
    this.#sides = sidesOf(body.kernel, schedule.axisI, schedule.axisJ);
    this.#frontier = frontierOf(body.kernel, this.#sides);
  }

  /** The staged values of a side; none of side j where they are those of side i. */
  own(side: Side): number[] {
    if (side === 'j' && this.#schedule.isSymmetric === true) return [];
    return this.#frontier.filter((position) => this.#sides[position] === side);
  }

  /** The loads that the values of a side need for each reduced element. */
  loadsOf(side: Side): number[] {
    const held = this.rowValues(side);
    return this.#body
      .closure(this.own(side), (position) => held.includes(position))
      .filter((position) => this.#body.isLoad(position) && !held.includes(position));
  }

  /**
   * Values of a side's rows alone that each reduced element takes: a thread holds those of its packs where these are of
   * the same rows in all tiles.
   */
  rowValues(side: Side): number[] {
    if ((side !== 'i' && side !== 'j') || this.packAxis(side)?.step !== 0) return [];
    const own = this.own(side);
    const { element } = this.#body.levels;
    const taken = this.#body
      .closure(own, () => false)
      .filter((position) => element[position]!)
      .flatMap((position) => argumentsOf(this.#body.instruction(position)));
    return [...new Set([...taken, ...own])].filter(
      (position) => !element[position]! && this.#sides[position] === side,
    );
  }

  /**
   * The axis along which every load of these values moves as packs, if there is one, and as many packs for every
   * thread, or one for some.
   */
  packAxis(side: 'i' | 'j'): PackAxis | undefined {
    const { tile } = this.#schedule;
    const count = this.packs(side);
    if (count % TILE_THREADS !== 0 && TILE_THREADS % count !== 0) return undefined;
    const loads = this.accessesOf(this.own(side));
    if (loads.length === 0) return undefined;
    const last = this.#body.sizes.length - 1;
    const candidates: PackAxis[] = [{ axis: last, step: 1 }];
    if (tile.length === 2) candidates.push({ axis: last - 1, step: tile[1]!.length });
    const found = candidates.find(({ axis }) => {
      const packs = loads.filter((access) => isVector(access, { axis, width: PACK })).length;
      // Values of rows, as means, are loaded once for a pack.
      const fixed = loads.filter(({ strides, bounds }) => strides[axis] === 0 && bounds.length === 0).length;
      return this.#body.sizes[axis]! % PACK === 0 && packs > 0 && packs + fixed === loads.length;
    });
    return found ?? this.#rowPacks(side);
  }

  /** Packs along the rows of a tile, where all that is loaded for each reduced element lies so. */
  #rowPacks(side: 'i' | 'j'): PackAxis | undefined {
    const { axisI, axisJ } = this.#schedule;
    const axis = side === 'i' ? axisI : axisJ;
    const { element } = this.#body.levels;
    const loads = this.#body
      .closure(this.own(side), () => false)
      .filter((position) => this.#body.isLoad(position) && element[position]!);
    const isPack = (position: number): boolean =>
      isVector(this.#body.accessAt(position)!, { axis, width: PACK });
    const isHeld = TILE_THREADS % (this.extent(side) / PACK) === 0;
    if (!isHeld || loads.length === 0 || this.#body.sizes[axis]! % PACK !== 0) return undefined;
    return loads.every(isPack) ? { axis, step: 0 } : undefined;
  }

  accessesOf(own: readonly number[]): Access[] {
    return this.#body
      .closure(own, () => false)
      .flatMap((position) => (this.#body.isLoad(position) ? [this.#body.accessAt(position)!] : []));
  }

  /** Packs of a side. */
  packs(side: 'i' | 'j'): number {
    return (this.#schedule.depth / PACK) * this.extent(side);
  }

  /** Packs of a side that a thread loads, if any. */
  rounds(side: 'i' | 'j'): number {
    return Math.ceil(this.packs(side) / TILE_THREADS);
  }

  /** Rows or columns of a tile. */
  extent(side: 'i' | 'j'): number {
    return extentOf(this.#schedule, side);
  }

  /** Registers that hold the loads of the next tile; infinite if they cannot be held. */
  wordsAhead(): number {
    const staged = BOTH.filter((side) => this.own(side).length > 0);
    const loaded = staged.flatMap((side) => this.loadsOf(side));
    const areDisjoint = new Set(loaded).size === loaded.length;
    if (!areDisjoint || staged.some((side) => this.packAxis(side) === undefined))
      return Number.POSITIVE_INFINITY;
    const bytesOf = (side: 'i' | 'j'): number =>
      this.loadsOf(side).reduce(
        (sum, position) => sum + byteLengthOf(this.#body.instruction(position).dtype),
        0,
      );
    return staged.reduce((sum, side) => sum + (this.rounds(side) * PACK * bytesOf(side)) / 4, 0);
  }
}
