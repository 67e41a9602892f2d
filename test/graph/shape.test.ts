/** Shapes and axes: broadcasting and what is refused. */
import { describe, expect, it } from 'vitest';
import { ascendingAxes, broadcastShapes, checkShape, normalizeAxes } from '../../src/graph/shape.js';
import { ArgumentError, ShapeError } from '../../src/host/errors.js';

describe('broadcastShapes', () => {
  it.each([
    [
      [[3, 4], [4]],
      [3, 4],
    ],
    [
      [
        [3, 1],
        [1, 4],
      ],
      [3, 4],
    ],
    [
      [[2, 1, 3], [5, 1], []],
      [2, 5, 3],
    ],
    [[[0], [1]], [0]],
    [[[], []], []],
    [
      [[1, 1], [7]],
      [1, 7],
    ],
  ])('%j gives %j', (shapes, result) => {
    expect(broadcastShapes('add', shapes)).toEqual(result);
    expect(broadcastShapes('add', [...shapes].reverse())).toEqual(result);
  });

  it('names the shapes and the axis that do not fit', () => {
    expect(() =>
      broadcastShapes('add', [
        [3, 4],
        [5, 2],
      ]),
    ).toThrow(
      new ShapeError('[add] expected shapes that broadcast: (3, 4) and (5, 2) (axis -1: 4 against 2)'),
    );
    expect(() => broadcastShapes('add', [[0], [2]])).toThrow(ShapeError);
  });

  it('refuses more elements than integers count', () => {
    expect(() => broadcastShapes('add', [[2 ** 30, 1], [2 ** 30]])).toThrow(ShapeError);
    expect(broadcastShapes('add', [[2 ** 26, 1], [2 ** 26]])).toEqual([2 ** 26, 2 ** 26]);
  });
});

describe('checkShape', () => {
  it.each([NaN, 1.5, -1, Infinity, 2 ** 53, [2, NaN], [3, -2], [2 ** 27, 2 ** 27]])('refuses %j', (shape) => {
    expect(() => checkShape('zeros', shape)).toThrow(ShapeError);
    expect(() => checkShape('zeros', shape)).toThrow(RangeError);
  });
  it.each(['3', null, undefined, {}, ['3'], [3n], true])('refuses %s by its type', (shape) => {
    expect(() => checkShape('zeros', shape)).toThrow(ArgumentError);
    expect(() => checkShape('zeros', shape)).toThrow(TypeError);
  });
  it('takes a number for a line, and no axes', () => {
    expect([checkShape('zeros', 3), checkShape('zeros', []), checkShape('zeros', [-0])]).toEqual([
      [3],
      [],
      [0],
    ]);
  });
});

describe('axes', () => {
  it('count from the last when negative', () => {
    expect(normalizeAxes('sum', [-1, 0], 3)).toEqual([2, 0]);
    expect(ascendingAxes('sum', [-1, 0], 3)).toEqual([0, 2]);
    expect(ascendingAxes('sum', null, 2)).toEqual([0, 1]);
    expect(ascendingAxes('sum', [], 2)).toEqual([]);
  });
  it.each([3, -4, 0.5, NaN, [0, 0], [1, -2]])('%j is refused for three axes', (axis) => {
    expect(() => normalizeAxes('sum', axis, 3)).toThrow(ShapeError);
  });
  it('are refused by their type', () => {
    expect(() => normalizeAxes('sum', '0' as unknown as number, 3)).toThrow(ArgumentError);
  });
});
