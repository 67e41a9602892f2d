/** Reads PNG files of 8 bits a channel as the specification says, so that tests see the pixels of what is written. */
import { inflateSync } from 'node:zlib';

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  /** The colours of a palette's entries, three bytes each. */
  readonly palette: Uint8Array | undefined;
  /** Bytes by rows, without filters. */
  readonly bytes: Uint8Array;
  /** The number of each row's filter. */
  readonly filters: readonly number[];
}

/** Throws for a file whose signature, checksums, chunks or lengths are wrong. */
export function readPng(file: Uint8Array): Picture {
  const chunks = chunksOf(Buffer.from(file.buffer, file.byteOffset, file.length));
  const header = chunks[0]![1];
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const [bits, type, ...rest] = header.subarray(8);
  const channels = { 0: 1, 2: 3, 3: 1, 6: 4 }[type!];
  if (bits !== 8 || channels === undefined || rest.some((value) => value !== 0)) throw new Error('header');
  const data = chunks.filter(([kind]) => kind === 'IDAT').map(([, content]) => content);
  const rows = inflateSync(Buffer.concat(data));
  if (rows.length !== height * (1 + width * channels)) throw new Error(`${rows.length} bytes`);
  const palette = chunks.find(([kind]) => kind === 'PLTE')?.[1];
  if ((palette !== undefined) !== (type === 3)) throw new Error('palette');
  const filters = Array.from({ length: height }, (_, row) => rows[row * (1 + width * channels)]!);
  return { width, height, channels, palette, bytes: unfiltered(rows, width * channels, channels), filters };
}

function chunksOf(file: Buffer): (readonly [kind: string, content: Buffer])[] {
  if (file.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') throw new Error('signature');
  const chunks: (readonly [string, Buffer])[] = [];
  for (let at = 8; at < file.length; ) {
    const end = at + 8 + file.readUInt32BE(at);
    if (file.readUInt32BE(end) !== crc32(file.subarray(at + 4, end))) throw new Error('checksum');
    chunks.push([file.toString('latin1', at + 4, at + 8), file.subarray(at + 8, end)]);
    at = end + 4;
  }
  if (chunks[0]![0] !== 'IHDR' || chunks.at(-1)![0] !== 'IEND') throw new Error('chunks');
  return chunks;
}

const CRC_OF_BYTE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** The CRC-32 of ISO 3309. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ CRC_OF_BYTE[(crc ^ byte) & 255]!;
  return ~crc >>> 0;
}

function unfiltered(rows: Uint8Array, width: number, channels: number): Uint8Array {
  const bytes = new Uint8Array((rows.length / (1 + width)) * width);
  for (let at = 0, from = 0; at < bytes.length; from += 1 + width)
    for (let k = 0; k < width; k++, at++) {
      const left = k < channels ? 0 : bytes[at - channels]!;
      const up = at < width ? 0 : bytes[at - width]!;
      const corner = k < channels || at < width ? 0 : bytes[at - width - channels]!;
      const predictions = [0, left, up, (left + up) >> 1, paeth(left, up, corner)];
      bytes[at] = rows[from + 1 + k]! + predictions[rows[from]!]!;
    }
  return bytes;
}

function paeth(left: number, up: number, corner: number): number {
  const estimate = left + up - corner;
  const [a, b, c] = [left, up, corner].map((value) => Math.abs(estimate - value)) as [number, number, number];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}
