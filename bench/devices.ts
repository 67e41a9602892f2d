/**
 * One array on one and on several GPUs: `node dist/bench/devices.js [--devices 1,2,4] [--scale 1] [--only
 * name,name] [--repeats 20] [--jobs 256] [--concurrency 4] [--seconds 200] [--profiles folder]` prints a JSON
 * line for each workload: for each count of devices the least seconds of functions made by `compile`, for all
 * but the first count the ratio to it and whether the bits are the same. `bus` and `bus-pinned` tell how
 * copies from the host to all of the devices scale; `large` is an array of 1.6 × one GPU's memory.
 *
 * A workload is repeated for two seconds at most; after `--seconds` no other one is begun. With `--profiles`,
 * timelines of the workloads in PROFILED are written there: as a table and as a Chrome trace.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cudaInfo, probeCuda } from '../src/exec/native/native.js';
import { arange, compute, type Timeline } from '../src/index.js';
import { busRate, type Measured, type Measuring, measureBatch, measureWorkload } from './devices-measure.js';
import { DEVICES_WORKLOADS, HostArrays, type On, scaleOf } from './devices-workloads.js';
import { now as milliseconds, toPrecision } from './statistics.js';

const { values } = parseArgs({
  options: {
    devices: { type: 'string', default: '1,2' },
    scale: { type: 'string', default: '1' },
    only: { type: 'string' },
    repeats: { type: 'string', default: '20' },
    jobs: { type: 'string', default: '256' },
    concurrency: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '200' },
    profiles: { type: 'string' },
  },
});
const PROFILED = ['matmul', 'out-of-core', 'out-of-core-pinned', 'resident', 'resident-map'];
const now = (): number => milliseconds() / 1000;
const begin = now();
const round = (value: number): number => toPrecision(value, 4);
await probeCuda();
const all = cudaInfo().devices.map(({ device }) => device);
const counts = values.devices.split(',').map(Number);
if (counts.some((count) => !Number.isInteger(count) || count < 1 || count > all.length))
  throw new Error(`--devices ${values.devices}: expected counts of at most ${all.length}`);
const scale = scaleOf(Number(values.scale));
const measuring: Measuring = {
  scale,
  host: new HostArrays(scale, all[0]!),
  repeats: Number(values.repeats),
  longest: 2,
  jobs: Number(values.jobs),
  concurrency: Number(values.concurrency),
};
const on = (count: number): On => ({ devices: all.slice(0, count) });

function report(workload: string, data: object): void {
  console.log(JSON.stringify({ workload, ...data, atSecond: toPrecision(now() - begin, 3) }));
}

/** A value for each count of devices. */
const byCount = <T>(each: readonly T[]): Record<string, T> =>
  Object.fromEntries(counts.map((count, k) => [count, each[k]!]));

/** Ratios to the first count, for the others. */
const ratios = (each: readonly number[]): Record<string, number> =>
  Object.fromEntries(counts.slice(1).map((count, k) => [count, round(each[k + 1]!)]));

async function compare(name: string, data: object, measure: (on: On) => Promise<Measured>): Promise<void> {
  const found: Measured[] = [];
  for (const count of counts) found.push(await measure(on(count)));
  const [first] = found;
  const sharded = found.map((each) => each.sharded);
  report(name, {
    ...data,
    seconds: byCount(found.map(({ seconds }) => round(seconds))),
    ratios: ratios(found.map(({ seconds }) => first!.seconds / seconds)),
    sameBits: found.every(({ sums }) => sums === first!.sums),
    ...(sharded[0] === undefined ? {} : { sharded: byCount(sharded) }),
  });
  for (const [k, { timeline }] of found.entries())
    if (timeline !== undefined) write(`${name}-${counts[k]!}`, timeline);
}

function write(name: string, timeline: Timeline): void {
  mkdirSync(values.profiles!, { recursive: true });
  writeFileSync(join(values.profiles!, `${name}.txt`), `${timeline}\n`);
  writeFileSync(join(values.profiles!, `${name}.json`), timeline.toChromeTrace());
}

async function bus(name: string, isPinned: boolean): Promise<void> {
  const rates: number[] = [];
  for (const count of counts) rates.push(await busRate(on(count), measuring, isPinned));
  const what = `${isPinned ? 'pinned' : 'ordinary'} host memory to all devices at once, GB/s`;
  report(name, {
    what,
    GBs: byCount(rates.map((rate) => round(rate / 1e9))),
    ratios: ratios(rates.map((rate) => rate / rates[0]!)),
  });
}

/** An array that no single device holds: made where it stays, then reduced, with results that are known. */
async function large(): Promise<void> {
  const most = Math.max(...cudaInfo().devices.map(({ totalBytes }) => totalBytes));
  const n = Math.floor((1.6 * most * Number(values.scale)) / 4 / 1000) * 1000;
  for (const count of counts.filter((each) => each > 1)) {
    const start = now();
    const x = await arange(n).remainder(1000).astype('float32').persist(on(count));
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
      what: 'an array of 1.6 x the memory of one device: made, then reduced',
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
}

const isPinnedName = (name: string): boolean => name.endsWith('-pinned');
const jobs: Record<string, (name: string) => Promise<void>> = {};
for (const [name, workload] of Object.entries(DEVICES_WORKLOADS)) {
  const data = { what: workload.what, ...(workload.vendor ? { vendor: 'cuBLAS orders sums' } : {}) };
  const isProfiled = values.profiles !== undefined && PROFILED.includes(name);
  jobs[name] = () =>
    compare(name, data, (devices) => measureWorkload(workload, devices, measuring, isProfiled));
}
for (const name of ['batch', 'batch-pinned']) {
  const from = isPinnedName(name) ? 'pinned' : 'ordinary';
  const what = `${measuring.jobs} jobs over 64 MiB of ${from} host memory each: standardize columns, tanh, sums of rows`;
  jobs[name] = () =>
    compare(name, { what, concurrency: measuring.concurrency }, (devices) =>
      measureBatch(devices, measuring, isPinnedName(name)),
    );
}
for (const name of ['bus', 'bus-pinned']) jobs[name] = () => bus(name, isPinnedName(name));
jobs.large = large;

/** Ordinary memory first: to pin 4 GiB takes its time. */
const ORDER = ['batch', 'bus', 'bus-pinned', 'batch-pinned', 'out-of-core-pinned', 'large'];
const names = Object.keys(jobs).sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b));
const wanted = values.only?.split(',') ?? names;
for (const name of names.filter((each) => wanted.includes(each))) {
  if (now() - begin > Number(values.seconds)) {
    console.error(`${name}: not begun after ${values.seconds} seconds`);
    continue;
  }
  if (isPinnedName(name)) await measuring.host.pinned;
  await jobs[name]!(name);
}
