/** Values that alternatives of a choice compute alike are computed once, of operands that are chosen. */
import { describe, expect, it } from 'vitest';
import { rgbToHsv } from '../../bench/joined-expressions.js';
import { compute, elementwise, type Lazy, lazy, placeholder, where } from '../../src/index.js';
import { Draw } from '../support/random.js';

const device = 'cpu';
const p = (): Lazy => placeholder([1000], 'float32');
const [C, D, X, Y, Z] = [p().greater(0), p().less(1), p(), p(), p()];
const count = (output: Lazy | readonly Lazy[], op: string): number =>
  ((Array.isArray(output) ? output[0] : output) as Lazy)
    .explain({ device })
    .steps.map(({ text }) => text.split(`= ${op} `).length - 1)
    .reduce((a, b) => a + b, 0);

describe('alternatives', () => {
  it('of a conversion of colours share their quotients', () => {
    expect(count(rgbToHsv(placeholder([64, 65, 3], 'float32')), 'divide')).toBe(3);
  });

  it.each<[string, () => Lazy, string, number]>([
    ['of one divisor', () => where(C!, X!.div(Z!).add(2), Y!.div(Z!).add(4)), 'divide', 1],
    ['of two divisors', () => where(C!, X!.div(Y!), Y!.div(Z!)), 'divide', 1],
    ['through other ops', () => where(C!, X!.exp().add(1).sqrt(), Y!.exp().mul(3)), 'exp', 1],
    ['in each other', () => where(C!, where(D!, X!.exp(), Y!.exp()), Z!.exp()), 'exp', 1],
    ['of halves', () => where(C!, X!.astype('float16').exp(), Y!.astype('float16').exp()), 'exp', 1],
  ])('%s are computed once', (_, build, op, times) => {
    expect(count(build(), op)).toBe(times);
  });

  it.each<[string, () => Lazy, string, number]>([
    ['one of them is used besides', () => where(C!, X!.exp(), Y!.exp()).add(X!.exp()), 'exp', 2],
    ['choosing takes as long', () => where(C!, X!.abs(), Y!.abs()), 'abs', 2],
    ['one is computed of the other', () => where(C!, X!.exp(), X!.exp().exp()), 'exp', 2],
    ['the condition is computed of one', () => where(X!.exp().less(2), X!.exp(), Y!.exp()), 'exp', 2],
    ['both are of other dtypes', () => where(C!, X!.exp(), Y!.astype('float64').exp()), 'exp', 2],
    [
      'one is an index, which may lie outside for the other',
      () => {
        const at = (x: Lazy): Lazy => x.astype('int32').floorDivide(7);
        const table = placeholder([10], 'float32');
        return where(C!, table.take(at(X!), 0, { mode: 'clip' }), at(Y!).astype('float32'));
      },
      'floorDivide',
      2,
    ],
    [
      'one of them is of a row',
      () =>
        where(placeholder([9, 1000], 'float32').greater(0), X!.exp(), placeholder([9, 1], 'float32').exp()),
      'exp',
      2,
    ],
    [
      'a loop of elements takes one, which may not end with the other',
      () => {
        const halved = elementwise((x: number) => {
          while (x > 1) x /= 2;
          return x;
        });
        return where(C!, halved(X!.exp()), Y!.exp());
      },
      'exp',
      2,
    ],
  ])('are computed twice where %s', (_, build, op, times) => {
    expect(count(build(), op)).toBe(times);
  });

  it('have the bits of each one alone, chosen by hand, also where it is not finite', async () => {
    const draw = new Draw(1);
    const odd = [Number.NaN, Infinity, -Infinity, -0, 0, 1];
    const numbers = (): Lazy =>
      lazy(Float32Array.from({ length: 1000 }, (_, k) => (k % 7 === 0 ? draw.of(odd) : 8 * draw.next() - 4)));
    const [a, b, c, s] = [numbers(), numbers(), numbers(), numbers()];
    const conditions = [c.less(a), b.less(0)];
    const alternatives = [a.div(s).add(2), b.div(s).add(4), c.div(s).sub(1), a.remainder(s)];
    const chosen = where(
      conditions[0]!,
      where(conditions[1]!, alternatives[0]!, alternatives[1]!),
      where(conditions[1]!, alternatives[2]!, alternatives[3]!),
    );
    expect(count(chosen, 'divide')).toBe(1);
    const found = (await chosen.compute({ device })).data as Float32Array;
    const [first, second, ...values] = (await compute([...conditions, ...alternatives], { device })).map(
      ({ data }) => data as Float32Array,
    );
    const wanted = found.map((_, k) => values[(first![k] ? 0 : 2) + (second![k] ? 0 : 1)]![k]!);
    expect(found).toEqual(wanted);
  });
});
