/** Small runs of several worker threads at once, which share the process's pools and libraries. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { testedProgram } from '../support/tested-program.js';

const SCRIPT = testedProgram('guest/small-runs.js');

it.each(['0', '1'])(
  'small runs of threads give what one thread gives, with WEFT_POISON=%s',
  async (poison) => {
    const env = { ...process.env, WEFT_POISON: poison };
    const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT], { env });
    const { calls, different } = JSON.parse(stdout) as { calls: number; different: string[] };
    expect(calls).toBeGreaterThan(10);
    expect(different).toEqual([]);
  },
);
