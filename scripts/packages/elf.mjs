/** Reads from a shared library of 64-bit ELF what a loader reads: libraries, versions and symbols. */
import { readFileSync } from 'node:fs';

const SHT_SYMTAB = 2;
const SHT_DYNAMIC = 6;
const SHT_DYNSYM = 11;
const SHT_GNU_VERNEED = 0x6ffffffe;
const DT_NEEDED = 1;
const SYMBOL_BYTES = 24;
const DYNAMIC_BYTES = 16;

/** The text at an offset, up to its zero. */
const textAt = (bytes, offset) => bytes.toString('latin1', offset, bytes.indexOf(0, offset));

function sectionsOf(file) {
  const start = Number(file.readBigUInt64LE(40));
  const stride = file.readUInt16LE(58);
  return Array.from({ length: file.readUInt16LE(60) }, (_, k) => {
    const at = start + k * stride;
    const offset = Number(file.readBigUInt64LE(at + 24));
    const byteLength = Number(file.readBigUInt64LE(at + 32));
    const type = file.readUInt32LE(at + 4);
    // Sections that are zero at first are not in the file.
    const bytes = file.subarray(offset, offset + byteLength);
    return { type, bytes, link: file.readUInt32LE(at + 40) };
  });
}

const entries = (bytes, byteLength) =>
  Array.from({ length: bytes.length / byteLength }, (_, k) =>
    bytes.subarray(k * byteLength, (k + 1) * byteLength),
  );

/** The versions of libraries' symbols that are needed: `GLIBC_2.28`. */
function versionsOf({ bytes }, texts) {
  const versions = [];
  for (let at = 0, next = 1; next !== 0; at += next) {
    next = bytes.readUInt32LE(at + 12);
    let version = at + bytes.readUInt32LE(at + 8);
    for (let left = bytes.readUInt16LE(at + 2); left > 0; left--) {
      versions.push(textAt(texts, bytes.readUInt32LE(version + 8)));
      version += bytes.readUInt32LE(version + 12);
    }
  }
  return versions;
}

/**
 * `machine`: the number of the processor. `needed`: libraries. `versions`: versions of their symbols.
 * `exported`, `imported`: symbols. `hasSymbolTable`: it has more symbols than a loader needs.
 */
export function readElf(path) {
  const file = readFileSync(path);
  if (file.length < 64 || file.readUInt32BE(0) !== 0x7f454c46 || file[4] !== 2)
    throw new Error(`${path} is no 64-bit ELF file`);
  const sections = sectionsOf(file);
  const only = (type) => sections.find((section) => section.type === type);
  const texts = (section) => sections[section.link].bytes;
  const dynamic = only(SHT_DYNAMIC);
  const symbols = only(SHT_DYNSYM);
  const named = entries(symbols.bytes, SYMBOL_BYTES)
    .slice(1)
    .map((symbol) => ({
      name: textAt(texts(symbols), symbol.readUInt32LE(0)),
      isDefined: symbol.readUInt16LE(6) !== 0,
    }));
  const versions = only(SHT_GNU_VERNEED);
  return {
    machine: file.readUInt16LE(18),
    needed: entries(dynamic.bytes, DYNAMIC_BYTES)
      .filter((entry) => Number(entry.readBigUInt64LE(0)) === DT_NEEDED)
      .map((entry) => textAt(texts(dynamic), Number(entry.readBigUInt64LE(8)))),
    versions: versions === undefined ? [] : versionsOf(versions, texts(versions)),
    exported: named.filter(({ isDefined }) => isDefined).map(({ name }) => name),
    imported: named.filter(({ isDefined }) => !isDefined).map(({ name }) => name),
    hasSymbolTable: only(SHT_SYMTAB) !== undefined,
  };
}
