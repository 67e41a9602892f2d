/**
 * Jobs larger than a budget: how fast they stream, and what they hold. `node dist/bench/out-of-core.js
 * [--device cuda] [--gib 16] [--only name,name] [--file x.npy] [--repeats 5]` prints a JSON line for each;
 * the file is one that `peers-out-of-core.py` makes, and is read from the disk, not from the system's cache
 * of it.
 *
 * Rates count the bytes of inputs and results once, however often they are copied. `first` is the first run:
 * kernels are compiled, and results go to memory that the system has just handed out; `steady` is the median
 * of those after the second.
 */
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { memory } from '../src/exec/native/native.js';
import { compute, type NDArray, plan } from '../src/index.js';
import { type Job, outOfCoreJobs } from './out-of-core-jobs.js';
import { median, now, toPrecision } from './statistics.js';

/** The most that this process held while it is watched, beyond what it held before. */
function watchResident(): () => number {
  const before = process.memoryUsage.rss();
  let most = before;
  const look = (): void => {
    most = Math.max(most, process.memoryUsage.rss());
  };
  const timer = setInterval(look, 20);
  return () => {
    clearInterval(timer);
    look();
    return most - before;
  };
}

/** Lets the system forget what it keeps of a file. */
const forget = (path: string): unknown =>
  execFileSync('dd', [`if=${path}`, 'iflag=nocache', 'count=0'], { stdio: 'ignore' });

async function runOnce(job: Job, settings: object): Promise<{ ms: number; results: readonly NDArray[] }> {
  const exprs = job.make();
  const start = now();
  if (!job.stays) {
    const results = await compute(exprs, settings);
    return { ms: now() - start, results };
  }
  using stored = await exprs[0]!.persist(settings);
  const ms = now() - start;
  return { ms, results: [await stored.compute(settings)] };
}

export interface Measuring {
  readonly device: string;
  readonly repeats: number;
  /** Called before every run. */
  readonly before?: () => void;
}

/** Runs a job and gives its line; an error in place of numbers that are wrong. */
export async function measureJob(
  name: string,
  job: Job,
  { device, repeats: wanted, before }: Measuring,
): Promise<object> {
  const repeats = wanted === 0 ? 0 : Math.max(wanted, job.repeats ?? 0);
  const settings = { ...job.options, device };
  const sweeps = job.stays ? [] : plan(job.make(), settings).sweeps;
  const times: number[] = [];
  const resident = watchResident();
  let worst = 0;
  for (let k = 0; k <= repeats; k++) {
    before?.();
    const { ms, results } = await runOnce(job, settings);
    times.push(ms);
    if (k === 0 || k === repeats) worst = Math.max(worst, job.check(results));
  }
  if (!(worst <= 1)) return { name, error: `results are off by ${worst} times what is allowed` };
  const [first, ...others] = times as [number, ...number[]];
  const least = Math.min(...(others.length === 0 ? times : others));
  const use = memory().find((each) => each.device.startsWith(device));
  return {
    name,
    first: toPrecision(first, 4),
    ms: toPrecision(median(others.length === 0 ? times : others), 4),
    least: toPrecision(least, 4),
    ...(others.length < 2 ? {} : { steady: toPrecision(median(others.slice(1)), 4) }),
    GBs: toPrecision(job.bytes / least / 1e6, 4),
    ...(job.flops === undefined ? {} : { TFLOPs: toPrecision(job.flops / least / 1e9, 4) }),
    tiles: sweeps.map(({ tiles }) => tiles),
    peak: use?.peak,
    staging: use?.staging,
    residentGrowth: resident(),
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      device: { type: 'string', default: 'cuda' },
      gib: { type: 'string', default: '16' },
      only: { type: 'string' },
      file: { type: 'string' },
      repeats: { type: 'string', default: '5' },
    },
  });
  const { device, file } = values;
  const wanted = values.only?.split(',');
  const jobs = outOfCoreJobs({ device, gib: Number(values.gib), file, matrix: 16384, points: 100_000 });
  for (const [name, make] of Object.entries(jobs)) {
    if (wanted !== undefined && !wanted.some((part) => name.includes(part))) continue;
    const isFile = name.includes('file');
    // Every run reads the disk: one is enough.
    const repeats = isFile ? 0 : Number(values.repeats);
    try {
      const measuring = { device, repeats, ...(isFile ? { before: () => void forget(file!) } : {}) };
      console.log(JSON.stringify({ peer: 'weft', ...(await measureJob(name, await make(), measuring)) }));
    } catch (error) {
      console.log(JSON.stringify({ peer: 'weft', name, error: String(error).split('\n')[0] }));
    }
  }
}

if (process.argv[1] === import.meta.filename) await main();
