/**
 * Sources → what a native run reads: views of arrays, device buffers, regions of files; and elements that
 * come through JavaScript, read whole before the run, or part by part while it is under way. Called by
 * `evaluate.ts`, `compiled-graph.ts` and `run-program.ts`.
 */

import type { Canonical } from '../../fusion/passes/canonicalize.js';
import type { SourceArray } from '../../fusion/passes/source-array.js';
import { byteLengthOf, DTYPE_INFO, type DType, isComplex } from '../../graph/dtype.js';
import type {
  DeviceBuffer,
  ElementReader,
  FileRegion,
  SegmentSource,
  Site,
  TypedArray,
} from '../../graph/expr.js';
import { ArgumentError, expected, InternalError } from '../../host/errors.js';
import { formatSite } from '../../host/site.js';
import { bytesOver } from '../native/host-memory.js';
import type { ReaderInput, RunInput } from '../native/native.js';
import type { DevicePlan } from '../plan/plan.js';
import { refusePlaceholder } from './placeholder.js';
import type { RunNumbers } from './run-numbers.js';

/** Elements that JavaScript is still to read: all before the run, or parts of them while it is under way. */
export class Unread {
  readonly #array: SourceArray;
  readonly #reader: ElementReader;

  constructor(array: SourceArray, reader: ElementReader) {
    this.#array = array;
    this.#reader = reader;
  }

  all(signal: AbortSignal | undefined): Promise<TypedArray> {
    const { start, elementCount } = this.#array;
    return this.#reader.read(start, elementCount, signal);
  }

  /** `failed` is called with the reason why elements could not be read: the run itself only knows that they were not. */
  parts(signal: AbortSignal | undefined, failed: (error: unknown) => void): ReaderInput {
    const { start, elementCount, dtype } = this.#array;
    const size = byteLengthOf(dtype);
    const reader = this.#reader;
    const read = async (offset: number, length: number): Promise<Uint8Array> => {
      const { buffer, byteOffset, byteLength } = await reader.read(
        start + offset / size,
        length / size,
        signal,
      );
      return new Uint8Array(buffer, byteOffset, byteLength);
    };
    return {
      byteLength: elementCount * size,
      read: (offset, length, done) => {
        read(offset, length).then(done, (error: unknown) => {
          failed(error);
          done();
        });
      },
    };
  }
}

/**
 * A source in a run: in memory, still to be read, or a value of a part of the graph that is computed
 * first.
 */
export type Input = RunInput | Unread | SegmentSource;

/** The input of each source of a graph in a run. */
export type InputOf = (source: number) => Input;

/** All that a run of a graph is given. */
export interface Given {
  readonly inputOf: InputOf;
  readonly numbers: RunNumbers;
}

/** All that a native run reads. */
export interface RunArguments {
  readonly inputs: readonly RunInput[];
  readonly numbers: RunNumbers;
}

/** The values of the segments that were computed. */
export interface SegmentValues {
  valueOf(source: SegmentSource): RunInput;
}

export const isHere = (input: Input): input is RunInput =>
  ArrayBuffer.isView(input) || !(input instanceof Unread || 'segment' in input);

/** The context that inputs are brought for. */
export interface Bringing {
  readonly plan: Pick<DevicePlan, 'buffers'>;
  readonly signal?: AbortSignal | undefined;
  readonly segments?: SegmentValues | undefined;
}

/**
 * Runs with inputs as a run takes them. Elements that come through JavaScript are read whole before it, or
 * where the plan has windows of it, part by part while it is under way; what a reader throws then is what
 * this rejects with.
 */
export function runWithInputs<T>(
  inputs: readonly Input[],
  bringing: Bringing,
  go: (here: readonly RunInput[]) => Promise<T>,
): Promise<T> {
  return inputs.every(isHere) ? go(inputs) : runWithBrought(inputs, bringing, go);
}

async function runWithBrought<T>(
  inputs: readonly Input[],
  { plan: { buffers }, signal, segments }: Bringing,
  go: (here: readonly RunInput[]) => Promise<T>,
): Promise<T> {
  const inWindows = buffers.filter(({ role }) => role === 'input').map(({ windowed }) => windowed === true);
  let thrown: { readonly error: unknown } | undefined;
  const failed = (error: unknown): void => {
    thrown ??= { error };
  };
  const here = await Promise.all(
    inputs.map((input, k) => {
      if (isHere(input)) return input;
      if (!(input instanceof Unread)) return valueIn(segments, input);
      return inWindows[k] === true ? input.parts(signal, failed) : input.all(signal);
    }),
  );
  signal?.throwIfAborted();
  try {
    return await go(here);
  } catch (error) {
    throw thrown === undefined ? error : thrown.error;
  }
}

function valueIn(segments: SegmentValues | undefined, source: SegmentSource): RunInput {
  if (segments === undefined) throw new InternalError('[compute] a segment of the graph was not computed');
  return segments.valueOf(source);
}

/** The input of each source of a graph. */
export const inputsOf = (canonical: Canonical): Input[] =>
  canonical.sources.map((source) => inputOf(source, canonical));

/** The part of an array that is read. Throws if the array has lost its memory since it was wrapped. */
export function inputOf(array: SourceArray, canonical: Canonical): Input {
  const { source, start, elementCount, dtype } = array;
  switch (source.type) {
    case 'device':
      refusePlaceholder(source.buffer);
      refuseDisposed(source.buffer, array);
      return source.buffer;
    case 'segment':
      return source;
    case 'file':
      return fileInput(source.region, dtype, start, elementCount);
    case 'reader':
      return new Unread(array, source.reader);
    case 'chunked':
      return chunkedInput(source.chunks, array, canonical);
    case 'host':
      refusePlaceholder(source.data);
      return partOf(source.data, array, start, canonical);
  }
}

const isOfFixedLength = ({ buffer }: TypedArray): boolean =>
  !('resizable' in buffer && buffer.resizable === true) &&
  !('growable' in buffer && buffer.growable === true);

/** How many values of a typed array the elements of an array are. */
export const valuesOf = ({ elementCount, dtype }: SourceArray): number =>
  elementCount * (isComplex(dtype) ? 2 : 1);

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
  // A view that follows the length of its buffer would be another one when the run reads it.
  if (start === 0 && data.length === end && isOfFixedLength(data)) return data;
  return data.subarray(start * values, end);
}

function refuseDisposed({ device, disposed }: DeviceBuffer, { elementCount, dtype }: SourceArray): void {
  if (!disposed) return;
  const received = `${elementCount} elements of ${dtype} on ${device} whose memory is free`;
  const hint = 'await what computes with an array before dispose() or the end of its `using`';
  throw new ArgumentError(expected('compute', 'arrays that were not disposed of', received, hint));
}

function lostMemory(wanted: string, left: string, canonical: Canonical): ArgumentError {
  const what = left.startsWith('0 ') ? 'a detached ArrayBuffer' : left;
  const site = where(canonical.sites.values());
  return new ArgumentError(expected('compute', `an array of at least ${wanted}`, what, site));
}

function fileInput(region: FileRegion, dtype: DType, start: number, count: number): RunInput {
  const size = byteLengthOf(dtype);
  const { byteOffset, byteLength, checksum } = region;
  return {
    path: region.path,
    byteOffset: region.byteOffset + start * size,
    byteLength: count * size,
    swap: region.swapped ? byteLengthOf(DTYPE_INFO[dtype].component) : 0,
    stamp: region.stamp,
    checksum: checksum && { ...checksum, byteOffset, byteLength },
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
  const parts: DataView[] = [];
  let at = 0;
  for (const { buffer, byteOffset, byteLength } of chunks) {
    const from = Math.max(first - at, 0);
    const to = Math.min(end - at, byteLength);
    if (from < to) parts.push(bytesOver(buffer, byteOffset + from, to - from));
    at += byteLength;
  }
  if (at < end) throw lostMemory(`${end} bytes`, `${at} bytes`, canonical);
  return { chunks: parts };
}

const where = (sites: Iterable<Site>): string | undefined => {
  for (const site of sites) {
    const place = formatSite(site);
    return place === undefined ? undefined : `made at ${place}`;
  }
  return undefined;
};
