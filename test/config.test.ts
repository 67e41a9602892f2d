/** Settings: what the environment says, and what it may not say. */
import { describe, expect, it } from 'vitest';
import { readConfig } from '../src/config.js';
import { ArgumentError } from '../src/errors.js';

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

  it('read the words of WEFT_DEBUG', () => {
    expect([...read({ WEFT_DEBUG: 'graph, plan' }).debug]).toEqual(['graph', 'plan']);
  });

  it.each([
    ['WEFT_THREADS', '0'],
    ['WEFT_THREADS', 'many'],
    ['WEFT_THREADS', '1.5'],
    ['WEFT_CACHE_BYTES', '-1'],
    ['WEFT_DEBUG', 'graph,everything'],
    ['WEFT_ISA', 'avx3'],
    ['WEFT_POISON', 'yes'],
  ])('refuse %s=%s and name the variable', (name, value) => {
    expect(() => read({ [name]: value })).toThrow(ArgumentError);
    expect(() => read({ [name]: value })).toThrow(name);
  });
});
