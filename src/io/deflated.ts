/**
 * Deflated members of archives as arrays: inflated from front to back while parts of them are asked for in
 * about that order. A part before the current position is inflated again from the beginning. Called by
 * `npz.ts`.
 *
 * The last stretch of inflated bytes is kept, for parts that overlap or come a little out of order.
 */
import { createInflateRaw, type InflateRaw } from 'node:zlib';
import { typedArrayOver } from '../exec/native/host-memory.js';
import { byteLengthOf } from '../graph/dtype.js';
import type { ElementReader, FileRegion, TypedArray } from '../graph/expr.js';
import { swapWords } from './byte-order.js';
import { type DataFile, type Refuse, withFile } from './data-file.js';
import { crc32 } from './decoding/crc32.js';
import { Idle } from './idle.js';
import { type ArrayLayout, isSwapped, wordByteLength } from './layout.js';

/** Compressed bytes that are inflated at once; they are a thousand times as many at most. */
const FED = 1 << 14;
/** Bytes of a read of the file. */
const READ = 1 << 18;
/** Inflated bytes that are kept behind the furthest. */
const KEPT = 32 << 20;

/** One way through the inflated bytes of a region. */
export class InflatePass {
  readonly #region: FileRegion;
  readonly #byteLength: number;
  readonly #crc: number | undefined;
  readonly #stream: InflateRaw = createInflateRaw();
  readonly #closed: Promise<void>;
  #thrown: Error | undefined;
  /** Compressed bytes that were read, and those of them that are still to be inflated. */
  #read = 0;
  #ahead: Uint8Array = new Uint8Array(0);
  /** Inflated bytes that are kept, one piece after the other; the first is at `#start`. */
  readonly #kept: Buffer[] = [];
  #start = 0;
  #end = 0;
  #checksum = 0;

  /**
   * `byteLength` and `crc` are those of the inflated bytes; without a `crc` they are not checked at their
   * end.
   */
  constructor(region: FileRegion, byteLength: number, crc?: number) {
    this.#region = region;
    this.#byteLength = byteLength;
    this.#crc = crc;
    this.#stream.on('data', (piece: Buffer) => this.#take(piece));
    this.#stream.on('error', (error: Error) => {
      this.#thrown = error;
    });
    this.#closed = new Promise((resolve) => {
      this.#stream.once('close', resolve);
    });
  }

  /** Whether bytes from `offset` on are still to come, or kept. */
  reaches(offset: number): boolean {
    return offset >= this.#start;
  }

  close(): void {
    this.#stream.destroy();
  }

  /** Copies the bytes from `offset` on, which this pass reaches. */
  async read(file: DataFile, offset: number, target: Uint8Array, refuse: Refuse): Promise<void> {
    const end = offset + target.length;
    let copied = offset;
    for (;;) {
      copied = this.#copy(copied, target, offset);
      if (copied >= end) return;
      this.#forget(copied);
      await this.#inflate(file, refuse);
    }
  }

  #take(piece: Buffer): void {
    this.#kept.push(piece);
    this.#end += piece.length;
    this.#checksum = crc32(piece, this.#checksum);
  }

  /** Copies what is there of bytes [at, offset + target.length); gives where it stopped. */
  #copy(at: number, target: Uint8Array, offset: number): number {
    let start = this.#start;
    for (const piece of this.#kept) {
      const end = Math.min(start + piece.length, offset + target.length);
      if (at >= start && at < end) {
        target.set(piece.subarray(at - start, end - start), at - offset);
        at = end;
      }
      start += piece.length;
    }
    return at;
  }

  /** Lets go of pieces far behind the furthest byte, all of which were copied up to `copied`. */
  #forget(copied: number): void {
    let pieces = 0;
    while (pieces < this.#kept.length) {
      const end = this.#start + this.#kept[pieces]!.length;
      if (end > Math.max(copied, this.#end) - KEPT) break;
      this.#start = end;
      pieces++;
    }
    this.#kept.splice(0, pieces);
  }

  async #inflate(file: DataFile, refuse: Refuse): Promise<void> {
    const { byteOffset, byteLength } = this.#region;
    if (this.#ahead.length === 0 && this.#read < byteLength) {
      this.#ahead = await file.read(byteOffset + this.#read, Math.min(READ, byteLength - this.#read));
      this.#read += this.#ahead.length;
    }
    const before = this.#end;
    const fed = this.#ahead.subarray(0, FED);
    this.#ahead = this.#ahead.subarray(fed.length);
    const last = fed.length === 0;
    await this.#feed(fed, last);
    if (this.#thrown !== undefined) refuse('deflated bytes', this.#thrown.message);
    if (this.#end === before && last)
      refuse(`${this.#byteLength - this.#end} more bytes`, 'the end of the member');
    if (this.#end >= this.#byteLength && before < this.#byteLength) this.#check(refuse);
  }

  async #feed(bytes: Uint8Array, last: boolean): Promise<void> {
    if (this.#stream.destroyed || this.#stream.writableEnded) return;
    const ended = new Promise<void>((resolve) => {
      if (last) this.#stream.end(() => resolve());
      else this.#stream.write(bytes, () => resolve());
    });
    await Promise.race([ended, this.#closed]);
  }

  #check(refuse: Refuse): void {
    if (this.#end > this.#byteLength) refuse(`${this.#byteLength} inflated bytes`, 'more');
    if (this.#crc !== undefined && this.#checksum !== this.#crc)
      refuse(
        `the checksum ${this.#crc.toString(16)}`,
        this.#checksum.toString(16),
        undefined,
        'ERR_FILE_CHECKSUM',
      );
  }
}

interface DeflatedMember {
  readonly region: FileRegion;
  readonly layout: ArrayLayout;
  /** Inflated, with the header. */
  readonly byteLength: number;
  readonly crc: number;
}

/** The elements of a deflated member. */
export class DeflatedReader implements ElementReader {
  readonly label: string;
  readonly #member: DeflatedMember;
  #pass: InflatePass | undefined;
  readonly #idle = new Idle(() => this.#stop());
  /** Reads are one after the other: they share a pass. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(label: string, member: DeflatedMember) {
    this.label = label;
    this.#member = member;
  }

  read(start: number, count: number, signal?: AbortSignal): Promise<TypedArray> {
    const next = this.#last.then(() => this.#readNext(start, count, signal));
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #readNext(start: number, count: number, signal?: AbortSignal): Promise<TypedArray> {
    signal?.throwIfAborted();
    this.#idle.touch();
    const { region, layout, byteLength, crc } = this.#member;
    const size = byteLengthOf(layout.dtype);
    const elements = Buffer.from(new ArrayBuffer(count * size));
    const offset = layout.byteOffset + start * size;
    if (this.#pass?.reaches(offset) !== true) {
      this.#stop();
      this.#pass = new InflatePass(region, byteLength, crc);
    }
    const pass = this.#pass;
    try {
      await withFile('compute', region.path, async (file) => {
        await file.checkStamp(region.stamp);
        await pass.read(file, offset, elements, file.refuse);
        await file.checkStamp(region.stamp);
      });
    } catch (error) {
      this.#stop();
      throw error;
    }
    // At the end: the next read begins anew, and nothing need be kept until then.
    if (offset + elements.length === byteLength) this.#stop();
    if (isSwapped(layout)) swapWords(elements, wordByteLength(layout.dtype));
    return typedArrayOver(elements.buffer, layout.dtype);
  }

  #stop(): void {
    this.#pass?.close();
    this.#pass = undefined;
  }
}
