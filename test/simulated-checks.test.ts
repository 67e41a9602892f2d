/** WEFT_CHECK: CUDA C on the simulated GPU, where that is built, in a process of its own. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { SIM_FOLDER } from './sim/environment.js';

const script = new URL('../dist/test/support/checked-kernels.js', import.meta.url).pathname;

const told = async (environment: Readonly<Record<string, string>>): Promise<string[]> => {
  const env = { ...process.env, WEFT_CHECK: '1', ...environment };
  const { stdout } = await promisify(execFile)(process.execPath, [script], { env });
  return stdout.trim().split('\n');
};

const hasSimulator = existsSync(`${SIM_FOLDER}/weft-sim.node`);
const why = hasSimulator ? '' : ' (skipped: the simulator is not built, `npm run build:sim`)';

it.skipIf(!hasSimulator)(
  `tells races, undefined reads and accesses out of bounds of kernels in CUDA C, with their lines${why}`,
  async () => {
    const [right, race, undefinedRead, element] = await told({});
    expect(right).toBe('right: 2');
    expect(race).toMatch(
      /^race: ArgumentError: \[compute\] expected kernels without mistakes.*race: .*writes what another thread.*kernel\.cu:4/,
    );
    expect(undefinedRead).toMatch(/ArgumentError: .*undefined-read: .*reads undefined memory.*kernel\.cu:3/);
    expect(element).toMatch(/ArgumentError: .*out-of-bounds: .*operation_\w+:2/);
  },
);

it('says how to get the simulated GPU where it is not there', async () => {
  const [right] = await told({ WEFT_SIMULATOR: '/nowhere' });
  expect(right).toMatch(/DeviceError: /);
});
