/**
 * Standardisation out of core: the columns of a file, less their means over their deviations, into another file, within an
 * eighth of the file in memory. It is read and written tile by tile, and never held as a whole. The picture is the plan.
 * Checked by the means and deviations of the file that comes out.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { arange, compute, loadNpy, npy, random, saveNpy } from '../../src/index.js';
import { check, type Picture, type Settings } from './recipe.js';

const COLUMNS = 32;

export async function outOfCore({ size, device }: Settings): Promise<Picture> {
  const folder = await mkdtemp(join(tmpdir(), 'weft-cookbook-'));
  try {
    const [from, to] = [join(folder, 'x.npy'), npy(join(folder, 'y.npy'))];
    const scale = arange(COLUMNS).add(1);
    await saveNpy(from, random.normal(random.key(1), [size, COLUMNS]).mul(scale).add(scale.square()), {
      device,
    });

    const x = await loadNpy(from);
    const standard = x.sub(x.mean(0)).div(x.std(0));
    const options = { device, memory: (8 * x.size) / 8 };
    const { sweeps, peakBytes } = standard.plan({ ...options, to });
    for (const { tiles, steps } of sweeps) console.log(`  ${steps.join(', ')}: ${tiles} tiles`);
    check('bytes held over those allowed', peakBytes / options.memory, 0.5, 0.5);
    const explanation = standard.explain({ ...options, to });
    const y = await standard.compute({ ...options, to });
    const found = await compute(
      { mean: y.mean(0).abs().max(), deviation: y.std(0).sub(1).abs().max() },
      options,
    );
    check('largest mean of a column', found.mean, 0, 1e-12);
    check('largest difference of a deviation from 1', found.deviation, 0, 1e-12);
    return explanation.toSVG();
  } finally {
    await rm(folder, { recursive: true });
  }
}
