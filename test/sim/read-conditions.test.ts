/** Loops with a condition where the driver has no conditional nodes: the host reads each condition back. */
import { describe, expect, it } from 'vitest';
import { cudaInfo } from '../../src/exec/native/native.js';
import { type Lazy, lazy, whileLoop } from '../../src/index.js';
import { SIM_ENVIRONMENT } from './environment.js';
import { describeSimulator, setFaults } from './simulator.js';
import { without } from './without.js';

const device = 'cuda';

// Loads what the copy needs, which is not beside it.
describeSimulator();
process.env.WEFT_CUDA_DRIVER = without(SIM_ENVIRONMENT.WEFT_CUDA_DRIVER, 'cuGraphConditionalHandleCreate');

const line = lazy(Int32Array.from({ length: 40 }, (_, i) => i));
const upTo = (limit: number): Lazy =>
  whileLoop(
    (y) => y.max().less(limit),
    (y) => y.add(1),
    line,
  );

describe('a driver without conditional nodes', () => {
  it('is used as it is', async () => {
    expect(cudaInfo().driver).toMatchObject({ conditionalNodes: false });
    expect((await upTo(60).compute({ device })).at(0)).toBe(21);
  });

  it('has each condition read back once, and does one step more than is needed', async () => {
    await upTo(60).compute({ device });
    setFaults([]);
    await upTo(60).compute({ device });
    const calls = describeSimulator().counts;
    // 39 to 60: 21 steps, and those of the start value's condition.
    expect(calls['run copy']).toBeGreaterThanOrEqual(22);
    expect(calls.cuMemcpyDtoHAsync_v2).toBe(1 + 23);
    expect(calls.cuGraphLaunch ?? 0).toBe(0);
  });

  it('has nothing of the step of a loop of at most one launched where it is not to run', async () => {
    const launches: number[] = [];
    for (const limit of [39, 40]) {
      const branch = whileLoop(
        (y) => y.max().less(limit),
        (y) => y.add(1),
        line,
        { max: 1 },
      );
      setFaults([]);
      expect((await branch.compute({ device })).at(0)).toBe(limit - 39);
      launches.push(describeSimulator().counts.cuLaunchKernel!);
    }
    const [none, one] = launches;
    expect(one!).toBeGreaterThan(none!);
  });

  it('ends a loop behind the step that has an index out of range', async () => {
    const next = lazy(Int32Array.from({ length: 40 }, (_, i) => i + 1));
    const end = whileLoop(
      (p) => p.notEqual(50).all(),
      (p) => next.take(p),
      lazy(Int32Array.of(7)),
    );
    setFaults([]);
    await expect(end.compute({ device })).rejects.toThrow('axis 0 of 40 elements: 40');
    expect(describeSimulator().counts.cuLaunchKernel).toBeLessThan(200);
  });

  it('says nothing of it when a loop is explained', () => {
    expect(`${upTo(60).explain({ device })}`).not.toContain('decided on the device');
  });
});
