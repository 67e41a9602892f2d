/**
 * Device memory that is kept for reuse, as it is outside tests (elsewhere here WEFT_POISON has every block
 * come from the driver, and every buffer has its own): a repeated compute takes none anew, no more is kept
 * than was in use at once, it is given back when asked, and the buffers of a run are copied together.
 */
import { describe, expect, it, vi } from 'vitest';
import { createProgram, type RunResult, run, trim } from '../../src/exec/native/native.js';
import type { DeviceBuffer } from '../../src/graph/expr.js';
import { explain, eye, linalg } from '../../src/index.js';
import { bitsOf, CASES } from './programs.js';
import { floats, ramp, scaleBy, use } from './scale.js';
import { describeSimulator, setFaults, setSchedule, takeProblems } from './simulator.js';

vi.hoisted(() => {
  process.env.WEFT_POISON = '0';
});

const MiB = 2 ** 20;

const allocations = (): number => describeSimulator().counts.cuMemAllocFromPoolAsync ?? 0;
const handedOut = (): number => describeSimulator().devices[0]!.inUse;

function deviceBuffer({ outputs }: RunResult): DeviceBuffer {
  const [buffer] = outputs;
  if (buffer === undefined || buffer instanceof ArrayBuffer) throw new Error('the result did not stay');
  return buffer;
}

/** Twice x, on the device. */
async function doubleOf(bytes: number, x?: DeviceBuffer): Promise<DeviceBuffer> {
  const program = createProgram(scaleBy(bytes / 4, [2]));
  return deviceBuffer(await run(program, [x ?? ramp(bytes / 4)], { outputs: ['device'] }));
}

describe('memory of a device', () => {
  it('that was disposed serves the next run, large or small', async () => {
    for (const bytes of [4, 400, 5 * MiB + 4]) {
      const x = await doubleOf(bytes);
      (await doubleOf(bytes, x)).dispose();
      setFaults([]);
      for (let i = 0; i < 5; i++) (await doubleOf(bytes, x)).dispose();
      expect({ bytes, allocations: allocations() }).toEqual({ bytes, allocations: 0 });
      x.dispose();
    }
  });

  it('is counted in what is held, not in what is in use, until it is trimmed', async () => {
    await trim();
    const before = use();
    const buffer = await doubleOf(8 * MiB);
    expect(use().inUse - before.inUse).toBe(8 * MiB);
    buffer.dispose();
    expect(use().inUse).toBe(before.inUse);
    expect(use().held - before.held).toBeGreaterThanOrEqual(8 * MiB);
    await trim();
    expect(use().held).toBe(before.held);
    expect(handedOut()).toBe(0);
  });

  it('is kept no more than was in use at once', async () => {
    await trim();
    let most = 0;
    for (let step = 0; step < 30; step++) {
      // Sizes that hardly ever fit what is kept, up and down.
      const bytes = (1 + ((step * 7) % 11)) * 2 ** 18 + step * 16_384;
      const buffer = await doubleOf(bytes);
      // The input's copy and the result.
      most = Math.max(most, 2 * bytes);
      buffer.dispose();
      expect(handedOut()).toBeLessThanOrEqual(most * 1.02);
    }
  });

  it('that is kept is given back where the device has no more', async () => {
    await trim();
    // Two blocks of 15 MiB stay; then one of 25 MiB is needed twice.
    (await doubleOf(15 * MiB)).dispose();
    const large = await doubleOf(25 * MiB);
    const { outputs } = await run(createProgram(scaleBy(4, [3])), [ramp(4)], { outputs: ['host'] });
    expect(floats(outputs[0])).toEqual([0, 3, 6, 9]);
    large.dispose();
    await trim();
  });

  it('that is kept for a run is not handed to another before its work is done', async () => {
    const n = 3000;
    const programs = [2, 3, 5].map((factor) => createProgram(scaleBy(n, [factor])));
    const x = ramp(n);
    for (let seed = 1; seed <= 20; seed++) {
      setSchedule({ timing: seed % 2 === 0 ? 'random' : 'late', seed });
      const runs = programs.map(async (program) => {
        const first = deviceBuffer(await run(program, [x], { outputs: ['device'] }));
        const second = run(program, [first], { outputs: ['host'] });
        first.dispose();
        return floats((await second).outputs[0]);
      });
      const results = await Promise.all(runs);
      for (const [k, factor] of [2, 3, 5].entries()) {
        expect(results[k]).toEqual([...x].map((value) => factor * factor * value));
      }
    }
    setSchedule({ timing: 'late', seed: 1 });
  });
});

describe('the copies of a run', () => {
  const copies = async (n: number, factors: readonly number[]) => {
    const program = createProgram(scaleBy(n, factors));
    const inputs = factors.map((_, k) => ramp(n).map((value) => value + k));
    setFaults([]);
    const { outputs } = await run(program, inputs, { outputs: factors.map(() => 'host') });
    const { counts } = describeSimulator();
    for (const [k, output] of outputs.entries()) {
      expect(floats(output)).toEqual([...inputs[k]!].map((value) => value * factors[k]!));
    }
    return { up: counts.cuMemcpyHtoDAsync_v2, down: counts.cuMemcpyDtoHAsync_v2 };
  };

  it('are one for its small inputs, and one for small results without a gap between them', async () => {
    expect(await copies(1, [3])).toEqual({ up: 1, down: 1 });
    expect(await copies(64, [2, 3, 4, 5, 6])).toEqual({ up: 1, down: 1 });
    // The padding between results is nobody's to read.
    expect(await copies(65, [2, 3, 4])).toEqual({ up: 1, down: 3 });
  });

  it('are one for each buffer that does not fit into the slot', async () => {
    // 40 KiB each: the first fills most of 64 KiB.
    expect(await copies(10_240, [2, 3, 4])).toEqual({ up: 3, down: 3 });
    expect(await copies(16_384, [2])).toEqual({ up: 1, down: 1 });
    expect(await copies(16_385, [2])).toEqual({ up: 1, down: 1 });
  });
});

describe('every program where memory is kept', () => {
  it.each(CASES)('takes what its plan says, to the byte: %s', async (_, { outputs }) => {
    await bitsOf(outputs, 'cuda');
    await trim();
    takeProblems();
    await bitsOf(outputs, 'cuda');
    expect(describeSimulator().devices[0]!.peak).toBe(explain(outputs, { device: 'cuda' }).peakBytes);
  });

  it.each(CASES)('%s', async (_, { outputs }) => {
    const first = await bitsOf(outputs, 'cuda');
    setFaults([]);
    for (let seed = 1; seed <= 4; seed++) {
      setSchedule({ timing: 'random', seed });
      const bits = await bitsOf(outputs, 'cuda');
      expect(bits.flatMap((bytes, i) => (bytes.equals(first[i]!) ? [] : [i]))).toEqual([]);
    }
    setSchedule({ timing: 'late', seed: 1 });
    // A program's memory is what it was.
    expect(allocations()).toBe(0);
  });
});

describe('calls of a library where memory is kept', () => {
  it.each([
    ['cholesky', (v: number) => linalg.cholesky(eye(40).mul(v)), Math.sqrt],
    ['inv', (v: number) => linalg.inv(eye(40).mul(v)), (v: number) => 1 / v],
    ['det', (v: number) => linalg.det(eye(40).mul(v)), (v: number) => v ** 40],
  ] as const)('compute of what they are given each time: %s', async (_, of, expected) => {
    // From the third time on the graph that was captured of the steps is launched.
    for (let v = 2; v < 8; v++) {
      const { data } = await of(v).compute({ device: 'cuda' });
      expect(Number(data[0]) / expected(v)).toBeCloseTo(1, 12);
    }
  });
});
