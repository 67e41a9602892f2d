/**
 * The .npy format: reading headers of versions 1, 2 and 3, writing headers as NumPy does.
 *
 * Format: numpy/lib/format.py and NEP 1. Object arrays are pickles, which run code when they are read: they
 * are refused, as are structured dtypes, text and dates, each with its reason. Called by `load.ts`, `npz.ts`
 * and `sinks.ts`.
 */
import { DTYPE_INFO, type DType } from '../graph/dtype.js';
import type { Shape } from '../graph/expr.js';
import type { Refuse } from './data-file.js';
import { type ArrayLayout, type ByteOrder, checkFileShape, HOST_BYTE_ORDER, type Order } from './layout.js';
import { LiteralError, type PythonLiteral, PythonTuple, parsePythonLiteral } from './python-literal.js';

/** `read(offset, length)` gives bytes of the file, or of the archive's member. */
export type ReadBytes = (offset: number, length: number) => Promise<Uint8Array>;

const MAGIC = '\x93NUMPY';
/** Magic, version, and the header's length in two or four bytes. */
const PREFIX = 12;
const MAX_HEADER = 1 << 16;
const ALIGNMENT = 64;

/** NumPy's type characters with their sizes, for the dtypes that both have. */
const DTYPES: Readonly<Record<string, DType>> = {
  b1: 'bool',
  '?': 'bool',
  i1: 'int8',
  i2: 'int16',
  i4: 'int32',
  i8: 'int64',
  u1: 'uint8',
  u2: 'uint16',
  u4: 'uint32',
  u8: 'uint64',
  f2: 'float16',
  f4: 'float32',
  f8: 'float64',
  c8: 'complex64',
  c16: 'complex128',
};
const CODES = new Map(
  Object.entries(DTYPES).flatMap(([code, dtype]) => (code === '?' ? [] : [[dtype, code]])),
);

/** Why a NumPy type cannot be read, by its character. */
const REFUSED: Readonly<Record<string, string>> = {
  O: 'an object array is a pickle, which runs code when it is read; save numbers instead',
  V: 'raw or structured elements; save each field on its own',
  S: 'text; save numbers instead',
  a: 'text; save numbers instead',
  U: 'text; save numbers instead',
  M: "dates; save x.view('int64') instead",
  m: "time spans; save x.view('int64') instead",
  f: 'floats of this size; save float64 instead',
  c: 'complex numbers of this size; save complex128 instead',
};

/**
 * The layout of the array in a .npy file. Throws a FileError through `refuse`. `asBytes`: text of one byte a character
 * is read as well, as uint8 with an axis of them.
 */
export async function readNpyHeader(
  read: ReadBytes,
  byteLength: number,
  refuse: Refuse,
  asBytes = false,
): Promise<ArrayLayout> {
  const prefix = Buffer.from(await read(0, Math.min(PREFIX, byteLength)));
  if (prefix.toString('latin1', 0, MAGIC.length) !== MAGIC || prefix.length < PREFIX) {
    refuse('a .npy file', 'other contents');
  }
  const [major, minor] = [prefix[6]!, prefix[7]!];
  if (major < 1 || major > 3 || minor !== 0) refuse('a .npy file of version 1, 2 or 3', `${major}.${minor}`);
  const start = major === 1 ? 10 : 12;
  const length = major === 1 ? prefix.readUInt16LE(8) : prefix.readUInt32LE(8);
  if (length > MAX_HEADER) refuse(`a header of at most ${MAX_HEADER} bytes`, `${length}`);
  if (start + length > byteLength) refuse(`a header of ${length} bytes`, 'the end of the file');
  const header = Buffer.from(await read(start, length));
  const text = header.toString(major === 3 ? 'utf8' : 'latin1');
  return { ...parseHeader(text, refuse, asBytes), byteOffset: start + length };
}

function parseHeader(text: string, refuse: Refuse, asBytes: boolean): Omit<ArrayLayout, 'byteOffset'> {
  const entries = dictOf(text, refuse);
  const keys = [...entries.keys()].sort().join(', ');
  if (keys !== 'descr, fortran_order, shape') refuse('the keys descr, fortran_order and shape', keys);
  const fortran = entries.get('fortran_order');
  if (typeof fortran !== 'boolean') refuse('fortran_order as True or False', show(fortran));
  const shape = parseShape(entries.get('shape')!, refuse);
  const descr = entries.get('descr')!;
  const characters = asBytes && typeof descr === 'string' ? /^\|?[Sa](\d{1,8})$/.exec(descr)?.[1] : undefined;
  if (characters !== undefined)
    return { ...TEXT, shape: checkFileShape(refuse, [...shape, Number(characters)], TEXT.dtype) };
  const { dtype, byteOrder } = parseDescr(descr, refuse);
  return { dtype, shape: checkFileShape(refuse, shape, dtype), order: fortran ? 'F' : 'C', byteOrder };
}

const TEXT = { dtype: 'uint8', order: 'C', byteOrder: HOST_BYTE_ORDER } as const;

function dictOf(text: string, refuse: Refuse): ReadonlyMap<string, PythonLiteral> {
  try {
    const header = parsePythonLiteral(text);
    if (header instanceof Map) return header;
  } catch (error) {
    if (!(error instanceof LiteralError)) throw error;
    return refuse('a header that is a Python literal', `not ${error.message}`);
  }
  return refuse('a header that is a dict', show(text));
}

const show = (value: unknown): string => {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40));
  return typeof value === 'object' && value !== null ? 'another value' : String(value);
};

function parseShape(shape: PythonLiteral, refuse: Refuse): number[] {
  if (!(shape instanceof PythonTuple)) return refuse('shape as a tuple of integers', show(shape));
  return shape.items.map((size) => {
    if (typeof size !== 'bigint') return refuse('shape as a tuple of integers', show(size));
    const value = Number(size);
    if (!Number.isSafeInteger(value)) refuse('a shape of integers below 2^53', `${size}`);
    return value;
  });
}

function parseDescr(descr: PythonLiteral, refuse: Refuse): { dtype: DType; byteOrder: ByteOrder } {
  if (Array.isArray(descr)) return refuse('a dtype of numbers', 'a structured dtype', REFUSED.V);
  const match =
    typeof descr === 'string' ? /^([<>=|]?)([A-Za-z?])(\d{0,8}(?:\[\w{1,16}\])?)$/.exec(descr) : null;
  if (match === null) return refuse('a dtype of numbers', show(descr));
  const [, order, character, size] = match as unknown as [string, string, string, string];
  const dtype = Object.hasOwn(DTYPES, character + size) ? DTYPES[character + size] : undefined;
  if (dtype === undefined) return refuse('a dtype of numbers', show(descr), REFUSED[character]);
  const byteOrder = order === '>' ? 'big' : order === '<' ? 'little' : HOST_BYTE_ORDER;
  return { dtype, byteOrder };
}

/** The dtype as NumPy writes it, `<f4`; undefined for bfloat16, which NumPy does not have. */
export function npyDescr(dtype: DType, byteOrder: ByteOrder): string | undefined {
  const code = CODES.get(dtype);
  if (code === undefined) return undefined;
  const order = DTYPE_INFO[dtype].byteLength === 1 ? '|' : byteOrder === 'big' ? '>' : '<';
  return order + code;
}

/** The type of one text of so many characters, of one byte each. */
export const textDescr = (characters: number): string => `|S${characters}`;

const pythonTuple = (shape: Shape): string =>
  shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;

/**
 * The bytes before the elements, the same ones that NumPy 2 writes: version 1, padded so that the elements
 * begin at a multiple of 64, with room for the growing axis to be rewritten in place.
 */
export function npyHeader(descr: string, shape: Shape, order: Order): Buffer {
  const fortran = order === 'F' ? 'True' : 'False';
  let text = `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': ${pythonTuple(shape)}, }`;
  if (shape.length > 0) text += ' '.repeat(21 - `${order === 'F' ? shape.at(-1) : shape[0]}`.length);
  const unpadded = 10 + text.length + 1;
  const total = (Math.floor(unpadded / ALIGNMENT) + 1) * ALIGNMENT;
  const header = Buffer.alloc(total, ' ', 'latin1');
  header.write(MAGIC, 0, 'latin1');
  header.writeUInt16LE(1, 6); // version 1.0, as two bytes 1 and 0
  header.writeUInt16LE(total - 10, 8);
  header.write(text, 10, 'latin1');
  header.write('\n', total - 1, 'latin1');
  return header;
}
