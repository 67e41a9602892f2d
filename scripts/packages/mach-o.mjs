/** Reads from a shared library of 64-bit Mach-O what a loader reads: libraries, the oldest system, symbols. */
import { readFileSync } from 'node:fs';

const MAGIC = 0xfeedfacf;
const LC_SYMTAB = 0x2;
const LC_LOAD_DYLIB = 0xc;
const LC_BUILD_VERSION = 0x32;
const HEADER_BYTES = 32;
const SYMBOL_BYTES = 16;

// The bits of a symbol's type.
const N_STAB = 0xe0;
const N_TYPE = 0x0e;
const N_EXT = 0x01;
const N_UNDF = 0x00;

/** The text at an offset, up to its zero. */
const textAt = (bytes, offset) => bytes.toString('latin1', offset, bytes.indexOf(0, offset));

/** Each load command: its number, and its bytes from the number on. */
function commandsOf(file) {
  const commands = [];
  let at = HEADER_BYTES;
  for (let left = file.readUInt32LE(16); left > 0; left--) {
    const byteLength = file.readUInt32LE(at + 4);
    commands.push({ command: file.readUInt32LE(at), bytes: file.subarray(at, at + byteLength) });
    at += byteLength;
  }
  return commands;
}

/** `x.y` of a version that is packed as 16 bits and two times 8. */
const versionOf = (packed) => `${packed >>> 16}.${(packed >>> 8) & 255}`;

/** The names of external symbols, which begin with an underscore that C does not have. */
function symbolsOf(file, table) {
  const [start, count, texts] = [8, 12, 16].map((at) => table.readUInt32LE(at));
  return Array.from({ length: count }, (_, k) => start + k * SYMBOL_BYTES)
    .filter((at) => (file[at + 4] & N_STAB) === 0 && (file[at + 4] & N_EXT) !== 0)
    .map((at) => ({
      name: textAt(file, texts + file.readUInt32LE(at)).replace(/^_/, ''),
      isDefined: (file[at + 4] & N_TYPE) !== N_UNDF,
    }));
}

/**
 * `machine`: the number of the processor. `needed`: libraries. `oldest`: the first version of macOS that loads it.
 * `exported`, `imported`: symbols.
 */
export function readMachO(path) {
  const file = readFileSync(path);
  if (file.length < HEADER_BYTES || file.readUInt32LE(0) !== MAGIC)
    throw new Error(`${path} is no 64-bit Mach-O file`);
  const commands = commandsOf(file);
  const all = (number) => commands.filter(({ command }) => command === number).map(({ bytes }) => bytes);
  const symbols = symbolsOf(file, all(LC_SYMTAB)[0]);
  return {
    machine: file.readUInt32LE(4),
    needed: all(LC_LOAD_DYLIB).map((bytes) => textAt(bytes, bytes.readUInt32LE(8))),
    oldest: versionOf(all(LC_BUILD_VERSION)[0].readUInt32LE(12)),
    exported: symbols.filter(({ isDefined }) => isDefined).map(({ name }) => name),
    imported: symbols.filter(({ isDefined }) => !isDefined).map(({ name }) => name),
  };
}
