/** Diagonals and traces of products are computed without the rest of the product. */
import { describe, expect, it } from 'vitest';
import { einsum, type Lazy, placeholder } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomIntegers } from '../support/random.js';

const device = 'cpu';
const [A, B] = [placeholder([300, 400], 'float32'), placeholder([400, 350], 'float32')];
const stepsOf = (x: Lazy): readonly [string, number][] =>
  x.explain({ device }).steps.map(({ name, bytesRead }) => [name, bytesRead]);
const KERNEL = 'reduce_multiply_sum';

describe('a product of which a diagonal is read', () => {
  it.each<[string, (a: Lazy, b: Lazy) => Lazy, number]>([
    ['the main one', (a, b) => a.matmul(b).diagonal(), 300 * 400 * 2],
    ['one above it', (a, b) => a.matmul(b).diagonal(100), 250 * 400 * 2],
    ['one below it', (a, b) => a.matmul(b).diagonal(-200), 100 * 400 * 2],
    ['its sum', (a, b) => a.matmul(b).trace(), 300 * 400 * 2],
    ['the sum of another', (a, b) => a.matmul(b).trace({ offset: 3 }), 300 * 400 * 2],
    ['that of its transpose', (a, b) => a.matmul(b).mT.diagonal(-5), 300 * 400 * 2],
    ['as einsum has it', (a, b) => einsum('ii->', a.matmul(b.slice(null, [0, 300]))), 300 * 400 * 2],
  ])('is that of rows with columns: %s', (_, build, elements) => {
    expect(stepsOf(build(A, B))).toEqual([[KERNEL, 4 * elements]]);
  });

  it('has the values of the whole', async () => {
    const [a, b] = [randomIntegers('float32', [3, 30, 40], 1), randomIntegers('float32', [3, 40, 35], 2)].map(
      toLazy,
    );
    for (const build of [
      (x: Lazy) => x.diagonal(),
      (x: Lazy) => x.diagonal(7),
      (x: Lazy) => x.diagonal(-29),
      (x: Lazy) => x.diagonal(34),
      (x: Lazy) => x.diagonal(99),
      (x: Lazy) => x.trace({ offset: -4 }),
      (x: Lazy) => einsum('bii->', x.slice(null, null, [5, 35])),
    ]) {
      const product = a!.matmul(b!);
      expect(await build(product).compute({ device })).toEqual(
        await build(product).compute({ device, exact: true }),
      );
    }
  });

  it('is computed by itself where others read the product', () => {
    const product = A.matmul(B);
    const names = (output: Lazy): string[] => stepsOf(output).map(([name]) => name);
    expect(names(product.diagonal().add(product.sum(1)))).not.toContain('matmul');
    expect(
      names(product.diagonal().reshape(-1, 1).add(product)).filter((name) => name === 'matmul'),
    ).toHaveLength(1);
  });

  it('is computed whole under exact, and where no diagonal is read', () => {
    expect(
      A.matmul(B)
        .diagonal()
        .explain({ device, exact: true })
        .steps.map(({ name }) => name),
    ).toContain('matmul');
    const lines = A.matmul(B).reshape(300 * 350);
    expect(stepsOf(lines.slice([0, null, 350])).map(([name]) => name)).toContain('matmul');
    expect(stepsOf(lines.slice([200, 60_000, 351])).map(([name]) => name)).toContain('matmul');
  });
});
