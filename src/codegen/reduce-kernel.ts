/**
 * Prints a reduction in one phase: several reductions at once, a map in front of them, row-level arithmetic after them,
 * stores at both levels. One function, or two where the reduced axis is cut into slots: the first leaves one
 * accumulator per slot in scratch, the second combines them in slot order and finishes the rows.
 */
import { product } from '../fusion/kernel.js';
import { CUDA_TYPE } from '../graph/ops.js';
import { type Accumulator, accumulatorsOf, printAcross, printThreadPlace } from './block-reduce.js';
import type { Body, Scope } from './body.js';
import { type Chunking, ChunkLoads, ChunkStores, elementCoordinates, storeElement } from './chunks.js';
import type { Scratch } from './cuda-types.js';
import { type CudaFunction, printFunction } from './function.js';
import { printCoordinates } from './index-math.js';
import { accumulatorByteLength } from './monoids.js';
import type { Parameters } from './parameters.js';
import type { ReduceSchedule } from './schedule-reduce.js';
import { Writer } from './writer.js';

export interface PrintedReduction {
  readonly functions: readonly CudaFunction[];
  readonly scratch: readonly Scratch[];
}

export function printReduce(body: Body, schedule: ReduceSchedule, name: string): PrintedReduction {
  const walk = new ReduceWalk(body, schedule);
  if (schedule.slots === 1) return { functions: [walk.print(name)], scratch: [] };
  const rows = product(body.kernel.parallel);
  const scratch = accumulatorsOf(body).map(({ monoid }) => ({
    byteLength: accumulatorByteLength(monoid) * rows * schedule.slots,
    zeroed: false,
  }));
  return {
    functions: [walk.print(`${name}_partial`), printCombine(body, schedule.slots, `${name}_combine`)],
    scratch,
  };
}

/** What row values the walk needs before it starts, and which positions each level holds. */
interface Parts {
  /** Row-level values that element-level code uses. */
  readonly rowValues: readonly number[];
  readonly loads: readonly number[];
  /** Element-level values that are the same for every row, and those that are not, without loads. */
  readonly common: readonly number[];
  readonly own: readonly number[];
  readonly elementStores: readonly number[];
}

class ReduceWalk {
  readonly #body: Body;
  readonly #schedule: ReduceSchedule;
  readonly #params: Parameters;
  readonly #out = new Writer();
  readonly #accumulators: readonly Accumulator[];
  readonly #chunking: Chunking;
  readonly #loads: ChunkLoads;
  readonly #stores: ChunkStores;
  readonly #parts: Parts;

  constructor(body: Body, schedule: ReduceSchedule) {
    this.#body = body;
    this.#schedule = schedule;
    this.#params = body.parameters();
    this.#accumulators = accumulatorsOf(body);
    const axis = schedule.layout === 'rows' ? body.sizes.length - 1 : body.kernel.parallel.length - 1;
    this.#chunking = { axis, width: schedule.width };
    this.#loads = new ChunkLoads(body, this.#chunking, this.#params);
    this.#stores = new ChunkStores(body, this.#chunking, this.#params);
    this.#parts = this.#split();
  }

  get #rows(): number {
    return product(this.#body.kernel.parallel);
  }
  get #length(): number {
    return product(this.#body.kernel.reduced);
  }
  /** Whether chunks lie along the parallel axis. */
  get #wide(): boolean {
    return this.#schedule.layout === 'columns' && this.#schedule.width > 1;
  }
  /** Parallel items per group. */
  get #lanes(): number {
    return this.#schedule.layout === 'columns' ? this.#schedule.width : 1;
  }

  #split(): Parts {
    const { kernel, levels } = this.#body;
    const elementStores = kernel.stores.flatMap(({ value, access }, store) =>
      levels.element[value] || access.strides.some((s, k) => k >= kernel.parallel.length && s !== 0)
        ? [store]
        : [],
    );
    const targets = [
      ...this.#accumulators.flatMap(({ position }) => this.#argumentsOf(position)),
      ...elementStores.map((store) => kernel.stores[store]!.value),
    ];
    const isRow = (position: number): boolean => !levels.element[position];
    const element = this.#body.closure(targets, isRow);
    const isLoad = (position: number): boolean => this.#body.instruction(position).kind === 'load';
    const used = new Set([...targets, ...element.flatMap((position) => this.#argumentsOf(position))]);
    const rowValues = [...used].filter((p) => isRow(p) && this.#body.instruction(p).kind !== 'const');
    const computed = element.filter((position) => !isLoad(position));
    const own = new Set<number>(rowValues);
    for (const position of computed) {
      if (this.#body.dependsOnParallel(position) || this.#argumentsOf(position).some((arg) => own.has(arg)))
        own.add(position);
    }
    return {
      rowValues: rowValues.sort((a, b) => a - b),
      loads: element.filter(isLoad),
      common: computed.filter((position) => !own.has(position)),
      own: computed.filter((position) => own.has(position)),
      elementStores,
    };
  }

  #argumentsOf(position: number): readonly number[] {
    const instruction = this.#body.instruction(position);
    return 'args' in instruction ? instruction.args : [];
  }

  print(name: string): CudaFunction {
    const { threadsP, threadsR, itemsP, width, slots, slotLength, layout } = this.#schedule;
    const out = this.#out;
    const params = this.#params;
    const perBlock = threadsP * itemsP * this.#lanes;
    printThreadPlace(out, this.#schedule);
    this.#printItems(perBlock);
    this.#printRowValues();
    const chains = itemsP * width;
    for (const { name: a, monoid } of this.#accumulators) {
      out.line(`${monoid.type} ${a}[${chains}];`);
      out.unrolled('q', chains, () => out.line(`${a}[q] = ${monoid.identity};`));
    }
    const { index } = params;
    out.line(
      `const ${index} begin = ${slots === 1 ? '0' : `(${index})blockIdx.y * ${params.size(slotLength)}`};`,
    );
    const whole = params.size(this.#length);
    const stop =
      slots === 1
        ? whole
        : `(begin + ${params.size(slotLength)} < ${whole} ? begin + ${params.size(slotLength)} : ${whole})`;
    out.line(`const ${index} end = ${stop};`);
    this.#printWalk();
    if (layout === 'rows') this.#foldChains();
    printAcross(out, this.#schedule, this.#accumulators, itemsP * this.#lanes);
    out.block('if (tr == 0)', () => (slots === 1 ? this.#printResults() : this.#printPartials()));
    return printFunction(name, out, params, {
      grid: [Math.ceil(this.#rows / perBlock), slots, 1],
      block: [threadsP * threadsR, 1, 1],
      sharedByteLength: 0,
    });
  }

  /** Coordinates of this thread's parallel items: `x<axis>[g]`; items past the end read item 0 and store nothing. */
  #printItems(perBlock: number): void {
    const { kernel } = this.#body;
    const { itemsP, threadsP } = this.#schedule;
    const out = this.#out;
    const { index } = this.#params;
    const axes = kernel.parallel.length;
    out.line(`bool in[${itemsP}];`);
    if (axes > 0) out.line(`${index} ${kernel.parallel.map((_, k) => `x${k}[${itemsP}]`).join(', ')};`);
    out.unrolled('g', itemsP, () => {
      const lanes = this.#lanes === 1 ? '' : ` * ${this.#lanes}`;
      out.line(`const ${index} p = (${index})blockIdx.x * ${perBlock} + (g * ${threadsP} + tp)${lanes};`);
      out.line(`in[g] = p < ${this.#params.size(this.#rows)};`);
      if (axes === 0) return;
      out.line(`const ${index} q = in[g] ? p : 0;`);
      const names = printCoordinates(out, this.#params, 'q', kernel.parallel, 'y');
      for (const [k, name] of names.entries()) out.line(`x${k}[g] = ${name};`);
    });
  }

  /** Coordinates of item g's chunk, given those of the reduced axes. */
  #coordinates(reduced: readonly string[]): string[] {
    return [...this.#body.kernel.parallel.map((_, k) => `x${k}[g]`), ...reduced];
  }

  /** Row-level values that the walk uses, once per item: `h<position>[g][lane]`. */
  #printRowValues(): void {
    const { rowValues } = this.#parts;
    if (rowValues.length === 0) return;
    const out = this.#out;
    const { itemsP } = this.#schedule;
    for (const position of rowValues) {
      out.line(
        `${CUDA_TYPE[this.#body.instruction(position).dtype]} h${position}[${itemsP}][${this.#lanes}];`,
      );
    }
    out.unrolled('g', itemsP, () =>
      out.unrolled('e', this.#lanes, () => {
        const noReduced = this.#body.kernel.reduced.map(() => '0');
        const at = this.#coordinates(noReduced);
        const scope: Scope = {
          coordinates: this.#wide ? elementCoordinates(at, this.#chunking) : at,
          known: new Map(),
        };
        this.#body.print(
          out,
          this.#body.closure(rowValues, () => false),
          scope,
          this.#params,
        );
        for (const position of rowValues) out.line(`h${position}[g][e] = v${position};`);
      }),
    );
  }

  #printWalk(): void {
    const { threadsR, unrollR, layout } = this.#schedule;
    const out = this.#out;
    const width = layout === 'rows' ? this.#schedule.width : 1;
    const { index } = this.#params;
    const stride = threadsR * width;
    const reach = (unrollR - 1) * stride + width;
    out.line(`${index} r = begin + (${index})tr${width === 1 ? '' : ` * ${width}`};`);
    out.block(`for (; r + ${reach} <= end; r += ${unrollR * stride})`, () => this.#printStep(false));
    if (unrollR > 1 || width > 1) out.block('if (r < end)', () => this.#printStep(true));
    if (this.#length % width !== 0) {
      const rest = this.#length - (this.#length % width);
      out.block(`for (r = ${this.#params.size(rest)} + (${index})tr; r < end; r += ${threadsR})`, () =>
        this.#printSingle(),
      );
    }
  }

  /** `unrollR` steps: all loads, then all arithmetic. `guarded`: only the steps that lie before the end. */
  #printStep(guarded: boolean): void {
    const { unrollR, itemsP, threadsR, layout } = this.#schedule;
    const out = this.#out;
    const width = layout === 'rows' ? this.#schedule.width : 1;
    const onRow = (position: number): boolean => this.#body.dependsOnParallel(position);
    for (const position of this.#parts.loads)
      this.#loads.declare(out, position, onRow(position) ? [unrollR, itemsP] : [unrollR]);
    const step = (inner: (reduced: string[]) => void): void =>
      out.unrolled('u', unrollR, () => {
        out.line(`const ${this.#params.index} s = r + u * ${threadsR * width};`);
        const body = (): void =>
          inner(printCoordinates(out, this.#params, 's', this.#body.kernel.reduced, 'z'));
        if (guarded) out.block(width > 1 ? `if (s + ${width} <= end)` : 'if (s < end)', body);
        else body();
      });
    step((reduced) => {
      const common = this.#parts.loads.filter((position) => !onRow(position));
      const own = this.#parts.loads.filter(onRow);
      const noItem = [...this.#body.kernel.parallel.map(() => '0'), ...reduced];
      for (const position of common) this.#loads.load(out, position, '[u]', noItem);
      if (own.length === 0) return;
      out.unrolled('g', itemsP, () => {
        for (const position of own) this.#loads.load(out, position, '[u][g]', this.#coordinates(reduced));
      });
    });
    if (layout === 'rows') {
      step((reduced) => this.#computeRows(reduced));
      return;
    }
    const chunked = guarded ? [] : this.#accumulators.filter(({ monoid }) => monoid.chunked);
    for (const a of chunked)
      out.line(`${this.#argumentType(a)} d${a.position}[${itemsP * this.#lanes}][${unrollR}];`);
    step((reduced) => this.#computeColumns(reduced, !guarded));
    for (const a of chunked) {
      out.unrolled('q', itemsP * this.#lanes, () => this.#combineChunk(a, 'q', `d${a.position}[q]`, unrollR));
    }
  }

  #known(): Map<number, string> {
    const { loads, rowValues } = this.#parts;
    const lane = this.#lanes === 1 ? '0' : 'e';
    return new Map([
      ...loads.map(
        (p) => [p, this.#loads.value(p, this.#body.dependsOnParallel(p) ? '[u][g]' : '[u]')] as const,
      ),
      ...rowValues.map((p) => [p, `h${p}[g][${lane}]`] as const),
    ]);
  }

  /** One step of the rows layout: a chunk along the reduced axis, for every item. */
  #computeRows(reduced: readonly string[]): void {
    const out = this.#out;
    const { itemsP, width } = this.#schedule;
    const { common, own, elementStores } = this.#parts;
    const at = this.#coordinates(reduced);
    const scope: Scope = { coordinates: elementCoordinates(at, this.#chunking), known: this.#known() };
    for (const store of elementStores) this.#stores.declare(out, store, [itemsP]);
    const chunked = this.#accumulators.filter(({ monoid }) => monoid.chunked);
    for (const a of chunked) out.line(`${this.#argumentType(a)} d${a.position}[${itemsP}][${width}];`);
    out.unrolled('e', width, () => {
      this.#body.print(out, common, scope, this.#params);
      out.unrolled('g', itemsP, () => {
        this.#body.print(out, own, scope, this.#params);
        this.#push(scope, `g * ${width} + e`, (a) => `d${a.position}[g][e]`);
        for (const store of elementStores)
          this.#stores.put(out, store, '[g]', this.#storeValue(store, scope));
      });
    });
    if (chunked.length === 0 && elementStores.length === 0) return;
    out.unrolled('g', itemsP, () => {
      for (const a of chunked) this.#combineChunk(a, `g * ${width}`, `d${a.position}[g]`, width);
      this.#flush(elementStores, '[g]', at);
    });
  }

  /** One step of the columns layout: one reduced index, for every item and lane. */
  #computeColumns(reduced: readonly string[], gathered: boolean): void {
    const out = this.#out;
    const { itemsP, width } = this.#schedule;
    const { common, own, elementStores } = this.#parts;
    const at = this.#coordinates(reduced);
    const scope: Scope = { coordinates: elementCoordinates(at, this.#chunking), known: this.#known() };
    this.#body.print(out, common, scope, this.#params);
    out.unrolled('g', itemsP, () => {
      for (const store of elementStores) this.#stores.declare(out, store, []);
      out.unrolled('e', width, () => {
        this.#body.print(out, own, scope, this.#params);
        const chain = `g * ${width} + e`;
        this.#push(scope, chain, gathered ? (a) => `d${a.position}[${chain}][u]` : undefined);
        for (const store of elementStores) this.#stores.put(out, store, '', this.#storeValue(store, scope));
      });
      this.#flush(elementStores, '', at);
    });
  }

  #flush(stores: readonly number[], index: string, at: readonly string[]): void {
    if (stores.length === 0) return;
    this.#out.block('if (in[g])', () => {
      for (const store of stores) this.#stores.flush(this.#out, store, index, at);
    });
  }

  #storeValue(store: number, scope: Scope): string {
    return this.#body.value(this.#body.kernel.stores[store]!.value, scope, this.#params);
  }

  #argumentType({ position }: Accumulator): string {
    return CUDA_TYPE[this.#body.instruction(this.#argumentsOf(position)[0]!).dtype];
  }

  /** Adds an element to every accumulator; `gather` says where the elements of a chunk are collected instead. */
  #push(scope: Scope, chain: string, gather: ((a: Accumulator) => string) | undefined): void {
    for (const a of this.#accumulators) {
      const args = this.#argumentsOf(a.position).map((arg) => this.#body.value(arg, scope, this.#params));
      if (a.monoid.chunked && gather !== undefined) this.#out.line(`${gather(a)} = ${args[0]};`);
      else this.#out.line(`${a.name}[${chain}] = ${a.monoid.push(`${a.name}[${chain}]`, args)};`);
    }
  }

  #combineChunk(a: Accumulator, chain: string, chunk: string, width: number): void {
    const [argument, component] = [this.#argumentType(a), CUDA_TYPE[a.monoid.components[0]!]];
    const moments = `weft_moments_of<${argument}, ${component}, ${width}>(${chunk})`;
    this.#out.line(`${a.name}[${chain}] = ${a.monoid.combine(`${a.name}[${chain}]`, moments)};`);
  }

  /** One element of a row that its chunks leave over. */
  #printSingle(): void {
    const out = this.#out;
    const { itemsP, width } = this.#schedule;
    const { loads, common, own, rowValues, elementStores } = this.#parts;
    const reduced = printCoordinates(out, this.#params, 'r', this.#body.kernel.reduced, 'z');
    out.unrolled('g', itemsP, () => {
      const known = new Map(rowValues.map((p) => [p, `h${p}[g][0]`]));
      const scope: Scope = { coordinates: this.#coordinates(reduced), known };
      const all = [...loads, ...common, ...own].sort((a, b) => a - b);
      this.#body.print(out, all, scope, this.#params);
      this.#push(scope, `g * ${width}`, undefined);
      if (elementStores.length === 0) return;
      out.block('if (in[g])', () => {
        for (const store of elementStores) {
          storeElement(
            out,
            this.#body,
            this.#params,
            store,
            this.#storeValue(store, scope),
            scope.coordinates,
          );
        }
      });
    });
  }

  /** Rows: the chains of an item, one per chunk element, become one. */
  #foldChains(): void {
    const { itemsP, width } = this.#schedule;
    if (width === 1) return;
    for (const { name, monoid } of this.#accumulators) {
      this.#out.unrolled('g', itemsP, () => {
        this.#out.line('#pragma unroll');
        this.#out.block(`for (int e = 1; e < ${width}; ++e)`, () => {
          this.#out.line(
            `${name}[g * ${width}] = ${monoid.combine(`${name}[g * ${width}]`, `${name}[g * ${width} + e]`)};`,
          );
        });
        if (itemsP > 1) this.#out.line(`${name}[g] = ${name}[g * ${width}];`);
      });
    }
  }

  #printPartials(): void {
    const out = this.#out;
    const { itemsP, threadsP } = this.#schedule;
    const { index } = this.#params;
    const perBlock = threadsP * itemsP * this.#lanes;
    const rows = this.#params.size(this.#rows);
    out.unrolled('g', itemsP, () =>
      out.block('if (in[g])', () =>
        out.unrolled('e', this.#lanes, () => {
          out.line(
            `const ${index} p = (${index})blockIdx.x * ${perBlock} + (g * ${threadsP} + tp) * ${this.#lanes} + e;`,
          );
          this.#accumulators.forEach(({ name, monoid }, k) => {
            const target = this.#params.scratch(k, monoid.type);
            out.line(`${target}[(${index})blockIdx.y * ${rows} + p] = ${name}[g * ${this.#lanes} + e];`);
          });
        }),
      ),
    );
  }

  #printResults(): void {
    const out = this.#out;
    const rowStores = this.#body.kernel.stores.flatMap((_, k) =>
      this.#parts.elementStores.includes(k) ? [] : [k],
    );
    const reduced = this.#body.kernel.reduced.map(() => '0');
    out.unrolled('g', this.#schedule.itemsP, () =>
      out.block('if (in[g])', () => {
        const at = this.#coordinates(reduced);
        if (this.#wide) {
          for (const store of rowStores) this.#stores.declare(out, store, []);
          out.unrolled('e', this.#lanes, () => {
            const scope: Scope = {
              coordinates: elementCoordinates(at, this.#chunking),
              known: this.#results(`g * ${this.#lanes} + e`),
            };
            this.#body.print(out, this.#rowClosure(rowStores, scope), scope, this.#params);
            for (const store of rowStores) this.#stores.put(out, store, '', this.#storeValue(store, scope));
          });
          for (const store of rowStores) this.#stores.flush(out, store, '', at);
        } else {
          printRow(out, this.#body, this.#params, { coordinates: at, known: this.#results('g') }, rowStores);
        }
      }),
    );
  }

  #results(item: string): Map<number, string> {
    return new Map(
      this.#accumulators.map(({ position, monoid, name }) => [position, monoid.finish(`${name}[${item}]`)]),
    );
  }

  #rowClosure(stores: readonly number[], scope: Scope): number[] {
    return this.#body.closure(
      stores.map((store) => this.#body.kernel.stores[store]!.value),
      (p) => scope.known.has(p),
    );
  }
}

/** Row-level arithmetic and stores of one row. */
function printRow(
  out: Writer,
  body: Body,
  params: Parameters,
  scope: Scope,
  stores: readonly number[],
): void {
  const values = stores.map((store) => body.kernel.stores[store]!.value);
  body.print(
    out,
    body.closure(values, (position) => scope.known.has(position)),
    scope,
    params,
  );
  for (const [k, store] of stores.entries()) {
    storeElement(out, body, params, store, body.value(values[k]!, scope, params), scope.coordinates);
  }
}

/** The second launch: combines the slots of each row in a fixed order and finishes the row. */
function printCombine(body: Body, slots: number, name: string): CudaFunction {
  const { kernel, levels } = body;
  const params = body.parameters();
  const out = new Writer();
  const rows = product(kernel.parallel);
  const threads = 256;
  const threadsP = Math.min(32, 2 ** Math.ceil(Math.log2(rows)));
  const place = { layout: 'columns', threadsP, threadsR: threads / threadsP } as const;
  const accumulators = accumulatorsOf(body);
  const { index } = params;
  printThreadPlace(out, place);
  out.line(`const ${index} p = (${index})blockIdx.x * ${threadsP} + tp;`);
  out.line(`const bool in = p < ${params.size(rows)};`);
  for (const { name: a, monoid } of accumulators) out.line(`${monoid.type} ${a}[1] = {${monoid.identity}};`);
  out.line('#pragma unroll 4');
  out.block(`for (int s = tr; in && s < ${params.size(slots)}; s += ${place.threadsR})`, () => {
    accumulators.forEach(({ name: a, monoid }, k) => {
      const partial = `${params.scratch(k, monoid.type)}[(${index})s * ${params.size(rows)} + p]`;
      out.line(`${a}[0] = ${monoid.combine(`${a}[0]`, partial)};`);
    });
  });
  printAcross(out, place, accumulators, 1);
  out.block('if (tr == 0 && in)', () => {
    const coordinates = [
      ...printCoordinates(out, params, 'p', kernel.parallel, 'x'),
      ...kernel.reduced.map(() => '0'),
    ];
    const known = new Map(
      accumulators.map(({ position, monoid, name: a }) => [position, monoid.finish(`${a}[0]`)]),
    );
    const stores = kernel.stores.flatMap(({ value }, k) => (levels.element[value] ? [] : [k]));
    printRow(out, body, params, { coordinates, known }, stores);
  });
  return printFunction(name, out, params, {
    grid: [Math.ceil(rows / threadsP), 1, 1],
    block: [threads, 1, 1],
    sharedByteLength: 0,
  });
}
