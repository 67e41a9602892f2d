/**
 * Runs programs of the cookbook: `node dist/examples/cookbook.js mandelbrot [--device cpu|cuda] [--size 512]
 * [--out folder]`. Without names it runs all of them; `--small` takes the sizes of the tests.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { blackScholes } from './cookbook/black-scholes.js';
import { diffusion } from './cookbook/diffusion.js';
import { gameOfLife } from './cookbook/game-of-life.js';
import { heat } from './cookbook/heat.js';
import { mandelbrot } from './cookbook/mandelbrot.js';
import { monteCarlo } from './cookbook/monte-carlo.js';
import type { Picture, Settings } from './cookbook/recipe.js';

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
  'black-scholes': { run: blackScholes, size: 256, small: 40 },
  'monte-carlo': { run: monteCarlo, size: 40_000, small: 2000 },
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
