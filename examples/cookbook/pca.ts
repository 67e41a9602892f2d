/**
 * PCA of files larger than memory: a matrix in four .npy files, whose principal components are found within a third of
 * its bytes: the files are added up to the matrix of covariances, tile by tile, whose eigenvectors are the components. Checked by
 * the directions and variances that the data was made of.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  compute,
  concat,
  histogram2d,
  type Lazy,
  lazy,
  linalg,
  loadNpy,
  random,
  saveNpy,
} from '../../src/index.js';
import { check, type Picture, type Settings } from './recipe.js';

const [FILES, COLUMNS, DEVIATIONS] = [4, 64, [8, 4, 2]];

/** Random directions at right angles to each other, as rows. */
const directions = (): Lazy => linalg.qr(random.normal(random.key(3), [COLUMNS, DEVIATIONS.length])).q.T;

/** Rows around a ring in the first two directions, with noise in all columns. */
function rowsOf(count: number, file: number): Lazy {
  const [angles, third, noise] = random.split(random.foldIn(random.key(4), file), 3);
  const angle = random.uniform(angles!, [count, 1]).mul(2 * Math.PI);
  // The mean square of a cosine is 1/2.
  const [x, y] = [angle.cos().mul(DEVIATIONS[0]! * Math.SQRT2), angle.sin().mul(DEVIATIONS[1]! * Math.SQRT2)];
  const scores = concat([x, y, random.normal(third!, [count, 1]).mul(DEVIATIONS[2]!)], 1);
  return scores.matmul(directions()).add(random.normal(noise!, [count, COLUMNS]).mul(0.3));
}

export async function pca({ size, device }: Settings): Promise<Picture> {
  const folder = await mkdtemp(join(tmpdir(), 'weft-cookbook-'));
  try {
    const paths = Array.from({ length: FILES }, (_, k) => join(folder, `${k}.npy`));
    for (const [k, path] of paths.entries()) await saveNpy(path, rowsOf(size / FILES, k), { device });
    const files = await Promise.all(paths.map((path) => loadNpy(path)));
    const total = (of: (x: Lazy) => Lazy): Lazy => files.map(of).reduce((a, b) => a.add(b));
    const mean = total((x) => x.sum(0)).div(size);
    const squares = total((x) => x.T.matmul(x)).sub(mean.expandDims(1).mul(mean).mul(size));
    const { eigenvalues, eigenvectors } = linalg.eigh(squares.div(size - 1));
    // They ascend: the last are the largest.
    const components = eigenvectors.T.flip(0).slice([0, DEVIATIONS.length]);
    const alike = components.matmul(directions().T).abs();
    const options = { device, memory: (8 * size * COLUMNS) / 3 };
    const found = await compute({ mean, components, alike, variance: eigenvalues.flip(0) }, options);
    for (const [k, deviation] of DEVIATIONS.entries()) {
      check(`component ${k} along its direction`, Number(found.alike.at(k, k)), 1, 0.01);
      check(
        `its variance`,
        Number(found.variance.at(k)),
        deviation ** 2 + 0.09,
        (deviation ** 2 * 6) / Math.sqrt(size),
      );
    }
    // The scores are small: three numbers a row.
    const scores = await compute(
      files.map((x) => x.sub(found.mean).matmul(lazy(found.components).T)),
      options,
    );
    const all = concat(scores.map((each) => lazy(each)));
    const range = [
      [-14, 14],
      [-9, 9],
    ] as const;
    const [density] = histogram2d(all.slice(null, 0), all.slice(null, 1), [280, 180], { range });
    const picture = await density.T.astype('float64').sqrt().compute({ device });
    return await picture.toPNG({ range: 'minmax', colors: 'heat' });
  } finally {
    await rm(folder, { recursive: true });
  }
}
