/**
 * Results into files: lays the files out, takes their room on the disk, computes into them, writes headers,
 * and gives the files their names when all of them are complete. After a failure or an abort none of them is
 * there. Called by `lazy.ts`.
 */

import type { FileOutput } from '../exec/native/native-types.js';
import type { ComputeOptions } from '../exec/run/compute-options.js';
import { evaluateIntoFiles } from '../exec/run/evaluate.js';
import type { Expr, FileStamp } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { transpose } from '../graph/views.js';
import { ArgumentError, expected } from '../host/errors.js';
import { type ArrayLayout, bytesOf, isSwapped, layoutExpr, wordByteLength } from './layout.js';
import { OutputFile } from './output-file.js';
import { OutputFolder } from './output-folder.js';
import type { FileLayout, Sink } from './sinks.js';

/** One sink for all results, or one for each. */
export type Sinks = Sink | readonly Sink[];

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
  const files: Output[] = [];
  try {
    for (const job of jobs) files.push(await outputOf(job));
    for (const [k, { layout }] of jobs.entries()) await files[k]!.reserve(layout.byteLength);
    const arrays = exprs.map((_, result) => storedArrayOf(jobs, files, result));
    const wanted = exprs.map((expr, k) => (arrays[k]!.layout.order === 'F' ? transpose(expr) : expr));
    const outputs = arrays.map(({ output }) => output);
    const checksums = await evaluateIntoFiles(wanted, outputs, options);
    const stamps: FileStamp[] = [];
    for (const [k, job] of jobs.entries()) stamps.push(await finish(job, files[k]!, checksums));
    const stored = arrays.map(({ layout, job, output }) => storedExpr(output.path, stamps[job]!, layout));
    options.signal?.throwIfAborted();
    for (const file of files) await file.publish();
    return stored;
  } finally {
    for (const file of files) await file.discard();
  }
}

type Output = OutputFile | OutputFolder;

const outputOf = ({ sink: { format, path }, layout: { folder } }: Job): Promise<Output> =>
  folder === undefined ? OutputFile.create(format, path) : OutputFolder.create(format, path, folder);

function isSink(value: unknown): value is Sink {
  return (
    typeof value === 'object' && value !== null && 'layout' in value && typeof value.layout === 'function'
  );
}

function jobsOf(exprs: readonly Expr[], to: Sinks): Job[] {
  const sinks: readonly unknown[] = Array.isArray(to) ? to : [to];
  if (!sinks.every(isSink)) {
    throw new ArgumentError(
      expected('compute', 'to as npy(…), npz(…), safetensors(…), zarr(…) or raw(…)', formatValue(to)),
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

interface StoredArray {
  /** Position among the jobs. */
  readonly job: number;
  readonly layout: ArrayLayout;
  readonly output: FileOutput;
}

function storedArrayOf(jobs: readonly Job[], files: readonly Output[], result: number): StoredArray {
  const job = jobs.findIndex(({ results }) => results.includes(result));
  const at = jobs[job]!.results.indexOf(result);
  const { arrays, checksums } = jobs[job]!.layout;
  const layout = arrays[at]!;
  const { fd, path } = files[job]!;
  const swap = isSwapped(layout) ? wordByteLength(layout.dtype) : 0;
  const output = { fd, path, byteOffset: layout.byteOffset, swap, checksum: checksums?.[at] };
  return { job, layout, output };
}

/** Writes what is not elements, and brings the file to the disk. */
async function finish(
  { layout, results }: Job,
  file: Output,
  checksums: readonly number[],
): Promise<FileStamp> {
  const last = layout.finish?.(results.map((result) => checksums[result]!)) ?? [];
  for (const { bytes, byteOffset } of [...layout.headers, ...last]) await file.write(bytes, byteOffset);
  return file.complete(layout.byteLength);
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
