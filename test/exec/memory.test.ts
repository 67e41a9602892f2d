import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Lifetime, placeInArena } from '../../src/exec/plan/memory.js';
import { DEVICE_ALIGNMENT } from '../../src/shared/layout.js';

const lifetimes = fc.array(
  fc
    .tuple(fc.integer({ min: 1, max: 5000 }), fc.nat(30), fc.nat(10))
    .map(([byteLength, first, length]): Lifetime => ({ byteLength, first, last: first + length })),
  { maxLength: 60 },
);

const rounded = (bytes: number): number => Math.ceil(bytes / DEVICE_ALIGNMENT) * DEVICE_ALIGNMENT;

describe('the arena', () => {
  it('keeps blocks that live at the same time apart, aligned and inside', () => {
    fc.assert(
      fc.property(lifetimes, (blocks) => {
        const { offsets, byteLength } = placeInArena(blocks);
        blocks.forEach((a, i) => {
          expect(offsets[i]! % DEVICE_ALIGNMENT).toBe(0);
          expect(offsets[i]! + a.byteLength).toBeLessThanOrEqual(byteLength);
          for (let j = 0; j < i; j++) {
            const b = blocks[j]!;
            if (a.last < b.first || b.last < a.first) continue;
            const apart =
              offsets[i]! + a.byteLength <= offsets[j]! || offsets[j]! + b.byteLength <= offsets[i]!;
            expect(apart, `blocks ${i} and ${j}`).toBe(true);
          }
        });
      }),
    );
  });

  it('is no larger than all blocks side by side, and no smaller than what lives at once', () => {
    fc.assert(
      fc.property(lifetimes, (blocks) => {
        const { byteLength } = placeInArena(blocks);
        const live = Array.from({ length: 41 }, (_, step) =>
          blocks.reduce((n, b) => (b.first <= step && step <= b.last ? n + rounded(b.byteLength) : n), 0),
        );
        expect(byteLength).toBeGreaterThanOrEqual(Math.max(0, ...live));
        expect(byteLength).toBeLessThanOrEqual(blocks.reduce((n, b) => n + rounded(b.byteLength), 0));
      }),
    );
  });

  it('gives the place of a dead block to the next', () => {
    const chain = Array.from({ length: 100 }, (_, k) => ({ byteLength: 1000, first: k, last: k + 1 }));
    expect(placeInArena(chain).byteLength).toBe(2 * 1024);
  });
});
