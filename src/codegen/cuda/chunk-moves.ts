/**
 * Loads and stores of chunks (`chunks.ts`), which schedules' printers keep in register arrays: `l<position>` for what was
 * loaded, `o<store>` for what will be stored.
 *
 * Called by the printers.
 */
import { type Load, loadOf, loadsFrom, sizesOf } from '../../fusion/kernel/algebra.js';
import { isZeroOutside, type Kernel } from '../../fusion/kernel/kernel.js';
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import { InternalError } from '../../host/errors.js';
import type { Body } from './body.js';
import { fromStorage, STORAGE_TYPE, toStorage } from './casts.js';
import {
  ACCESS_BYTES,
  type ChunkCoordinates,
  type Chunking,
  elementCoordinates,
  isVector,
  modeOf,
  type Neighbours,
  neighboursOf,
  packType,
} from './chunks.js';
import { addressExpression, affineExpression, boundsExpression } from './index-math.js';
import { type ChunkLine, InterleavedChunks } from './interleaved.js';
import { zeroLiteral } from './literals.js';
import type { Parameters } from './parameters.js';
import type { Writer } from './writer.js';

/**
 * Whether a kernel reads all that a load takes once, in chunks of one access each. The accesses of longer chunks meet in sectors
 * of memory, which without the first-level cache are fetched once for each.
 */
function readsOnce(
  kernel: Kernel,
  { access, dtype }: Pick<Load, 'access' | 'dtype'>,
  chunking: Chunking,
): boolean {
  if (!isVector(access, chunking) || byteLengthOf(dtype) * chunking.width !== ACCESS_BYTES) return false;
  if (access.bounds.length > 0 || loadsFrom(kernel, access.buffer).length > 1) return false;
  const axes = sizesOf(kernel)
    .map((size, axis) => ({ size, stride: Math.abs(access.strides[axis]!) }))
    .filter(({ size }) => size > 1)
    .sort((a, b) => a.stride - b.stride);
  // Each step along an axis lies beyond all that the axes of shorter steps reach.
  return axes.every(({ stride }, k) => {
    const inner = axes[k - 1];
    return stride >= (inner === undefined ? 1 : inner.stride * inner.size);
  });
}

/** The zero of a dtype as it lies in memory. */
const storageZero = (dtype: DType): string => (dtype === 'bool' ? '(unsigned char)0' : zeroLiteral(dtype));

/** Register arrays that hold loaded chunks: `l<position>`, with the given dimensions. */
export class ChunkLoads {
  readonly #body: Body;
  readonly #chunking: Chunking;
  readonly #params: Parameters;
  /** Loads that take elements from others. */
  readonly #shifted = new Map<number, Neighbours<number>>();

  get chunking(): Chunking {
    return this.#chunking;
  }

  /** Interleaved loads, by those of the first channel that is loaded, and the others of them. */
  readonly #interleaved: InterleavedChunks;

  /** `together`: loads whose chunks are all there at once, so that some may take elements from others. */
  constructor(body: Body, chunking: Chunking, params: Parameters, together: readonly number[] = []) {
    this.#body = body;
    this.#chunking = chunking;
    this.#params = params;
    const accesses = together.map((position) => this.#load(position).access);
    this.#interleaved = new InterleavedChunks(together, accesses, chunking, false);
    const wholes = together.filter((_, k) => isVector(accesses[k]!, chunking));
    for (const [k, position] of together.entries()) {
      const found = neighboursOf(accesses[k]!, wholes, (from) => this.#load(from).access, chunking);
      if (found.first !== undefined || found.rest !== undefined) this.#shifted.set(position, found);
    }
  }

  /** Loads, those first from which others take elements. */
  inOrder(positions: readonly number[]): number[] {
    const isShifted = (position: number): number => (this.#shifted.has(position) ? 1 : 0);
    return [...positions].sort((a, b) => isShifted(a) - isShifted(b));
  }

  #load(position: number): Pick<Load, 'access' | 'dtype'> {
    const { dtype } = this.#body.instruction(position);
    const access = loadOf(this.#body.instruction(position));
    if (access === undefined) throw new InternalError(`%${position} is no load`);
    return { access, dtype };
  }

  /** The type that holds a loaded chunk. */
  typeOf(position: number): string {
    const { access, dtype } = this.#load(position);
    const uniform = modeOf(access, this.#chunking) === 'uniform';
    return uniform ? STORAGE_TYPE[dtype] : packType(dtype, this.#chunking.width);
  }

  declare(out: Writer, position: number, dimensions: readonly number[]): void {
    out.line(`${this.typeOf(position)} l${position}${dimensions.map((n) => `[${n}]`).join('')};`);
  }

  /** Loads a chunk into `l<position><index>`; `streams`: where it is read once, past the first-level cache. */
  load(out: Writer, position: number, index: string, at: ChunkCoordinates, streams = false): void {
    const { access, dtype } = this.#load(position);
    const { width } = this.#chunking;
    const target = `l${position}${index}`;
    if (this.#interleaved.has(position)) {
      this.#interleaved.load(out, position, dtype, { index, at, params: this.#params });
      return;
    }
    const source = this.#params.buffer(access.buffer);
    const mode = modeOf(access, this.#chunking);
    const element = (coordinates: readonly string[]): string => {
      const loaded = `${source}[${addressExpression(access, coordinates, this.#params)}]`;
      if (!access.bounds.some(isZeroOutside)) return loaded;
      return `${boundsExpression(access.bounds, coordinates, this.#params)} ? ${loaded} : ${storageZero(dtype)}`;
    };
    const shifted = this.#shifted.get(position);
    if (shifted !== undefined) {
      const coordinates = elementCoordinates(at, this.#chunking);
      const { first, rest } = shifted;
      const own = `${source}[${addressExpression(access, coordinates, this.#params)}]`;
      const further = first && `l${first.from}${index}.v[e + ${first.by}]`;
      const before = rest && `l${rest.from}${index}.v[e - ${-rest.by}]`;
      const either =
        first === undefined
          ? `(e >= ${-rest!.by} ? ${before} : ${own})`
          : `(e < ${width - first.by} ? ${further} : ${before ?? own})`;
      const holds = boundsExpression(access.bounds, coordinates, this.#params);
      const guarded = holds === 'true' ? either : `${holds} ? ${either} : ${storageZero(dtype)}`;
      out.unrolled('e', width, () => out.line(`${target}.v[e] = ${guarded};`));
    } else if (mode === 'uniform') {
      out.line(`${target} = ${element(at)};`);
    } else if (mode === 'single') {
      if (width === 1) out.line(`${target}.v[0] = ${element(at)};`);
      else {
        out.unrolled('e', width, () =>
          out.line(`${target}.v[e] = ${element(elementCoordinates(at, this.#chunking))};`),
        );
      }
    } else {
      const pack = packType(dtype, width);
      const address = addressExpression(access, at, this.#params);
      const place = `reinterpret_cast<const ${pack}*>(${source} + (${address}))`;
      const isOnce = streams && readsOnce(this.#body.kernel, { access, dtype }, this.#chunking);
      const whole = isOnce ? `weft_load_once(${place})` : `*${place}`;
      const guard = boundsExpression(access.bounds, at, this.#params);
      out.line(`${target} = ${guard === 'true' ? whole : `${guard} ? ${whole} : ${pack}()`};`);
    }
  }

  /** Element `e` of a loaded chunk as it lies in memory. */
  raw(position: number, index: string, e = 'e'): string {
    const chunk = `l${position}${index}`;
    if (modeOf(this.#load(position).access, this.#chunking) === 'uniform') return chunk;
    return `${chunk}.v[${this.#chunking.width === 1 ? '0' : e}]`;
  }

  /** Element `e` of a loaded chunk as a value. */
  value(position: number, index: string, e = 'e'): string {
    return fromStorage(this.#load(position).dtype, this.raw(position, index, e));
  }

  /** Element e of a loaded chunk, where e is the variable of a loop that is not unrolled. */
  picked(position: number, index: string): string {
    const { access, dtype } = this.#load(position);
    if (modeOf(access, this.#chunking) === 'uniform') return this.value(position, index);
    return fromStorage(dtype, `weft_pick(l${position}${index}.v, e)`);
  }
}

/** Chunks of results on their way to memory: `o<store>`. */
export class ChunkStores {
  readonly #body: Body;
  readonly #chunking: Chunking;
  readonly #params: Parameters;
  readonly #interleaved: InterleavedChunks;

  /** `together`: stores whose chunks are flushed one after the other. */
  constructor(body: Body, chunking: Chunking, params: Parameters, together: readonly number[] = []) {
    this.#body = body;
    this.#chunking = chunking;
    this.#params = params;
    const accesses = together.map((store) => body.kernel.stores[store]!.access);
    this.#interleaved = new InterleavedChunks(together, accesses, chunking, true);
  }

  #dtype(store: number): DType {
    return this.#body.kernel.buffers[this.#body.kernel.stores[store]!.access.buffer]!.dtype;
  }

  declare(out: Writer, store: number, dimensions: readonly number[]): void {
    const shape = dimensions.map((n) => `[${n}]`).join('');
    out.line(`${packType(this.#dtype(store), this.#chunking.width)} o${store}${shape};`);
  }

  /** Puts element `e` of a chunk. */
  put(out: Writer, store: number, index: string, value: string, e = 'e'): void {
    const place = this.#chunking.width === 1 ? '0' : e;
    out.line(`o${store}${index}.v[${place}] = ${toStorage(this.#dtype(store), value)};`);
  }

  /** Puts element e of a chunk, where e is the variable of a loop that is not unrolled. */
  putPicked(out: Writer, store: number, index: string, value: string): void {
    const dtype = this.#dtype(store);
    out.line(`weft_put<${STORAGE_TYPE[dtype]}>(o${store}${index}.v, e, ${toStorage(dtype, value)});`);
  }

  /** Stores a chunk; `line`: all threads of a block store theirs, one behind the other. */
  flush(out: Writer, store: number, index: string, at: ChunkCoordinates, line?: ChunkLine): void {
    const { access } = this.#body.kernel.stores[store]!;
    const target = this.#params.buffer(access.buffer);
    const { width } = this.#chunking;
    const chunk = `o${store}${index}`;
    if (this.#interleaved.has(store)) {
      const inRows = this.#interleaved.isLine(store, this.#dtype(store), this.#body.kernel.parallel)
        ? line
        : undefined;
      this.#interleaved.store(out, store, this.#dtype(store), { index, at, params: this.#params }, inRows);
      return;
    }
    if (isVector(access, this.#chunking)) {
      const address = affineExpression(access, at, this.#params);
      out.line(
        `*reinterpret_cast<${packType(this.#dtype(store), width)}*>(${target} + (${address})) = ${chunk};`,
      );
    } else if (width === 1) {
      out.line(`${target}[${affineExpression(access, at, this.#params)}] = ${chunk}.v[0];`);
    } else {
      const each = elementCoordinates(at, this.#chunking);
      out.unrolled('e', width, () =>
        out.line(`${target}[${affineExpression(access, each, this.#params)}] = ${chunk}.v[e];`),
      );
    }
  }
}

/** Stores one element directly. */
export function storeElement(
  out: Writer,
  body: Body,
  params: Parameters,
  store: number,
  value: string,
  coordinates: readonly string[],
): void {
  const { access } = body.kernel.stores[store]!;
  const dtype = body.kernel.buffers[access.buffer]!.dtype;
  const address = affineExpression(access, coordinates, params);
  out.line(`${params.buffer(access.buffer)}[${address}] = ${toStorage(dtype, value)};`);
}
