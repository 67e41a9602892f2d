import { produce } from 'immer';
import { expect, it } from 'vitest';
import { lazy } from '../../src/index.js';

it("leaves the application's immer freezing what it makes", () => {
  lazy([1, 2]).add(0).explain({ device: 'cpu' });
  const state = produce({ list: [1] }, (draft) => {
    draft.list.push(2);
  });
  expect(Object.isFrozen(state)).toBe(true);
  expect(Object.isFrozen(state.list)).toBe(true);
});
