/**
 * A folder of .npy files, each of which is standardized by columns into another folder, on every GPU or the
 * CPU: files are read and written while others are computed, and one that is broken does not stop the rest.
 *
 * Run it with `node dist/examples/batch.js [--device cpu|cuda] [folder]`; without a folder it makes one.
 */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import {
  type BatchOptions,
  batch,
  type Job,
  lazy,
  loadNpy,
  type NDArray,
  npy,
  saveNpy,
} from '../src/index.js';
import { heading, maxDifference, milliseconds, optionsFromCommandLine, uniform } from './support.js';

const FILES = 24;
const SHAPE = [2000, 50] as const;
const { device } = optionsFromCommandLine();
const options: BatchOptions = device === undefined || device === 'cuda' ? {} : { devices: [device] };
const given = process.argv.slice(2).find((arg, k, all) => !arg.startsWith('--') && all[k - 1] !== '--device');
const folder = given ?? (await mkdtemp(join(tmpdir(), 'weft-example-')));

/** The content of a file in the folder that this example makes. */
const made = (k: number): Float32Array => uniform(SHAPE[0] * SHAPE[1], k, -k, 10);

async function makeFiles(): Promise<void> {
  for (let k = 0; k < FILES; k++)
    await saveNpy(join(folder, `${k}.npy`), lazy(made(k)).reshape([...SHAPE]), { device: 'cpu' });
  await writeFile(join(folder, 'broken.npy'), 'not an array');
}

/** One job for each file; a file is opened when the batch comes to it. */
async function* jobs(out: string): AsyncGenerator<Job> {
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.npy')).sort()) {
    yield async () => {
      const x = await loadNpy(join(folder, file));
      const standardized = x.sub(x.mean(0)).div(x.std(0));
      return { compute: standardized, to: npy(join(out, file)), name: file };
    };
  }
}

/** The first file by plain loops. */
function plainly(data: Float32Array): Float32Array {
  const [rows, columns] = SHAPE;
  const result = new Float32Array(data.length);
  for (let j = 0; j < columns; j++) {
    let sum = 0;
    for (let i = 0; i < rows; i++) sum += data[i * columns + j]!;
    const mean = sum / rows;
    let squares = 0;
    for (let i = 0; i < rows; i++) squares += (data[i * columns + j]! - mean) ** 2;
    const deviation = Math.sqrt(squares / rows);
    for (let i = 0; i < rows; i++) result[i * columns + j] = (data[i * columns + j]! - mean) / deviation;
  }
  return result;
}

try {
  if (given === undefined) await makeFiles();
  const out = join(folder, 'standardized');
  await mkdir(out, { recursive: true });
  heading(`The files of ${basename(folder)}`);
  const run = batch(jobs(out), { ...options, order: 'completed' });
  for await (const result of run) {
    if (result.ok) continue;
    const [reason] = String(result.error).split('\n');
    console.log(`  job ${result.index} failed: ${reason?.replaceAll(folder, '…')}`);
  }
  const { done, failed, seconds, devices } = run.summary;
  console.log(`  ${done} done, ${failed} failed, ${milliseconds(seconds * 1000)}`);
  for (const { device: name, jobs: count } of devices) console.log(`  ${name}: ${count} jobs`);

  if (given === undefined) {
    const first: NDArray = await (await loadNpy(join(out, '0.npy'))).compute({ device: 'cpu' });
    const difference = maxDifference(first.data as Float32Array, plainly(made(0)));
    console.log(`  max difference ${difference.toExponential(1)}, allowed 1e-4`);
    if (!(difference <= 1e-4)) throw new Error(`differs from the plain loop by ${difference}`);
  }
} finally {
  if (given === undefined) await rm(folder, { recursive: true });
}
