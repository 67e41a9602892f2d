/**
 * The devices the conformance suite runs on: the reference interpreter (which holds the front end alone:
 * inference, composites, views), the plan interpreter (which adds fusion and planning), the CPU, and what
 * WEFT_TEST_DEVICE names (`cuda`, `cuda:1`, or a list with commas). Without the variable an NVIDIA GPU is
 * used when one is present. WEFT_TEST_ONLY names all of them: the simulated GPU has a project of its own in
 * `vitest.config.ts`.
 *
 * One device alone: `npx vitest run test/conformance -t 'on cuda'`.
 */
import { existsSync } from 'node:fs';
import { SIM_ENVIRONMENT } from '../sim/environment.js';

const present = (): boolean => existsSync('/dev/nvidia0');

export function backends(): readonly string[] {
  const only = process.env.WEFT_TEST_ONLY;
  if (only !== undefined) return only.split(',');
  const named = process.env.WEFT_TEST_DEVICE;
  const others =
    named === undefined ? (present() ? ['cuda'] : []) : named.split(',').filter((device) => device !== '');
  return [...new Set(['reference', 'interpreted', 'cpu', ...others])];
}

/**
 * Whether the tests of a file that need no backend, or the CPU alone, are run here: not a second time beside those of
 * the simulated GPU, where the same code would give the same.
 */
export const runsOthers = process.env.WEFT_TEST_ONLY !== 'cuda';
export const whyNotOthers = runsOthers ? '' : ' (skipped: once, beside the CPU)';

/** Whether a device is a simulated one. */
export const isSimulated = (device: string): boolean =>
  device.startsWith('cuda') && process.env.WEFT_CUDA_DRIVER === SIM_ENVIRONMENT.WEFT_CUDA_DRIVER;
