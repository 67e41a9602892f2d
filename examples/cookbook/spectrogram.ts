/**
 * Spectrogram: the short Fourier transforms of a sound, window by window, of which the frames are a view by indices and
 * the window is part of the kernel before the transform. Checked by the pitches that the sound was made of.
 */
import { arange, compute, fft, random, where } from '../../src/index.js';
import { check, type Picture, type Settings } from './recipe.js';

const [RATE, FRAME, HOP] = [8000, 512, 128];

export async function spectrogram({ size, device }: Settings): Promise<Picture> {
  // A tone of 440 Hz, one that rises from 500 to 3500 Hz, a bell now and then, and noise.
  const t = arange(size).div(RATE);
  const seconds = size / RATE;
  const rising = t.mul(500).add(t.square().mul(3000 / (2 * seconds)));
  const tone = t.mul(440);
  const since = t.remainder(seconds / 4);
  const bell = since
    .mul(2 * Math.PI * 2500)
    .sin()
    .mul(since.mul(-12 / seconds).exp());
  const waves = tone
    .mul(2 * Math.PI)
    .sin()
    .add(rising.mul(2 * Math.PI).sin())
    .add(bell.mul(0.5));
  const sound = waves.add(random.normal(random.key(1), [size]).mul(0.05));

  const count = Math.floor((size - FRAME) / HOP) + 1;
  const frames = sound.take(arange(count).mul(HOP).expandDims(1).add(arange(FRAME)).astype('int64'));
  const hann = arange(FRAME)
    .mul((2 * Math.PI) / FRAME)
    .cos()
    .mul(-0.5)
    .add(0.5);
  const power = fft.rfft(frames.mul(hann)).abs().square();
  const frequencies = fft.rfftfreq(FRAME, 1 / RATE);

  const upper = where(frequencies.greater(470), power, 0);
  const peaks = frequencies.take(upper.argmax(1));
  const expected = arange(count)
    .mul(HOP)
    .add(FRAME / 2)
    .div(RATE)
    .mul(3000 / seconds)
    .add(500);
  const found = await compute(
    {
      tone: frequencies.take(where(frequencies.less(470), power, 0).sum(0).argmax()),
      off: peaks.sub(expected).abs().median(),
      // Parseval: the energy of the frames is that of their spectra, of which one half is computed.
      energy: power
        .mul(2)
        .sum()
        .sub(power.slice(null, [null, null, FRAME / 2]).sum())
        .div(FRAME),
      sum: frames.mul(hann).square().sum(),
      picture: power.add(1e-3).log().T.flip(0),
    },
    { device },
  );
  const bin = RATE / FRAME;
  check('the steady tone', found.tone, 440, bin / 2);
  check('median distance from the rising tone', found.off, 0, bin);
  check(
    'energy of spectra over energy of frames',
    Number(found.energy.item()) / Number(found.sum.item()),
    1,
    1e-12,
  );
  return found.picture.toPNG({ range: 'minmax', colors: 'heat' });
}
