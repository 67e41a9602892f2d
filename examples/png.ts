/**
 * Writes pictures: PNG files of 24-bit colours (W3C, "Portable Network Graphics Specification"), and a colour
 * map. Called by the examples that draw.
 */
import { writeFileSync } from 'node:fs';
import { crc32, deflateSync } from 'node:zlib';

type Colour = readonly [red: number, green: number, blue: number];

/** From cold to hot, all of them easy to distinguish and brighter and brighter. */
const STOPS: readonly Colour[] = [
  [8, 6, 30],
  [62, 18, 110],
  [140, 30, 110],
  [214, 64, 68],
  [250, 140, 32],
  [252, 220, 90],
  [255, 255, 225],
];

/** The colour of a value from 0 to 1; what lies outside has that of the nearer end. */
export function heat(value: number): Colour {
  const place = Math.min(Math.max(value, 0), 1) * (STOPS.length - 1);
  const k = Math.min(Math.floor(place), STOPS.length - 2);
  const [from, to] = [STOPS[k]!, STOPS[k + 1]!];
  const between = (c: 0 | 1 | 2): number => Math.round(from[c] + (to[c] - from[c]) * (place - k));
  return [between(0), between(1), between(2)];
}

function chunk(type: string, data: Uint8Array): Buffer {
  const out = Buffer.alloc(12 + data.length);
  out.writeUInt32BE(data.length, 0);
  out.write(type, 4, 'latin1');
  out.set(data, 8);
  out.writeUInt32BE(crc32(out.subarray(4, -4)), 8 + data.length);
  return out;
}

/** Writes a picture of `width` by `height` points. */
export function writePng(
  path: string,
  width: number,
  height: number,
  colourAt: (row: number, column: number) => Colour,
): void {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8); // 8 bits of red, green and blue; nothing else
  const rows = Buffer.alloc(height * (1 + 3 * width)); // before each row its filter: none
  for (let row = 0; row < height; row++)
    for (let column = 0; column < width; column++)
      rows.set(colourAt(row, column), row * (1 + 3 * width) + 1 + 3 * column);
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  const parts = [
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', header.subarray(13)),
  ];
  writeFileSync(path, Buffer.concat(parts));
}
