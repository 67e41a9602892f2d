/**
 * Heat by Fourier transforms: every wave of the temperature decays by itself, so any time is one transform, one product
 * and one transform back, however far away it is. Checked by what is conserved, and by the decay of one wave.
 */
import { arange, compute, fft, type Lazy } from '../../src/index.js';
import { check, type Picture, type Settings } from './recipe.js';

/** The temperature of a plate of sides 1, whose edges meet, after a time: a wave of frequency k decays by e^(-4π²k²t). */
function later(plate: Lazy, time: number): Lazy {
  const [n] = plate.shape as [number, number];
  const [rows, columns] = [fft.fftfreq(n, 1 / n).expandDims(1), fft.rfftfreq(n, 1 / n)];
  const squares = rows.square().add(columns.square());
  return fft.irfft2(fft.rfft2(plate).mul(squares.mul(-4 * Math.PI ** 2 * time).exp()), { s: [n, n] });
}

export async function heat({ size, device }: Settings): Promise<Picture> {
  const [y, x] = [arange(size).div(size).expandDims(1), arange(size).div(size)];
  const near = (place: Lazy, at: number, width: number): Lazy => place.sub(at).abs().less(width);
  const bars = near(y, 0.3, 0.05)
    .logicalAnd(near(x, 0.5, 0.3))
    .logicalOr(near(y, 0.6, 0.2).logicalAnd(near(x, 0.7, 0.04)));
  const start = bars.astype('float64');
  const [now, long] = [later(start, 0.0005), later(start, 1)];
  const wave = y
    .mul(2 * Math.PI)
    .cos()
    .add(x.mul(0));
  const found = await compute(
    {
      lost: now.mean().sub(start.mean()),
      even: long.sub(start.mean()).abs().max(),
      twice: later(later(start, 0.0002), 0.0003).sub(now).abs().max(),
      wave: later(wave, 0.01).div(wave).slice(0, 0),
      now,
    },
    { device },
  );
  check('heat lost', found.lost, 0, 1e-14);
  check('unevenness after a long time', found.even, 0, 1e-14);
  check('two times after each other, beside their sum', found.twice, 0, 1e-14);
  check('decay of a wave', found.wave, Math.exp(-4 * Math.PI ** 2 * 0.01), 1e-14);
  return found.now.toPNG({ range: 'minmax', colors: 'heat' });
}
