/**
 * The safetensors format: a length, a JSON header of names, dtypes, shapes and byte ranges, then the
 * elements, little-endian in C order. Reading checks everything that the reference does, and writing gives
 * what it gives.
 *
 * Format: the specification in github.com/huggingface/safetensors. Called by `load.ts` and `sinks.ts`.
 */
import type { DType } from '../graph/dtype.js';
import type { Shape } from '../graph/expr.js';
import { formatShape } from '../graph/format.js';
import { type DataFile, type Refuse, refuser } from './data-file.js';
import { type ArrayLayout, bytesOf, checkFileShape } from './layout.js';

/**
 * Names of dtypes that both have, in the order of the reference. F8, F6, F4 and other small floats are not
 * among them.
 */
const DTYPES: Readonly<Record<string, DType>> = {
  BOOL: 'bool',
  U8: 'uint8',
  I8: 'int8',
  I16: 'int16',
  U16: 'uint16',
  F16: 'float16',
  BF16: 'bfloat16',
  I32: 'int32',
  U32: 'uint32',
  F32: 'float32',
  C64: 'complex64',
  F64: 'float64',
  I64: 'int64',
  U64: 'uint64',
};
const NAMES = new Map(Object.entries(DTYPES).map(([name, dtype]) => [dtype, name]));

/** The reference's own limit. */
const MAX_HEADER = 100_000_000;
const METADATA = '__metadata__';
const ALIGNMENT = 8;

export interface SafetensorsHeader {
  /** Layouts by name, in the header's order; a layout is checked when it is asked for. */
  readonly arrays: ReadonlyMap<string, () => ArrayLayout>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The header of a file. Throws a FileError for one that is not exactly as the format says. */
export async function readSafetensors(file: DataFile): Promise<SafetensorsHeader> {
  if (file.byteLength < 8) file.refuse('a safetensors file', `${file.byteLength} bytes`);
  const length = (await file.read(0, 8)).readBigUInt64LE();
  if (length > MAX_HEADER) file.refuse(`a header of at most ${MAX_HEADER} bytes`, `${length}`);
  const dataStart = 8 + Number(length);
  if (dataStart > file.byteLength) file.refuse(`a header of ${length} bytes`, 'the end of the file');
  const entries = parseHeader(await file.read(8, Number(length)), file.refuse);
  const metadata = parseMetadata(entries.get(METADATA), file.refuse);
  entries.delete(METADATA);
  checkRanges(entries, file.byteLength - dataStart, file.refuse);
  const arrays = [...entries].map(([name, entry]) => {
    const refuse = refuser(`${file.op}: ${name}`, file.path);
    return [name, () => layoutOf(entry as TensorEntry, dataStart, refuse)] as const;
  });
  return { arrays: new Map(arrays), metadata };
}

interface TensorEntry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

function parseHeader(bytes: Buffer, refuse: Refuse): Map<string, unknown> {
  let text: string;
  let header: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    header = JSON.parse(text);
  } catch (error) {
    return refuse('a header of JSON', error instanceof Error ? error.message.slice(0, 200) : String(error));
  }
  if (!text.startsWith('{') || !isObject(header))
    return refuse('a header that is an object', text.slice(0, 20));
  const repeated = repeatedKey(text);
  if (repeated !== undefined) refuse('every key once', JSON.stringify(repeated));
  return new Map(Object.entries(header));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A key that stands twice in one object of a valid JSON text: JSON.parse keeps the last and says nothing. */
function repeatedKey(text: string): string | undefined {
  const tokens = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/g;
  const open: Set<string>[] = [];
  for (let match = tokens.exec(text); match !== null; match = tokens.exec(text)) {
    const [token, colon] = match;
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (colon !== undefined) {
      const key = JSON.parse(token.slice(0, token.lastIndexOf(':'))) as string;
      if (open.at(-1)?.has(key)) return key;
      open.at(-1)?.add(key);
    }
  }
  return undefined;
}

function parseMetadata(value: unknown, refuse: Refuse): Readonly<Record<string, string>> {
  const metadata: Record<string, string> = Object.create(null);
  if (value === undefined) return metadata;
  if (!isObject(value)) return refuse(`${METADATA} as an object`, JSON.stringify(value));
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string') return refuse(`${METADATA} of texts`, `${key}: ${JSON.stringify(text)}`);
    metadata[key] = text;
  }
  return metadata;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/**
 * Refuses entries without a byte range, and ranges that overlap or leave bytes out: then the file hides
 * something.
 */
function checkRanges(entries: ReadonlyMap<string, unknown>, byteLength: number, refuse: Refuse): void {
  const ranges = [...entries].map(([name, entry]): { name: string; from: number; to: number } => {
    const offsets: unknown = isObject(entry) ? entry.data_offsets : undefined;
    const keys = isObject(entry) ? Object.keys(entry).sort().join(', ') : typeof entry;
    if (keys !== 'data_offsets, dtype, shape') {
      return refuse(`dtype, shape and data_offsets of ${name}`, keys.slice(0, 80));
    }
    const [from, to] = Array.isArray(offsets) && offsets.length === 2 ? (offsets as unknown[]) : [];
    if (!isCount(from) || !isCount(to) || from > to) {
      return refuse(`data_offsets of ${name} as [begin, end]`, JSON.stringify(offsets).slice(0, 80));
    }
    return { name, from, to };
  });
  ranges.sort((a, b) => a.from - b.from || a.to - b.to);
  let end = 0;
  for (const { name, from, to } of ranges) {
    if (from !== end) refuse(`${name} to begin at byte ${end} of the data`, `${from}`);
    end = to;
  }
  if (end !== byteLength) refuse(`${end} bytes of data`, `${byteLength}`);
}

function layoutOf(
  { dtype: name, shape, data_offsets }: TensorEntry,
  dataStart: number,
  refuse: Refuse,
): ArrayLayout {
  const dtype = typeof name === 'string' && Object.hasOwn(DTYPES, name) ? DTYPES[name]! : undefined;
  if (dtype === undefined) {
    return refuse(`a dtype of ${Object.keys(DTYPES).join(', ')}`, String(JSON.stringify(name)).slice(0, 40));
  }
  if (!Array.isArray(shape)) return refuse('a shape', String(JSON.stringify(shape)).slice(0, 40));
  const checked = checkFileShape(refuse, shape, dtype);
  const [from, to] = data_offsets;
  const layout: ArrayLayout = {
    dtype,
    shape: checked,
    order: 'C',
    byteOrder: 'little',
    byteOffset: dataStart + from,
  };
  if (to - from !== bytesOf(layout)) {
    refuse(`${bytesOf(layout)} bytes for ${dtype} ${formatShape(checked)}`, `${to - from}`);
  }
  return layout;
}

/** The name of a dtype in the format; undefined for complex128, which it does not have. */
export const safetensorsName = (dtype: DType): string | undefined => NAMES.get(dtype);

/**
 * The bytes before the elements, and where each array's elements go from there. As the reference does it, the
 * last dtypes of the table come first, so that all elements are aligned, and then names decide.
 */
export function safetensorsHeader(
  arrays: ReadonlyMap<string, { readonly dtype: DType; readonly shape: Shape }>,
  metadata: Readonly<Record<string, string>> | undefined,
): { readonly header: Buffer; readonly offsets: ReadonlyMap<string, number> } {
  const order = Object.values(DTYPES);
  const sorted = [...arrays].sort(
    ([a, x], [b, y]) =>
      order.indexOf(y.dtype) - order.indexOf(x.dtype) || Buffer.compare(Buffer.from(a), Buffer.from(b)),
  );
  const header: [string, unknown][] = metadata === undefined ? [] : [[METADATA, metadata]];
  const offsets = new Map<string, number>();
  let end = 0;
  for (const [name, { dtype, shape }] of sorted) {
    const from = end;
    end += bytesOf({ dtype, shape });
    offsets.set(name, from);
    header.push([name, { dtype: NAMES.get(dtype), shape, data_offsets: [from, end] }]);
  }
  const json = `{${header.map(([name, entry]) => `${JSON.stringify(name)}:${JSON.stringify(entry)}`).join(',')}}`;
  const text = Buffer.from(json);
  const padded = Math.ceil(text.length / ALIGNMENT) * ALIGNMENT;
  const bytes = Buffer.alloc(8 + padded, ' ');
  bytes.writeBigUInt64LE(BigInt(padded));
  text.copy(bytes, 8);
  return { header: bytes, offsets };
}
