/**
 * Runs programs of the cookbook: `node dist/examples/cookbook.js mandelbrot [--device cpu|cuda] [--size 512]
 * [--out folder]`. Without names it runs all of them; `--small` takes the sizes of the tests.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { batchFiles } from './cookbook/batch-files.js';
import { blackScholes } from './cookbook/black-scholes.js';
import { diffusion } from './cookbook/diffusion.js';
import { embeddingSearch } from './cookbook/embedding-search.js';
import { gameOfLife } from './cookbook/game-of-life.js';
import { grayScott } from './cookbook/gray-scott.js';
import { heat } from './cookbook/heat.js';
import { imagePipeline } from './cookbook/image-pipeline.js';
import { ising } from './cookbook/ising.js';
import { kMeans } from './cookbook/k-means.js';
import { logisticRegression } from './cookbook/logistic-regression.js';
import { mandelbrot } from './cookbook/mandelbrot.js';
import { monteCarlo } from './cookbook/monte-carlo.js';
import { nBody } from './cookbook/n-body.js';
import { outOfCore } from './cookbook/out-of-core.js';
import { parquetStatistics } from './cookbook/parquet-statistics.js';
import { pca } from './cookbook/pca.js';
import { poisson } from './cookbook/poisson.js';
import type { Picture, Settings } from './cookbook/recipe.js';
import { ridge } from './cookbook/ridge.js';
import { spectrogram } from './cookbook/spectrogram.js';
import { svdCompression } from './cookbook/svd-compression.js';
import { wave } from './cookbook/wave.js';

interface Recipe {
  readonly run: (settings: Settings) => Promise<Picture>;
  /** As its picture has it, and as tests run it. */
  readonly size: number;
  readonly small: number;
}

/** In the order of the pages; names are those of the files. */
const RECIPES: Readonly<Record<string, Recipe>> = {
  mandelbrot: { run: mandelbrot, size: 400, small: 64 },
  'game-of-life': { run: gameOfLife, size: 150, small: 72 },
  heat: { run: heat, size: 256, small: 48 },
  diffusion: { run: diffusion, size: 160, small: 40 },
  'gray-scott': { run: grayScott, size: 160, small: 40 },
  wave: { run: wave, size: 240, small: 40 },
  'n-body': { run: nBody, size: 1200, small: 60 },
  ising: { run: ising, size: 128, small: 32 },
  'image-pipeline': { run: imagePipeline, size: 160, small: 100 },
  'svd-compression': { run: svdCompression, size: 160, small: 48 },
  spectrogram: { run: spectrogram, size: 30_000, small: 12_000 },
  poisson: { run: poisson, size: 128, small: 24 },
  ridge: { run: ridge, size: 400, small: 100 },
  'k-means': { run: kMeans, size: 20_000, small: 2000 },
  pca: { run: pca, size: 100_000, small: 40_000 },
  'logistic-regression': { run: logisticRegression, size: 20_000, small: 4000 },
  'embedding-search': { run: embeddingSearch, size: 12_000, small: 1200 },
  'black-scholes': { run: blackScholes, size: 256, small: 40 },
  'monte-carlo': { run: monteCarlo, size: 40_000, small: 2000 },
  'parquet-statistics': { run: parquetStatistics, size: 200_000, small: 20_000 },
  'batch-files': { run: batchFiles, size: 128, small: 40 },
  'out-of-core': { run: outOfCore, size: 100_000, small: 40_000 },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    device: { type: 'string' },
    size: { type: 'string' },
    small: { type: 'boolean' },
    out: { type: 'string' },
  },
});

async function save(name: string, picture: Picture, folder: string): Promise<void> {
  const file = join(folder, `${name}.${typeof picture === 'string' ? 'svg' : 'png'}`);
  await mkdir(folder, { recursive: true });
  await writeFile(file, picture);
  console.log(`  picture: ${file}`);
}

for (const name of positionals.length > 0 ? positionals : Object.keys(RECIPES)) {
  const recipe = RECIPES[name];
  if (recipe === undefined) throw new Error(`no program ${name}: ${Object.keys(RECIPES).join(', ')}`);
  const size = Number(values.size ?? (values.small ? recipe.small : recipe.size));
  console.log(`${name}, size ${size}`);
  const begin = performance.now();
  const picture = await recipe.run({ size, device: values.device });
  console.log(`  ${(performance.now() - begin).toFixed(0)} ms`);
  if (values.out !== undefined) await save(name, picture, values.out);
}
