/** Updates by index and bins of files larger than the budget on the CPU: bins in windows, rows in parts for each. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CPU } from '../../src/exec/targets/device.js';
import { bytesMoved } from '../../src/exec/tiles/loop-sweeps.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { type Lazy, lazy, loadNpy, npy, placeholder, RangeArgumentError } from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';
import { generator } from '../support/random.js';

const folder = mkdtempSync(join(tmpdir(), 'weft-bins-'));
afterAll(() => rmSync(folder, { recursive: true }));
const device = 'cpu';
const memory = 2 ** 17;
const [ROWS, COLUMNS] = [8192, 8];

/** An array in memory, and the same in a file. */
async function both(x: Lazy, name: string): Promise<readonly [Lazy, Lazy]> {
  const path = join(folder, `${name}.npy`);
  await x.compute({ device, to: npy(path) });
  return [x, await loadNpy(path)];
}

const next = generator(7);
/** Floats of many magnitudes, of both signs, with what is no finite number among them. */
const wide = (count: number): Float32Array =>
  Float32Array.from({ length: count }, (_, k) => {
    if (k % 1009 === 5) return [Number.NaN, Number.POSITIVE_INFINITY, -0][((k / 1009) % 3) | 0]!;
    return (next() - 0.5) * 2 ** Math.floor(next() * 60 - 30);
  });
const places = (count: number, size: number): Lazy =>
  lazy(Int32Array.from({ length: count }, () => Math.floor(next() * 2 * size) - size));

const x = lazy(wide(ROWS * COLUMNS), { shape: [ROWS, COLUMNS] });
const values = lazy(wide((ROWS / 2) * COLUMNS), { shape: [ROWS / 2, COLUMNS] });
const keys = places(ROWS / 2, ROWS);
const arrays = [await both(x, 'x'), await both(values, 'values'), await both(keys, 'keys')] as const;
const host = arrays.map(([own]) => own) as [Lazy, Lazy, Lazy];
const files = arrays.map(([, own]) => own) as [Lazy, Lazy, Lazy];

describe('an array in a file that does not fit', () => {
  type Job = (x: Lazy, values: Lazy, keys: Lazy) => Lazy;
  const jobs: readonly (readonly [string, Job])[] = [
    ['set by repeated and negative row numbers', (a, v, i) => a.at(i).set(v)],
    ['added to', (a, v, i) => a.at(i).add(v)],
    ['added to in float64', (a, v, i) => a.astype('float64').at(i).add(v.astype('float64'))],
    ['subtracted from', (a, v, i) => a.at(i).subtract(v)],
    ['bounded below', (a, v, i) => a.at(i).max(v)],
    [
      'bounded above as integers',
      (a, v, i) =>
        a.isnan().where(0, a).clip(-1e4, 1e4).astype('int16').at(i).min(v.isfinite().astype('int16')),
    ],
    ['set in a slice', (a, v) => a.at('::2', '2:').set(v.slice(null, '2:'))],
    ['set at two indices', (a, v, i) => a.at(i, i.remainder(8)).set(v.slice(null, 0))],
    ['put', (a, v, i) => a.put(i.mul(5), v.slice(null, 1))],
    ['put along an axis', (a, v, i) => a.putAlongAxis(i.reshape([-1, 1]), v.slice(null, [0, 1]), 0)],
  ];

  it.each(jobs)('is %s, with the bits of the whole, from files and to one', async (name, job) => {
    const whole = await job(...host).compute({ device });
    const path = join(folder, `${name}.npy`);
    expect(job(...files).plan({ device, memory }).peakBytes).toBeLessThanOrEqual(memory);
    await job(...files).compute({ device, memory, to: npy(path) });
    const found = await (await loadNpy(path)).compute({ device });
    expect(found.shape).toEqual(whole.shape);
    expect(found.data).toEqual(whole.data);
  });

  it('has its rows in parts for each window of the bins', () => {
    const job = files[0].at(files[2]).max(files[1]);
    expect(String(job.plan({ device, memory }))).toMatch(
      /in \d+ windows of bins, rows in \d+ parts for each/,
    );
  });

  it('refuses a number out of range by name, whichever window it would be in', async () => {
    for (const wrong of [ROWS, -ROWS - 1]) {
      const i = lazy(Int32Array.of(0, ROWS - 1, wrong));
      const set = files[0].at(i).set(1).compute({ device, memory });
      await expect(set).rejects.toThrow(RangeArgumentError);
      await expect(set).rejects.toThrow(
        new RegExp(`\\[at\\.set\\].* from -${ROWS} to ${ROWS - 1} .*: ${wrong}`),
      );
    }
    const far = lazy(Int32Array.of(0, ROWS + 7));
    const { data } = await files[0]
      .at(far, { mode: 'drop' })
      .set(1)
      .slice([0, 2], 0)
      .compute({ device, memory });
    expect([...data]).toEqual([1, host[0] === x ? (await x.slice(1, 0).compute({ device })).data[0] : 0]);
  });

  it('is itself where no row is selected, or there are no columns', async () => {
    const none = lazy(new Int32Array(0));
    const same = await files[0].at(none).add(1).compute({ device, memory });
    expect(same.data).toEqual((await x.compute({ device })).data);
    const empty = lazy(new Float32Array(0), { shape: [ROWS, 0] })
      .at(files[2])
      .add(1);
    expect((await empty.compute({ device, memory })).shape).toEqual([ROWS, 0]);
  });
});

describe('bins that do not fit', () => {
  const bins = 2 ** 16;
  const room = 3 * 2 ** 17;
  const ids = lazy(Int32Array.from({ length: 170_000 }, () => Math.floor(next() * bins)));
  const weights = lazy(wide(170_000));
  /** Rows in the order of their bins, and those places, are held beside the products of them. */
  const more = 2 ** 20;
  type Job = (ids: Lazy, weights: Lazy) => Lazy;
  const jobs: readonly (readonly [string, Job, memory: number])[] = [
    ['counts', (i) => i.bincount(bins), room],
    ['weights', (i, w) => i.bincount(bins, w), room],
    ['sums', (i, w) => w.segmentSum(i, bins), room],
    ['sums of integers', (i) => i.segmentSum(i, bins), room],
    ['means', (i, w) => w.segmentMean(i, bins), room],
    ['least ones', (i, w) => w.segmentMin(i, bins), room],
    ['exact sums', (i, w) => w.segmentSum(i.remainder(5120), 5120), room],
    ['products', (i, w) => w.segmentProd(i, bins), more],
    // Products of 56,000 factors, which are made in pieces: they stay finite.
    [
      'products in three',
      (i, w) => w.isfinite().where(w, 0).sin().div(64).add(1).segmentProd(i.remainder(3), 3),
      more,
    ],
  ];

  it.each(jobs)('have %s of the whole', async (name, job, memory) => {
    const [, idFile] = await both(ids, `ids ${name}`);
    const [, weightFile] = await both(weights, `weights ${name}`);
    const whole = await job(ids, weights).compute({ device });
    expect([...whole.data].some((one) => Number.isFinite(Number(one)))).toBe(true);
    const path = join(folder, `result ${name}.npy`);
    await job(idFile, weightFile).compute({ device, memory, to: npy(path) });
    expect((await (await loadNpy(path)).compute({ device })).data).toEqual(whole.data);
  });

  it('have places beyond 2^31 elements in their windows', () => {
    const rows = 3 * 2 ** 28;
    const job = placeholder([rows, 8])
      .at(placeholder([1000], { dtype: 'int64' }))
      .add(placeholder([1000, 8]));
    const { plan } = planOnDevice(canonicalize([job.expr]), CPU, { budget: 2 ** 30 });
    const sweeps = plan.steps.flatMap((step) => (step.kind === 'sweep' ? [step] : []));
    const ends = sweeps.flatMap(({ windows, tiles }) =>
      windows.map(({ windows: table }) =>
        Array.from({ length: tiles }, (_, t) => table.slice(6 * t, 6 * t + 6)),
      ),
    );
    expect(sweeps.length).toBeGreaterThan(0);
    const last = Math.max(...ends.flat().map((row) => Math.max(...row)));
    expect(last).toBeGreaterThan(2 ** 33);
    expect(bytesMoved(plan)).toBeGreaterThan(2 ** 33);
  });
});
