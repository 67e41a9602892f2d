/** The cache of programs and images: what was used last stays, within a count and a weight. */
import { expect, test } from 'vitest';
import { LruCache } from '../../src/shared/lru-cache.js';

const keysIn = (cache: LruCache<number>, keys: string): string =>
  [...keys].filter((key) => cache.get(key) !== undefined).join('');

test('keeps so many entries, those used last', () => {
  const cache = new LruCache<number>(3);
  for (const key of 'abc') cache.set(key, 1);
  cache.get('a');
  cache.set('d', 1);
  expect(keysIn(cache, 'abcd')).toBe('acd');
});

test('keeps entries of so much weight together, and the newest whatever it weighs', () => {
  const cache = new LruCache<number>(100, 10);
  for (const key of 'abc') cache.set(key, 1, 4);
  expect(keysIn(cache, 'abc')).toBe('bc');
  cache.set('d', 1, 2);
  expect(keysIn(cache, 'bcd')).toBe('bcd');
  cache.set('e', 1, 50);
  expect([keysIn(cache, 'bcde'), cache.size]).toEqual(['e', 1]);
  cache.set('f', 1, 10);
  expect(keysIn(cache, 'ef')).toBe('f');
});

test('counts the weight of an entry that is replaced or deleted once', () => {
  const cache = new LruCache<number>(100, 10);
  cache.set('a', 1, 6);
  cache.set('a', 2, 6);
  cache.set('b', 1, 4);
  expect([cache.get('a'), cache.get('b')]).toEqual([2, 1]);
  cache.delete('a');
  cache.set('c', 1, 6);
  expect(keysIn(cache, 'abc')).toBe('bc');
  cache.clear();
  for (const key of 'de') cache.set(key, 1, 5);
  expect(keysIn(cache, 'bcde')).toBe('de');
});
