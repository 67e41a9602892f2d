/**
 * Sources → what a native run reads: views of arrays, device buffers, regions of files; and elements that come through
 * JavaScript, read whole before the run. Called by `evaluate.ts` and `trace.ts`.
 */
import { ArgumentError, expected, InternalError } from '../errors.js';
import type { Canonical, SourceArray } from '../fusion/canonicalize.js';
import { byteLengthOf, DTYPE_INFO, type DType, isComplex } from '../graph/dtype.js';
import type { FileRegion, FoldedSource, Site, TypedArray } from '../graph/expr.js';
import { formatSite } from '../site.js';
import type { RunInput } from './native.js';
import { isPlaceholder } from './placeholder.js';

/** Elements that JavaScript is still to read. */
export interface Unread {
  read(signal: AbortSignal | undefined): Promise<TypedArray>;
}

/** What a source is for a run: there, still to be read, or a value of a part of the graph that is computed first. */
export type Input = RunInput | Unread | FoldedSource;

/** The values of the parts that were computed. */
export interface PartValues {
  valueOf(source: FoldedSource): RunInput;
}

export const isHere = (input: Input): input is RunInput => !('read' in input || 'part' in input);

/** Inputs as a run takes them: what comes through JavaScript is read whole. */
export async function bring(
  inputs: readonly Input[],
  signal: AbortSignal | undefined,
  parts: PartValues | undefined,
): Promise<RunInput[]> {
  const here = await Promise.all(
    inputs.map((input) => {
      if (isHere(input)) return input;
      return 'read' in input ? input.read(signal) : valueIn(parts, input);
    }),
  );
  signal?.throwIfAborted();
  return here;
}

function valueIn(parts: PartValues | undefined, source: FoldedSource): RunInput {
  if (parts === undefined) throw new InternalError('[compute] a part of the graph was not computed');
  return parts.valueOf(source);
}

/** What each source of a graph is for a run. */
export const inputsOf = (canonical: Canonical): Input[] =>
  canonical.sources.map((source) => inputOf(source, canonical));

/** The part of an array that is read. Throws if the array has lost its memory since it was wrapped. */
export function inputOf(array: SourceArray, canonical: Canonical): Input {
  const { source, start, elementCount, dtype } = array;
  switch (source.type) {
    case 'device':
      refusePlaceholder(source.buffer);
      return source.buffer;
    case 'folded':
      return source;
    case 'file':
      return fileInput(source.region, dtype, start, elementCount);
    case 'reader':
      return { read: (signal) => source.reader.read(start, elementCount, signal) };
    case 'chunked':
      return chunkedInput(source.chunks, array, canonical);
    case 'host':
      refusePlaceholder(source.data);
      return partOf(source.data, array, start, canonical);
  }
}

/** As many elements as an array has, from `start` on. */
export function partOf(
  data: TypedArray,
  { elementCount, dtype }: SourceArray,
  start: number,
  canonical: Canonical,
): TypedArray {
  const values = isComplex(dtype) ? 2 : 1;
  const end = (start + elementCount) * values;
  if (data.length < end) throw lostMemory(`${end} values`, `${data.length} values`, canonical);
  return data.subarray(start * values, end);
}

/** What stands for an argument while a function is traced has no elements. */
function refusePlaceholder(memory: object): void {
  if (!isPlaceholder(memory)) return;
  throw new ArgumentError(
    expected('compile', 'a function that builds a graph', 'one that computes', 'nothing runs in it'),
  );
}

function lostMemory(wanted: string, left: string, canonical: Canonical): ArgumentError {
  const what = left.startsWith('0 ') ? 'a detached ArrayBuffer' : left;
  const site = where(canonical.sites.values());
  return new ArgumentError(expected('compute', `an array of at least ${wanted}`, what, site));
}

function fileInput(region: FileRegion, dtype: DType, start: number, count: number): RunInput {
  const size = byteLengthOf(dtype);
  return {
    path: region.path,
    byteOffset: region.byteOffset + start * size,
    byteLength: count * size,
    swap: region.swapped ? byteLengthOf(DTYPE_INFO[dtype].component) : 0,
    stamp: region.stamp,
  };
}

/** The bytes of the chunks that hold the elements. */
function chunkedInput(
  chunks: readonly TypedArray[],
  { start, elementCount, dtype }: SourceArray,
  canonical: Canonical,
): RunInput {
  const size = byteLengthOf(dtype);
  const [first, end] = [start * size, (start + elementCount) * size];
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const { buffer, byteOffset, byteLength } of chunks) {
    const from = Math.max(first - at, 0);
    const to = Math.min(end - at, byteLength);
    if (from < to) parts.push(new Uint8Array(buffer, byteOffset + from, to - from));
    at += byteLength;
  }
  if (at < end) throw lostMemory(`${end} bytes`, `${at} bytes`, canonical);
  return { chunks: parts };
}

const where = (sites: Iterable<Site>): string | undefined => {
  for (const site of sites) return `made at ${formatSite(site)}`;
  return undefined;
};
