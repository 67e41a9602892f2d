/**
 * The dtypes that tsc tells of results against those that arrays have: of every function, beside every dtype.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DTYPES, type DType, type Lazy, zeros } from '../src/index.js';

const arrays = Object.fromEntries(DTYPES.map((dtype) => [dtype, zeros([2, 2], dtype)])) as Record<
  DType,
  Lazy
>;
const METHODS = [...readFileSync('src/api/methods.ts', 'utf8').matchAll(/^ {2}readonly (\w+):/gm)].map(
  ([, name]) => name!,
);

/** Arguments that methods are called with, as text: those that a method does not take are refused. */
const SCALARS: readonly (readonly [text: string, value: unknown])[] = [
  ['', undefined],
  ['1', 1],
  ['0.5', 0.5],
  ['1n', 1n],
  ['true', true],
];
const LISTS: readonly (readonly [text: string, value: readonly unknown[]])[] = [
  ['{ re: 1, im: 0 }', [{ re: 1, im: 0 }]],
  ["'1:'", ['1:']],
  ['[2, 2]', [[2, 2]]],
  ['0, 1', [0, 1]],
  ['1, 0.5', [1, 0.5]],
  ["{ dtype: 'complex64' }", [{ dtype: 'complex64' }]],
  ['0, { keepdims: true }', [0, { keepdims: true }]],
];

/** The one line that tsc has to refuse. */
const FALSE = "holds(of.float32.sqrt(), 'float64');";

/** Calls of a method of an array, as text with the dtype of the result; none of those that are refused. */
function* callsOf(name: string, dtype: DType): Generator<readonly [text: string, result: DType]> {
  const x = arrays[dtype];
  const call = x[name as 'add'] as (...args: unknown[]) => Lazy;
  const beside = [...new Set<DType>([dtype, 'uint8', 'float32'])];
  const others = beside.map((other) => [`of.${other}`, [arrays[other]]] as const);
  const pairs = beside.map((other) => [`of.${dtype}, of.${other}`, [x, arrays[other]]] as const);
  const scalars = SCALARS.map(([text, value]) => [text, value === undefined ? [] : [value]] as const);
  for (const [text, args] of [...scalars, ...LISTS, ...others, ...pairs]) {
    try {
      yield [`of.${dtype}.${name}(${text})`, call.apply(x, [...args]).dtype];
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    }
  }
}

/** The errors of tsc in a source file. */
function errorsIn(source: string): string[] {
  const folder = mkdtempSync(resolve('dist', '.types-'));
  try {
    const config = {
      extends: '../../tsconfig.json',
      compilerOptions: { noEmit: true, rootDir: '../..' },
      include: ['*.ts'],
      exclude: [],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    writeFileSync(join(folder, 'calls.ts'), source);
    execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', folder], { encoding: 'utf8' });
    return [];
  } catch (error) {
    const { stdout } = error as { stdout?: string };
    if (stdout === undefined || stdout === '') throw error;
    return stdout.split('\n').filter((line) => line.includes('error'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('the types of results', () => {
  it('hold the dtypes that results have, of every method beside every dtype', () => {
    const calls = METHODS.flatMap((name) => DTYPES.flatMap((dtype) => [...callsOf(name, dtype)]));
    expect(calls.length).toBeGreaterThan(5_000);
    const lines = calls.map(([text, result]) => `holds(${text}, '${result}');`);
    // The declarations that users have, beside which the sources themselves are not checked once more.
    const source = `import type { DType, Lazy } from '../src/index.js';
declare const of: { readonly [K in DType]: Lazy<K> };
declare function holds<D extends DType>(array: Lazy<D>, dtype: NoInfer<D>): void;
${[...lines, FALSE].join('\n')}
`;
    const wrong = errorsIn(source).map((error) => {
      const line = Number(/\((\d+),/.exec(error)![1]);
      return `${source.split('\n')[line - 1]} ${error}`;
    });
    // Calls that pass at run time and that types refuse (a scalar for a list) tell nothing of dtypes.
    const found = wrong.filter((each) => /Argument of type '"\w+"' is not assignable/.test(each));
    expect(found).toEqual([expect.stringContaining(FALSE)]);
    expect(wrong.length).toBeLessThan(calls.length / 10);
  });
});
