/** The arguments of einsum: subscripts and lists, options, errors that mark labels, and the path. */
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  DTypeError,
  einsum,
  einsumPath,
  type Lazy,
  lazy,
  ones,
  placeholder,
  RangeArgumentError,
  ShapeError,
} from '../../src/index.js';
import { valuesOf } from '../support/values-of.js';

const x = ones([2, 3], 'float32');
const y = ones([3, 4], 'float32');
const wrong = (...args: unknown[]): unknown => (einsum as (...given: unknown[]) => Lazy)(...args);

/** The message of what a call throws. */
function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return `${(error as Error).constructor.name} ${(error as Error).message}`;
  }
  throw new Error('nothing was thrown');
}

describe('the arguments of einsum', () => {
  it.each<[string, () => unknown, readonly string[]]>([
    [
      'sizes that disagree',
      () => einsum('ij,jk->ik', x, ones([4, 5])),
      [
        "ShapeError [einsum] expected one size, or 1, for 'j': (2, 3) and (4, 5) (3 against 4)",
        '    ij,jk->ik',
        '     ^ ^',
      ],
    ],
    [
      'a label of the result that no operand has',
      () => einsum('i j, j k -> i l', x, y),
      [
        "ArgumentError [einsum] expected labels of the result to be those of operands: 'i j, j k -> i l'",
        '    i j, j k -> i l',
        '                  ^',
      ],
    ],
    [
      'a label twice in the result',
      () => einsum('ij,jk->ii', x, y),
      [
        "ArgumentError [einsum] expected each label of the result once: 'ij,jk->ii'",
        '    ij,jk->ii',
        '           ^^',
      ],
    ],
    [
      'a character that is none of a label',
      () => einsum('i1,jk', x, y),
      [
        "ArgumentError [einsum] expected letters, '...', commas and one arrow, as in 'ij,jk->ik': 'i1,jk'",
        '    i1,jk',
        '     ^',
      ],
    ],
    [
      'fewer arrays than terms',
      () => einsum('ij,jk,kl', x, y),
      ["ArgumentError [einsum] expected 3 arrays for 'ij,jk,kl': 2", '    ij,jk,kl', '          ^^'],
    ],
    [
      'more arrays than terms',
      () => einsum('ij', x, y),
      ["ArgumentError [einsum] expected one array for 'ij': 2"],
    ],
    [
      'axes without a label',
      () => einsum('ij,j->i', x, y),
      ["ShapeError [einsum] expected 1 axes for 'j': (3, 4)", '    ij,j->i', '       ^'],
    ],
    [
      'a second arrow',
      () => einsum('ij->i->j', x),
      ["ArgumentError [einsum] expected one arrow: 'ij->i->j'", '    ij->i->j', '         ^^'],
    ],
    [
      'ellipses that do not broadcast',
      () => einsum('...i,...i', x, ones([4, 3])),
      [
        "ShapeError [einsum] expected one size, or 1, for '...': (2, 3) and (4, 3) (2 against 4)",
        '    ...i,...i',
        '    ^^^  ^^^',
      ],
    ],
    [
      'a diagonal of two sizes, as NumPy',
      () => einsum('ii->i', ones([1, 3])),
      ["ShapeError [einsum] expected axes of one size for 'i': (1, 3)", '    ii->i', '    ^^  ^'],
    ],
    [
      'sizes of numbered labels that disagree',
      () => einsum(x, [0, 10], ones([4, 5]), [10, 2], [0, 2]),
      [
        "ShapeError [einsum] expected one size, or 1, for '10': (2, 3) and (4, 5) (3 against 4)",
        '    [0, 10], [10, 2] -> [0, 2]',
        '        ^^    ^^',
      ],
    ],
    [
      'a precision that the dtype of an operand lacks',
      () => einsum('ij,jk->ik', ones([2, 3], 'float32'), ones([3, 4], 'float64'), { precision: 'tf32' }),
      [
        "DTypeError [einsum] expected float32 or complex64 for precision 'tf32': float64",
        '    ij,jk->ik',
        '       ^^',
      ],
    ],
    [
      'a library that has no such dtype',
      () => einsum('ij->i', ones([2, 3], 'int32'), { library: 'cublas' }),
      [
        "DTypeError [einsum] expected floats or complex numbers for library 'cublas': int32",
        '    ij->i',
        '    ^^',
      ],
    ],
  ])('refused: %s', (_, act, lines) => {
    expect(messageOf(act)).toBe(lines.join('\n'));
  });

  it.each<[string, () => unknown, new (...args: never[]) => Error]>([
    ['nothing', () => wrong(), ArgumentError],
    ['an array alone', () => wrong(x), ArgumentError],
    ['labels below 0', () => einsum(x, [0, -1]), ArgumentError],
    ['labels that are no integers', () => wrong(x, [0, 'i']), ArgumentError],
    ['an unknown option', () => wrong('ij', x, { optimize: true }), ArgumentError],
    ['an unknown precision', () => wrong('ij,jk', x, y, { precision: 'half' }), ArgumentError],
    ['a limit that is none', () => einsum('ij', x, { memoryLimit: 0 }), RangeArgumentError],
    ['a precision of float64', () => einsum('ij,jk', x, ones([3, 4]), { precision: 'tf32x3' }), DTypeError],
    [
      'a precision of one float64 array',
      () => einsum('ij->i', ones([2, 3]), { precision: 'tf32' }),
      DTypeError,
    ],
    ['float32 of integers', () => ones([2, 2], 'int32').matmul(x, { precision: 'float32' }), DTypeError],
  ])('refused: %s', (_, act, error) => {
    expect(act).toThrow(error);
  });

  it('may be lists of axes, as NumPy has them', () => {
    expect(einsum(x, [0, 1], y, [1, 2], [0, 2]).shape).toEqual([2, 4]);
    expect(einsum(x, [0, 1], y, [1, 2]).shape).toEqual([2, 4]);
    expect(einsum(x, [12, 3]).shape).toEqual([3, 2]); // without a result in ascending order
    expect(einsum(x, ['...', 1], [1, '...']).shape).toEqual([3, 2]);
    expect(einsum(ones([5, 2, 3]), ['...', 0, 1], y, [1, 2], ['...', 0, 2]).shape).toEqual([5, 2, 4]);
    expect(einsum([1, 2, 3], [0], [[1, 2, 3]], [1, 0], [1]).shape).toEqual([1]);
    expect(valuesOf(einsum([1, 2, 3], [0], [4, 5, 6], [0], []))).toEqual([32]);
  });

  it('take scalars, blanks, empty terms and complex numbers as data', () => {
    expect(valuesOf(einsum(' i , -> i ', [1, 2], 3))).toEqual([3, 6]);
    expect(valuesOf(einsum(',', 2, 3))).toEqual([6]);
    expect(valuesOf(einsum('i,', [1, 2], { re: 0, im: 1 }))).toEqual([
      { re: 0, im: 1 },
      { re: 0, im: 2 },
    ]);
  });

  it('have options last, for products too', () => {
    expect(einsum('ij,jk', x, y, { precision: 'tf32' }).shape).toEqual([2, 4]);
    expect(einsum(x, [0, 1], y, [1, 2], [0, 2], { precision: 'float32' }).shape).toEqual([2, 4]);
    expect(x.tensordot(y, 1, { precision: 'tf32' }).shape).toEqual([2, 4]);
    expect(x.dot(y, { precision: 'tf32x3' }).shape).toEqual([2, 4]);
    expect(x.vecdot(x, -1, { precision: 'tf32' }).shape).toEqual([2]);
    expect(String(x.matmul(y, { precision: 'tf32' }).explain({ device: 'cpu' }))).toContain('in tf32');
  });
});

describe('the path of an einsum', () => {
  const z = ones([4, 5], 'float32');

  it('has the pairs and counts of einsum_path', () => {
    // np.einsum_path('ij,jk,kl->il', …, optimize='optimal') of these shapes
    const path = einsumPath('ij,jk,kl->il', x, y, z);
    expect(path.path).toEqual([
      [0, 1],
      [0, 1],
    ]);
    expect([path.naiveOperations, path.operations, path.largestElements]).toEqual([360, 128, 8]);
    expect(String(path)).toBe(
      'ij,jk,kl->il: 3 operands, 128 operations (360 in one sum), largest intermediate 32 B\n' +
        '  ij,jk->ik  48 operations\n' +
        '  kl,ik->il  80 operations',
    );
  });

  it('of one array is itself, of two a pair, and of lists has their numbers', () => {
    expect(einsumPath('iij->j', ones([2, 2, 3])).path).toEqual([[0]]);
    expect(einsumPath('ij,jk', x, y).path).toEqual([[0, 1]]);
    expect(einsumPath(x, [10, 1], y, [1, 2]).subscripts).toBe('<10>1,12->2<10>');
  });

  it('slices labels for a limit on intermediates, of which explain() tells', async () => {
    const ring = [placeholder([30, 30, 30], 'float32'), placeholder([30, 30, 30], 'float32')] as const;
    const given = ['abc,ade,bdf,cef->', ring[0], ring[1], ring[0], ring[1]] as const;
    expect(einsumPath(...given).largestBytes).toBe(4 * 30 ** 4);
    const path = einsumPath(...given, { memoryLimit: 4 * 30 ** 3 });
    expect(path.slices).toEqual([{ label: expect.any(String), size: 30, parts: 30 }]);
    expect(path.largestBytes).toBe(4 * 30 ** 3);
    const text = String(einsum(...given, { memoryLimit: 4 * 30 ** 3 }).explain({ device: 'cpu' }));
    expect(text).toContain(' of 30 is summed in 30 parts, one after the other');
  });

  it('sliced gives the sum of the parts, of unequal parts and of every dtype', async () => {
    const array = (shape: readonly number[], dtype: 'float64' | 'int32' | 'float16' | 'bool'): Lazy =>
      lazy({
        data: Float64Array.from({ length: shape.reduce((n, m) => n * m, 1) }, (_, k) => ((k * 7) % 5) - 2),
        shape: [...shape],
      }).astype(dtype);
    for (const dtype of ['float64', 'int32', 'float16', 'bool'] as const) {
      const shapes = [
        [5, 4, 6],
        [5, 3, 5],
        [4, 3, 4],
        [6, 5, 4],
      ];
      const operands = shapes.map((shape) => array(shape, dtype));
      const limited = einsum('abc,ade,bdf,cef->d', ...operands, { memoryLimit: 100 });
      expect(String(limited.explain({ device: 'cpu' }))).toContain('parts, one after the other');
      const [sliced, whole] = await Promise.all(
        [limited, einsum('abc,ade,bdf,cef->d', ...operands)].map((e) => e.compute({ device: 'cpu' })),
      );
      expect([...sliced!.data], dtype).toEqual([...whole!.data]);
    }
  });

  it('throws as einsum does', () => {
    expect(() => einsumPath('ij,jk', x, x)).toThrow(ShapeError);
  });
});
