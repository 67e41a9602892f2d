/**
 * Results into files: lays the files out, computes, writes elements and headers, and gives the files their names when all
 * of them are complete. After a failure or an abort none of them is there. Called by `lazy.ts`.
 */
import { crc32 } from 'node:zlib';
import { ArgumentError, expected } from '../errors.js';
import { type ComputeOptions, evaluate, type HostResult } from '../exec/evaluate.js';
import type { Expr, FileStamp, TypedArray } from '../graph/expr.js';
import { transpose } from '../graph/views.js';
import { type ArrayLayout, bytesOf, isSwapped, layoutExpr, wordByteLength } from './layout.js';
import { OutputFile } from './output-file.js';
import { swapWords } from './read-region.js';
import type { FileLayout, Sink } from './sinks.js';

/** One sink for all results, or one for each. */
export type Sinks = Sink | readonly Sink[];

/** Bytes that are swapped, summed and written at once. */
const CHUNK = 1 << 22;

/** A sink with the results that go to it. */
interface Job {
  readonly sink: Sink;
  /** Positions among the results. */
  readonly results: readonly number[];
  readonly layout: FileLayout;
}

/** Computes into files. The results are arrays of those files, in the order of `exprs`. */
export async function evaluateTo(
  exprs: readonly Expr[],
  to: Sinks,
  options: ComputeOptions,
): Promise<Expr[]> {
  const jobs = jobsOf(exprs, to);
  const files: OutputFile[] = [];
  try {
    for (const { sink } of jobs) files.push(await OutputFile.create(sink.format, sink.path));
    const wanted = exprs.map((expr, k) => (orderOf(jobs, k) === 'F' ? transpose(expr) : expr));
    const results = await evaluate(wanted, options);
    const stored: Expr[] = [];
    for (const [k, job] of jobs.entries()) {
      const file = files[k]!;
      const stamp = await writeJob(job, file, results, options.signal);
      job.results.forEach((result, i) => {
        stored[result] = storedExpr(file.path, stamp, job.layout.arrays[i]!);
      });
    }
    options.signal?.throwIfAborted();
    for (const file of files) await file.publish();
    return stored;
  } finally {
    for (const file of files) await file.discard();
  }
}

function isSink(value: unknown): value is Sink {
  return (
    typeof value === 'object' && value !== null && 'layout' in value && typeof value.layout === 'function'
  );
}

function jobsOf(exprs: readonly Expr[], to: Sinks): Job[] {
  const sinks: readonly unknown[] = Array.isArray(to) ? to : [to];
  if (!sinks.every(isSink)) {
    throw new ArgumentError(
      expected('compute', 'to as npy(…), npz(…), safetensors(…) or raw(…)', String(to)),
    );
  }
  if (Array.isArray(to) && sinks.length !== exprs.length) {
    throw new ArgumentError(
      expected('compute', `a file for each of ${exprs.length} arrays`, `${sinks.length}`),
    );
  }
  if (new Set(sinks.map((sink) => sink.path)).size < sinks.length) {
    throw new ArgumentError(expected('compute', 'each file once', sinks.map((sink) => sink.path).join(', ')));
  }
  return sinks.map((sink, k) => {
    const results = Array.isArray(to) ? [k] : exprs.map((_, i) => i);
    return { sink, results, layout: sink.layout(results.map((i) => exprs[i]!)) };
  });
}

const orderOf = (jobs: readonly Job[], result: number): 'C' | 'F' =>
  jobs.find((job) => job.results.includes(result))?.sink.order ?? 'C';

async function writeJob(
  { layout, results }: Job,
  file: OutputFile,
  values: readonly HostResult[],
  signal: AbortSignal | undefined,
): Promise<FileStamp> {
  for (const { bytes, byteOffset } of layout.parts) await file.write(bytes, byteOffset);
  const checksums: number[] = [];
  for (const [k, array] of layout.arrays.entries()) {
    const { data } = values[results[k]!]!;
    checksums.push(await writeElements(file, array, data, layout.finish !== undefined, signal));
  }
  for (const { bytes, byteOffset } of layout.finish?.(checksums) ?? []) await file.write(bytes, byteOffset);
  return file.complete(layout.byteLength);
}

/** Writes elements in the file's byte order; gives their CRC-32 where it is wanted. */
async function writeElements(
  file: OutputFile,
  layout: ArrayLayout,
  { buffer, byteOffset, byteLength }: TypedArray,
  summed: boolean,
  signal: AbortSignal | undefined,
): Promise<number> {
  let checksum = 0;
  for (let at = 0; at < byteLength; at += CHUNK) {
    signal?.throwIfAborted();
    let chunk = Buffer.from(buffer, byteOffset + at, Math.min(CHUNK, byteLength - at));
    if (isSwapped(layout)) {
      chunk = Buffer.from(chunk);
      swapWords(chunk, wordByteLength(layout.dtype));
    }
    if (summed) checksum = crc32(chunk, checksum);
    await file.write(chunk, layout.byteOffset + at);
  }
  return checksum;
}

function storedExpr(path: string, stamp: FileStamp, layout: ArrayLayout): Expr {
  const region = {
    path,
    byteOffset: layout.byteOffset,
    byteLength: bytesOf(layout),
    swapped: isSwapped(layout),
    stamp,
  };
  return layoutExpr(layout, (strided) => ({ type: 'file', region, ...strided }));
}
