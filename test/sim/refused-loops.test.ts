/**
 * A driver that has conditional nodes and refuses a graph with one: the host reads conditions back, on that
 * device alone, and what is said of it is true from then on.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { type Lazy, lazy, whileLoop } from '../../src/index.js';
import { examine } from '../../src/inspect/doctor.js';
import { describeSimulator, setDevices, setFaults } from './simulator.js';

const UNSUPPORTED = 801;
const CALLS = ['cuGraphAddNode', 'cuGraphConditionalHandleCreate', 'cuGraphInstantiate_v2'] as const;
/** Takes loops; each of the others refuses them by another call. */
const LAST = `cuda:${CALLS.length}`;

beforeAll(() => {
  setDevices([...CALLS, LAST].map(() => ({})));
});

const upTo = (limit: number): Lazy =>
  whileLoop(
    (y) => y.max().less(limit),
    (y) => y.add(1),
    lazy(new Int32Array(40)),
  );

describe('a graph with a loop', () => {
  it.each(CALLS.map((call, k) => [call, `cuda:${k}`] as const))(
    'that %s refuses on %s is not tried again there',
    async (call, device) => {
      expect(`${upTo(60).explain({ device })}`).toContain('decided on the device');
      setFaults([{ call, nth: 0, status: UNSUPPORTED }]);
      expect((await upTo(60).compute({ device })).at(0)).toBe(60);
      expect(describeSimulator().faultsMet).toBe(1);
      expect((await upTo(60).compute({ device })).at(0)).toBe(60);
      expect((await upTo(61).compute({ device })).at(0)).toBe(61);
      const { faultsMet, counts } = describeSimulator();
      expect([faultsMet, counts.cuGraphLaunch ?? 0]).toEqual([1, 0]);
      setFaults([]);
      expect(`${upTo(60).explain({ device })}`).not.toContain('decided on the device');
    },
  );

  it('goes on being used on other devices', async () => {
    expect((await upTo(60).compute({ device: LAST })).at(0)).toBe(60);
    expect(describeSimulator().counts.cuGraphLaunch).toBe(1);
    expect(`${upTo(60).explain({ device: LAST })}`).toContain('decided on the device');
  });

  it('is what the doctor tries', async () => {
    const { findings } = await examine();
    expect(findings.find(({ name }) => name === 'loop conditions')).toMatchObject({
      status: 'broken',
      value: expect.stringContaining('on cuda:0, cuda:1, cuda:2: read back') as string,
    });
  });
});
