/**
 * Ridge regression with an L-curve: a blurred and noisy signal restored by sparse least squares of ten dampings at once, and
 * the curve by which one of them is chosen. Checked by the gradient, which is 0 at a least square.
 */
import { arange, compute, lazy, random, sparse } from '../../src/index.js';
import { chart } from './chart.js';
import { check, type Picture, type Settings } from './recipe.js';

export async function ridge({ size, device }: Settings): Promise<Picture> {
  // A blur of five elements' width to each side: a band of weights.
  const offsets = Array.from({ length: 21 }, (_, k) => k - 10);
  const weights = offsets.map((k) => Math.exp(-0.5 * (k / 4) ** 2) / (4 * Math.sqrt(2 * Math.PI)));
  const blur = sparse.diags(weights, offsets, [size, size]);
  // A slope, a step and a bump.
  const place = arange(size).div(size);
  const signal = place.add(place.greater(0.4)).add(place.sub(0.75).mul(20).square().neg().exp());
  const observed = blur.matmul(signal).add(random.normal(random.key(3), [size]).mul(0.01));

  const damp = Array.from({ length: 10 }, (_, k) => 10 ** (-3 + k / 3));
  const { x } = sparse.lsmr(blur, observed, { damp, atol: 1e-12, btol: 1e-12, maxiter: 20 * size });
  const residuals = blur.matmul(x.T).sub(observed.expandDims(1));
  const gradients = blur.T.matmul(residuals).add(x.T.mul(lazy(damp).square()));
  const found = await compute(
    {
      gradient: gradients.abs().max(),
      residual: residuals.square().sum(0).sqrt().log10(),
      length: x.square().sum(1).sqrt().log10(),
      error: x.sub(signal).square().mean(1),
    },
    { device },
  );
  check('largest gradient', found.gradient, 0, 1e-8);
  const errors = Array.from(found.error.data, Number);
  const best = errors.indexOf(Math.min(...errors));
  console.log(`  nearest to the signal: damping ${damp[best]!.toPrecision(3)}, number ${best} of the curve`);
  const [residual, length] = [found.residual, found.length].map(({ data }) => Array.from(data, Number)) as [
    number[],
    number[],
  ];
  for (let k = 1; k < damp.length; k++)
    check('step down of the curve', Math.sign(length[k]! - length[k - 1]!), -1, 0);
  const line = { x: residual, y: length, mark: 'line' as const, color: '#2f6fb0' };
  const chosen = {
    x: [residual[best]!],
    y: [length[best]!],
    mark: 'dots' as const,
    color: '#c2185b',
    name: 'nearest to the signal',
  };
  return chart([line, { ...line, mark: 'dots' }, chosen], {
    title: `L-curve of ten dampings, ${size} unknowns`,
    x: 'log₁₀ of the residual',
    y: 'log₁₀ |x|',
  });
}
