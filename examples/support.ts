/**
 * Support of the examples: the `--device` option, timing, tables, and the comparison with a plain loop.
 * Nothing here is part of Weft.
 */
import { parseArgs, styleText } from 'node:util';
import type { ComputeOptions, Explanation, Lazy } from '../src/index.js';

/** `--device cpu`, `--device cuda:1`; without it Weft chooses. */
export function optionsFromCommandLine(): ComputeOptions {
  const { values } = parseArgs({ options: { device: { type: 'string' } } });
  return { device: values.device };
}

export interface Timed<T> {
  readonly value: T;
  readonly ms: number;
}

/** The result of some work, and its wall time. */
export async function timed<T>(work: () => T | Promise<T>): Promise<Timed<T>> {
  const start = performance.now();
  const value = await work();
  return { value, ms: performance.now() - start };
}

export const milliseconds = (ms: number): string => `${ms.toFixed(ms < 10 ? 2 : 0)} ms`;

export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const unit = count < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(count) / 3));
  return `${(count / 1000 ** unit).toFixed(unit === 0 ? 0 : 1)} ${units[unit]}`;
}

export const heading = (text: string): void => console.log(`\n${styleText('bold', text)}`);

/** Prints rows under a header, the first column to the left, the others to the right. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [header, ...rows];
  const widths = header.map((_, k) => Math.max(...lines.map((line) => line[k]!.length)));
  for (const line of lines) {
    const cells = line.map((cell, k) => (k === 0 ? cell.padEnd(widths[k]!) : cell.padStart(widths[k]!)));
    console.log(`  ${cells.join('   ').trimEnd()}`);
  }
}

/** Prints the device, and the kernels a compute runs as, with the bytes they move. */
export function printKernels(explanation: Explanation): void {
  const { device, deviceReason, steps, bytesRead, bytesWritten, peakBytes } = explanation;
  console.log(`  device ${device} (${deviceReason})`);
  printTable(
    ['kernel', 'read', 'written'],
    [
      ...steps.map((step) => [step.name, bytes(step.bytesRead), bytes(step.bytesWritten)]),
      [`${steps.length} in all, peak memory ${bytes(peakBytes)}`, bytes(bytesRead), bytes(bytesWritten)],
    ],
  );
}

/**
 * `count` numbers in [low, high), the same in every run: a hash of the index (Chris Wellons, "Hash
 * Prospector").
 */
export function uniform(count: number, seed: number, low = 0, high = 1): Float32Array {
  return Float32Array.from({ length: count }, (_, index) => {
    let hash = (index + Math.imul(seed, 0x9e3779b9)) >>> 0;
    hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
    hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
    hash ^= hash >>> 16;
    return low + (high - low) * ((hash >>> 8) * 2 ** -24);
  });
}

export function maxDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) throw new Error(`${a.length} values against ${b.length}`);
  let most = 0;
  for (let i = 0; i < a.length; i++) {
    const difference = Math.abs(a[i]! - b[i]!);
    if (!(difference <= most)) most = difference; // a NaN stays
  }
  return most;
}

/**
 * Computes a float32 expression and the same by a plain loop; prints both times, and fails where they differ
 * by more.
 */
export async function compareWithLoop(
  title: string,
  expression: Lazy,
  loop: () => ArrayLike<number>,
  tolerance: number,
): Promise<void> {
  const options = optionsFromCommandLine();
  heading(`${title}: ${expression}`);
  printKernels(expression.explain(options));
  const first = await timed(() => expression.compute(options));
  const again = await timed(() => expression.compute(options));
  const plain = await timed(loop);
  console.log(
    `  first compute ${milliseconds(first.ms)} (planned and compiled), again ${milliseconds(again.ms)}`,
  );
  const difference = maxDifference(again.value.data as Float32Array, plain.value);
  console.log(
    `  plain loop ${milliseconds(plain.ms)}; max difference ${difference.toExponential(1)}, allowed ${tolerance}`,
  );
  if (!(difference <= tolerance)) throw new Error(`${title}: differs from the plain loop by ${difference}`);
}
