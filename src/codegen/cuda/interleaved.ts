/**
 * Interleaved channels: accesses of one buffer that walk it alike, some elements apart within each step, as the
 * colours of an image do. Their chunks move together, as whole packs, and are taken apart in registers:
 *
 *     load b0[3 i], load b0[3 i + 1], load b0[3 i + 2]   →   3 packs of 4 elements for 4 steps i
 *
 * Called by `chunk-moves.ts` and `schedules/schedule-map.ts`.
 */
import { type Access, sameNumbers } from '../../fusion/kernel/kernel.js';
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import { ACCESS_BYTES, type ChunkCoordinates, type Chunking, packType } from './chunks.js';
import { affineExpression } from './index-math.js';
import type { Parameters } from './parameters.js';
import { WARP } from './schedules/limits.js';
import { printTurned, turnedBytes } from './warp-rows.js';
import type { Writer } from './writer.js';

/**
 * Most channels that are read, those of colours with opacity, and most that are written: columns of a table, which each by itself
 * would be stored far apart.
 */
const [MOST_READ, MOST_WRITTEN] = [4, 64];

/** The accesses of the channels of one buffer. */
interface Interleaved {
  /** Elements from one step along the axis to the next. */
  readonly channels: number;
  /** The access of the first channel, which need not be among the members. */
  readonly first: Access;
  /** By position in the list of accesses, the channel of each. */
  readonly members: ReadonlyMap<number, number>;
}

const channelOf = ({ offset }: Access, channels: number): number => offset % channels;

/**
 * The groups of accesses that are interleaved along an axis. `needsAll`: packs are written, so that every channel has
 * to be there; else the last one, which shows that whole packs are within the buffer.
 */
export function interleavedOf(accesses: readonly Access[], axis: number, needsAll: boolean): Interleaved[] {
  const groups: { readonly leader: Access; readonly members: Map<number, number> }[] = [];
  for (const [k, access] of accesses.entries()) {
    const channels = access.strides[axis] ?? 0;
    const most = needsAll ? MOST_WRITTEN : MOST_READ;
    if (channels < 2 || channels > most || access.bounds.length > 0 || access.index !== undefined) continue;
    const isBeside = ({ leader }: { readonly leader: Access }): boolean =>
      leader.buffer === access.buffer &&
      sameNumbers(leader.strides, access.strides) &&
      Math.floor(leader.offset / channels) === Math.floor(access.offset / channels);
    const group = groups.find(isBeside);
    if (group === undefined)
      groups.push({ leader: access, members: new Map([[k, channelOf(access, channels)]]) });
    else group.members.set(k, channelOf(access, channels));
  }
  return groups.flatMap(({ leader, members }): Interleaved[] => {
    const channels = leader.strides[axis]!;
    const found = new Set(members.values());
    const isWhole = needsAll ? found.size === channels : found.size > 1 && found.has(channels - 1);
    const first = { ...leader, offset: leader.offset - channelOf(leader, channels) };
    return isWhole ? [{ channels, first, members }] : [];
  });
}

/** Whether packs of `width` elements start at multiples of their length, from the first channel's access on. */
const isAlignedGroup = ({ offset, strides }: Access, axis: number, width: number): boolean =>
  offset % width === 0 && strides.every((stride, k) => k === axis || stride % width === 0);

/** A place of chunks: its index in register arrays, coordinates, and the names of buffers. */
export interface ChunkPlace {
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

/** Shared memory of the stores of a block: every device has a little more without being asked. */
const MOST_SHARED_BYTES = 40 * 1024;

/** The packs of a group's chunks, `wide`, and where they lie. */
interface GroupPacks {
  /** Prints a line for each element of a chunk: what it is in the packs. */
  readonly inPacks: (line: (member: number, packed: string) => string) => void;
  readonly address: string;
  readonly packs: number;
  readonly pack: { readonly type: string; readonly width: number };
}

/** The chunks among some loads or stores that move together, all at the first of each group. */
export class InterleavedChunks {
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
      // Loads of elements one by one stay apart.
      if (!isAlignedGroup(group.first, axis, width) || (width === 1 && !areStores)) continue;
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
      const ofWarp = turnedBytes(packs * pack.width * byteLengthOf(dtype));
      const sharedBytes = ((line?.threads ?? 0) / WARP) * ofWarp;
      const hasRoom = this.#sharedBytes + sharedBytes <= MOST_SHARED_BYTES;
      if (line === undefined || packs === 1 || !hasRoom) return apart();
      this.#sharedBytes += sharedBytes;
      const last = `${(WARP - 1) * this.#width} - (int)(threadIdx.x % ${WARP}) * ${this.#width}`;
      printTurned(out, line.threads, ofWarp);
      out.block(`if (${line.first} + ${last} < ${line.end})`, () =>
        out.line(`weft_store_in_rows(${address}, wide, turned);`),
      );
      out.block('else', apart);
    });
  }

  /** Whether the chunks of a group follow one another in memory in order of all elements, those of a warp from 16 bytes on. */
  isLine(position: number, dtype: DType, sizes: readonly number[]): boolean {
    const { first } = this.#groups.get(position)!.group;
    const isInRow = (_: number, axis: number): boolean =>
      axis === 0 || first.strides[axis - 1] === first.strides[axis]! * sizes[axis]!;
    return sizes.every(isInRow) && (first.offset * byteLengthOf(dtype)) % ACCESS_BYTES === 0;
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
