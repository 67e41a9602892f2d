/**
 * Times of the workloads of `devices-workloads.ts` on so many GPUs, with digests of results and timelines.
 * Called by `devices.ts`.
 */
import {
  type Batch,
  batch,
  compile,
  compute,
  type Lazy,
  type NDArray,
  plan,
  profile,
  synchronize,
  type Timeline,
} from '../src/index.js';
import { checksumOf } from './device-checksum.js';
import {
  batchJob,
  busJobs,
  type DevicesWorkload,
  type HostArrays,
  type On,
  type Scale,
} from './devices-workloads.js';
import { now as milliseconds } from './statistics.js';

export interface Measuring {
  readonly scale: Scale;
  readonly host: HostArrays;
  readonly repeats: number;
  /** The most seconds that a workload is repeated for. */
  readonly longest: number;
  /** Of a batch, and how many of them are computed on a device at a time. */
  readonly jobs: number;
  readonly concurrency: number;
}

export interface Measured {
  /** The least of the repeats. */
  readonly seconds: number;
  /** Of the results' bytes. */
  readonly sums: string;
  /** The division of work: whether each has a share, or one does all. */
  readonly sharded?: string;
  /** Of one more run. */
  readonly timeline?: Timeline;
}

const now = (): number => milliseconds() / 1000;

/** The least seconds of some computes, after one that compiles. */
async function leastOf(run: () => Promise<unknown>, { repeats, longest }: Measuring): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  let spent = 0;
  await run();
  for (let k = 0; k < repeats && spent < longest; k++) {
    const start = now();
    await run();
    const seconds = now() - start;
    least = Math.min(least, seconds);
    spent += seconds;
  }
  return least;
}

export async function measureWorkload(
  workload: DevicesWorkload,
  on: On,
  measuring: Measuring,
  isProfiled: boolean,
): Promise<Measured> {
  const held = await workload.make(on, measuring.scale, measuring.host);
  const options = { ...on, ...workload.options };
  const job = compile<Lazy[], readonly Lazy[]>((...args: Lazy[]) => workload.compute(...args), options);
  const phases = plan(workload.compute(...held), options).phases;
  const kept = async (): Promise<readonly Lazy[]> => {
    const results = await job.persist(...held);
    // Results that stay on one device may only be queued by then; those on several are there.
    if (on.devices.length === 1) await synchronize();
    return results;
  };
  const run = async (): Promise<void> => {
    if (workload.stays !== true) await job(...held);
    else for (const x of await kept()) x.dispose();
  };
  const seconds = await leastOf(run, measuring);
  const timeline = isProfiled ? (await profile(run)).timeline : undefined;
  const sums = await (workload.stays === true ? sumsOfKept(await kept(), on) : job(...held).then(checksumOf));
  for (const x of held) x.dispose();
  const sharded = phases.map(({ kind, devices }) => `${kind} ${devices.length}`).join(', ');
  return { seconds, sums, sharded, ...(timeline === undefined ? {} : { timeline }) };
}

/** Of results that are too large to bring to the host: of sums of every 997th row. */
async function sumsOfKept(kept: readonly Lazy[], on: On): Promise<string> {
  const sums = checksumOf(
    await compute(
      kept.map((x) => x.slice([null, null, 997]).sum()),
      on,
    ),
  );
  for (const x of kept) x.dispose();
  return sums;
}

/** A batch of jobs, each on one of the devices. */
export async function measureBatch(on: On, measuring: Measuring, isPinned: boolean): Promise<Measured> {
  const arrays = await measuring.host.batch(isPinned);
  const run = (count: number): Batch =>
    batch(
      Array.from({ length: count }, (_, k) => () => batchJob(arrays, k)),
      { devices: on.devices, concurrency: measuring.concurrency },
    );
  await run(16).all();
  let results: Awaited<ReturnType<Batch['all']>> = [];
  const seconds = await leastOf(
    async () => {
      results = await run(measuring.jobs).all();
    },
    { ...measuring, repeats: Math.min(measuring.repeats, 3) },
  );
  const sums = checksumOf(
    results.map((result) => {
      if (!result.ok) throw result.error;
      return result.value as NDArray;
    }),
  );
  return { seconds, sums };
}

/** Bytes a second from host memory to all of the devices at once. */
export async function busRate(on: On, measuring: Measuring, isPinned: boolean): Promise<number> {
  const { host } = measuring;
  const whole = isPinned ? await host.pinned : host.ordinary;
  const jobs = busJobs(whole, 4).slice(0, on.devices.length);
  const bytes = jobs.length * Math.floor(whole.length / 4) * whole.BYTES_PER_ELEMENT;
  const seconds = await leastOf(
    () => Promise.all(jobs.map((job, k) => job.compute({ device: on.devices[k]! }))),
    { ...measuring, longest: Math.min(measuring.longest, 0.5) },
  );
  return bytes / seconds;
}
