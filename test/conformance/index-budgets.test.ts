/**
 * Indexing, scans, sorting and sets within a half to a 64th of what they hold: random jobs of `index-jobs.ts` with the
 * bits of the whole. On the CPU arrays come from files and results go to files, as arrays in its memory count for nothing.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type ComputeOptions,
  compute,
  type DType,
  type Lazy,
  lazy,
  loadNpy,
  MemoryError,
  npy,
  placeholder,
  plan,
} from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { backends, isSimulated } from '../support/backends.js';
import { bitsOf, enoughFor } from '../support/budget-corpus.js';
import { INDEX_JOBS, type IndexJob, type MakeArrays } from '../support/index-jobs.js';
import { generator, randomIntegers, randomValues } from '../support/random.js';

/** The first seed, and how many jobs. */
const SEED = Number(process.env.INDEX_JOBS_SEED ?? 20261132);
const COUNT = (simulated: boolean): number => Number(process.env.INDEX_JOBS ?? (simulated ? 3 : 5));
/** Parts of what a job holds, or the least that it can be planned for. */
const PARTS = [2, 3, 4, 6, 8, 16, 32, 64];
/** Bytes that every job is planned within: a tile is some thousands of elements of each array. */
const ENOUGH = 3 * 2 ** 19;
/** The part of larger arrays that writing by index is planned within on a GPU, and how large those are. */
const PLANNED_PART = 16;
const PLANNED_SIZE = 2 ** 17;
/** Writes, products and means by bins; of those that differ in no more than what is gathered in bins, one. */
const WRITES = /^writes: (?!.*(of int32|subtracted|(least|largest) of|elements set))|^bins: (products|means)/;

/**
 * Jobs within a part of what they hold, in which no two steps share a sweep: sums of units of rows, sorts by columns. On the
 * CPU also sums whose tiles end in slots, counts of many results at a time, and searches in what is there in windows.
 */
const APART = {
  cpu: [
    { n: 2 ** 17, part: 8, jobs: /^(takes: a reduced|bins: sums of groups|orders: sort of few)/ },
    {
      n: 2 ** 17,
      part: 16,
      jobs: /^(takes: of a middle|orders: median of col|bins: sums of few|others: average)/,
    },
    { n: 2 ** 15, part: 8, jobs: /^sets: isin of many/ },
  ],
  simulated: [{ n: 2 ** 15, part: 8, jobs: /^bins: (sums of groups|products of wide|means)/ }],
};

/** Elements of arrays are up to eight times as many. */
const SIZES = { cpu: 2 ** 14, simulated: 2 ** 13 };

const folder = mkdtempSync(join(tmpdir(), 'weft-index-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Arrays of a job: in memory, and the same in files. */
class Arrays {
  readonly host: Lazy[] = [];
  readonly files: Lazy[] = [];
  #next = 0;
  #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  async fill(job: IndexJob, n: number, inFiles: boolean): Promise<void> {
    const made: Lazy[] = [];
    const make = (x: Lazy): Lazy => {
      made.push(x);
      return x;
    };
    job.results(this.#random(make), n);
    this.host.push(...made);
    if (!inFiles) return;
    for (const [k, x] of made.entries()) {
      const path = join(folder, `${this.#seed}-${k}.npy`);
      await x.compute({ device: 'cpu', to: npy(path) });
      this.files.push(await loadNpy(path));
    }
  }

  #random(make: (x: Lazy) => Lazy): MakeArrays {
    const seed = (): number => this.#seed * 100 + this.#next++;
    return {
      values: (shape, dtype: DType = 'float32') => make(toLazy(randomValues(dtype, shape, seed(), 0, 1))),
      integers: (shape, below, dtype: DType = 'int32') =>
        make(toLazy(randomIntegers(dtype, shape, seed(), 0, below - 1))),
    };
  }
}

/** Gives arrays one after the other. */
function given(arrays: readonly Lazy[]): MakeArrays {
  let at = 0;
  return { values: () => arrays[at++]!, integers: () => arrays[at++]! };
}

interface Tried {
  readonly job: IndexJob;
  readonly n: number;
  readonly part: number;
  readonly seed: number;
}

/** What is wrong with a job within a part of what it holds; nothing where it has the bits of the whole. */
async function wrongOf(
  { job, n, part, seed }: Tried,
  target: ComputeOptions,
  enough = ENOUGH,
): Promise<string[]> {
  const isHost = target.device === 'cpu';
  const name = `${job.name}, seed ${seed}, 1/${part}`;
  const arrays = new Arrays(seed);
  await arrays.fill(job, n, isHost);
  const whole = await compute(job.results(given(arrays.host), n), isHost ? target : { device: 'cuda:0' });
  const results = job.results(given(isHost ? arrays.files : arrays.host), n);
  const paths = results.map((_, k) => join(folder, `${seed}-result-${k}.npy`));
  const files = { to: paths.map((path) => npy(path)) };
  // Sizes that depend on data are known too late for a file.
  const toFiles = isHost && results.every(({ shape }, k) => `${shape}` === `${whole[k]!.shape}`);
  const to = toFiles ? files : {};
  const memory = Math.max(1, Math.floor(plan(results, { ...target, ...to }).peakBytes / part));
  const least = enoughFor(results, { ...target, ...to, memory } as ComputeOptions);
  if ((least.memory as number) > Math.max(memory, enough)) return [`${name}: needs ${least.memory} bytes`];
  const found = await compute(results, least);
  const read = toFiles ? await Promise.all(paths.map((path) => loadNpy(path))) : found;
  const same = await compute(
    read.map((one) => lazy(one as Lazy)),
    { device: 'cpu' },
  );
  return same.flatMap((array, k) =>
    `${array.shape}` === `${whole[k]!.shape}` && bitsOf(array).equals(bitsOf(whole[k]!))
      ? []
      : [`${name}: result ${k} has other bits`],
  );
}

const jobsOf = (kinds: RegExp): readonly IndexJob[] => INDEX_JOBS.filter(({ name }) => kinds.test(name));

/** Whether a job of placeholders is planned. */
function isPlanned({ results }: IndexJob, device: string): boolean {
  const shaped = (shape: readonly number[], dtype: DType): Lazy => placeholder([...shape], { dtype });
  const make: MakeArrays = {
    values: (shape, dtype = 'float32') => shaped(shape, dtype),
    integers: (shape, _, dtype = 'int32') => shaped(shape, dtype),
  };
  const job = results(make, PLANNED_SIZE);
  try {
    plan(job, { device, memory: Math.floor(plan(job, { device }).peakBytes / PLANNED_PART) });
    return true;
  } catch (error) {
    if (error instanceof MemoryError) return false;
    throw error;
  }
}

/** Random jobs of one kind after the other. */
function triedOf(count: number, n: number, firstSeed: number): Tried[] {
  const kinds = [...new Set(INDEX_JOBS.map(({ name }) => name.replace(/:.*/, ':')))];
  return Array.from({ length: count }, (_, k) => {
    const seed = firstSeed + k;
    const jobs = jobsOf(new RegExp(`^${kinds[seed % kinds.length]}`));
    const next = generator(seed);
    const job = jobs[Math.floor(next() * jobs.length)]!;
    return { job, n, part: PARTS[Math.floor(next() * PARTS.length)]!, seed };
  });
}

const devices = backends().filter((device) => device === 'cpu' || device.startsWith('cuda'));

describe.each(devices)('jobs by index on %s', (device) => {
  const simulated = isSimulated(device);
  const tried = simulated
    ? triedOf(COUNT(true), SIZES.simulated, SEED + COUNT(false))
    : triedOf(COUNT(false), SIZES.cpu, SEED);

  it('have the bits of the whole within parts of what they hold', async () => {
    const wrong: string[] = [];
    for (const [k, one] of tried.entries()) {
      const devices = simulated && k % 2 === 1 ? { devices: 2 } : { device: simulated ? 'cuda:0' : device };
      wrong.push(...(await wrongOf(one, devices)));
    }
    expect(wrong).toEqual([]);
  }, 3_000_000);

  it('that have each step by itself have the bits of the whole', async () => {
    const target = { device: simulated ? 'cuda:0' : device };
    for (const { n, part, jobs } of simulated ? APART.simulated : APART.cpu)
      for (const job of jobsOf(jobs))
        expect(await wrongOf({ job, n, part, seed: SEED }, target, 0)).toEqual([]);
  }, 3_000_000);

  it.each(jobsOf(/^scans: .* long rows/))(
    '$name: columns have the bits of the whole within a 16th',
    async (job) => {
      const target = { device: simulated ? 'cuda:0' : device };
      const n = simulated ? 2 ** 13 : 2 ** 15;
      expect(await wrongOf({ job, n, part: 16, seed: SEED }, target, 0)).toEqual([]);
    },
  );

  it.skipIf(device === 'cpu')(
    `that write are planned within a part of what they hold${device === 'cpu' ? ' (skipped: its budgets count no arrays of the host)' : ''}`,
    () => {
      const refused = jobsOf(WRITES).filter((job) => !isPlanned(job, device));
      expect(refused.map(({ name }) => name)).toEqual([]);
    },
  );
});
