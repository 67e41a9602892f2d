/**
 * Statistics of a Parquet file: trips of a day, of which the means by the hour, quantiles and a correlation are found in one
 * compute that reads each column once. Checked by the rule that the trips were made by.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parquetWriteFile } from 'hyparquet-writer';
import { compute, corrcoef, type Lazy, lazy, loadParquet, random, stack } from '../../src/index.js';
import { chart } from './chart.js';
import { check, type Picture, type Settings } from './recipe.js';

/** Kilometres an hour at an hour of the day: slow in the morning and in the evening. */
const speedAt = (hour: number): number =>
  32 - 12 * Math.exp(-(((hour - 8) / 2) ** 2)) - 14 * Math.exp(-(((hour - 17) / 2.5) ** 2));
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

/** A file of trips: the hour, kilometres and minutes. */
async function writeTrips(filename: string, count: number): Promise<void> {
  const [when, far, noise] = random.split(random.key(6), 3);
  const hour = random.integers(when!, [count], 0, 24);
  const distance = random.exponential(far!, [count]).mul(5);
  const rest = random.normal(noise!, [count]).mul(0.1).exp();
  const speed = lazy(HOURS.map(speedAt)).take(hour);
  const minutes = distance.div(speed).mul(60).mul(rest);
  const trips = await compute({ hour: hour.astype('int32'), distance, minutes });
  parquetWriteFile({
    filename,
    columnData: [
      { name: 'hour', data: trips.hour.data as Int32Array, type: 'INT32' },
      { name: 'distance', data: trips.distance.data as Float64Array, type: 'DOUBLE' },
      { name: 'minutes', data: trips.minutes.data as Float64Array, type: 'DOUBLE' },
    ],
  });
}

export async function parquetStatistics({ size, device }: Settings): Promise<Picture> {
  const folder = await mkdtemp(join(tmpdir(), 'weft-cookbook-'));
  try {
    const file = join(folder, 'trips.parquet');
    await writeTrips(file, size);
    const trips = (await loadParquet(file)) as Record<'hour' | 'distance' | 'minutes', Lazy>;
    const speed = trips.distance.div(trips.minutes).mul(60);
    const found = await compute(
      {
        byHour: speed.groupBy(trips.hour, 24).mean(),
        count: trips.hour.bincount(24).sum(),
        quantiles: trips.distance.quantile([0.5, 0.9]),
        correlation: corrcoef(stack([trips.distance.log(), trips.minutes.log()])).slice(0, 1),
      },
      { device },
    );
    check('trips', found.count, size, 0);
    // Of 0.1 in the logarithm, the mean of e^-x is e^(0.1² / 2).
    for (const hour of [3, 8, 17])
      check(
        `speed at ${hour}`,
        Number(found.byHour.at(hour)),
        speedAt(hour) * Math.exp(0.005),
        20 / Math.sqrt(size / 24),
      );
    check('median distance', Number(found.quantiles.at(0)), 5 * Math.log(2), 20 / Math.sqrt(size));
    check('distance of nine in ten', Number(found.quantiles.at(1)), 5 * Math.log(10), 60 / Math.sqrt(size));
    check('correlation of the logarithms', found.correlation, 0.98, 0.03);
    const means = {
      x: HOURS,
      y: Array.from(found.byHour.data, Number),
      mark: 'bars' as const,
      color: '#2f6fb0',
    };
    const rule = {
      x: HOURS,
      y: HOURS.map(speedAt),
      mark: 'line' as const,
      color: '#e08214',
      name: 'made by',
    };
    const title = `speed by the hour of ${size} trips`;
    return chart([means, rule], { title, x: 'hour', y: 'km/h', xRange: [-0.7, 23.7], yRange: [0, 35] });
  } finally {
    await rm(folder, { recursive: true });
  }
}
