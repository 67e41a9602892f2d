// Observable Plot and Vega-Lite themselves, without a browser: the programs of docs/guide/showing.md, and what is drawn of
// columns and rows.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';
import * as vega from 'vega';
import { compile } from 'vega-lite';
import { arange, lazy, linspace, stack } from '../dist/src/index.js';

const device = 'cpu';
const { document } = parseHTML('<body>');
const folder = mkdtempSync(join(tmpdir(), 'weft-plots-'));
// Packages are found from this folder alone.
const program = fileURLToPath(new URL('.guide-program.mjs', import.meta.url));
after(() => {
  rmSync(folder, { recursive: true });
  rmSync(program, { force: true });
});

const guide = readFileSync(new URL('../docs/guide/showing.md', import.meta.url), 'utf8');
/** The program of the guide that imports a package, run in a folder of its own; a picture that it writes. */
async function pictureOfGuide(name, picture) {
  const blocks = [...guide.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code);
  const code = blocks.find((block) => block.includes(`from '${name}'`));
  writeFileSync(program, code.replace("'weftjs'", "'../dist/src/index.js'"));
  const before = process.cwd();
  process.chdir(folder);
  try {
    await import(`${pathToFileURL(program)}?${name}`);
  } finally {
    process.chdir(before);
  }
  return readFileSync(join(folder, picture), 'utf8');
}

/** The points of a path: of each of its parts that are not joined. */
const partsOf = (path) =>
  path
    .split('M')
    .slice(1)
    .map((part) => part.split('L').map((point) => point.split(',').map(Number)));

const near = (found, wanted, within = 0.01) =>
  assert.ok(Math.abs(found - wanted) <= within, `${found} is not ${wanted}`);

test('the guide: a line of Observable Plot has a point for each row', async () => {
  const svg = await pictureOfGuide('@observablehq/plot', 'wave.svg');
  assert.match(svg, /^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  const [, path] = /aria-label="line"[^>]*><path d="([^"]*)"/.exec(svg);
  assert.deepEqual(
    partsOf(path).map((part) => part.length),
    [200],
  );
});

test('Observable Plot: columns are drawn where their values are, with gaps for NaN', async () => {
  const x = linspace(0, 4, 5);
  const table = await stack([x, lazy([1, 3, Number.NaN, -2, 0])], 1).compute({ device });
  const { at, value } = await table.toColumns(['at', 'value']);
  const plot = Plot.plot({ document, marks: [Plot.lineY({ length: table.length }, { x: at, y: value })] });
  const parts = partsOf(plot.querySelector('[aria-label=line] path').getAttribute('d'));
  assert.deepEqual(
    parts.map((part) => part.length),
    [2, 2],
  );
  const [xs, ys] = [plot.scale('x'), plot.scale('y')];
  assert.deepEqual(
    [xs.domain, ys.domain],
    [
      [0, 4],
      [-2, 3],
    ],
  );
  near(parts[0][1][0], xs.apply(1));
  near(parts[0][1][1], ys.apply(3));
  near(parts[1][0][1], ys.apply(-2));
});

test('Observable Plot: results of one axis are data, of 64-bit integers and booleans too', async () => {
  for (const [dtype, wanted] of [
    ['float32', [0, 9]],
    ['int64', [0, 9]],
    ['uint8', [0, 9]],
  ]) {
    const result = await arange(10).astype(dtype).compute({ device });
    const plot = Plot.plot({ document, marks: [Plot.lineY(result)] });
    const [part] = partsOf(plot.querySelector('[aria-label=line] path').getAttribute('d'));
    assert.deepEqual([part.length, plot.scale('y').domain.map(Number)], [10, wanted], dtype);
    near(part[9][1], plot.scale('y').apply(9));
  }
  const flags = await lazy([true, false, true]).compute({ device });
  const bars = Plot.plot({ document, marks: [Plot.barY(flags, Plot.groupX({ y: 'count' }, { x: flags }))] });
  assert.equal(bars.querySelectorAll('[aria-label=bar] rect').length, 2);
});

test('Observable Plot: columns of 64-bit integers are channels', async () => {
  const table = await stack([arange(3), arange(3).square()], 1)
    .astype('int64')
    .compute({ device });
  const { x, y } = await table.toColumns(['x', 'y']);
  assert.equal(y.constructor, Float64Array);
  const plot = Plot.plot({ document, marks: [Plot.dot({ length: 3 }, { x, y })] });
  const dots = [...plot.querySelectorAll('[aria-label=dot] circle')].map((dot) =>
    Number(dot.getAttribute('cy')),
  );
  assert.deepEqual(plot.scale('y').domain.map(Number), [0, 4]);
  for (const [k, value] of [0, 1, 4].entries()) near(dots[k], plot.scale('y').apply(value));
});

test('Observable Plot: pixels are a picture within a plot', async () => {
  const png = Buffer.from(
    await (await arange(12).reshape([3, 4]).compute({ device })).toPNG({ range: 'minmax' }),
  );
  const src = `data:image/png;base64,${png.toString('base64')}`;
  const plot = Plot.plot({ document, marks: [Plot.image([0], { x: 0, y: 0, src: () => src })] });
  assert.equal(plot.querySelector('image').getAttribute('href'), src);
});

/** A picture of Vega-Lite's, as text. */
const drawn = (spec) => new vega.View(vega.parse(compile(spec).spec), { renderer: 'none' }).toSVG();
/** The labels of its marks: `field: value` by field. */
const labelsOf = (svg) =>
  [
    ...svg.matchAll(/aria-roledescription="(?:bar|point)"[^>]*|aria-label="([^"]*)" role="graphics-symbol"/g),
  ].flatMap(([, label]) => (label === undefined ? [] : [label]));

test('the guide: a bar of Vega-Lite for each row of a histogram', async () => {
  const svg = await pictureOfGuide('vega', 'counts.svg');
  assert.deepEqual(labelsOf(svg), [
    'from: -4; count: 22592',
    'from: -2; count: 477390',
    'from: 0; count: 477407',
    'from: 2; count: 22558',
  ]);
});

test('Vega-Lite: rows of floats, 64-bit integers and booleans', async () => {
  const floats = await lazy([
    [1, 0.5],
    [2, 1.5],
  ]).compute({ device });
  const encoding = { x: { field: 'x', type: 'quantitative' }, y: { field: 'y', type: 'quantitative' } };
  const points = await drawn({ data: { values: floats.toRows(['x', 'y']) }, mark: 'point', encoding });
  assert.deepEqual(labelsOf(points), ['x: 1; y: 0.5', 'x: 2; y: 1.5']);
  const integers = await lazy([3n, 4n]).compute({ device });
  const flags = await lazy([true, false]).compute({ device });
  const rows = integers.toRows(['n']).map((row, k) => ({ ...row, ...flags.toRows(['flag'])[k] }));
  const bars = await drawn({
    data: { values: rows },
    mark: 'bar',
    encoding: { x: { field: 'flag', type: 'nominal' }, y: { field: 'n', type: 'quantitative' } },
  });
  assert.deepEqual(labelsOf(bars), ['flag: true; n: 3', 'flag: false; n: 4']);
});

test('results that are no columns are refused with what would be', async () => {
  const complex = await lazy([{ re: 1, im: 2 }], { dtype: 'complex64' }).compute({ device });
  assert.throws(() => complex.toRows(['z']), { name: 'DTypeError' });
  const table = await lazy([[1, 2]]).compute({ device });
  assert.throws(() => table.toRows(['x']), /\[toRows\] expected .*2/);
  await assert.rejects(table.toColumns(['x', 'y', 'z']), /\[toColumns\] expected .*2/);
});
