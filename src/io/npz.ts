/**
 * Archives of arrays (.npz, which are zip files): which members there are and how each lies in the file.
 * Stored members are read in place, by offset, and their checksum is found meanwhile; deflated ones are
 * inflated when a graph runs (`deflated.ts`).
 *
 * Names of members are names of arrays, never of files. Writing is in `zip-layout.ts`. Called by `load.ts`.
 */
import { type Entry, fromFdPromise, getFileNameLowLevel, type ZipFile } from 'yauzl';
import type { Expr, FileRegion } from '../graph/expr.js';
import { type DataFile, type Refuse, refuser } from './data-file.js';
import { crc32 } from './decoding/crc32.js';
import { DeflatedReader, InflatePass } from './deflated.js';
import { type ArrayLayout, bytesOf, checkMember, fileExpr, layoutExpr } from './layout.js';
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

/**
 * The arrays of an archive by name, `.npy` left off as NumPy does; `names` chooses some of them. With `texts`, text is
 * read as bytes (`readNpyHeader`).
 */
export async function npzExprs(
  file: DataFile,
  names: readonly string[] | undefined,
  texts = false,
): Promise<Map<string, () => Expr>> {
  const members = await membersOf(file);
  const arrays = new Map<string, () => Expr>();
  for (const name of names ?? members.keys()) {
    const member = members.get(name);
    if (member === undefined) return file.refuse('a member of that name', name);
    arrays.set(name, await memberExpr(file, member, texts));
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

/** Turns an error of yauzl, which is about the archive, into a FileError with its message. */
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
async function memberExpr(file: DataFile, member: Member, texts: boolean): Promise<() => Expr> {
  const { entry, name } = member;
  const refuse = refuser(`${file.op}: ${name}`, file.path);
  if (entry.isEncrypted()) refuse('a member that is not encrypted', 'one that is');
  if (entry.compressionMethod === STORED) return storedExpr(file, member, refuse, texts);
  if (entry.compressionMethod !== DEFLATED) {
    refuse('a member that is stored or deflated', `method ${entry.compressionMethod}`);
  }
  if (entry.uncompressedSize > entry.compressedSize * MAX_RATIO + 64) {
    refuse(`at most ${MAX_RATIO} times its compressed size`, `${entry.uncompressedSize} bytes`);
  }
  return deflatedExpr(file, member, refuse, texts);
}

async function storedExpr(
  file: DataFile,
  { entry, start }: Member,
  refuse: Refuse,
  texts: boolean,
): Promise<() => Expr> {
  const read = (offset: number, length: number) => file.read(start + offset, length);
  const layout = await readNpyHeader(read, entry.uncompressedSize, refuse, texts);
  checkMember(refuse, layout, entry.uncompressedSize);
  const checksum = { head: crc32(await read(0, layout.byteOffset)), whole: entry.crc32 };
  if (bytesOf(layout) === 0) checkHead(refuse, checksum);
  return () => fileExpr(file, { ...layout, byteOffset: start + layout.byteOffset }, checksum);
}

/** Of no elements nothing will be read: the header is all of the member. */
function checkHead(refuse: Refuse, { head, whole }: { readonly head: number; readonly whole: number }): void {
  if (head !== whole)
    refuse(`the checksum ${whole.toString(16)}`, head.toString(16), undefined, 'ERR_FILE_CHECKSUM');
}

async function deflatedExpr(
  file: DataFile,
  { entry, name, start }: Member,
  refuse: Refuse,
  texts: boolean,
): Promise<() => Expr> {
  const region: FileRegion = {
    path: file.path,
    byteOffset: start,
    byteLength: entry.compressedSize,
    swapped: false,
    stamp: file.stamp,
  };
  const pass = new InflatePass(region, entry.uncompressedSize);
  const head = async (offset: number, length: number): Promise<Uint8Array> => {
    const bytes = new Uint8Array(length);
    await pass.read(file, offset, bytes, refuse);
    return bytes;
  };
  const readLayout = async (): Promise<ArrayLayout> => {
    const found = await readNpyHeader(head, entry.uncompressedSize, refuse, texts);
    checkMember(refuse, found, entry.uncompressedSize);
    if (bytesOf(found) === 0)
      checkHead(refuse, { head: crc32(await head(0, found.byteOffset)), whole: entry.crc32 });
    return found;
  };
  const layout = await readLayout().finally(() => pass.close());
  const member = { region, layout, byteLength: entry.uncompressedSize, crc: entry.crc32 };
  const reader = new DeflatedReader(`${name} of ${file.path}`, member);
  return () => layoutExpr(layout, (strided) => ({ type: 'reader', reader, ...strided }));
}
