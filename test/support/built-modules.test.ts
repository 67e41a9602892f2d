import { describe, expect, it } from 'vitest';
import * as weft from '../../src/index.js';
import { besideBuilt } from './built-modules.js';

describe('a project beside what is built', () => {
  const parts = besideBuilt({ test: { name: 'one', include: ['test/io/**/*.test.ts'], exclude: ['a'] } });

  it('leaves files that replace modules to one beside the sources', () => {
    const [built, sources] = parts.map(({ test }) => test!);
    expect(parts).toHaveLength(2);
    expect(sources).toMatchObject({ name: 'one-sources', include: ['test/io/zarr-replaced.test.ts'] });
    expect(built!.exclude).toEqual(expect.arrayContaining(['a', 'test/io/zarr-replaced.test.ts']));
    expect(built!.exclude).not.toContain('test/io/npy.test.ts');
    expect(besideBuilt({ test: { name: 'none', include: ['test/io/npy.test.ts'] } })).toHaveLength(1);
  });

  it('has functions that Vitest did not transform', () => {
    const isTransformed = Object.values(weft).some((value) => /__vite_ssr_import/.test(String(value)));
    expect(isTransformed).toBe(process.env.WEFT_TEST_BUILT !== '1');
  });
});
