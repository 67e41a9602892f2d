/** Updates by index and bins of arrays larger than a GPU's memory: bins in windows, rows in parts for each. */
import { describe, expect, it } from 'vitest';
import { compute, concat, type Lazy, lazy, RangeArgumentError } from '../../src/index.js';
import { generator } from '../support/random.js';
import { setDevices } from './simulator.js';

setDevices([{}, {}]);
const device = 'cuda:0';
const memory = 2 ** 16;
const [ROWS, COLUMNS] = [4096, 8];

const next = generator(11);
/** Floats of many magnitudes, with what is no finite number among them. */
const wide = (count: number): Float32Array =>
  Float32Array.from({ length: count }, (_, k) =>
    k % 509 === 5
      ? [Number.NaN, Number.NEGATIVE_INFINITY, -0][k % 3]!
      : (next() - 0.5) * 2 ** Math.floor(next() * 60 - 30),
  );

const x = lazy(wide(ROWS * COLUMNS), { shape: [ROWS, COLUMNS] });
const values = lazy(wide((ROWS / 2) * COLUMNS), { shape: [ROWS / 2, COLUMNS] });
const keys = lazy(Int32Array.from({ length: ROWS / 2 }, () => Math.floor(next() * 2 * ROWS) - ROWS));
const ids = lazy(Int32Array.from({ length: 2 ** 15 }, () => Math.floor(next() * 2 ** 14)));
const weights = lazy(wide(2 ** 15));
const lines = lazy(wide(5 * 2 ** 15), { shape: [2 ** 15, 5] });

describe('what does not fit a GPU', () => {
  it.each<[string, Lazy]>([
    ['rows set', x.at(keys).set(values)],
    ['rows added', x.at(keys).add(values)],
    ['rows added in float64', x.astype('float64').at(keys).add(values)],
    ['counts', ids.bincount(2 ** 14)],
    ['exact sums', lines.segmentSum(ids.remainder(1000), 1000)],
    ['least of segments', weights.segmentMin(ids, 2 ** 14)],
  ])('has the bits of the whole: %s', async (_, job) => {
    const [whole] = await compute([job], { device });
    expect(String(job.plan({ device, memory }))).toMatch(/windows of bins/);
    for (const target of [{ device }, { devices: 2 }]) {
      const [found] = await compute([job], { ...target, memory });
      expect(found!.data).toEqual(whole!.data);
    }
  });

  it('has the products of the whole', async () => {
    const [rows, segments] = [2 ** 14, 2 ** 12];
    // Half of the rows are one segment, whose product is made in pieces and stays finite.
    const near = lazy(Float32Array.from({ length: rows }, () => 1 + (next() - 0.5) / 64));
    const one = lazy(new Int32Array(rows));
    const others = ids.slice([0, rows]).remainder(segments - 1);
    const factors = concat([near, weights.slice([0, rows])]);
    const job = factors.segmentProd(concat([one, others.add(1)]), segments);
    const [whole] = await compute([job], { device });
    expect(Number.isFinite(whole!.data[0])).toBe(true);
    const room = 9 * 2 ** 15;
    expect(String(job.plan({ device, memory: room }))).toMatch(/windows of runs/);
    const [found] = await compute([job], { device, memory: room });
    expect(found!.data).toEqual(whole!.data);
  });

  it('is refused a number out of range by name, whichever window it would be in', async () => {
    const wrong = x
      .at(lazy(Int32Array.of(0, ROWS - 1, ROWS)))
      .add(1)
      .compute({ device, memory });
    await expect(wrong).rejects.toThrow(RangeArgumentError);
    await expect(wrong).rejects.toThrow(/\[at\.add\].* to 4095 .*: 4096/);
  });
});
