/**
 * One array on one and on several GPUs: `node dist/bench/devices.js [--devices 2] [--scale 1] [--only name,name] [--repeats 20]
 * [--concurrency 4]` prints a JSON line for each workload: the least seconds of functions made by `compile` on one device and on
 * several, the ratio, and whether the bits are the same; for those from host memory, how the host's bus scales beside it. `large`
 * is an array of 1.6 × one GPU's memory. A workload is repeated for three seconds at most.
 */
import { parseArgs } from 'node:util';
import { cudaInfo, probeCuda } from '../src/exec/native.js';
import {
  arange,
  type Batch,
  batch,
  type CompileOptions,
  compile,
  compute,
  type Lazy,
  lazy,
  type NDArray,
  pinned,
  plan,
  synchronize,
} from '../src/index.js';
import { checksumOf } from './device-checksum.js';
import { now as milliseconds, toPrecision } from './statistics.js';

const { values } = parseArgs({
  options: {
    devices: { type: 'string', default: '2' },
    scale: { type: 'string', default: '1' },
    only: { type: 'string' },
    repeats: { type: 'string', default: '20' },
    concurrency: { type: 'string', default: '4' },
  },
});
const now = (): number => milliseconds() / 1000;
const round = (value: number): number => toPrecision(value, 4);
const scale = Number(values.scale);
const repeats = Number(values.repeats);
const concurrency = Number(values.concurrency);
/** The most seconds that a workload is repeated for. */
const LONGEST = 3;
await probeCuda();
const several = cudaInfo()
  .devices.slice(0, Number(values.devices))
  .map(({ device }) => device);
interface On {
  readonly devices: readonly string[];
}
const ONE: On = { devices: several.slice(0, 1) };
const MANY: On = { devices: several };

/** A whole number near `n` times the scale, of a kind that divides well. */
const sized = (n: number, unit = 1024): number => Math.max(1, Math.round((n * scale) / unit)) * unit;
/** Values that a device makes without reading any. */
const values32 = (n: number): Lazy =>
  arange(n)
    .remainder(1009)
    .astype('float32')
    .mul(1 / 1009)
    .sub(0.5);

interface Workload {
  readonly what: string;
  /** Makes the arrays that are there before, on the devices or in host memory. */
  readonly make: (on: On) => Promise<readonly Lazy[]>;
  /** What is computed from them. */
  readonly compute: (...held: Lazy[]) => readonly Lazy[];
  readonly options?: CompileOptions;
  /** Whether results stay on the devices. */
  readonly stays?: boolean;
  /** Whether cuBLAS orders sums. */
  readonly vendor?: boolean;
}

const WORKLOADS: Readonly<Record<string, Workload>> = {
  resident: {
    what: 'sum and largest of a map over 112 GB of float32 on the devices',
    make: async (on) => [await values32(sized(28e9)).persist(on)],
    compute: (x) => {
      const y = x!.mul(2).add(1).abs();
      return [y.sum(), y.max()];
    },
  },
  'resident-map': {
    what: 'a map from 56 GB to 56 GB of float32 on the devices',
    stays: true,
    make: async (on) => [await values32(sized(14e9)).persist(on)],
    compute: (x) => [x!.mul(2).add(1)],
  },
  'out-of-core': {
    what: 'sqrt(x² + 1) from 4 GiB of ordinary host memory to host memory within 2 GiB a device',
    options: { memory: '2GiB' },
    make: async () => {
      const data = new Float32Array(sized(2 ** 30));
      for (let k = 0; k < data.length; k += 512) data[k] = k % 1000;
      return [lazy(data)];
    },
    compute: (x) => [x!.mul(x!).add(1).sqrt()],
  },
  'out-of-core-pinned': {
    what: 'sums of the rows of sqrt(x² + 1) over 4 GiB of pinned host memory within 2 GiB a device',
    options: { memory: '2GiB' },
    make: async () => {
      const x = await pinned([sized(2 ** 17, 64), 8192], 'float32', { device: several[0]! });
      const data = (x.data as Float32Array).fill(0);
      for (let k = 0; k < data.length; k += 512) data[k] = k % 1000;
      return [lazy(x)];
    },
    compute: (x) => [x!.mul(x!).add(1).sqrt().sum(1)],
  },
  matmul: {
    what: 'A · B of float32, 24576 × 24576, sharded on the devices, left there',
    vendor: true,
    stays: true,
    make: async (on) => {
      const n = sized(24576, 256);
      const a = values32(n * n).reshape([n, n]);
      return [await a.persist(on), await a.mul(0.25).persist(on)];
    },
    compute: (a, b) => [a!.matmul(b!)],
  },
  pairs: {
    what: 'Gaussian kernel sums over all pairs of 400,000 points in 3 dimensions',
    make: async (on) => {
      const n = sized(400_000);
      const x = values32(n * 3).reshape([n, 3]);
      return [await x.persist(on)];
    },
    compute: (x) => {
      const [n] = x!.shape as [number];
      const difference = x!.reshape([n, 1, 3]).sub(x!.reshape([1, n, 3]));
      return [difference.square().sum(2).mul(-0.5).exp().sum(1)];
    },
  },
};

/** The least seconds of some computes, after one that compiles. */
async function leastOf(run: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  let spent = 0;
  await run();
  for (let k = 0; k < repeats && spent < LONGEST; k++) {
    const start = now();
    await run();
    const seconds = now() - start;
    least = Math.min(least, seconds);
    spent += seconds;
  }
  return least;
}

/** The least seconds, checksums of the results, and who did what. */
async function measure(
  { make, compute: fn, options, stays }: Workload,
  on: On,
): Promise<{ seconds: number; sums: string; dealt: string }> {
  const held = await make(on);
  const job = compile<Lazy[], readonly Lazy[]>((...args: Lazy[]) => fn(...args), { ...on, ...options });
  const dealt = plan(fn(...held), { ...on, ...options }).phases.map(
    ({ kind, devices }) => `${kind} ${devices.length}`,
  );
  let seconds: number;
  let sums: string;
  if (stays === true) {
    seconds = await leastOf(async () => {
      const kept = await job.persist(...held);
      // What stays on one device may only be queued by then; what is on several is there.
      if (on.devices.length === 1) await synchronize();
      for (const x of kept) x.dispose();
    });
    const kept = await job.persist(...held);
    const parts = kept.map((x) => x.slice([null, null, 997]).sum());
    sums = checksumOf(await compute(parts, on));
    for (const x of kept) x.dispose();
  } else {
    seconds = await leastOf(() => job(...held));
    sums = checksumOf(await job(...held));
  }
  for (const x of held) x.dispose();
  return { seconds, sums, dealt: dealt.join(', ') };
}

/** Bytes a second from pinned memory to one device, and to all at once. */
async function busRates(): Promise<{ one: number; all: number }> {
  const bytes = sized(2 ** 30, 2 ** 20);
  const arrays = await Promise.all(several.map((device) => pinned([bytes / 4], 'float32', { device })));
  const copy = async (k: number): Promise<void> => {
    // A view that is all of it: what is copied to the device is the array itself.
    const held = await lazy(arrays[k]!).mul(1.5).sum().compute({ device: several[k]! });
    if (held.size !== 1) throw new Error('nothing was computed');
  };
  const timed = async (run: () => Promise<unknown>): Promise<number> => {
    let least = Number.POSITIVE_INFINITY;
    for (let k = 0; k < 4; k++) {
      const start = now();
      await run();
      least = Math.min(least, now() - start);
    }
    return least;
  };
  for (const k of several.keys()) await copy(k);
  const one = bytes / (await timed(() => copy(0)));
  const all = (several.length * bytes) / (await timed(() => Promise.all(several.map((_, k) => copy(k)))));
  return { one, all };
}

/** Arrays of 64 MiB in host memory, ordinary or pinned. */
async function batchInputs(isPinned: boolean): Promise<Lazy[]> {
  const side = Math.max(256, Math.round(4096 * Math.sqrt(scale)));
  const arrays: Lazy[] = [];
  for (let j = 0; j < 8; j++) {
    const own = isPinned ? await pinned([side * side], 'float32', { device: several[0]! }) : undefined;
    const data = own === undefined ? new Float32Array(side * side) : (own.data as Float32Array).fill(0);
    for (let k = 0; k < data.length; k += 64) data[k] = (k + j) % 777;
    arrays.push(lazy(own ?? data).reshape([side, side]));
  }
  return arrays;
}

async function batchOf(on: On, arrays: readonly Lazy[]): Promise<{ seconds: number; sums: string }> {
  const job = (k: number): Lazy => {
    // As an array, so that all jobs have the same graph: each number that is written into one is planned for.
    const x = arrays[k % arrays.length]!.add(lazy(Float32Array.of(k)));
    return x.sub(x.mean(0)).div(x.std(0).add(1)).tanh().sum(1);
  };
  const run = (count: number): Batch =>
    batch(
      Array.from({ length: count }, (_, k) => () => job(k)),
      { devices: on.devices, concurrency },
    );
  await run(16).all();
  let seconds = Number.POSITIVE_INFINITY;
  let results: Awaited<ReturnType<Batch['all']>> = [];
  for (let k = 0; k < 3; k++) {
    const start = now();
    results = await run(256).all();
    seconds = Math.min(seconds, now() - start);
  }
  const sums = checksumOf(
    results.map((result) => {
      if (!result.ok) throw result.error;
      return result.value as NDArray;
    }),
  );
  return { seconds, sums };
}

function report(name: string, data: object): void {
  console.log(JSON.stringify({ workload: name, devices: several.length, ...data }));
}

/** An array that no single device holds: made where it stays, then reduced, with results that are known. */
async function large(): Promise<void> {
  const most = Math.max(...cudaInfo().devices.map(({ totalBytes }) => totalBytes));
  const n = Math.floor((1.6 * most * scale) / 4 / 1000) * 1000;
  const start = now();
  const x = await arange(n).remainder(1000).astype('float32').persist(MANY);
  const made = now() - start;
  const jobs = [x.equal(7).sum(), x.max(), x.mean({ dtype: 'float64' })];
  await compute(jobs);
  const before = now();
  const [sevens, largest, mean] = await compute(jobs);
  const seconds = now() - before;
  const isRight =
    Number(sevens!.item()) === n / 1000 &&
    largest!.item() === 999 &&
    Math.abs(Number(mean!.item()) - 499.5) < 1e-6;
  report('large', {
    gigabytes: round((n * 4) / 1e9),
    ofOneDevice: round((n * 4) / most),
    madeInSeconds: round(made),
    reducedInSeconds: round(seconds),
    isRight,
    device: x.device,
  });
  x.dispose();
  if (!isRight) throw new Error(`large: ${String(sevens)}, ${String(largest)}, ${String(mean)}`);
}

const wanted = values.only?.split(',');
const isWanted = (name: string): boolean => wanted === undefined || wanted.includes(name);
for (const [name, workload] of Object.entries(WORKLOADS)) {
  if (!isWanted(name)) continue;
  const one = await measure(workload, ONE);
  const many = await measure(workload, MANY);
  report(name, {
    what: workload.what,
    oneSeconds: round(one.seconds),
    severalSeconds: round(many.seconds),
    ratio: round(one.seconds / many.seconds),
    sameBits: one.sums === many.sums,
    ...(workload.vendor === true ? { vendor: 'cuBLAS orders sums' } : {}),
    dealt: many.dealt,
  });
}
if (isWanted('bus')) {
  const { one, all } = await busRates();
  report('bus', { oneGBs: round(one / 1e9), allGBs: round(all / 1e9), ratio: round(all / one) });
}
for (const name of ['batch', 'batch-pinned']) {
  if (!isWanted(name)) continue;
  const isPinned = name === 'batch-pinned';
  const arrays = await batchInputs(isPinned);
  const one = await batchOf(ONE, arrays);
  const many = await batchOf(MANY, arrays);
  report(name, {
    what: `256 jobs over 64 MiB of ${isPinned ? 'pinned' : 'ordinary'} host memory each: standardize columns, tanh, sums of rows`,
    concurrency,
    oneSeconds: round(one.seconds),
    severalSeconds: round(many.seconds),
    ratio: round(one.seconds / many.seconds),
    sameBits: one.sums === many.sums,
  });
}
if (isWanted('large')) await large();
