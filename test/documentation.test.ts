/**
 * The examples of the documentation: of every public function's doc comment, of the README and of the guide. One
 * process type-checks and runs them on the CPU, and compares what they print with what the pages say.
 */
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

it('has an example of every public function, and prints what the examples say', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/check-examples.mjs'], {
    encoding: 'utf8',
    env: { ...process.env, WEFT_DEVICE: 'cpu' },
  });
  expect(stderr, 'what an example prints is written by: npm run examples -- --update').toBe('');
  expect(status).toBe(0);
  expect(Number(/^(\d+) examples ran/.exec(stdout)?.[1])).toBeGreaterThan(390);
});
