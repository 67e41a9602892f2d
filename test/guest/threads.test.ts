/**
 * The short form of `threads.ts`: worker threads that are terminated while they load, compute, compile, read
 * and write.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { testedProgram } from '../support/tested-program.js';

const SCRIPT = testedProgram('guest/threads.js');

describe('worker threads', () => {
  it.concurrent.each(['cpu', 'simulated'])(
    'come and go on the device %s, and leave nothing',
    async (device) => {
      const args = [SCRIPT, '--device', device, '--workers', '4', '--cycles', '5'];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const { failures, rounds, computes } = JSON.parse(stdout) as {
        failures: string[];
        rounds: number;
        computes: number;
      };
      expect(failures).toEqual([]);
      expect(rounds).toBeGreaterThan(5);
      expect(computes).toBeGreaterThan(5);
    },
  );
});
