/**
 * Monte Carlo: an Asian option, which pays by the mean price of a year, over random paths that are made by counters. The
 * geometric mean, whose option has a price in closed form, is the check, and as a control variate it makes the error of
 * the other small.
 */
import { compute, histogram2d, random, stats } from '../../src/index.js';
import { check, numberOf, type Picture, type Settings } from './recipe.js';

const [price, strike, rate, volatility, days] = [100, 100, 0.05, 0.3, 64];

/** The price of the option on the geometric mean (Kemna and Vorst, 1990). */
async function geometricPrice(): Promise<number> {
  const deviation = volatility * Math.sqrt(((days + 1) * (2 * days + 1)) / (6 * days * days));
  const drift = ((rate - volatility ** 2 / 2) * (days + 1)) / (2 * days) + deviation ** 2 / 2;
  const d = (Math.log(price / strike) + drift + deviation ** 2 / 2) / deviation;
  const normal = await stats.norm.cdf([d, d - deviation]).compute();
  return Math.exp(-rate) * (price * Math.exp(drift) * Number(normal.at(0)) - strike * Number(normal.at(1)));
}

export async function monteCarlo({ size, device }: Settings): Promise<Picture> {
  const steps = random.normal(random.key(1), [size, days]);
  const drift = (rate - volatility ** 2 / 2) / days;
  const logs = steps
    .mul(volatility / Math.sqrt(days))
    .add(drift)
    .cumulativeSum(1);
  const paths = logs.exp().mul(price);
  const payOff = (mean: typeof paths): typeof paths => mean.sub(strike).maximum(0).mul(Math.exp(-rate));
  const arithmetic = payOff(paths.mean(1));
  const geometric = payOff(logs.mean(1).exp().mul(price));
  const difference = arithmetic.sub(geometric);
  // The picture: how many of the paths are at which price at which day.
  const day = paths.mul(0).add(Array.from({ length: days }, (_, k) => k));
  const [density] = histogram2d(day.flatten(), paths.flatten(), [days, 160], {
    range: [
      [0, days],
      [40, 220],
    ],
  });
  const picture = density.T.flip(0).repeat(4, 1).repeat(2, 0).astype('float64').sqrt();
  const means = { geometric: geometric.mean(), difference: difference.mean() };
  const errors = { geometricError: geometric.std(), differenceError: difference.std() };
  const found = await compute({ ...means, ...errors, picture }, { device });
  const closed = await geometricPrice();
  check(
    'option on the geometric mean',
    found.geometric,
    closed,
    (4 * numberOf(found.geometricError)) / Math.sqrt(size),
  );
  // The plain mean is only as exact as its own error; the control variate leaves that of the difference.
  const value = closed + numberOf(found.difference);
  const error = numberOf(found.differenceError) / Math.sqrt(size);
  console.log(`  option on the arithmetic mean: ${value.toFixed(4)} ± ${error.toFixed(4)}`);
  check(
    'error with the control variate over that without',
    error / (numberOf(found.geometricError) / Math.sqrt(size)),
    0,
    0.1,
  );
  return found.picture.toPNG({ range: 'minmax', colors: 'heat' });
}
