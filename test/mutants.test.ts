/** The bugs that `npm run test:mutants` plants stay where they can be planted. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly tests: readonly string[];
}

const list: string = '../scripts/mutant-list.mjs';
const { MUTANTS, planted } = (await import(list)) as {
  MUTANTS: readonly Mutant[];
  planted: (mutant: Mutant, text: string) => string;
};
const read = (file: string): string => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');

describe('a planted bug', () => {
  it.each(MUTANTS)('$name', (mutant) => {
    const text = read(mutant.file);
    expect(planted(mutant, text)).not.toBe(text);
    expect(mutant.tests.map(read)).not.toContain('');
  });
  it('has a name of its own', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });
});
