/**
 * Prices of European calls by Black and Scholes, as a function of scalars that uses a function of Weft's.
 *
 * Run it with `node dist/examples/black-scholes.js [--device cpu|cuda]`.
 */
import { elementwise, erf, lazy } from '../src/index.js';
import { compareWithLoop, uniform } from './support.js';

const COUNT = 2 ** 21;
const [rate, volatility] = [0.02, 0.3];

/** The error function for the loop, to 1.5e-7 (Abramowitz and Stegun, 7.1.26). */
function erfByLoop(x: number): number {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const sum =
    t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return Math.sign(x) * (1 - sum * Math.exp(-x * x));
}

/** Calls by spot, strike and years; `error` is the error function. */
const priceBy =
  (error: (x: number) => number) =>
  (spot: number, strike: number, years: number): number => {
    const normal = (x: number): number => 0.5 + 0.5 * error(x / Math.SQRT2);
    const spread = volatility * Math.sqrt(years);
    const d = (Math.log(spot / strike) + (rate + volatility ** 2 / 2) * years) / spread;
    return spot * normal(d) - strike * Math.exp(-rate * years) * normal(d - spread);
  };

const price = elementwise(priceBy(erfByLoop), { captures: { error: erf, rate, volatility }, name: 'price' });
const [spot, strike, years] = [
  uniform(COUNT, 1, 5, 30),
  uniform(COUNT, 2, 1, 100),
  uniform(COUNT, 3, 0.25, 10),
];

await compareWithLoop(
  'price of calls',
  price(lazy(spot), lazy(strike), lazy(years)),
  () => spot.map((value, k) => priceBy(erfByLoop)(value, strike[k]!, years[k]!)),
  1e-3,
);
