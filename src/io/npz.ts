/**
 * Archives of arrays (.npz, which are zip files): which members there are and how each lies in the file. Stored members
 * are read in place, by offset; deflated ones are inflated as a whole when a graph runs.
 *
 * Names of members are names of arrays, never of files. Writing is in `zip-writer.ts`. Called by `load.ts`.
 */
import { pipeline } from 'node:stream/promises';
import { crc32, createInflateRaw } from 'node:zlib';
import { type Entry, fromFdPromise, getFileNameLowLevel, type ZipFile } from 'yauzl';
import { typedArrayOver } from '../exec/host-memory.js';
import { byteLengthOf } from '../graph/dtype.js';
import type { ElementReader, Expr, FileRegion, TypedArray } from '../graph/expr.js';
import { swapWords } from './byte-order.js';
import { type DataFile, type Refuse, refuser, withFile } from './data-file.js';
import {
  type ArrayLayout,
  bytesOf,
  checkLength,
  fileExpr,
  isSwapped,
  layoutExpr,
  wordByteLength,
} from './layout.js';
import { readNpyHeader } from './npy.js';

const STORED = 0;
const DEFLATED = 8;
const MAX_MEMBERS = 1 << 16;
/** The most that deflate can compress: 1032 bytes in one. */
const MAX_RATIO = 1032;

interface Member {
  readonly name: string;
  readonly entry: Entry;
  /** Where its (compressed) bytes are. */
  readonly start: number;
}

/** The arrays of an archive by name, `.npy` left off as NumPy does; `names` chooses some of them. */
export async function npzExprs(
  file: DataFile,
  names: readonly string[] | undefined,
): Promise<Map<string, () => Expr>> {
  const members = await membersOf(file);
  const arrays = new Map<string, () => Expr>();
  for (const name of names ?? members.keys()) {
    const member = members.get(name);
    if (member === undefined) return file.refuse('a member of that name', name);
    arrays.set(name, await memberExpr(file, member));
  }
  return arrays;
}

async function membersOf(file: DataFile): Promise<Map<string, Member>> {
  const zip = await refusing(file, () =>
    fromFdPromise(file.handle.fd, { autoClose: false, lazyEntries: true, decodeStrings: false }),
  );
  if (zip.entryCount > MAX_MEMBERS) file.refuse(`at most ${MAX_MEMBERS} members`, `${zip.entryCount}`);
  const members = new Map<string, Member>();
  const entries = zip.eachEntry();
  for (;;) {
    const next = await refusing(file, () => entries.next());
    if (next.done === true) break;
    const member = await memberOf(file, zip, next.value);
    if (members.has(member.name)) file.refuse('each member once', member.name);
    members.set(member.name, member);
  }
  checkApart(file, [...members.values()]);
  return members;
}

async function memberOf(file: DataFile, zip: ZipFile, entry: Entry): Promise<Member> {
  return refusing(file, async () => {
    const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry;
    const path = getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, true);
    const { fileDataStart } = await zip.readLocalFileHeaderPromise(entry, { minimal: true });
    return { name: path.replace(/\.npy$/, ''), entry, start: fileDataStart };
  });
}

/** What yauzl throws is about the archive: a FileError with its message. */
async function refusing<T>(file: DataFile, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    return file.refuse('a zip archive', error instanceof Error ? error.message : String(error));
  }
}

/** Refuses members that share bytes: only archives made to blow up have them. */
function checkApart(file: DataFile, members: readonly Member[]): void {
  const sorted = [...members].sort((a, b) => a.start - b.start);
  sorted.forEach(({ name, start }, k) => {
    const before = sorted[k - 1];
    if (before !== undefined && before.start + before.entry.compressedSize > start) {
      file.refuse('members apart from each other', `${before.name} and ${name}`);
    }
  });
}

/** A function that makes the array's node, once the site of the user's call is set. */
async function memberExpr(file: DataFile, member: Member): Promise<() => Expr> {
  const { entry, name, start } = member;
  const refuse = refuser(`${file.op}: ${name}`, file.path);
  if (entry.isEncrypted()) refuse('a member that is not encrypted', 'one that is');
  if (entry.compressionMethod === STORED) {
    const read = (offset: number, length: number) => file.read(start + offset, length);
    const layout = await readNpyHeader(read, entry.uncompressedSize, refuse);
    checkLength(refuse, layout, entry.uncompressedSize);
    return () => fileExpr(file, { ...layout, byteOffset: start + layout.byteOffset });
  }
  if (entry.compressionMethod !== DEFLATED) {
    refuse('a member that is stored or deflated', `method ${entry.compressionMethod}`);
  }
  if (entry.uncompressedSize > entry.compressedSize * MAX_RATIO + 64) {
    refuse(`at most ${MAX_RATIO} times its compressed size`, `${entry.uncompressedSize} bytes`);
  }
  return deflatedExpr(file, member, refuse);
}

async function deflatedExpr(
  file: DataFile,
  { entry, name, start }: Member,
  refuse: Refuse,
): Promise<() => Expr> {
  const region: FileRegion = {
    path: file.path,
    byteOffset: start,
    byteLength: entry.compressedSize,
    swapped: false,
    stamp: file.stamp,
  };
  const head = async (offset: number, length: number): Promise<Uint8Array> => {
    const bytes = Buffer.alloc(offset + length);
    await inflate(file, region, [bytes], refuse);
    return bytes.subarray(offset);
  };
  const layout = await readNpyHeader(head, entry.uncompressedSize, refuse);
  checkLength(refuse, layout, entry.uncompressedSize);
  const member = { region, layout, byteLength: entry.uncompressedSize, crc: entry.crc32 };
  const reader = new DeflatedReader(`${name} of ${file.path}`, member);
  return () => layoutExpr(layout, (strided) => ({ type: 'reader', reader, ...strided }));
}

/** Bytes that are read and inflated at once. */
const CHUNK = 1 << 18;

async function* bytesIn(file: DataFile, { byteOffset, byteLength }: FileRegion): AsyncGenerator<Buffer> {
  for (let at = 0; at < byteLength; at += CHUNK) {
    yield await file.read(byteOffset + at, Math.min(CHUNK, byteLength - at));
  }
}

/**
 * Fills buffers one after the other with what a region inflates to, and leaves what comes after unread. Gives the CRC-32 of
 * those bytes.
 */
async function inflate(
  file: DataFile,
  region: FileRegion,
  targets: readonly Buffer[],
  refuse: Refuse,
  signal?: AbortSignal,
): Promise<number> {
  const left = targets.filter((target) => target.length > 0);
  let checksum = 0;
  const collect = async (stream: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of stream) {
      for (let at = 0; at < chunk.length && left.length > 0; ) {
        const taken = chunk.copy(left[0]!, 0, at);
        checksum = crc32(chunk.subarray(at, at + taken), checksum);
        at += taken;
        left[0] = left[0]!.subarray(taken);
        if (left[0].length === 0) left.shift();
      }
      if (left.length === 0) return;
    }
  };
  try {
    await pipeline(
      bytesIn(file, region),
      createInflateRaw(),
      collect,
      signal === undefined ? {} : { signal },
    );
  } catch (error) {
    signal?.throwIfAborted();
    // Leaving the rest unread stops the pipeline, which counts as an error.
    if (left.length > 0) refuse('deflated bytes', error instanceof Error ? error.message : String(error));
  }
  const missing = left.reduce((sum, bytes) => sum + bytes.length, 0);
  if (missing > 0) refuse(`${missing} more bytes`, 'the end of the member');
  return checksum;
}

interface DeflatedMember {
  readonly region: FileRegion;
  readonly layout: ArrayLayout;
  /** Inflated, with the header. */
  readonly byteLength: number;
  readonly crc: number;
}

/** Inflates a member from its beginning for every read: a part costs as much as all before it. */
class DeflatedReader implements ElementReader {
  readonly label: string;
  readonly #member: DeflatedMember;

  constructor(label: string, member: DeflatedMember) {
    this.label = label;
    this.#member = member;
  }

  async read(start: number, count: number, signal?: AbortSignal): Promise<TypedArray> {
    const { region, layout, byteLength, crc } = this.#member;
    const size = byteLengthOf(layout.dtype);
    const elements = Buffer.from(new ArrayBuffer(count * size));
    const before = Buffer.alloc(layout.byteOffset + start * size);
    const whole = start === 0 && count * size === bytesOf(layout);
    const after = Buffer.alloc(whole ? byteLength - before.length - elements.length : 0);
    await withFile('compute', region.path, async (file) => {
      await file.checkStamp(region.stamp);
      const found = await inflate(file, region, [before, elements, after], file.refuse, signal);
      if (whole && found !== crc) file.refuse(`the checksum ${crc.toString(16)}`, found.toString(16));
      await file.checkStamp(region.stamp);
    });
    if (isSwapped(layout)) swapWords(elements, wordByteLength(layout.dtype));
    return typedArrayOver(elements.buffer, layout.dtype);
  }
}
