/**
 * Views, joins and masks over several dtypes on every backend, against NumPy: alone, in a chain and under
 * arithmetic.
 */
import { describe, expect, it, vi } from 'vitest';
import { concat, type Lazy, lazy, stack } from '../../src/index.js';
import { callMethod, failuresOf, freeFunction, type Prepared, toLazy } from '../support/api.js';
import { backends } from '../support/backends.js';
import { fixtures, type ViewCase } from '../support/fixtures.js';
import { fromScalars } from '../support/host.js';
import { EXACT, mismatch } from '../support/ulp.js';

// One test of a table computes all its cases; on a GPU each kernel of a cold cache has to be compiled.
vi.setConfig({ testTimeout: 300_000 });

const { cases, read } = fixtures('views');
const calls = [...new Set(cases.map((c) => c.call))];

function build(c: ViewCase, wrap: (x: Lazy) => Lazy): Lazy {
  const inputs = c.inputs.map((x) => wrap(toLazy(read(x))));
  if (c.call === 'concat' || c.call === 'stack') return freeFunction(c.call)(inputs, ...c.args);
  return callMethod(inputs[0]!, c.call, c.call === 'slice' ? (c.args[0] as readonly unknown[]) : c.args);
}

const prepare = (c: ViewCase, wrap: (x: Lazy) => Lazy, after: (x: Lazy) => Lazy): Prepared => ({
  label: `${c.call}(${JSON.stringify(c.args)}) of ${c.dtype} [${c.inputs.map((x) => `[${x.shape}]`)}]`,
  build: () => after(build(c, wrap)),
  check: (actual) => mismatch(actual, read(c.output), EXACT),
});

/** Calls that put in zeros, which a negation after them turns into ones. */
const FILLS = ['tril', 'triu', 'pad'];

const same = (x: Lazy): Lazy => x;

describe.each(backends())('views on %s', (device) => {
  it('of many arrays beside each other give the elements in order', async () => {
    const count = device === 'interpreted' ? 60 : 300;
    const lengths = Array.from({ length: count }, (_, k) => [1, 70, 0, 3][k % 4]!);
    const parts = lengths.map((n, k) => Array.from({ length: n }, (_, i) => 100 * k + i));
    const wanted = parts.flat();
    const columns = parts.map((part) => lazy(part, { shape: [part.length, 1] }));
    const few = wanted.slice(0, 90);
    const joined: readonly [Lazy, readonly number[]][] = [
      [concat(parts.map((part) => lazy(part))), wanted],
      [concat(columns.map((column) => column.add(column))), wanted.map((v) => 2 * v)],
      [
        stack(
          few.map((v) => lazy([v, -v])),
          1,
        ),
        [...few, ...few.map((v) => -v)],
      ],
    ];
    const prepared = joined.map(
      ([x, elements]): Prepared => ({
        label: `${x}`,
        build: () => x,
        check: (actual) => mismatch(actual, fromScalars('float64', x.shape, elements), EXACT),
      }),
    );
    expect(await failuresOf(device, prepared)).toEqual([]);
  });

  it.each(calls)('%s gives what NumPy gives', async (call) => {
    const prepared = cases.filter((c) => c.call === call).map((c) => prepare(c, same, same));
    expect(await failuresOf(device, prepared)).toEqual([]);
  });

  it.each(calls)('%s of a computed array, under more arithmetic, keeps its elements', async (call) => {
    // Exact for every dtype here: doubling and halving, or two negations.
    const twice = (x: Lazy): Lazy => (x.dtype === 'bool' ? x.logicalNot() : x.add(x));
    const undo = (x: Lazy): Lazy =>
      x.dtype === 'bool' ? x.logicalNot() : x.subtract(x.divide(2).astype(x.dtype));
    const selected = cases.filter((c) => c.call === call && !(c.dtype === 'bool' && FILLS.includes(call)));
    expect(
      await failuresOf(
        device,
        selected.map((c) => prepare(c, twice, undo)),
      ),
    ).toEqual([]);
  });
});
