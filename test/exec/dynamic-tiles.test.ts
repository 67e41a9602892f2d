/** The orders in which devices come to the tiles that they share, and the windows that those begin with. */

import { describe, expect, it } from 'vitest';
import { tileOrders } from '../../src/exec/shards/dynamic-tiles.js';
import { sweepStep } from '../../src/exec/tiles/sweep-tables.js';
import type { Tile } from '../../src/exec/tiles/sweep-windows.js';
import { WINDOW_FIELDS } from '../../src/shared/layout.js';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, k) => k);
const sorted = (list: readonly number[]): number[] => [...list].sort((a, b) => a - b);

describe('the order of tiles of a device', () => {
  it.each([
    { tiles: 16, weights: [0.5, 0.5] },
    { tiles: 1000, weights: [0.5, 0.5] },
    { tiles: 1001, weights: [0.7, 0.2, 0.1] },
    { tiles: 77, weights: Array.from({ length: 8 }, () => 1 / 8) },
    { tiles: 64, weights: [1, 0, 0] },
  ])('has each of $tiles tiles once, part by part, for weights $weights', ({ tiles, weights }) => {
    const orders = tileOrders(tiles, weights)!;
    expect(orders).toHaveLength(weights.length);
    for (const { tiles: order, parts } of orders) {
      expect(sorted(order)).toEqual(numbers(tiles));
      const starts = parts.filter((part, t) => part !== parts[t - 1]);
      // The tiles of a part follow each other, in order, and all devices have the same parts.
      expect(sorted(starts)).toEqual(numbers(Math.max(...parts) + 1));
      for (const [t, tile] of order.entries()) {
        expect(parts[t]).toBe(orders[0]!.parts[orders[0]!.tiles.indexOf(tile)]);
        if (parts[t] === parts[t - 1]) expect(tile).toBe(order[t - 1]! + 1);
      }
    }
  });

  it('begins with its own share, and goes on with the ends of the others, neighbours first', () => {
    const [first, second] = tileOrders(24, [0.5, 0.25, 0.25])!;
    expect(first!.tiles).toEqual([...numbers(12), ...[17, 16, 15, 14, 13, 12], ...[23, 22, 21, 20, 19, 18]]);
    expect(second!.tiles).toEqual([
      ...[12, 13, 14, 15, 16, 17],
      ...[23, 22, 21, 20, 19, 18],
      ...numbers(12).reverse(),
    ]);
  });

  it('has parts that are small beside a share', () => {
    const { parts } = tileOrders(100_000, [0.5, 0.5])![0]!;
    const count = Math.max(...parts) + 1;
    expect(count).toBeGreaterThanOrEqual(64);
    expect(count).toBeLessThan(130);
  });

  it('is none for few tiles', () => {
    expect(tileOrders(15, [0.5, 0.5])).toBeUndefined();
    expect(
      tileOrders(
        63,
        Array.from({ length: 8 }, () => 1 / 8),
      ),
    ).toBeUndefined();
  });
});

describe('a part of the tiles', () => {
  const window = { first: 256, width: 64, rows: 1, pitch: 0 };
  const tiles = numbers(6).map((): Tile => ({ spans: [], windows: new Map([[0, window]]) }));
  const slots = [
    { buffer: 0, direction: 'in', offset: 0, slotByteLength: 512, slots: 1, slotPitch: 0, first: 0, last: 0 },
  ] as const;
  const copiesOf = (parts?: readonly number[]): number[] => {
    const sized = { tasks: [], pitches: new Map(), tiles, slots, ...(parts === undefined ? {} : { parts }) };
    const { windows } = sweepStep(sized, slots).windows[0]!;
    return tiles.map((_, t) => windows[t * WINDOW_FIELDS + 1]!);
  };

  it("brings what it needs itself, for the part before may be another device's", () => {
    expect(copiesOf()).toEqual([1, 0, 0, 0, 0, 0]);
    expect(copiesOf([4, 4, 0, 0, 0, 7])).toEqual([1, 0, 1, 0, 0, 1]);
  });
});
