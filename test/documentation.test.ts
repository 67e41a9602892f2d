/**
 * The examples of the documentation: of every public function's doc comment, of the README and of the guide. One
 * process type-checks and runs them on the CPU, and compares what they print with what the pages say.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

interface Stretch {
  readonly code: string;
  readonly expected: readonly string[];
}

it('reads the output of an example beside its code, and writes it there', async () => {
  const path: string = '../scripts/reference/snippets.mjs';
  const { stretchesOf, withOutput } = (await import(path)) as {
    stretchesOf(code: string): Stretch[];
    withOutput(code: string, printed: readonly (readonly string[])[]): string;
  };
  const code = 'const x = f(1)\nx\n//=> 1\n//=>  2\ng(x)\n//=> 3';
  expect(stretchesOf(code)).toEqual([
    { code: 'const x = f(1)\nx', expected: ['1', ' 2'] },
    { code: 'g(x)', expected: ['3'] },
  ]);
  expect(withOutput(code, [['4'], ['5', '6']])).toBe('const x = f(1)\nx\n//=> 4\ng(x)\n//=> 5\n//=> 6');
});

// Ten seconds of one processor. The limit is for a machine that does much else; an example that does not end is an
// error of the process itself, after a minute.
const LIMIT_MS = 600_000;
it(
  'has an example of every public function, and prints what the examples say',
  async () => {
    const args = [...process.execArgv, 'scripts/check-examples.mjs'];
    const options = { env: { ...process.env, WEFT_DEVICE: 'cpu' }, timeout: LIMIT_MS };
    const { code, stdout, stderr } = await promisify(execFile)(process.execPath, args, options).then(
      (ended) => ({ ...ended, code: 0 }),
      (failed: { code: number | string | null; stdout: string; stderr: string }) => failed,
    );
    expect(stderr, 'what an example prints is written by: npm run examples -- --update').toBe('');
    expect(code).toBe(0);
    expect(Number(/^(\d+) examples ran/.exec(stdout)?.[1])).toBeGreaterThan(390);
  },
  1.1 * LIMIT_MS,
);
