/** Large results of which a program keeps the last few: neither collections of the whole heap nor memory without bound. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ResultCollector } from '../../src/exec/native/result-collector.js';
import { testedProgram } from '../support/tested-program.js';

const SCRIPT = testedProgram('guest/kept-results.js');

it('150 results of 32 MiB of which three are kept have the whole heap collected a few times at most', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT]);
  const { collections, different, mostResults } = JSON.parse(stdout) as Record<string, number>;
  expect(different).toBe(0);
  expect(collections).toBeLessThan(6);
  expect(mostResults).toBeLessThan(30);
});

const MiB = 2 ** 20;

/**
 * A program that keeps its last few results, over an engine whose second collection makes old objects of what it sees.
 * Gives what was between collections, and the bytes of all memory there was at last, in results.
 */
function simulated(
  calls: number,
  kept: number,
  { totalBytes = 2 ** 40, byteLength = 64 * MiB, ofItsOwn = 0 } = {},
) {
  const alive = new Map<number, number>(); // how many collections have seen a result whose memory is out
  const between: number[] = [];
  let [free, most, call, last, own] = [0, 0, 0, 0, 0];
  const collect = (): number => {
    let freed = 0;
    for (const [k, seen] of alive) {
      if (k < call - kept && seen < 2) {
        alive.delete(k);
        freed += byteLength;
      } else alive.set(k, seen + 1);
    }
    free += freed;
    return freed;
  };
  const collector = new ResultCollector({
    release: () => {
      between.push(call - last);
      last = call;
      const freed = own > 0 ? 0 : collect();
      own = 0;
      const seen = [...alive.values()];
      const bytesOf = (times: (seen: number) => boolean): number => seen.filter(times).length * byteLength;
      return [freed, bytesOf((each) => each === 1), bytesOf((each) => each === 2)];
    },
    hasCollected: () => own > 0,
    keptBytes: () => free,
    totalBytes: () => totalBytes,
  });
  for (; call < calls; call++) {
    collector.count(byteLength);
    if (free > 0) free -= byteLength;
    else most++;
    alive.set(call, 0);
    for (let k = 0; k < ofItsOwn; k++, own++) collect();
  }
  return { between, most };
}

it.each([0, 1, 3, 8, 16, 40])(
  'results of which %i are kept take little more than twice as much memory',
  (kept) => {
    const { between, most } = simulated(400, kept);
    expect(most).toBeLessThan(4 * kept + 4);
    expect(Math.max(...between)).toBeLessThan(2 * kept + 16);
    // None but the first few calls, which learn how many are kept, take further memory.
    expect(simulated(4000, kept).most).toBe(most);
  },
);

it('between two collections come results of a 16th of the memory that the process may use', () => {
  for (const totalBytes of [2 ** 30, 2 ** 33]) {
    const { between } = simulated(400, 40, { totalBytes, byteLength: 2 ** 24 });
    expect(Math.max(...between) * 2 ** 24).toBeLessThanOrEqual(totalBytes / 16);
  }
});

it('where each collection finds results for the second time, the next ones come soon', () => {
  const { between } = simulated(100, 3, { byteLength: 16 * MiB, ofItsOwn: 2 });
  expect(Math.max(...between) * 16).toBeLessThan(256);
  expect(between.at(-1)).toBe(1);
});
