/**
 * Short rows, of a thread or of a few (`schedules/whole-rows.ts`): the warps bring their rows in and out as `warp-rows.ts` says.
 * Those of a last warp that is not full move thread by thread. Called by `row-kernel.ts` and `row-chunk.ts`.
 */
import { type Access, product } from '../../../fusion/kernel/kernel.js';
import { byteLengthOf, type DType } from '../../../graph/dtype.js';
import type { Body } from '../body.js';
import { packType } from '../chunks.js';
import { affineExpression } from '../index-math.js';
import type { Parameters } from '../parameters.js';
import { WARP } from '../schedules/limits.js';
import type { RowSchedule } from '../schedules/schedule-rows.js';
import { isRowAfterRow } from '../schedules/whole-rows.js';
import { elementsOfAccess, fetchedPacks, printTurned, turnedBytes } from '../warp-rows.js';
import type { Writer } from '../writer.js';
import type { Accumulator } from './block-reduce.js';

export class WholeRows {
  readonly #body: Body;
  readonly #schedule: RowSchedule;
  readonly #params: Parameters;
  readonly #out: Writer;
  readonly #loads: ReadonlySet<number>;
  readonly #stores: ReadonlySet<number>;

  constructor(body: Body, schedule: RowSchedule, params: Parameters, out: Writer) {
    this.#body = body;
    this.#schedule = schedule;
    this.#params = params;
    this.#out = out;
    const { kernel } = body;
    const positions = schedule.lanes !== undefined ? [...kernel.tape.keys()] : [];
    // In windows rows may be further apart.
    this.#loads = new Set(
      positions.filter((position) => {
        const access = body.accessAt(position);
        return access !== undefined && isRowAfterRow(kernel, access, this.#dtype(position));
      }),
    );
    const stores = schedule.lanes !== undefined ? [...kernel.stores.keys()] : [];
    this.#stores = new Set(
      stores.filter((store) => isRowAfterRow(kernel, kernel.stores[store]!.access, this.#storedDType(store))),
    );
  }

  hasLoad(position: number): boolean {
    return this.#loads.has(position);
  }

  hasStore(store: number): boolean {
    return this.#stores.has(store);
  }

  /** Rows of a warp. */
  get #rows(): number {
    return WARP / this.#schedule.threadsR;
  }

  #rowBytes(dtype: DType): number {
    return product(this.#body.kernel.reduced) * byteLengthOf(dtype);
  }

  /** Template arguments of what moves rows: the threads and the packs of one. */
  get #shape(): string {
    const { threadsR, width } = this.#schedule;
    return threadsR === 1 ? '' : `<${threadsR}, ${product(this.#body.kernel.reduced) / width}>`;
  }

  #dtype(position: number): DType {
    return this.#body.instruction(position).dtype;
  }

  #storedDType(store: number): DType {
    const { kernel } = this.#body;
    return kernel.buffers[kernel.stores[store]!.access.buffer]!.dtype;
  }

  /** Declares the shared memory, and whether all threads of a warp have a row. */
  printFrame(): void {
    if (this.#schedule.lanes === undefined) return;
    const dtypes = [
      ...[...this.#loads].map((position) => this.#dtype(position)),
      ...[...this.#stores].map((store) => this.#storedDType(store)),
    ];
    const most = Math.max(...dtypes.map((dtype) => turnedBytes(this.#rowBytes(dtype), this.#rows)));
    const { threadsP, threadsR } = this.#schedule;
    if (dtypes.length > 0) printTurned(this.#out, threadsP * threadsR, most);
    const rows = product(this.#body.kernel.parallel);
    this.#out.line(`const bool whole = (p | ${this.#rows - 1}) < ${this.#params.size(rows)};`);
  }

  /** Loads whole rows into `l<position>[chunks]`; `apart`: a thread by itself; `columns`: the coordinates of its row. */
  printLoads(
    positions: readonly number[],
    columns: readonly string[],
    apart: (positions: readonly number[]) => void,
  ): void {
    const own = positions.filter((position) => this.hasLoad(position));
    if (own.length === 0) return;
    const out = this.#out;
    out.block('if (whole)', () => {
      for (const position of own) {
        const dtype = this.#dtype(position);
        const packs = fetchedPacks(this.#rowBytes(dtype), this.#rows);
        out.line(`${packType(dtype, elementsOfAccess(dtype))} w${position}[${packs}];`);
        const access = this.#body.accessAt(position)!;
        const place = this.#address(access, dtype, columns, 'const ');
        out.line(`weft_fetch_in_rows${this.#shape}(${place}, l${position}, w${position});`);
      }
      for (const position of own)
        out.line(`weft_turn_rows${this.#shape}(w${position}, l${position}, turned);`);
    });
    out.block('else', () => apart(own));
  }

  /** Stores whole rows from `o<store>[chunks]`. */
  printStores(
    stores: readonly number[],
    columns: readonly string[],
    apart: (stores: readonly number[]) => void,
  ): void {
    const own = stores.filter((store) => this.hasStore(store));
    if (own.length === 0) return;
    const out = this.#out;
    out.block('if (whole)', () => {
      for (const store of own) {
        const { access } = this.#body.kernel.stores[store]!;
        const place = this.#address(access, this.#storedDType(store), columns);
        out.line(`weft_store_in_rows${this.#shape}(${place}, o${store}, turned);`);
      }
    });
    out.block('else if (in)', () => apart(own));
  }

  /** Where the packs of a thread's row are. */
  #address(access: Access, dtype: DType, columns: readonly string[], constant = ''): string {
    const at = [...columns, ...this.#body.kernel.reduced.map(() => '0')];
    const place = affineExpression(access, at, this.#params);
    const type = `${constant}${packType(dtype, this.#schedule.width)}*`;
    return `reinterpret_cast<${type}>(${this.#params.buffer(access.buffer)} + (${place}))`;
  }
}

/** Combines the accumulators of the lanes of a thread as threads do that meet (`block-reduce.ts`): `a<position>[0]`. */
export function printLanes(
  out: Writer,
  { lanes = 1, width, chunks }: RowSchedule,
  accumulators: readonly Accumulator[],
): void {
  for (const { name, monoid, isInTurn } of accumulators) {
    if (isInTurn) continue;
    // An accumulator of several values has many instructions, also where it meets one of no elements, which changes none of its bits.
    const hasElements = (lane: number): boolean => monoid.components.length === 1 || lane < chunks;
    const join = (a: number, b: number): void =>
      out.line(`${name}[${a}] = ${monoid.combine(`${name}[${a}]`, `${name}[${b}]`)};`);
    // Depth first, so that few are alive at once.
    const meet = (lane: number, apart: number): void => {
      if (apart === lanes) {
        for (let e = 1; e < width; e++) join(lane * width, lane * width + e);
        return;
      }
      meet(lane, 2 * apart);
      if (!hasElements(lane + apart)) return;
      meet(lane + apart, 2 * apart);
      join(lane * width, (lane + apart) * width);
    };
    meet(0, 1);
  }
}
