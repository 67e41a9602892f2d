/**
 * Black–Scholes: prices of European calls and puts as a function of scalars that calls one of Weft's, over a plane of
 * spots and times in one kernel. Checked against a textbook's price, and by the parity of calls and puts.
 */
import { compute, elementwise, erf, linspace } from '../../src/index.js';
import { check, type Picture, type Settings } from './recipe.js';

const [strike, rate, volatility] = [100, 0.05, 0.2];

/** Functions of Weft's are functions of scalars there. */
const erfOf = erf as unknown as (x: number) => number;

/** The prices of a call and a put on a share at `spot`, in `years` years. */
const prices = elementwise(
  (spot: number, years: number): [number, number] => {
    const normal = (x: number): number => 0.5 + 0.5 * erfOf(x / Math.SQRT2);
    const spread = volatility * Math.sqrt(years);
    const d = (Math.log(spot / strike) + (rate + volatility ** 2 / 2) * years) / spread;
    const later = strike * Math.exp(-rate * years);
    const call = spot * normal(d) - later * normal(d - spread);
    return [call, later * normal(spread - d) - spot * normal(-d)];
  },
  { captures: { erfOf, strike, rate, volatility } },
);

export async function blackScholes({ size, device }: Settings): Promise<Picture> {
  const [spot, years] = [linspace(50, 150, size), linspace(0.05, 2, size).expandDims(1)];
  const [call, put] = prices(spot, years);
  const [textbook] = prices(100, 1);
  const parity = call.sub(put).sub(spot).add(years.mul(-rate).exp().mul(strike)).abs().max();
  const computed = await compute(
    { textbook, parity, gain: call.sub(spot.sub(strike).maximum(0)) },
    { device },
  );
  check('price of a call', computed.textbook, 10.450584, 1e-6);
  check('largest difference from parity', computed.parity, 0, 1e-12);
  // The value of waiting: what a call is worth above what exercising it now would give.
  return computed.gain.toPNG({ range: 'minmax', colors: 'heat' });
}
