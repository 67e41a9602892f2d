/**
 * State shared by the printers of one kernel of several phases: its values' lifetimes, its chunks, and where
 * text goes.
 *
 * Used by `row-kernel.ts` (the frame and the walks), `row-shared.ts` (chunks in shared memory) and
 * `row-chunk.ts` (the arithmetic on a chunk).
 */
import { argumentsOf, product } from '../../../fusion/kernel/kernel.js';
import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { Body } from '../body.js';
import { ChunkLoads, ChunkStores } from '../chunk-moves.js';
import type { Chunking } from '../chunks.js';
import { printCoordinates } from '../index-math.js';
import type { Parameters } from '../parameters.js';
import { type Lifetimes, lifetimesOf, type RowSchedule } from '../schedules/schedule-rows.js';
import { Writer } from '../writer.js';
import type { Accumulator } from './block-reduce.js';
import { WholeRows } from './row-whole.js';

export class RowContext {
  readonly body: Body;
  readonly schedule: RowSchedule;
  readonly params: Parameters;
  readonly out = new Writer();
  readonly lifetimes: Lifetimes;
  readonly chunking: Chunking;
  readonly loads: ChunkLoads;
  readonly stores: ChunkStores;
  readonly whole: WholeRows;
  /** Row-level values that stand in variables. */
  readonly rowKnown = new Map<number, string>();
  /** Coordinates of this thread's row. */
  columns: readonly string[] = [];

  constructor(body: Body, schedule: RowSchedule) {
    this.body = body;
    this.schedule = schedule;
    this.params = body.parameters();
    this.chunking = { axis: body.sizes.length - 1, width: schedule.width };
    this.loads = new ChunkLoads(body, this.chunking, this.params);
    this.stores = new ChunkStores(body, this.chunking, this.params);
    this.lifetimes = schedule.held ? lifetimesOf(body.kernel) : { first: [], last: [], held: new Set() };
    this.whole = new WholeRows(body, schedule, this.params, this.out);
  }

  /** Accumulators of a thread for a reduction: one for each element of a chunk; of a whole row those of all its lanes. */
  chainsOf({ isInTurn }: Accumulator): number {
    const { lanes, width } = this.schedule;
    if (lanes === undefined) return width;
    return isInTurn ? 1 : lanes * width;
  }

  /** The accumulator that element e of chunk k joins. */
  chainOf(accumulator: Accumulator, e: string): string {
    const { lanes, width } = this.schedule;
    if (lanes === undefined) return e;
    return this.chainsOf(accumulator) === 1 ? '0' : `k % ${lanes} * ${width} + ${e}`;
  }

  get length(): number {
    return product(this.body.kernel.reduced);
  }

  /** Elements that the threads of a row walk in one chunk each. */
  get step(): number {
    return this.schedule.threadsR * this.schedule.width;
  }

  argumentsOf(position: number): readonly number[] {
    return argumentsOf(this.body.instruction(position));
  }

  argumentType({ position }: Accumulator): string {
    return CUDA_TYPE[this.body.instruction(this.argumentsOf(position)[0]!).dtype];
  }

  /** The type of a held value's chunk. */
  packType(position: number): string {
    return `weft_pack<${CUDA_TYPE[this.body.instruction(position).dtype]}, ${this.schedule.width}>`;
  }

  isLoad(position: number): boolean {
    return this.body.isLoad(position);
  }

  heldLoads(): number[] {
    return [...this.lifetimes.held].filter((position) => this.isLoad(position));
  }

  /** Chunk `k` of this thread. `full`: it lies within the row whatever the thread. */
  chunk(k: string, full: boolean, inner: (reduced: readonly string[]) => void, base = ''): void {
    const { width, threadsR } = this.schedule;
    const { index } = this.params;
    this.out.line(`const ${index} r = ${base}(${k} * ${threadsR} + tr)${width === 1 ? '' : ` * ${width}`};`);
    const body = (): void =>
      inner(printCoordinates(this.out, this.params, 'r', this.body.kernel.reduced, 'z'));
    if (full) body();
    else this.out.block(`if (r < ${this.params.size(this.length)})`, body);
  }
}
