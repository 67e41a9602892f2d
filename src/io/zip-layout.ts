/**
 * A zip archive of stored members whose sizes are known beforehand: where each goes, and the headers around
 * them, whose checksums are known last. Sizes and offsets beyond 4 GiB are written as zip64.
 *
 * Format: PKWARE's APPNOTE.TXT, sections 4.3 to 4.5. Called by `sinks.ts`; reading is in `npz.ts`.
 */

/** A header and its offset in the file. */
export interface FileHeader {
  readonly byteOffset: number;
  readonly bytes: Buffer;
}

export interface ZipLayout {
  /** Where each member's bytes go. */
  readonly starts: readonly number[];
  readonly byteLength: number;
  /** All headers, once the members' checksums are known. */
  headers(checksums: readonly number[]): FileHeader[];
}

const VERSION = 45; // the first with zip64
const MADE_ON_UNIX = 3 << 8;
const UTF8 = 0x800;
/** The first of January 1980, as Python writes: archives of the same arrays are the same bytes. */
const DATE = 0x21;
const READABLE = 0o100644 * 0x10000;
const MAX_32 = 0xffffffff;
const MAX_16 = 0xffff;

interface Entry {
  readonly name: Buffer;
  readonly ascii: boolean;
  readonly byteOffset: number;
  readonly byteLength: number;
}

/** Lays out members one after the other. */
export function layoutZip(
  members: readonly { readonly name: string; readonly byteLength: number }[],
): ZipLayout {
  const entries: Entry[] = [];
  const starts: number[] = [];
  let end = 0;
  for (const { name, byteLength } of members) {
    const bytes = Buffer.from(name);
    entries.push({ name: bytes, ascii: bytes.length === name.length, byteOffset: end, byteLength });
    starts.push(end + localHeader(entries.at(-1)!, 0).length);
    end = starts.at(-1)! + byteLength;
  }
  const directory = (checksums: readonly number[]): Buffer => centralDirectory(entries, checksums, end);
  return {
    starts,
    byteLength: end + directory(entries.map(() => 0)).length,
    headers: (checksums) => [
      ...entries.map((entry, k) => ({
        byteOffset: entry.byteOffset,
        bytes: localHeader(entry, checksums[k]!),
      })),
      { byteOffset: end, bytes: directory(checksums) },
    ],
  };
}

/** Always with 64-bit sizes, as NumPy writes them. */
function localHeader({ name, ascii, byteLength }: Entry, checksum: number): Buffer {
  const extra = zip64Extra([byteLength, byteLength]);
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(VERSION, 4);
  header.writeUInt16LE(ascii ? 0 : UTF8, 6);
  header.writeUInt16LE(DATE, 12);
  header.writeUInt32LE(checksum, 14);
  header.writeUInt32LE(MAX_32, 18);
  header.writeUInt32LE(MAX_32, 22);
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(extra.length, 28);
  return Buffer.concat([header, name, extra]);
}

function zip64Extra(values: readonly number[]): Buffer {
  const extra = Buffer.alloc(4 + 8 * values.length);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(8 * values.length, 2);
  values.forEach((value, k) => {
    extra.writeBigUInt64LE(BigInt(value), 4 + 8 * k);
  });
  return extra;
}

function centralHeader({ name, ascii, byteOffset, byteLength }: Entry, checksum: number): Buffer {
  const large = byteLength >= MAX_32;
  const far = byteOffset >= MAX_32;
  const values = [...(large ? [byteLength, byteLength] : []), ...(far ? [byteOffset] : [])];
  const extra = values.length > 0 ? zip64Extra(values) : Buffer.alloc(0);
  const header = Buffer.alloc(46);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(VERSION | MADE_ON_UNIX, 4);
  header.writeUInt16LE(VERSION, 6);
  header.writeUInt16LE(ascii ? 0 : UTF8, 8);
  header.writeUInt16LE(DATE, 14);
  header.writeUInt32LE(checksum, 16);
  header.writeUInt32LE(large ? MAX_32 : byteLength, 20);
  header.writeUInt32LE(large ? MAX_32 : byteLength, 24);
  header.writeUInt16LE(name.length, 28);
  header.writeUInt16LE(extra.length, 30);
  header.writeUInt32LE(READABLE, 38);
  header.writeUInt32LE(far ? MAX_32 : byteOffset, 42);
  return Buffer.concat([header, name, extra]);
}

function centralDirectory(entries: readonly Entry[], checksums: readonly number[], start: number): Buffer {
  const headers = Buffer.concat(entries.map((entry, k) => centralHeader(entry, checksums[k]!)));
  const count = entries.length;
  const large = count >= MAX_16 || headers.length >= MAX_32 || start >= MAX_32;
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(Math.min(count, MAX_16), 8);
  end.writeUInt16LE(Math.min(count, MAX_16), 10);
  end.writeUInt32LE(Math.min(headers.length, MAX_32), 12);
  end.writeUInt32LE(Math.min(start, MAX_32), 16);
  return Buffer.concat(large ? [headers, zip64End(count, headers.length, start), end] : [headers, end]);
}

/** The zip64 end record, and the locator that says where it is. */
function zip64End(count: number, byteLength: number, start: number): Buffer {
  const end = Buffer.alloc(76);
  end.writeUInt32LE(0x06064b50, 0);
  end.writeBigUInt64LE(44n, 4);
  end.writeUInt16LE(VERSION | MADE_ON_UNIX, 12);
  end.writeUInt16LE(VERSION, 14);
  end.writeBigUInt64LE(BigInt(count), 24);
  end.writeBigUInt64LE(BigInt(count), 32);
  end.writeBigUInt64LE(BigInt(byteLength), 40);
  end.writeBigUInt64LE(BigInt(start), 48);
  end.writeUInt32LE(0x07064b50, 56);
  end.writeBigUInt64LE(BigInt(start + byteLength), 64);
  end.writeUInt32LE(1, 72);
  return end;
}
