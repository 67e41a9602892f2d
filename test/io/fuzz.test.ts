/**
 * Mutated files: whatever the bytes, loading and computing either works or fails with a FileError (a MemoryError for an array
 * that is really there and too large), in bounded time and memory.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compute, FileError, type Lazy, loadNpy, loadNpz, loadSafetensors } from '../../src/index.js';
import { decode, fileFixtures, temporaryFolder } from '../support/files.js';

const folder = temporaryFolder();
const numRuns = Number(process.env.WEFT_PROPERTY_RUNS ?? 300);

/** A change of a file's bytes: set, insert, remove, repeat a part, cut off. */
type Change =
  | { readonly kind: 'set'; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: 'insert'; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: 'copy'; readonly at: number; readonly from: number; readonly length: number }
  | { readonly kind: 'remove'; readonly at: number; readonly length: number }
  | { readonly kind: 'cut'; readonly at: number };

/** Places near the beginning and the end, where headers are, as often as anywhere else. */
const place = fc.oneof(fc.integer({ min: 0, max: 160 }), fc.integer({ min: -120, max: -1 }), fc.nat(4000));
const words = [
  '<',
  '>',
  'O',
  '(',
  ')',
  '-1',
  ',',
  '9999999999999999999999',
  '\0',
  '"',
  "'",
  '{',
  '}',
  '[',
  'F64',
];
const bytes = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 8 }),
  fc.constantFrom(...words).map((word) => new Uint8Array(Buffer.from(word))),
  fc.constantFrom(new Uint8Array(4).fill(0xff), new Uint8Array(8).fill(0xff), new Uint8Array(8)),
);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant('set' as const), at: place, bytes }),
  fc.record({ kind: fc.constant('insert' as const), at: place, bytes }),
  fc.record({ kind: fc.constant('copy' as const), at: place, from: place, length: fc.nat(64) }),
  fc.record({ kind: fc.constant('remove' as const), at: place, length: fc.nat(32) }),
  fc.record({ kind: fc.constant('cut' as const), at: place }),
);

function changed(file: Buffer, step: Change): Buffer {
  const index = (at: number): number => (at < 0 ? Math.max(0, file.length + at) : Math.min(at, file.length));
  const at = index(step.at);
  const [before, after] = [file.subarray(0, at), file.subarray(at)];
  switch (step.kind) {
    case 'set':
      return Buffer.concat([before, step.bytes, after.subarray(step.bytes.length)]);
    case 'insert':
      return Buffer.concat([before, step.bytes, after]);
    case 'copy':
      return Buffer.concat([before, file.subarray(index(step.from), index(step.from) + step.length), after]);
    case 'remove':
      return Buffer.concat([before, after.subarray(step.length)]);
    case 'cut':
      return before;
  }
}

/** Loads and computes; the array's bytes can be no more than the file's, but for deflated ones. */
async function survive(
  path: string,
  load: (path: string) => Promise<readonly Lazy[]>,
  most: number,
): Promise<boolean> {
  try {
    const arrays = await load(path);
    const results = await compute(arrays, { device: 'cpu' });
    const held = results.reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(held).toBeLessThanOrEqual(most);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(FileError);
    return false;
  }
}

const all = (load: (path: string) => Promise<Readonly<Record<string, Lazy>>>) => async (path: string) =>
  Object.values(await load(path));

describe('a mutated file', () => {
  const formats = [
    ['npy', fileFixtures.npy.map(({ file }) => file), async (path: string) => [await loadNpy(path)], 1],
    ['npz', fileFixtures.npz.map(({ file }) => file), all(loadNpz), 1100],
    ['safetensors', fileFixtures.safetensors.map(({ file }) => file), all(loadSafetensors), 1],
  ] as const;

  it.each(formats)('in the format %s is read or refused', async (_, files, load, ratio) => {
    let read = 0;
    const property = fc.asyncProperty(
      fc.constantFrom(...files),
      fc.array(change, { minLength: 1, maxLength: 4 }),
      async (file, changes) => {
        const mutated = changes.reduce(changed, decode(file));
        if (await survive(folder.put('fuzzed', mutated), load, mutated.length * ratio)) read++;
      },
    );
    await fc.assert(property, { numRuns });
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(numRuns);
  });
});
