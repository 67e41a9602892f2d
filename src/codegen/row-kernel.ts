/**
 * Prints a kernel of several phases: each thread group walks one row once per phase, with a reduction over the group
 * after each walk. Elements are held in registers from phase to phase, or loaded and computed again where the row is too
 * long (`RowSchedule.held`).
 */
import { product } from '../fusion/kernel.js';
import { CUDA_TYPE } from '../graph/ops.js';
import { type Accumulator, printAcross, printThreadPlace } from './block-reduce.js';
import type { Body, Scope } from './body.js';
import { type Chunking, ChunkLoads, ChunkStores, elementCoordinates, storeElement } from './chunks.js';
import { type CudaFunction, printFunction } from './function.js';
import { printCoordinates } from './index-math.js';
import type { Parameters } from './parameters.js';
import { phaseOf, type RowPhase } from './row-phases.js';
import { type HeldSlots, heldSlots, type Lifetimes, lifetimesOf, type RowSchedule } from './schedule-rows.js';
import { Writer } from './writer.js';

export function printRows(body: Body, schedule: RowSchedule, name: string): CudaFunction {
  return new RowWalk(body, schedule).print(name);
}

class RowWalk {
  readonly #body: Body;
  readonly #schedule: RowSchedule;
  readonly #params: Parameters;
  readonly #out = new Writer();
  readonly #lifetimes: Lifetimes;
  readonly #slots: HeldSlots;
  readonly #loads: ChunkLoads;
  readonly #stores: ChunkStores;
  readonly #chunking: Chunking;
  readonly #rowKnown = new Map<number, string>();
  readonly #elementStores: readonly number[];
  #columns: readonly string[] = [];

  constructor(body: Body, schedule: RowSchedule) {
    this.#body = body;
    this.#schedule = schedule;
    this.#params = body.parameters();
    this.#chunking = { axis: body.sizes.length - 1, width: schedule.width };
    this.#loads = new ChunkLoads(body, this.#chunking, this.#params);
    this.#stores = new ChunkStores(body, this.#chunking, this.#params);
    const { kernel, levels } = body;
    this.#lifetimes = schedule.held ? lifetimesOf(kernel) : { first: [], last: [], held: new Set() };
    this.#slots = schedule.sharedChunks > 0 ? heldSlots(kernel) : { slotOf: new Map(), byteLengths: [] };
    this.#elementStores = kernel.stores.flatMap(({ value }, store) => (levels.element[value] ? [store] : []));
  }

  get #length(): number {
    return product(this.#body.kernel.reduced);
  }

  print(name: string): CudaFunction {
    const { kernel, levels } = this.#body;
    const { threadsP, threadsR } = this.#schedule;
    const out = this.#out;
    const { index } = this.#params;
    const rows = product(kernel.parallel);
    if (this.#schedule.sharedChunks > 0) out.line('extern __shared__ weft_pack<unsigned int, 4> weft_row[];');
    printThreadPlace(out, this.#schedule);
    out.line(`const ${index} p = (${index})blockIdx.x * ${threadsP} + tp;`);
    out.line(`const bool in = p < ${this.#params.size(rows)};`);
    out.line(`const ${index} row = in ? p : 0;`);
    this.#columns = printCoordinates(out, this.#params, 'row', kernel.parallel, 'x');
    for (let phase = 0; phase < levels.phases; phase++) this.#printPhase(phase);
    this.#printRowStores();
    const threads = threadsP * threadsR;
    return printFunction(name, out, this.#params, {
      grid: [Math.ceil(rows / threadsP), 1, 1],
      block: [threads, 1, 1],
      sharedByteLength: this.#slotOffset(this.#slots.byteLengths.length),
    });
  }

  #argumentsOf(position: number): readonly number[] {
    const instruction = this.#body.instruction(position);
    return 'args' in instruction ? instruction.args : [];
  }

  /** Row-level values that element code of a phase uses, as variables of the function. */
  #printRowValues(phase: RowPhase): void {
    const { levels, kernel } = this.#body;
    const users = [
      ...phase.computed.flatMap((position) => this.#argumentsOf(position)),
      ...phase.accumulators.flatMap(({ position }) => this.#argumentsOf(position)),
      ...phase.stores.map((store) => kernel.stores[store]!.value),
    ];
    this.#printRowLevel(users.filter((position) => !levels.element[position]));
  }

  #printRowLevel(targets: readonly number[]): void {
    const coordinates = [...this.#columns, ...this.#body.kernel.reduced.map(() => '0')];
    const positions = this.#body.closure(targets, (position) => this.#rowKnown.has(position));
    this.#body.print(this.#out, positions, { coordinates, known: this.#rowKnown }, this.#params);
    for (const position of positions) this.#rowKnown.set(position, `v${position}`);
  }

  #printPhase(number: number): void {
    const out = this.#out;
    const phase = phaseOf(this.#body, this.#lifetimes, number);
    this.#printRowValues(phase);
    for (const { name, monoid } of phase.accumulators) {
      out.line(`${monoid.type} ${name}[${this.#schedule.width}];`);
      out.unrolled('e', this.#schedule.width, () => out.line(`${name}[e] = ${monoid.identity};`));
    }
    if (this.#schedule.held) this.#printHeldWalk(number, phase);
    else this.#printWalkAgain(phase);
    for (const { name, monoid } of phase.accumulators) {
      if (this.#schedule.width === 1) continue;
      out.line('#pragma unroll');
      out.block(`for (int e = 1; e < ${this.#schedule.width}; ++e)`, () => {
        out.line(`${name}[0] = ${monoid.combine(`${name}[0]`, `${name}[e]`)};`);
      });
    }
    printAcross(out, this.#schedule, phase.accumulators, 1);
    for (const { position, name, monoid } of phase.accumulators) {
      const { dtype } = this.#body.instruction(position);
      out.line(`const ${CUDA_TYPE[dtype]} v${position} = ${monoid.finish(`${name}[0]`)};`);
      this.#rowKnown.set(position, `v${position}`);
    }
  }

  /** A walk whose chunks are unrolled, with loads first; held values stay in `l…[k]` and `h…[k]`. */
  #printHeldWalk(number: number, phase: RowPhase): void {
    const out = this.#out;
    const { chunks } = this.#schedule;
    const { held } = this.#lifetimes;
    const ahead = phase.loads.filter((position) => number === 0 || held.has(position));
    for (const position of ahead) this.#loads.declare(out, position, [chunks]);
    for (const position of phase.kept) out.line(`${this.#packType(position)} h${position}[${chunks}];`);
    const full = this.#length >= chunks * this.#step;
    const walk = (inner: (reduced: readonly string[]) => void): void =>
      out.unrolled('k', chunks, () => this.#chunk('k', full, inner));
    if (ahead.length > 0) {
      walk((reduced) => {
        for (const position of ahead) this.#loads.load(out, position, '[k]', [...this.#columns, ...reduced]);
      });
    }
    if (this.#schedule.sharedChunks > 0) this.#printShared(phase);
    if (phase.computed.length + phase.stores.length + phase.accumulators.length === 0) return;
    const isAhead = new Set([...ahead, ...this.#heldLoads()]);
    walk((reduced) =>
      this.#computeChunk(phase, reduced, (position) => (isAhead.has(position) ? '[k]' : ''), '[k]'),
    );
    if (this.#schedule.sharedChunks > 0) this.#printSharedWalk(number, phase);
  }

  #heldLoads(): number[] {
    return [...this.#lifetimes.held].filter((position) => this.#body.instruction(position).kind === 'load');
  }

  #packType(position: number): string {
    return `weft_pack<${CUDA_TYPE[this.#body.instruction(position).dtype]}, ${this.#schedule.width}>`;
  }

  /** Byte at which a slot of shared memory starts. */
  #slotOffset(slot: number): number {
    const { threadsR, threadsP, sharedChunks, width } = this.#schedule;
    const bytes = this.#slots.byteLengths.slice(0, slot).reduce((sum, n) => sum + n, 0);
    return bytes * threadsR * threadsP * sharedChunks * width;
  }

  /** Where a held value of chunk `k` of this thread stands in shared memory. */
  #slot(position: number, type: string, k: string): string {
    const { threadsR, threadsP } = this.#schedule;
    // A slot is a multiple of a warp's worth of elements, so of 16 bytes.
    const offset = this.#slotOffset(this.#slots.slotOf.get(position)!) / 16;
    return `reinterpret_cast<${type}*>(weft_row + ${offset})[(${k}) * ${threadsR * threadsP} + (int)threadIdx.x]`;
  }

  /** Brings loads that are held into shared memory, a few in flight at a time. */
  #printShared(phase: RowPhase): void {
    const out = this.#out;
    const { chunks, sharedChunks } = this.#schedule;
    const flight = 4;
    for (const position of phase.loads.filter((load) => this.#lifetimes.held.has(load))) {
      const type = this.#loads.typeOf(position);
      out.block(`for (int first = 0; first < ${sharedChunks}; first += ${flight})`, () => {
        out.line(`${type} l${position}[${flight}];`);
        const each = (inner: (reduced: readonly string[]) => void): void =>
          out.unrolled('k', flight, () =>
            out.block(`if (first + k < ${sharedChunks})`, () =>
              this.#chunk(`(${chunks} + first + k)`, false, inner),
            ),
          );
        each((reduced) => this.#loads.load(out, position, '[k]', [...this.#columns, ...reduced]));
        each(() => out.line(`${this.#slot(position, type, 'first + k')} = l${position}[k];`));
      });
    }
  }

  /** The part of a walk whose chunks lie in shared memory; only this thread touches them. */
  #printSharedWalk(number: number, phase: RowPhase): void {
    const out = this.#out;
    const { chunks, sharedChunks } = this.#schedule;
    const { first, last, held } = this.#lifetimes;
    out.line('#pragma unroll 2');
    out.block(`for (int k = 0; k < ${sharedChunks}; ++k)`, () =>
      this.#chunk(`(${chunks} + k)`, false, (reduced) => {
        for (const position of held) {
          const isLoad = this.#body.instruction(position).kind === 'load';
          if (
            first[position]! > number ||
            last[position]! < number ||
            (!isLoad && first[position] === number)
          )
            continue;
          const type = isLoad ? this.#loads.typeOf(position) : this.#packType(position);
          out.line(`const ${type} ${isLoad ? 'l' : 'h'}${position} = ${this.#slot(position, type, 'k')};`);
        }
        for (const position of phase.kept) out.line(`${this.#packType(position)} h${position};`);
        this.#computeChunk(phase, reduced, () => '', '');
        for (const position of phase.kept) {
          out.line(`${this.#slot(position, this.#packType(position), 'k')} = h${position};`);
        }
      }),
    );
  }

  /** A walk with a loop over the row, a few chunks at a time. */
  #printWalkAgain(phase: RowPhase): void {
    const out = this.#out;
    const { chunks } = this.#schedule;
    const { index } = this.#params;
    out.block(
      `for (${index} base = 0; base < ${this.#params.size(this.#length)}; base += ${chunks * this.#step})`,
      () => {
        for (const position of phase.loads) this.#loads.declare(out, position, [chunks]);
        const walk = (inner: (reduced: readonly string[]) => void): void =>
          out.unrolled('k', chunks, () => this.#chunk('k', false, inner, 'base + '));
        walk((reduced) => {
          for (const position of phase.loads)
            this.#loads.load(out, position, '[k]', [...this.#columns, ...reduced]);
        });
        walk((reduced) => this.#computeChunk(phase, reduced, () => '[k]', '[k]'));
      },
    );
  }

  /** Elements that the threads of a row walk in one chunk each. */
  get #step(): number {
    return this.#schedule.threadsR * this.#schedule.width;
  }

  #chunk(k: string, full: boolean, inner: (reduced: readonly string[]) => void, base = ''): void {
    const out = this.#out;
    const { width } = this.#schedule;
    const { index } = this.#params;
    out.line(
      `const ${index} r = ${base}(${k} * ${this.#step / width} + tr)${width === 1 ? '' : ` * ${width}`};`,
    );
    const body = (): void => inner(printCoordinates(out, this.#params, 'r', this.#body.kernel.reduced, 'z'));
    if (full) body();
    else out.block(`if (r < ${this.#params.size(this.#length)})`, body);
  }

  /** Arithmetic and stores of a chunk. `indexOf`: the place of a loaded chunk in its array; `kept`: of a held one. */
  #computeChunk(
    phase: RowPhase,
    reduced: readonly string[],
    indexOf: (load: number) => string,
    kept: string,
  ): void {
    const out = this.#out;
    const { kernel } = this.#body;
    const { width } = this.#schedule;
    const { held } = this.#lifetimes;
    const at = [...this.#columns, ...reduced];
    const chunked = phase.accumulators.filter(({ monoid }) => monoid.chunked);
    for (const position of phase.loads) {
      if (indexOf(position) !== '' || (kept === '' && held.has(position))) continue;
      this.#loads.declare(out, position, []);
      this.#loads.load(out, position, '', at);
    }
    for (const store of phase.stores) this.#stores.declare(out, store, []);
    for (const a of chunked) out.line(`${this.#argumentType(a)} d${a.position}[${width}];`);
    const known = new Map(this.#rowKnown);
    for (const position of held) {
      if (this.#body.instruction(position).kind !== 'load' && !phase.kept.includes(position))
        known.set(position, `h${position}${kept}.v[e]`);
    }
    const loads = [...phase.loads, ...this.#heldLoads()];
    for (const position of loads) known.set(position, this.#loads.value(position, indexOf(position)));
    const scope: Scope = { coordinates: elementCoordinates(at, this.#chunking), known };
    const value = (position: number): string => this.#body.value(position, scope, this.#params);
    out.unrolled('e', width, () => {
      this.#body.print(out, phase.computed, scope, this.#params);
      for (const position of phase.kept) out.line(`h${position}${kept}.v[e] = v${position};`);
      for (const { position, name, monoid } of phase.accumulators) {
        const args = this.#argumentsOf(position).map(value);
        out.line(
          monoid.chunked
            ? `d${position}[e] = ${args[0]};`
            : `${name}[e] = ${monoid.push(`${name}[e]`, args)};`,
        );
      }
      for (const store of phase.stores) this.#stores.put(out, store, '', value(kernel.stores[store]!.value));
    });
    for (const a of chunked) {
      const types = `${this.#argumentType(a)}, ${CUDA_TYPE[a.monoid.components[0]!]}, ${width}`;
      out.line(
        `${a.name}[0] = ${a.monoid.combine(`${a.name}[0]`, `weft_moments_of<${types}>(d${a.position})`)};`,
      );
    }
    if (phase.stores.length === 0) return;
    out.block('if (in)', () => {
      for (const store of phase.stores) this.#stores.flush(out, store, '', at);
    });
  }

  #argumentType({ position }: Accumulator): string {
    return CUDA_TYPE[this.#body.instruction(this.#argumentsOf(position)[0]!).dtype];
  }

  #printRowStores(): void {
    const { kernel } = this.#body;
    const stores = kernel.stores.flatMap((_, store) => (this.#elementStores.includes(store) ? [] : [store]));
    if (stores.length === 0) return;
    this.#out.block('if (tr == 0 && in)', () => {
      this.#printRowLevel(stores.map((store) => kernel.stores[store]!.value));
      const coordinates = [...this.#columns, ...kernel.reduced.map(() => '0')];
      for (const store of stores) {
        const scope: Scope = { coordinates, known: this.#rowKnown };
        const value = this.#body.value(kernel.stores[store]!.value, scope, this.#params);
        storeElement(this.#out, this.#body, this.#params, store, value, coordinates);
      }
    });
  }
}
