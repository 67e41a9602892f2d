import { describe, expect, it } from 'vitest';
import { exprOf } from '../src/api/lazy.js';
import { formatSite } from '../src/host/site.js';
import { type Lazy, lazy, stats } from '../src/index.js';

/** Values of scipy.stats 1.16 at -1.5, 0, 0.3 and 2.5 (probabilities 0.01, 0.25, 0.5, 0.975), df 3.5. */
const X = [-1.5, 0, 0.3, 2.5];
const P = [0.01, 0.25, 0.5, 0.975];

const valuesOf = async (x: Lazy): Promise<number[]> => [...((await x.compute()).data as Float64Array)];

async function close(x: Lazy, expected: readonly number[]): Promise<void> {
  const values = await valuesOf(x);
  expect(values).toHaveLength(expected.length);
  values.forEach((value, k) => {
    expect(value).toBeCloseTo(expected[k]!, 12);
  });
}

describe('distributions', () => {
  it("of norm are SciPy's", async () => {
    await close(
      stats.norm.pdf(X),
      [0.12951759566589174, 0.3989422804014327, 0.3813878154605241, 0.017528300493568537],
    );
    await close(stats.norm.cdf(X), [0.06680720126885807, 0.5, 0.6179114221889526, 0.9937903346742238]);
    await close(stats.norm.sf(X), [0.9331927987311419, 0.5, 0.3820885778110474, 0.006209665325776132]);
    await close(stats.norm.ppf(P), [-2.3263478740408408, -0.6744897501960817, 0.0, 1.959963984540054]);
  });

  it("of t are SciPy's", async () => {
    await close(
      stats.t.pdf(X, 3.5),
      [0.12166832482454229, 0.3717723437320954, 0.3511297843871905, 0.03708256731776382],
    );
    await close(stats.t.cdf(X, 3.5), [0.10890909350767251, 0.5, 0.6094332950800552, 0.962152678095255]);
    await close(stats.t.sf(X, 3.5), [0.8910909064923275, 0.5, 0.3905667049199448, 0.03784732190474501]);
    await close(stats.t.ppf(P, 3.5), [-4.0607113593000825, -0.7509370293940778, 0.0, 2.9400886379827282]);
  });

  it("of chi2 are SciPy's", async () => {
    await close(stats.chi2.pdf(X, 3.5), [0.0, 0.0, 0.11286238342942541, 0.18426351557569048]);
    await close(stats.chi2.cdf(X, 3.5), [0.0, 0.0, 0.02044675581467003, 0.4360483801825648]);
    await close(stats.chi2.sf(X, 3.5), [1.0, 1.0, 0.97955324418533, 0.5639516198174352]);
    await close(
      stats.chi2.ppf(P, 3.5),
      [0.19565079254104076, 1.5609776354064417, 2.86058940306655, 10.262104227928704],
    );
  });

  it('move and stretch by loc and scale, which may be arrays', async () => {
    await close(
      stats.norm.cdf(X, { loc: lazy([1, 2, 3, 4]), scale: 2 }),
      [0.10564977366685535, 0.15865525393145707, 0.08850799143740196, 0.2266273523768682],
    );
    await close(stats.t.ppf([0.3], 5, { loc: -1, scale: 3 }), [-2.6782889334080813]);
  });

  it('keep the tails that are small', async () => {
    const [normal] = await valuesOf(stats.norm.sf([20]));
    expect(normal! / 2.7536241186061556e-89).toBeCloseTo(1, 12);
    const [chi] = await valuesOf(stats.chi2.sf([300], 4));
    expect(chi! / 1.083439491947837e-63).toBeCloseTo(1, 11);
  });

  it('broadcast degrees of freedom', () => {
    expect(stats.t.cdf(lazy([[0.5], [1]]), lazy([1, 2, 3])).shape).toEqual([2, 3]);
  });

  it('name the function whose options are wrong', () => {
    expect(() => stats.t.pdf(X, 2, { locate: 1 } as never)).toThrow('stats.t.pdf');
  });

  it("are made at the user's line", () => {
    for (const x of [stats.norm.cdf(X), stats.t.cdf(X, 2)])
      expect(formatSite(exprOf('stats', x).site)).toContain('stats.test');
  });
});
