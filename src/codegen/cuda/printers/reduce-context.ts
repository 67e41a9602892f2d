/**
 * State shared by the printers of one reduction: the kernel's parts by level, its accumulators, and where
 * text goes.
 *
 * Used by `reduce-kernel.ts` (the frame of a function), `reduce-step.ts` and `reduce-staged.ts` (its loops).
 */
import { isConstant, opOf } from '../../../fusion/kernel/arithmetic.js';
import { argumentsOf, type Instruction, product } from '../../../fusion/kernel/kernel.js';
import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import { opRow } from '../../../graph/ops.js';
import type { Body, Scope } from '../body.js';
import { ChunkLoads, ChunkStores } from '../chunk-moves.js';
import type { Chunking } from '../chunks.js';
import { type NearOps, nearInLoop } from '../fast-paths.js';
import type { Parameters } from '../parameters.js';
import type { ReduceSchedule } from '../schedules/schedule-reduce.js';
import { Writer } from '../writer.js';
import {
  type Accumulator,
  accumulatorsOf,
  isInOrder,
  meetsInTurn,
  pushed,
  squaredOf,
} from './block-reduce.js';

/** Whether elements of a chunk share what an instruction computes. */
const isShared = (i: Instruction): boolean => {
  const op = opOf(i);
  return op !== undefined && opRow(op).isShared === true;
};

/** Which positions each level of a reduction holds. */
export interface LevelValues {
  /** Row-level values that element-level code uses. */
  readonly rowValues: readonly number[];
  readonly loads: readonly number[];
  /** Element-level values that are the same for every row, and those that are not, without loads. */
  readonly common: readonly number[];
  readonly own: readonly number[];
  readonly elementStores: readonly number[];
  readonly rowStores: readonly number[];
}

export class ReduceContext {
  readonly body: Body;
  readonly schedule: ReduceSchedule;
  readonly params: Parameters;
  readonly out = new Writer();
  readonly accumulators: readonly Accumulator[];
  readonly chunking: Chunking;
  readonly loads: ChunkLoads;
  readonly stores: ChunkStores;
  readonly parts: LevelValues;
  /** The fast paths that a staged reduction takes. */
  readonly near: NearOps;

  constructor(body: Body, schedule: ReduceSchedule) {
    this.body = body;
    this.schedule = schedule;
    this.params = body.parameters(product(body.kernel.parallel) * schedule.slots);
    this.accumulators = accumulatorsOf(body);
    const axis = schedule.mapping === 'rows' ? body.sizes.length - 1 : body.kernel.parallel.length - 1;
    this.chunking = { axis, width: schedule.width };
    this.loads = new ChunkLoads(body, this.chunking, this.params);
    this.stores = new ChunkStores(body, this.chunking, this.params);
    this.parts = partsOf(body, this.accumulators);
    this.near = nearInLoop(body, schedule.staged ? this.parts.own : []);
  }

  /**
   * Whether loops count chunks, and not elements: with the place of a chunk as a multiple of its width the compiler
   * finds what the elements of a chunk share, a block of random words say. It does not see that of a sum.
   */
  get countsChunks(): boolean {
    const { mapping, width } = this.schedule;
    return !this.inOrder && mapping === 'rows' && width > 1 && this.body.kernel.tape.some(isShared);
  }

  /** Whether elements keep their order. */
  get inOrder(): boolean {
    return isInOrder(this.accumulators);
  }
  /** The accumulator that an element of a chunk along the rows joins: one for each place in the chunk, but in order. */
  chainOf(element?: string): string {
    if (this.inOrder) return 'g';
    const first = `g * ${this.schedule.width}`;
    return element === undefined ? first : `${first} + ${element}`;
  }

  get rows(): number {
    return product(this.body.kernel.parallel);
  }
  get length(): number {
    return product(this.body.kernel.reduced);
  }
  /** Whether chunks lie along the parallel axis. */
  get wide(): boolean {
    return this.schedule.mapping === 'columns' && this.schedule.width > 1;
  }
  /** Parallel items per group. */
  get lanes(): number {
    return this.schedule.mapping === 'columns' ? this.schedule.width : 1;
  }

  /** Coordinates of item g's chunk, given those of the reduced axes. */
  coordinates(reduced: readonly string[]): string[] {
    return [...this.body.kernel.parallel.map((_, k) => `x${k}[g]`), ...reduced];
  }

  /** The value of a store, as an expression. */
  storeValue(store: number, scope: Scope): string {
    return this.body.value(this.body.kernel.stores[store]!.value, scope, this.params);
  }

  argumentsOf(position: number): readonly number[] {
    return argumentsOf(this.body.instruction(position));
  }

  argumentType({ position }: Accumulator): string {
    return CUDA_TYPE[this.body.instruction(this.argumentsOf(position)[0]!).dtype];
  }

  /**
   * Adds an element to every accumulator; `gather` says where the elements of a chunk are collected instead.
   */
  push(scope: Scope, chain: string, gather?: (a: Accumulator) => string): void {
    const value = (position: number): string => this.body.value(position, scope, this.params);
    for (const a of this.accumulators) {
      const own = `${a.name}[${chain}]`;
      const squared = meetsInTurn(a, this.schedule) ? squaredOf(a) : undefined;
      if (a.monoid.chunked && gather !== undefined)
        this.out.line(`${gather(a)} = ${value(this.argumentsOf(a.position)[0]!)};`);
      else if (squared !== undefined) this.out.line(`${own} = ${value(squared)};`);
      else this.out.line(`${own} = ${pushed(a, this.body, own, value)};`);
    }
  }

  /** Adds `width` elements that stand in a register array. */
  combineChunk(a: Accumulator, chain: string, chunk: string, width: number): void {
    const [argument, component] = [this.argumentType(a), CUDA_TYPE[a.monoid.components[0]!]];
    const moments = `weft_moments_of<${argument}, ${component}, ${width}>(${chunk})`;
    this.out.line(`${a.name}[${chain}] = ${a.monoid.combine(`${a.name}[${chain}]`, moments)};`);
  }
}

function partsOf(body: Body, accumulators: readonly Accumulator[]): LevelValues {
  const { kernel, levels } = body;
  const argsOf = (position: number): readonly number[] => argumentsOf(body.instruction(position));
  const elementStores = kernel.stores.flatMap(({ value }, store) => (levels.element[value] ? [store] : []));
  const targets = [
    ...accumulators.flatMap(({ position }) => argsOf(position)),
    ...elementStores.map((store) => kernel.stores[store]!.value),
  ];
  const isRow = (position: number): boolean => !levels.element[position];
  const element = body.closure(targets, isRow);
  const { isLoad } = body;
  const used = new Set([...targets, ...element.flatMap(argsOf)]);
  const rowValues = [...used].filter((p) => isRow(p) && !isConstant(body.instruction(p)));
  const computed = element.filter((position) => !isLoad(position));
  const own = new Set<number>(rowValues);
  for (const position of element) {
    if (body.dependsOnParallel(position) || argsOf(position).some((arg) => own.has(arg))) own.add(position);
  }
  return {
    rowValues: rowValues.sort((a, b) => a - b),
    loads: element.filter(isLoad),
    common: computed.filter((position) => !own.has(position)),
    own: computed.filter((position) => own.has(position)),
    elementStores,
    rowStores: kernel.stores.flatMap((_, store) => (elementStores.includes(store) ? [] : [store])),
  };
}
