/**
 * Mutated files: see `mutations.ts` for what must hold of them. `npm run test:soak` does fifty thousand of
 * each format.
 */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/files.js';
import { formats, mutate, mutateArrow } from './mutations.js';

const folder = temporaryFolder();
const numRuns = Number(process.env.WEFT_MUTATIONS ?? 1000);

describe('a mutated file', () => {
  // One waits for threads and files while others go on.
  it.concurrent.each(formats.map((format) => [format.name, format] as const))(
    'in the format %s is read as it was, or refused, and soon',
    async (name, format) => {
      const { read, refused, longest } = await mutate(format, join(folder.path, name), { numRuns });
      expect(read).toBeGreaterThan(0);
      expect(refused).toBeGreaterThan(0);
      expect(read + refused).toBe(numRuns);
      expect(longest).toBeLessThan(10_000);
    },
    600_000,
  );

  it('of Arrow, as far as its columns tell, is taken as it is, or refused', () => {
    expect(mutateArrow({ numRuns })).toBeGreaterThan(0);
  });
});
