/**
 * Turns of computes under a limit of the process: one that is refused runs alone, once those under way have
 * ended.
 */

import { describe, expect, it } from 'vitest';
import { runLimited } from '../../src/exec/run/process-limit.js';
import { gpu } from '../../src/exec/targets/device.js';
import { MemoryError } from '../../src/host/errors.js';

/** A piece of work that ends on demand. */
function work(log: string[], name: string) {
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const run = async (): Promise<string> => {
    log.push(`${name} begins`);
    await ended;
    log.push(`${name} ends`);
    return name;
  };
  return { run, end: () => end() };
}

const refuse = async (): Promise<never> => {
  throw new MemoryError('no room');
};
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const never = (): Promise<never> => Promise.reject(new Error('not to be called'));

describe('computes under a limit of the process', () => {
  it('run together; one that is refused waits, and later ones come after it', async () => {
    const log: string[] = [];
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => work(log, name)) as [
      ReturnType<typeof work>,
      ReturnType<typeof work>,
      ReturnType<typeof work>,
      ReturnType<typeof work>,
    ];
    const results = [
      runLimited([gpu(1)], a.run, never),
      runLimited([gpu(1), gpu(2)], b.run, never),
      runLimited([gpu(2), gpu(1)], refuse, c.run),
    ];
    await turn();
    results.push(runLimited([gpu(1)], d.run, never));
    await turn();
    expect(log).toEqual(['a begins', 'b begins']);
    a.end();
    await turn();
    expect(log).toEqual(['a begins', 'b begins', 'a ends']);
    b.end();
    await turn();
    expect(log.slice(3)).toEqual(['b ends', 'c begins']);
    c.end();
    d.end();
    expect(await Promise.all(results)).toEqual(['a', 'b', 'c', 'd']);
    expect(log.slice(5)).toEqual(['c ends', 'd begins', 'd ends']);
  });

  it('are refused when they do not fit alone, and others go on', async () => {
    const log: string[] = [];
    await expect(runLimited([gpu(1)], refuse, refuse)).rejects.toThrow('no room');
    await expect(runLimited([gpu(1)], never, never)).rejects.toThrow('not to be called');
    const a = work(log, 'a');
    a.end();
    expect(await runLimited([gpu(1)], a.run, never)).toBe('a');
  });
});
