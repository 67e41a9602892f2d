/**
 * Jobs larger than a budget: how fast they stream, and what they hold. `node dist/bench/out-of-core.js [--device cuda] [--gib 8]
 * [--only name,name] [--file folder]` prints a JSON line for each; `--file` adds an array in a file there.
 *
 * Rates count the bytes of inputs and results once, however often they are copied.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { memory } from '../src/exec/native.js';
import {
  arange,
  type ComputeOptions,
  chunked,
  compute,
  type Lazy,
  lazy,
  loadNpy,
  npy,
  plan,
} from '../src/index.js';
import { median, now, toPrecision } from './statistics.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    gib: { type: 'string', default: '8' },
    only: { type: 'string' },
    file: { type: 'string' },
    repeats: { type: 'string', default: '3' },
  },
});
const device = values.device;
const gib = Number(values.gib);
const FLOATS_PER_GIB = 2 ** 28;

/** An array of so many GiB of float32 in ordinary memory, in pieces of 1 GiB. */
function ordinary(size: number): Lazy {
  const pieces = Array.from({ length: Math.ceil(size) }, (_, k) => {
    const data = new Float32Array(Math.min(1, size - k) * FLOATS_PER_GIB);
    for (let i = 0; i < data.length; i += 1024) data[i] = (i % 4096) - 1000;
    return data;
  });
  return pieces.length === 1 ? lazy(pieces[0]!) : chunked(pieces);
}

interface Job {
  readonly results: readonly Lazy[];
  readonly bytes: number;
  readonly options?: ComputeOptions;
  /** Floating-point operations, where they bound the job. */
  readonly flops?: number;
}

const square = (n: number): Lazy => {
  const data = new Float32Array(n * n);
  for (let i = 0; i < data.length; i++) data[i] = (i % 17) / 17;
  return lazy(data).reshape([n, n]);
};

const JOBS: Readonly<Record<string, () => Job | Promise<Job>>> = {
  'mean and std of sqrt(abs(x))': () => {
    const y = ordinary(gib).abs().sqrt();
    return { results: [y.mean(), y.std()], bytes: gib * 2 ** 30, options: { memory: '2GiB' } };
  },
  'map back to the host': () => {
    const size = Math.min(gib, 4);
    const x = ordinary(Math.min(size, 2)); // a result has one ArrayBuffer
    return {
      results: [x.mul(2).add(1)],
      bytes: 2 * Math.min(size, 2) * 2 ** 30,
      options: { memory: '1GiB' },
    };
  },
  'sum of 1e9 in 256 MiB': () => ({
    results: [ordinary(1e9 / FLOATS_PER_GIB).sum()],
    bytes: 4e9,
    options: { memory: '256MiB' },
  }),
  'standardize columns': () => {
    const x = ordinary(2).reshape([2 ** 24, 32]);
    const y = x.sub(x.mean(0)).div(x.std(0));
    return { results: [y], bytes: 2 * 2 ** 31, options: { memory: '512MiB' } };
  },
  'nearest of pairs in 256 MiB': () => {
    const n = 100_000;
    const x = lazy(new Float32Array(n * 16).map((_, i) => Math.sin(i))).reshape([n, 1, 16]);
    const y = lazy(new Float32Array(n * 16).map((_, i) => Math.cos(i))).reshape([1, n, 16]);
    const nearest = x.sub(y).square().sum(2).min(1);
    return { results: [nearest], bytes: 2 * n * 64, options: { memory: '256MiB' } };
  },
  'matmul, resident': () => {
    const n = 16384;
    return { results: [square(n).matmul(square(n))], bytes: 3 * n * n * 4, flops: 2 * n ** 3 };
  },
  'matmul of 3 x the budget': () => {
    const n = 16384;
    const budget = n * n * 4;
    return {
      results: [square(n).matmul(square(n))],
      bytes: 3 * budget,
      flops: 2 * n ** 3,
      options: { memory: budget },
    };
  },
};

if (values.file !== undefined) {
  const folder = join(values.file, 'weft-out-of-core');
  Object.assign(JOBS, {
    'sum of a file': async () => {
      mkdirSync(folder, { recursive: true });
      const path = join(folder, 'x.npy');
      const count = gib * FLOATS_PER_GIB;
      const start = now();
      await arange(count)
        .remainder(1000)
        .astype('float32')
        .compute({ to: npy(path), device, memory: '1GiB' });
      console.error(`wrote ${gib} GiB in ${((now() - start) / 1000).toFixed(2)} s`);
      return { results: [(await loadNpy(path)).sum()], bytes: count * 4, options: { memory: '1GiB' } };
    },
  });
}

const wanted = values.only?.split(',');
for (const [name, make] of Object.entries(JOBS)) {
  if (wanted !== undefined && !wanted.some((part) => name.includes(part))) continue;
  try {
    const { results, bytes, options, flops } = await make();
    const settings = { ...options, device };
    const planned = plan(results, settings);
    const times: number[] = [];
    for (let k = 0; k < Number(values.repeats); k++) {
      const start = now();
      await compute(results, settings);
      times.push(now() - start);
    }
    const use = memory().find((each) => each.device.startsWith(device));
    const least = Math.min(...times);
    console.log(
      JSON.stringify({
        name,
        ms: toPrecision(median(times), 4),
        least: toPrecision(least, 4),
        GBs: toPrecision(bytes / least / 1e6, 4),
        ...(flops === undefined ? {} : { TFLOPs: toPrecision(flops / least / 1e9, 4) }),
        tiles: planned.sweeps.map(({ tiles }) => tiles),
        planned: planned.peakBytes,
        peak: use?.peak,
        staging: use?.staging,
      }),
    );
  } catch (error) {
    console.log(JSON.stringify({ name, error: String(error).split('\n')[0] }));
  }
}
if (values.file !== undefined)
  rmSync(join(values.file, 'weft-out-of-core'), { recursive: true, force: true });
