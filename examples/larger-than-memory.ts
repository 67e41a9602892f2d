/**
 * A file that is standardized into another one, (x - mean) / deviation, within an eighth of its size in
 * memory: it is read and written part by part, twice, and never held as a whole.
 *
 * Run it with `node dist/examples/larger-than-memory.js [--device cpu|cuda]`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lazy, loadNpy, npy, saveNpy } from '../src/index.js';
import {
  bytes,
  heading,
  maxDifference,
  milliseconds,
  optionsFromCommandLine,
  timed,
  uniform,
} from './support.js';

const data = uniform(2 ** 23, 5, 10, 20);
const options = { ...optionsFromCommandLine(), memory: data.byteLength / 8 };
const folder = await mkdtemp(join(tmpdir(), 'weft-example-'));

/** The results of the files, by plain loops over the whole. */
function plainly(): Float32Array {
  let sum = 0;
  for (const value of data) sum += value;
  const mean = sum / data.length;
  let squares = 0;
  for (const value of data) squares += (value - mean) ** 2;
  const deviation = Math.sqrt(squares / data.length);
  return data.map((value) => (value - mean) / deviation);
}

try {
  await saveNpy(join(folder, 'x.npy'), lazy(data), options);
  const x = await loadNpy(join(folder, 'x.npy'));
  const standardized = x.sub(x.mean()).div(x.std());

  heading(`A file of ${bytes(data.byteLength)} within ${bytes(options.memory)}`);
  const to = npy(join(folder, 'y.npy'));
  const { sweeps, peakBytes } = standardized.plan({ ...options, to });
  for (const { tiles, steps } of sweeps) console.log(`  ${steps.join(', ')}: ${tiles} tiles`);
  const { value: y, ms } = await timed(() => standardized.compute({ ...options, to }));
  console.log(`  ${milliseconds(ms)}, at most ${bytes(peakBytes)} held`);

  const { data: found } = await y.compute(optionsFromCommandLine());
  const difference = maxDifference(found as Float32Array, plainly());
  console.log(`  max difference ${difference.toExponential(1)}, allowed 1e-4`);
  if (!(difference <= 1e-4)) throw new Error(`differs from the plain loop by ${difference}`);
} finally {
  await rm(folder, { recursive: true });
}
