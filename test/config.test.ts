/** Settings: what the environment says, and what it may not say. */
import { describe, expect, it } from 'vitest';
import { readConfig } from '../src/host/config.js';
import { ArgumentError } from '../src/host/errors.js';

const read = (env: Record<string, string>) => readConfig(env, '/home/u');

describe('settings', () => {
  it('have defaults for everything', () => {
    expect(read({})).toMatchObject({
      device: undefined,
      dumpFolder: undefined,
      cacheFolder: '/home/u/.cache/weft',
      cacheByteLimit: 512 * 2 ** 20,
      threads: undefined,
      isa: undefined,
      compilesLoops: true,
      poison: false,
    });
    expect([...read({}).debug]).toEqual([]);
  });

  it('take an empty variable as one that is not set', () => {
    expect(read({ WEFT_THREADS: '', WEFT_DEVICE: '', WEFT_DEBUG: '', WEFT_CACHE: '', WEFT_ISA: '' })).toEqual(
      read({}),
    );
  });

  it('put the cache where WEFT_CACHE says, else beside other caches', () => {
    expect(read({ WEFT_CACHE: '/c', XDG_CACHE_HOME: '/x' }).cacheFolder).toBe('/c');
    expect(read({ XDG_CACHE_HOME: '/x' }).cacheFolder).toBe('/x/weft');
    expect(read({ WEFT_CACHE: 'off' }).cacheFolder).toBeUndefined();
  });

  it('let values wait where WEFT_SCRATCH says, else in the folder of temporary files', () => {
    expect(read({ WEFT_SCRATCH: '/s', TMPDIR: '/t' }).scratchFolder).toBe('/s');
    expect(read({ TMPDIR: '/t' }).scratchFolder).toBe('/t');
    expect(read({}).scratchFolder).toBe('/var/tmp');
  });

  it('read the words of WEFT_DEBUG', () => {
    expect([...read({ WEFT_DEBUG: 'graph, plan' }).debug]).toEqual(['graph', 'plan']);
  });

  it('read devices and their deadline', () => {
    expect(read({ WEFT_DEVICES: 'all' }).devices).toBe('all');
    expect(read({ WEFT_DEVICES: '2' }).devices).toBe(2);
    expect(read({ WEFT_DEVICES: 'cuda:1, cuda:0' }).devices).toEqual(['cuda:1', 'cuda:0']);
    expect(read({}).devices).toBeUndefined();
    expect([read({}).deadline, read({ WEFT_DEADLINE: '500' }).deadline]).toEqual([120_000, 500]);
  });

  it('read the deadline of decoders', () => {
    expect(read({}).decodeDeadline).toBe(20_000);
    expect(read({ WEFT_DECODE_DEADLINE: '500' }).decodeDeadline).toBe(500);
  });

  it.each([
    ['WEFT_DEADLINE', '0'],
    ['WEFT_DEADLINE', 'soon'],
    ['WEFT_DECODE_DEADLINE', '0'],
    ['WEFT_DEVICE', 'gpu'],
    ['WEFT_DEVICE', 'cuda:x'],
    ['WEFT_DEVICES', '0'],
    ['WEFT_DEVICES', '-1'],
    ['WEFT_DEVICES', '1.5'],
    ['WEFT_DEVICES', 'cuda:0,,cuda:1'],
    ['WEFT_MEMORY', 'lots'],
    ['WEFT_MEMORY', '0'],
    ['WEFT_MEMORY', '-1'],
    ['WEFT_HOST_MEMORY', '2 apples'],
    ['WEFT_PROCESS_MEMORY', '0%'],
    ['WEFT_CACHE_BYTES', '1e30'],
    ['WEFT_THREADS', '0'],
    ['WEFT_THREADS', 'many'],
    ['WEFT_THREADS', '1.5'],
    ['WEFT_CACHE_BYTES', '-1'],
    ['WEFT_DEBUG', 'graph,everything'],
    ['WEFT_ISA', 'avx3'],
    ['WEFT_CPU_JIT', 'no'],
    ['WEFT_POISON', 'yes'],
  ])('refuse %s=%s and name the variable', (name, value) => {
    expect(() => read({ [name]: value })).toThrow(ArgumentError);
    expect(() => read({ [name]: value })).toThrow(name);
  });
});
