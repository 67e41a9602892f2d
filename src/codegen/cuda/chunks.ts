/**
 * Loads and stores of chunks: V consecutive elements along one axis that one thread handles together. A chunk
 * moves as one access of up to 16 bytes where its addresses are consecutive and aligned, else element by
 * element; what does not depend on the axis is loaded once.
 *
 * Called by the schedule printers, which choose axis and V and keep chunks in register arrays.
 */
import { type Load, loadOf, loadsFrom, sizesOf } from '../../fusion/kernel/algebra.js';
import { type Access, isZeroOutside, type Kernel, sameBound } from '../../fusion/kernel/kernel.js';
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import { InternalError } from '../../host/errors.js';
import type { Body } from './body.js';
import { fromStorage, STORAGE_TYPE, toStorage } from './casts.js';
import { addressExpression, affineExpression, boundsExpression } from './index-math.js';
import { type Interleaved, interleavedOf, isAlignedGroup } from './interleaved.js';
import { zeroLiteral } from './literals.js';
import type { Parameters } from './parameters.js';
import { WARP } from './schedules/limits.js';
import type { Writer } from './writer.js';

/** The axis along which chunks lie, and their length. */
export interface Chunking {
  readonly axis: number;
  readonly width: number;
}

/** Coordinates of a chunk's first element. */
export type ChunkCoordinates = readonly string[];

/** The coordinates of a chunk's element `e`. */
export const elementCoordinates = (at: ChunkCoordinates, { axis, width }: Chunking, e = 'e'): string[] =>
  at.map((coordinate, k) => (k === axis && width > 1 ? `(${coordinate} + ${e})` : coordinate));

type Mode = 'uniform' | 'vector' | 'single';

/** Whether every chunk of a contiguous access starts at a multiple of its length. */
export const isAligned = (access: Access, { axis, width }: Chunking): boolean =>
  access.offset % width === 0 &&
  access.strides.every((stride, k) => k === axis || stride % width === 0) &&
  access.bounds.every(({ fold }) => fold === undefined || fold.stride % width === 0);

function modeOf(access: Access, chunking: Chunking): Mode {
  const { axis, width } = chunking;
  const bounded = access.bounds.some((b) => b.strides[axis] !== 0);
  if (access.strides[axis] === 0 && !bounded) return 'uniform';
  return width > 1 && access.strides[axis] === 1 && !bounded && isAligned(access, chunking)
    ? 'vector'
    : 'single';
}

/**
 * How many elements further an access reads than one that moves as a whole, of which it has most elements;
 * undefined: it has not.
 */
function shiftFrom(whole: Access, access: Access, chunking: Chunking): number | undefined {
  const by = access.offset - whole.offset;
  const isFast = by !== 0 && Math.abs(by) < chunking.width && access.buffer === whole.buffer;
  if (!isFast || !isVector(whole, chunking) || isVector(access, chunking)) return undefined;
  const isAlong = access.strides.every((stride, k) => stride === whole.strides[k]);
  // Where the one is read, the other is there.
  const holds = whole.bounds.every((bound) => access.bounds.some((other) => sameBound(bound, other)));
  // Folds along other axes move both alike; one along the chunk moves no element that is in both.
  const moves = access.bounds.every(
    (bound) =>
      isZeroOutside(bound) ||
      bound.strides[chunking.axis] !== 0 ||
      whole.bounds.some((other) => sameBound(bound, other)),
  );
  return isAlong && holds && moves ? by : undefined;
}

/**
 * The accesses that a chunk's elements are taken from: the first ones from one that moves as a whole, by so many elements
 * further on, and the others from the one behind it, `by` below 0; undefined: there is no such one.
 */
export interface Neighbours<T> {
  readonly first: Neighbour<T> | undefined;
  readonly rest: Neighbour<T> | undefined;
}

interface Neighbour<T> {
  readonly from: T;
  readonly by: number;
}

export function neighboursOf<T>(
  access: Access,
  others: readonly T[],
  accessOf: (other: T) => Access,
  chunking: Chunking,
): Neighbours<T> {
  let first: Neighbour<T> | undefined;
  let rest: Neighbour<T> | undefined;
  for (const from of others) {
    const by = shiftFrom(accessOf(from), access, chunking);
    if (by === undefined) continue;
    if (by > 0) first ??= { from, by };
    else rest ??= { from, by };
  }
  return { first, rest };
}

/** Whether the chunks of an access move as a whole. */
export const isVector = (access: Access, chunking: Chunking): boolean =>
  modeOf(access, chunking) === 'vector';

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

const packType = (dtype: DType, width: number): string => `weft_pack<${STORAGE_TYPE[dtype]}, ${width}>`;
/** The zero of a dtype as it lies in memory. */
const storageZero = (dtype: DType): string => (dtype === 'bool' ? '(unsigned char)0' : zeroLiteral(dtype));

/** A place of chunks: its index in register arrays, coordinates, and the names of buffers. */
interface ChunkPlace {
  readonly index: string;
  readonly at: ChunkCoordinates;
  readonly params: Parameters;
}

/** Chunks of which neighbouring threads of a block have neighbouring ones, in order of all elements. */
export interface ChunkLine {
  /** The number of a chunk's first element, and of that behind the last chunk. */
  readonly first: string;
  readonly end: string;
  /** Threads of a block, in whole warps. */
  readonly threads: number;
}

/** Shared memory of the stores of a block: every device has half as much again without being asked. */
const MOST_SHARED_BYTES = 32 * 1024;

/** The chunks among some loads or stores that move together, all at the first of each group. */
class InterleavedChunks {
  readonly #axis: number;
  readonly #width: number;
  readonly #areStores: boolean;
  /** Of shared memory that stores so far go through, each group's at places of its own. */
  #sharedBytes = 0;
  readonly #groups = new Map<
    number,
    { readonly group: Interleaved; readonly members: Map<number, number> }
  >();

  constructor(
    positions: readonly number[],
    accesses: readonly Access[],
    { axis, width }: Chunking,
    areStores: boolean,
  ) {
    this.#axis = axis;
    this.#width = width;
    this.#areStores = areStores;
    for (const group of interleavedOf(accesses, axis, areStores)) {
      if (!isAlignedGroup(group.first, axis, width)) continue;
      const members = new Map([...group.members].map(([k, channel]) => [positions[k]!, channel]));
      for (const position of members.keys()) this.#groups.set(position, { group, members });
    }
  }

  has(position: number): boolean {
    return this.#groups.has(position);
  }

  load(out: Writer, position: number, dtype: DType, place: ChunkPlace): void {
    this.#move(out, position, dtype, place, ({ inPacks, address, packs }) => {
      out.unrolled('p', packs, () => out.line(`wide[p] = ${address}[p];`));
      inPacks((member, pack) => `l${member}${place.index}.v[e] = ${pack};`);
    });
  }

  /**
   * Stores chunks. Where all threads of a warp do, along a line of which one follows the other in memory, each store of the warp is
   * of 512 bytes in a row: each thread's own packs, one after the other, took an H200 0.53 ms for 0.39 of 8192² pixels of float32.
   */
  store(out: Writer, position: number, dtype: DType, place: ChunkPlace, line?: ChunkLine): void {
    this.#move(out, position, dtype, place, ({ inPacks, address, packs, pack }) => {
      inPacks((member, packed) => `${packed} = o${member}${place.index}.v[e];`);
      const apart = (): void => out.unrolled('p', packs, () => out.line(`${address}[p] = wide[p];`));
      const packBytes = pack.width * byteLengthOf(dtype);
      const sharedBytes = (line?.threads ?? 0) * packs * packBytes;
      const hasRoom = this.#sharedBytes + sharedBytes <= MOST_SHARED_BYTES;
      if (line === undefined || packs === 1 || packBytes < ACCESS_BYTES || !hasRoom) return apart();
      this.#sharedBytes += sharedBytes;
      const last = `${(WARP - 1) * this.#width} - (int)(threadIdx.x % ${WARP}) * ${this.#width}`;
      out.line(`__shared__ ${pack.type} turned[${line.threads * packs}];`);
      out.block(`if (${line.first} + ${last} < ${line.end})`, () =>
        out.line(`weft_store_in_rows(${address}, wide, turned);`),
      );
      out.block('else', apart);
    });
  }

  /** Whether the chunks of a group follow one another in memory in order of all elements. */
  isLine(position: number, sizes: readonly number[]): boolean {
    const { first } = this.#groups.get(position)!.group;
    return sizes.every(
      (_, axis) => axis === 0 || first.strides[axis - 1] === first.strides[axis]! * sizes[axis]!,
    );
  }

  /** Elements of the packs that a group moves as: longer than chunks where several of these are one access. */
  #packed({ first, channels }: Interleaved, dtype: DType): number {
    const isPack = (width: number): boolean =>
      width * byteLengthOf(dtype) <= ACCESS_BYTES &&
      (channels * this.#width) % width === 0 &&
      isAlignedGroup(first, this.#axis, width);
    let width = this.#width;
    while (isPack(2 * width)) width *= 2;
    return width;
  }

  /** Moves all chunks of a group where the first of it is asked for. */
  #move(
    out: Writer,
    position: number,
    dtype: DType,
    { at, params }: ChunkPlace,
    move: (packs: GroupPacks) => void,
  ): void {
    const { group, members } = this.#groups.get(position)!;
    if ([...members.keys()][0] !== position) return;
    const { channels, first } = group;
    const width = this.#packed(group, dtype);
    const packs = (channels * this.#width) / width;
    const type = packType(dtype, width);
    const place = `${params.buffer(first.buffer)} + (${affineExpression(first, at, params)})`;
    const inPacks: GroupPacks['inPacks'] = (line) =>
      out.unrolled('e', this.#width, () => {
        for (const [member, channel] of members) {
          const k = `(e * ${channels} + ${channel})`;
          out.line(line(member, `wide[${k} / ${width}].v[${k} % ${width}]`));
        }
      });
    out.block('', () => {
      out.line(`${type} wide[${packs}];`);
      const address = `(reinterpret_cast<${this.#areStores ? '' : 'const '}${type}*>(${place}))`;
      move({ inPacks, address, packs, pack: { type, width } });
    });
  }
}

/** The packs of a group's chunks, `wide`, and where they lie. */
interface GroupPacks {
  /** Prints a line for each element of a chunk: what it is in the packs. */
  readonly inPacks: (line: (member: number, packed: string) => string) => void;
  readonly address: string;
  readonly packs: number;
  readonly pack: { readonly type: string; readonly width: number };
}

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
      const inRows = this.#interleaved.isLine(store, this.#body.kernel.parallel) ? line : undefined;
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

/** Bytes of the widest access of a thread, and so the most elements of a chunk, of one byte each. */
const ACCESS_BYTES = 16;
/** A multiple of every chunk's length, for axes whose end may lie in a chunk. */
export const ANY_LENGTH = ACCESS_BYTES;
/** Elements of a chunk of small dtypes, at least. */
const LEAST_ELEMENTS = 4;

/**
 * Chunk length along an axis for accesses of these dtypes: 16 bytes of the widest, but at least 4 elements of
 * what is smaller, and a divisor of `multiple`, so that no chunk crosses the end of the axis.
 */
export function chunkWidth(dtypes: readonly DType[], multiple: number): number {
  if (dtypes.length === 0) return Math.min(LEAST_ELEMENTS, powerOfTwoIn(multiple));
  const bytes = dtypes.map(byteLengthOf);
  const widest = ACCESS_BYTES / Math.min(...bytes);
  const width = Math.max(ACCESS_BYTES / Math.max(...bytes), Math.min(LEAST_ELEMENTS, widest));
  return Math.min(width, powerOfTwoIn(multiple));
}

/** The largest power of two that divides a size (16 at most). */
const powerOfTwoIn = (size: number): number => {
  let width = 1;
  while (width < ANY_LENGTH && size % (2 * width) === 0) width *= 2;
  return width;
};
