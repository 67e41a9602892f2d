/**
 * Batch over files: a folder of pictures as .npy files, each made smaller and its contrast stretched, on every device there
 * is; files are read while others are computed, and one that is broken does not stop the rest. Checked by the count, and
 * by what every picture has to have afterwards.
 */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  batch,
  compute,
  concat,
  fft,
  type Job,
  type Lazy,
  lazy,
  loadNpy,
  type NDArray,
  ndimage,
  random,
  saveNpy,
} from '../../src/index.js';
import { check, type Picture, type Settings } from './recipe.js';

const FILES = 12;

/** Clouds: noise whose waves are the weaker the shorter they are. */
function clouds(n: number, file: number): Lazy {
  const noise = random.normal(random.foldIn(random.key(12), file), [n, n]);
  const [rows, columns] = [fft.fftfreq(n, 1 / n).expandDims(1), fft.rfftfreq(n, 1 / n)];
  const decay = rows
    .hypot(columns)
    .add(1)
    .pow(-1.2 - file / 8);
  return fft
    .irfft2(fft.rfft2(noise).mul(decay), { s: [n, n] })
    .mul(40)
    .add(100);
}

/** One job for each file; a file is opened when the batch comes to it. */
async function* jobs(folder: string): AsyncGenerator<Job> {
  for (const name of (await readdir(folder)).sort()) {
    yield async () => {
      const small = ndimage.zoom(await loadNpy(join(folder, name)), 0.5, { order: 1 });
      const [low, high] = [small.quantile(0.02), small.quantile(0.98)];
      return { compute: small.sub(low).div(high.sub(low)).clip(0, 1), name };
    };
  }
}

export async function batchFiles({ size, device }: Settings): Promise<Picture> {
  const folder = await mkdtemp(join(tmpdir(), 'weft-cookbook-'));
  try {
    for (let k = 0; k < FILES; k++)
      await saveNpy(join(folder, `${String(k).padStart(2, '0')}.npy`), clouds(size, k), { device });
    await writeFile(join(folder, 'broken.npy'), 'not an array');
    const run = batch(jobs(folder), device === undefined ? {} : { devices: [device] });
    const pictures: NDArray[] = [];
    for await (const result of run) {
      if (result.ok) pictures.push(result.value as NDArray);
      else console.log(`  ${String(result.error).split('\n')[0]!.replaceAll(folder, '…')}`);
    }
    check('files done', run.summary.done, FILES, 0);
    check('files that failed', run.summary.failed, 1, 0);
    const rows = [0, 1, 2].map((row) =>
      concat(
        pictures.slice(4 * row, 4 * row + 4).map((each) => lazy(each)),
        1,
      ),
    );
    const sheet = concat(rows);
    const whites = sheet.equal(1).mean();
    const found = await compute({ whites, sheet }, { device });
    check('share of white, of two in a hundred', found.whites, 0.02, 0.005);
    return await found.sheet.toPNG();
  } finally {
    await rm(folder, { recursive: true });
  }
}
