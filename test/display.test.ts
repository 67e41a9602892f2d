/** How results and graphs show themselves: in `util.inspect`, in notebooks, as pictures, columns and rows. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { arange, lazy, NDArray, placeholder, profile, stack } from '../src/index.js';
import { layeredGraph } from '../src/inspect/layered-graph.js';
import { readPng } from './support/png.js';

const DISPLAY = Symbol.for('Jupyter.display');
type Shown = Record<symbol, () => Record<string, string>>;
const bundle = (value: object): Record<string, string> => (value as Shown)[DISPLAY]!();

const matrix = new NDArray(new Float64Array([1, 2, 3, 4]), [2, 2], 'float64');
const line = new NDArray(
  Int32Array.from({ length: 40 }, (_, k) => k),
  [40],
  'int32',
);
const x = lazy(new Float32Array(1000));
const explanation = x.sub(x.mean()).cumulativeSum().sort().explain({ device: 'cpu' });

describe('inspect', () => {
  it('names what is deeper than the depth, and shows an array in others on lines of its own', () => {
    expect(inspect({ a: matrix }, { depth: 0 })).toBe('{ a: [NDArray float64 (2, 2)] }');
    expect(inspect({ a: x }, { depth: 0 })).toBe('{ a: [Lazy float32 (1000,)] }');
    expect(inspect({ a: explanation }, { depth: 0 })).toBe('{ a: [Explanation of 3 steps on cpu] }');
    expect(inspect({ a: matrix, b: x })).toBe(
      '{\n  a: NDArray float64 (2, 2)\n  [[1. 2.]\n   [3. 4.]],\n  b: Lazy float32 (1000,)\n}',
    );
  });

  it('keeps to the width, and to one line where that is asked for', () => {
    for (const breakLength of [20, 40, 60, 80]) {
      const widths = inspect(line, { breakLength })
        .split('\n')
        .map(({ length }) => length);
      expect(Math.max(...widths)).toBeLessThanOrEqual(Math.min(breakLength, 75));
      expect(Math.max(...widths)).toBeGreaterThan(Math.min(breakLength, 75) - 4);
    }
    expect(inspect(line)).toBe(line.toString());
    expect(inspect(matrix, { breakLength: Infinity })).toBe('[[1. 2.] [3. 4.]]');
    expect(inspect(matrix, { compact: true })).toBe('[[1. 2.] [3. 4.]]');
    expect(inspect(line, { compact: true })).toBe(line.toString());
    expect(inspect(matrix, { compact: false })).toBe('[[1. 2.]\n [3. 4.]]');
  });

  it('shows of an explanation at depth 0 a line for each step, folded on narrow screens', () => {
    expect(inspect(explanation)).toBe(explanation.toString());
    const lines = inspect(explanation, { depth: 0 }).split('\n');
    expect(lines).toHaveLength(5);
    expect(lines.slice(2).map((text) => text.split(',')[0])).toEqual([
      'step 0: reduce_sum_divide_subtract',
      'step 1: scan',
      'step 2: sort',
    ]);
    const narrow = inspect(explanation, { depth: 0, breakLength: 40 });
    expect(Math.max(...narrow.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(40);
    expect(narrow.replaceAll('\n  ', ' ')).toBe(lines.join('\n'));
  });
});

describe('notebooks', () => {
  it('show an array as a table with dtype and shape, shortened as NumPy does', () => {
    const small = bundle(matrix);
    expect(small['text/plain']).toBe('[[1. 2.]\n [3. 4.]]');
    expect(small['text/html']).toContain('<code>float64 (2, 2)</code>');
    expect(small['text/html']!.match(/<td>[^<]*/g)).toEqual(['<td>1.', '<td>2.', '<td>3.', '<td>4.']);
    const large = bundle(new NDArray(new Uint8Array(10_000), [100, 100], 'uint8'))['text/html']!;
    expect(large.match(/<tr>/g)).toHaveLength(8);
    expect(large.match(/<td>0/g)).toHaveLength(36);
    expect(large).toContain('<th>99</th>');
    const deep = bundle(new NDArray(new Uint8Array(12), [3, 2, 2], 'uint8'))['text/html']!;
    expect(deep.match(/\[\d, :, :\]/g)).toEqual(['[0, :, :]', '[1, :, :]', '[2, :, :]']);
    expect(bundle(new NDArray(new Float64Array([5]), [], 'float64'))['text/html']).toContain(
      '<pre>5.0</pre>',
    );
    expect(bundle(new NDArray(new Float64Array(0), [0, 3], 'float64'))['text/html']).toContain(
      '<pre>[]</pre>',
    );
  });

  it('show a graph and a plan as pictures, and a large graph without one', () => {
    const html = bundle(x.exp().sum())['text/html']!;
    expect(html).toContain('<td>not computed yet</td>');
    expect(html.match(/<rect [^>]*stroke/g)).toHaveLength(3);
    let deep = x;
    for (let k = 0; k < 100; k++) deep = deep.add(k);
    expect(bundle(deep)['text/html']).not.toContain('<svg');
    const shown = bundle(explanation)['text/html']!;
    expect(shown).toContain('<td>reduce_sum_divide_subtract</td>');
    expect(shown).toContain('library-call');
    expect(explanation.toSVG()).toContain('>2: sort</text>');
  });

  it('escape names', () => {
    const named = placeholder([3], 'float32').add(1).explain({ device: 'cpu' });
    const forged = Object.assign(Object.create(Object.getPrototypeOf(named)), named, {
      device: '<script>alert(1)</script>',
      steps: named.steps.map((step) => ({ ...step, name: '<img src=x>', lines: ['a"b.ts:1'] })),
    });
    const html = bundle(forged)['text/html']!;
    expect(html).not.toMatch(/<script|<img/);
    expect(html).toContain('&lt;img src=x&gt;');
    expect(html).toContain('a&quot;b.ts:1');
  });

  it('show a timeline as its picture', async () => {
    const { timeline } = await profile(x.sum(), { device: 'cpu' });
    expect(bundle(timeline)['image/svg+xml']).toBe(timeline.toSVG());
    expect(inspect(timeline, { depth: 0 })).toBe(`timeline of ${timeline.duration.toFixed(3)} ms`);
    expect(inspect(timeline)).toBe(timeline.toString());
  });

  it('lay graphs out so that every edge goes down and no two boxes of a layer meet', () => {
    const nodes = Array.from({ length: 30 }, (_, k) => ({ width: 30 + ((k * 37) % 50) }));
    const edges = nodes.flatMap((_, to) =>
      to < 4 ? [] : [(to * 7) % to, (to * 5 + 3) % to].map((from) => ({ from, to })),
    );
    const { layers, centres, width } = layeredGraph(nodes, edges);
    expect(edges.every(({ from, to }) => layers[from]! < layers[to]!)).toBe(true);
    const spans = nodes.map(
      ({ width: w }, k) => [layers[k]!, centres[k]! - w / 2, centres[k]! + w / 2] as const,
    );
    const meet = spans.some(([layer, left, right], k) =>
      spans.some(([other, l, r], j) => j < k && other === layer && l < right && left < r),
    );
    expect(meet).toBe(false);
    expect(Math.min(...spans.map(([, left]) => left))).toBeGreaterThanOrEqual(0);
    expect(Math.max(...spans.map(([, , right]) => right))).toBeLessThanOrEqual(width);
  });
});

describe('toPNG', () => {
  it('draws bytes, booleans and floats in a range, in greys', async () => {
    const bytes = Uint8Array.from({ length: 20 * 30 }, (_, k) => (k * k) >> 3);
    const grey = readPng(await new NDArray(bytes, [20, 30], 'uint8').toPNG());
    expect(grey).toMatchObject({ width: 30, height: 20, channels: 1, palette: undefined, bytes });
    const mask = new NDArray(new Uint8Array([1, 0, 0, 1]), [2, 2], 'bool');
    expect([...readPng(await mask.toPNG()).bytes]).toEqual([255, 0, 0, 255]);
    const values = [Number.NaN, -Infinity, -1, 0, 0.5, 1, 2, Infinity];
    const floats = new NDArray(new Float32Array(values), [1, 8], 'float32');
    expect([...readPng(await floats.toPNG()).bytes]).toEqual([0, 0, 0, 0, 128, 255, 255, 255]);
    const ranged = readPng(await floats.toPNG({ range: [2, 0] })).bytes;
    expect([...ranged]).toEqual([0, 255, 255, 255, 191, 128, 0, 0]);
    expect([...readPng(await floats.toPNG({ range: 'minmax' })).bytes]).toEqual([
      0, 0, 0, 85, 128, 170, 255, 255,
    ]);
    const constant = new NDArray(new Float64Array(4).fill(7), [2, 2], 'float64');
    expect([...readPng(await constant.toPNG({ range: 'minmax' })).bytes]).toEqual([0, 0, 0, 0]);
    const wide = new NDArray(new BigInt64Array([0n, 5n, 10n, 20n]), [2, 2], 'int64');
    expect([...readPng(await wide.toPNG({ range: [0, 10] })).bytes]).toEqual([0, 128, 255, 255]);
  });

  it('draws RGB and RGBA by every filter, and less where it compresses', async () => {
    for (const channels of [3, 4]) {
      const place = arange(40).expandDims(1).mul(3).add(arange(50).mul(2));
      const noisy = place
        .add(
          arange(40 * 50)
            .reshape([40, 50])
            .mul(7919)
            .remainder(61),
        )
        .remainder(256);
      const smooth = stack(
        [place, noisy, place.mul(place).div(64).remainder(256), place].slice(0, channels),
        -1,
      );
      const image = await smooth.astype('uint8').compute();
      const file = await image.toPNG();
      const { bytes, filters, ...rest } = readPng(file);
      expect(rest).toEqual({ width: 50, height: 40, channels, palette: undefined });
      expect(bytes).toEqual(image.data);
      expect(new Set(filters).size).toBeGreaterThan(1);
      const plain = await image.toPNG({ level: 0 });
      expect(readPng(plain).bytes).toEqual(image.data);
      expect(file.length).toBeLessThan(plain.length / 2);
    }
  });

  it('gives numbers colours by a palette', async () => {
    const ramp = await arange(256).reshape([16, 16]).div(255).compute();
    const { bytes, palette } = readPng(
      await ramp.toPNG({
        colors: [
          [0, 0, 0],
          [255, 0, 100],
          [0, 255, 0],
        ],
      }),
    );
    expect([...bytes]).toEqual(Array.from({ length: 256 }, (_, k) => k));
    expect([...palette!.subarray(0, 3), ...palette!.subarray(-3)]).toEqual([0, 0, 0, 0, 255, 0]);
    expect([...palette!.subarray(3 * 127, 3 * 128)]).toEqual([254, 0, 100]);
    expect(readPng(await ramp.toPNG({ colors: 'diverging' })).palette).toHaveLength(768);
  });

  it('refuses what is no image, and options that are none', async () => {
    const wrong = async (array: NDArray, options?: object): Promise<string> => {
      const error = await array.toPNG(options as never).catch((reason: unknown) => reason);
      return (error as Error).message;
    };
    expect(await wrong(line)).toContain('a shape (h, w), (h, w, 3) or (h, w, 4)');
    expect(await wrong(new NDArray(new Uint8Array(8), [2, 2, 2], 'uint8'))).toContain('(2, 2, 2)');
    expect(await wrong(new NDArray(new Uint8Array(0), [0, 5], 'uint8'))).toContain('(0, 5)');
    expect(await wrong(new NDArray(new Int16Array(4), [2, 2], 'int16'))).toContain("range: 'minmax'");
    expect(await wrong(new NDArray(new Float32Array(8), [2, 2], 'complex64'))).toContain('x.abs()');
    expect(await wrong(matrix, { range: [1, 1] })).toContain('a range [low, high]');
    expect(await wrong(matrix, { range: [0, Number.NaN] })).toContain('a range [low, high]');
    for (const colors of ['pink', 'toString'])
      expect(await wrong(matrix, { colors })).toContain("'gray', 'heat', 'diverging'");
    expect(
      await wrong(matrix, {
        colors: [
          [0, 0, 300],
          [0, 0, 0],
        ],
      }),
    ).toContain('from 0 to 255');
    expect(await wrong(matrix, { level: 10 })).toContain('a level from 0 to 9');
    expect(await wrong(matrix, { colours: 'heat' })).toContain('colours');
    const rgb = new NDArray(new Uint8Array(12), [2, 2, 3], 'uint8');
    expect(await wrong(rgb, { colors: 'heat' })).toContain('no colors for an image that has its own');
  });
});

describe('columns and rows', () => {
  it('hands over columns as typed arrays of numbers, one without a copy', async () => {
    expect(await matrix.toColumns(['a', 'b'])).toEqual({
      a: new Float64Array([1, 3]),
      b: new Float64Array([2, 4]),
    });
    expect((await line.toColumns(['k'])).k).toBe(line.data);
    const ids = new NDArray(new BigInt64Array([1n, 2n]), [2], 'int64');
    expect(await ids.toColumns(['id'])).toEqual({ id: new Float64Array([1, 2]) });
    const half = await lazy([[1.5, 2]])
      .astype('float16')
      .compute();
    expect(await half.toColumns(['a', 'b'])).toEqual({
      a: new Float32Array([1.5]),
      b: new Float32Array([2]),
    });
    const none = new NDArray(new Float64Array(0), [0, 2], 'float64');
    expect(await none.toColumns(['a', 'b'])).toEqual({ a: new Float64Array(0), b: new Float64Array(0) });
    expect(none.toRows(['a', 'b'])).toEqual([]);
  });

  it('makes rows that are JSON', async () => {
    expect(JSON.stringify(matrix.toRows(['a', 'b']))).toBe('[{"a":1,"b":2},{"a":3,"b":4}]');
    const ids = new NDArray(new BigInt64Array([1n, 2n]), [2], 'int64');
    expect(JSON.stringify(ids.toRows(['id']))).toBe('[{"id":1},{"id":2}]');
    expect((await lazy([true]).compute()).toRows(['is'])).toEqual([{ is: true }]);
  });

  it('refuses names and arrays that do not fit', async () => {
    expect(() => matrix.toRows(['a'])).toThrow('2 names for (2, 2)');
    expect(() => matrix.toRows(['a', 'a'])).toThrow('different names');
    await expect(matrix.toColumns('ab' as never)).rejects.toThrow('different names');
    expect(() => new NDArray(new Float64Array(1), [], 'float64').toRows([])).toThrow('one or two axes');
    expect(() => new NDArray(new Float32Array(2), [1], 'complex64').toRows(['z'])).toThrow('x.real()');
  });
});
